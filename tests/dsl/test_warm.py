"""Kernels that are found by their source: each ingredient of the key makes a launch a miss, and what has no text that
says what it is gives no key."""

from __future__ import annotations

import enum
import functools
import math
import operator
import os
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import fake_cuda
from support.fake_cuda import FakeCuda

import tilewright as tw
from tilewright.backend_ptx.runtime import build, versions
from tilewright.backend_ptx.runtime.driver import get_device
from tilewright.launching import fingerprint, notes, warm
from tilewright.launching.sources import PythonSource
from tilewright.tileir import sources
from tilewright.tileir.cache import DiskCache
from tilewright.tileir.plan import Switches

TRANSLATED: list[str] = []


@pytest.fixture(autouse=True)
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCuda]:
    translate = PythonSource.translate

    def watched(source: PythonSource, *args: Any, **named: Any) -> Any:
        TRANSLATED.append(source.name)
        return translate(source, *args, **named)

    monkeypatch.setattr(PythonSource, "translate", watched)
    # Files of this checkout may have changed a second ago, and are read then.
    monkeypatch.setattr(notes, "program", lambda: "this program")
    yield from fake_cuda.in_place(monkeypatch, tmp_path / "cache")


def is_found(launch: Callable[[], None]) -> bool:
    """Whether a launch finds its kernel without translating it."""
    TRANSLATED.clear()
    launch()
    return not TRANSLATED


def doubled(tile: Any) -> Any:
    return tile * 2.0


def tripled(tile: Any) -> Any:
    return tile * 3.0


def by(how: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def helper(tile: Any) -> Any:
        return how(tile)

    return helper


def with_default(factor: float) -> Callable[[Any], Any]:
    def helper(tile: Any, by: float = factor) -> Any:
        return tile * by

    return helper


def with_keyword(factor: float) -> Callable[[Any], Any]:
    def helper(tile: Any, *, by: float = factor) -> Any:
        return tile * by

    return helper


def of_module(**inside: Any) -> Callable[[Any], Any]:
    settings = types.ModuleType("settings")
    vars(settings).update(inside)

    def helper(tile: Any) -> Any:
        return tile * settings.factor

    return helper


def with_attribute(factor: float) -> Callable[[Any], Any]:
    def helper(tile: Any) -> Any:
        return tile * factor

    helper.factor = factor  # type: ignore[attr-defined]
    return helper


def weighted(weights: Any) -> Callable[[Any], Any]:
    def helper(tile: Any) -> Any:
        for weight in weights.values() if isinstance(weights, dict) else weights:
            tile = tile * weight + 1.0
        return tile

    return helper


FACTOR = 2.0


def of_global(tile: Any) -> Any:
    return tile * FACTOR


def as_dtype(dtype: Any) -> Callable[[Any], Any]:
    def helper(tile: Any) -> Any:
        return tw.astype(tw.astype(tile, dtype), tw.float32)

    return helper


def rounded(mode: Any) -> Callable[[Any], Any]:
    def helper(tile: Any) -> Any:
        return tw.truediv(tile, 3.0, rounding_mode=mode)

    return helper


def make(helper: Any = doubled, offset: Any = 1.0, n: Any = tw.Constant[int], **hints: Any) -> Any:
    def body(x: Any, n: Any, apply: tw.Constant[Any] = None) -> None:
        i = tw.bid(0)
        t = helper(tw.load(x, i, 128)) + offset
        if apply is not None:
            t = apply(t)
        tw.store(x, i, tw.astype(t + tw.astype(n, tw.float32), x.dtype))

    body.__annotations__["n"] = n
    return tw.tile_kernel(body, **hints)


def launch(kernel: Any, length: int = 1024, n: int = 1, dtype: Any = np.float32, grid: Any = 8, apply: Any = None
           ) -> None:
    kernel[grid](tw.to_device(np.ones(length, dtype)), n, apply)


# What is launched first, and what must be no hit then.
PAIRS: dict[str, tuple[Callable[[], None], Callable[[], None]]] = {
    "the source of a helper": (lambda: launch(make(doubled)), lambda: launch(make(tripled))),
    "the source of a helper's helper": (lambda: launch(make(by(doubled))), lambda: launch(make(by(tripled)))),
    "a helper's default": (lambda: launch(make(with_default(2.0))), lambda: launch(make(with_default(3.0)))),
    "a helper's keyword": (lambda: launch(make(with_keyword(2.0))), lambda: launch(make(with_keyword(3.0)))),
    "a helper's attribute": (lambda: launch(make(with_attribute(2.0))), lambda: launch(make(with_attribute(3.0)))),
    "a number of a module": (lambda: launch(make(of_module(factor=2.0))), lambda: launch(make(of_module(factor=3.0)))),
    "a captured value": (lambda: launch(make(offset=1.0)), lambda: launch(make(offset=2.0))),
    "the type of a captured value": (lambda: launch(make(offset=1)), lambda: launch(make(offset=True))),
    "an item of a captured list": (lambda: launch(make(weighted([1.0, 2.0]))),
                                   lambda: launch(make(weighted([1.0, 4.0])))),
    "a value of a captured dict": (lambda: launch(make(weighted({"a": 2.0}))),
                                   lambda: launch(make(weighted({"a": 4.0})))),
    "the order of a captured dict": (lambda: launch(make(weighted({0: 1.0, 1: 2.0}))),
                                     lambda: launch(make(weighted({1: 2.0, 0: 1.0})))),
    "a function that keeps its results": (lambda: launch(make(functools.cache(by(doubled)))),
                                          lambda: launch(make(functools.cache(by(tripled))))),
    "the sign of a zero": (lambda: launch(make(offset=0.0)), lambda: launch(make(offset=-0.0))),
    "a captured NumPy number": (lambda: launch(make(offset=np.float32(1))), lambda: launch(make(offset=np.float16(1)))),
    "a captured dtype": (lambda: launch(make(as_dtype(tw.float16))), lambda: launch(make(as_dtype(tw.bfloat16)))),
    "a captured dtype of NumPy": (lambda: launch(make(as_dtype(np.float16))),
                                  lambda: launch(make(as_dtype(np.dtype("int32"))))),
    "a captured option": (lambda: launch(make(rounded(tw.RoundingMode.RN))),
                          lambda: launch(make(rounded(tw.RoundingMode.APPROX)))),
    "the dtype of an array": (lambda: launch(make()), lambda: launch(make(), dtype=np.float16)),
    "the divisibility of an extent": (lambda: launch(make()), lambda: launch(make(), length=1023)),
    "the annotation of a parameter": (lambda: launch(make()), lambda: launch(make(n=Any))),
    "a constant": (lambda: launch(make(), n=1), lambda: launch(make(), n=2)),
    "a function that is a constant": (lambda: launch(make(), apply=doubled), lambda: launch(make(), apply=tripled)),
    "a hint": (lambda: launch(make()), lambda: launch(make(occupancy=2))),
    "a rule": (lambda: launch(make()), lambda: launch(make(deterministic=True))),
    "a linear grid": (lambda: launch(make()), lambda: launch(make(), grid=(2, 2, 1 << 17))),
}


@pytest.mark.parametrize("what", PAIRS)
def test_what_makes_a_launch_a_miss(what: str) -> None:
    first, second = PAIRS[what]
    assert not is_found(first)
    assert is_found(first), "the same kernel is found"
    assert not is_found(second), what
    assert is_found(second)


def another(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> None:
    monkeypatch.setattr(module, name, lambda: "another")


def another_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_cuda.uninstall()
    fake_cuda.install(monkeypatch, capability=(8, 0))


VERSIONS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "LLVM": lambda patch: another(patch, versions, "llvm_build"),
    "the driver": lambda patch: another(patch, versions, "driver_version"),
    "our sources": lambda patch: another(patch, notes, "program"),
    "the assembler's options": lambda patch: patch.setattr(versions, "JIT_OPTIONS", ()),
    "the GPU": another_gpu,
    "a global": lambda patch: patch.setitem(of_global.__globals__, "FACTOR", 3.0),
}


@pytest.mark.parametrize("what", VERSIONS)
def test_what_else_makes_a_launch_a_miss(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    assert not is_found(lambda: launch(make(of_global)))
    assert is_found(lambda: launch(make(of_global)))
    VERSIONS[what](monkeypatch)
    assert not is_found(lambda: launch(make(of_global))), what


def test_the_backends_sources_make_an_entry_a_miss(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    launch(make())
    for patched in ("program", "source_digest"):
        another(monkeypatch, notes if patched == "program" else build, patched)
    launch(make())
    assert len(list(tmp_path.rglob("*.twk"))) == 2


def test_what_is_captured_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel keeps what it captured, found or translated, and its notes say so."""
    kernel = make(of_global)
    launch(kernel)
    monkeypatch.setitem(of_global.__globals__, "FACTOR", 3.0)
    launch(kernel, dtype=np.float16)  # with the factor of before
    assert not is_found(lambda: launch(make(of_global), dtype=np.float16)), "another kernel has the new one"
    assert is_found(lambda: launch(make(of_global), dtype=np.float16))
    monkeypatch.setitem(of_global.__globals__, "FACTOR", 2.0)
    found = make(of_global)
    assert is_found(lambda: launch(found, dtype=np.float16))
    monkeypatch.setitem(of_global.__globals__, "FACTOR", 5.0)
    assert not is_found(lambda: launch(found, dtype=np.float64))
    five, now = (str(kernel.ir(tw.spec("f64[1024]"), 1, None)) for kernel in (make(of_global), found))
    monkeypatch.setitem(of_global.__globals__, "FACTOR", 2.0)
    assert now == str(make(of_global).ir(tw.spec("f64[1024]"), 1, None)) != five


PROGRAM = """
import tilewright as tw
{above}
def helper(t):
    return t * {factor}

@tw.tile_kernel
def scale(x):
    tw.store(x, tw.bid(0), helper(tw.load(x, tw.bid(0), 128)))
"""


def scale(path: Path, above: str = "", factor: str = "2.0") -> Any:
    """The kernel of a file with this text."""
    text = PROGRAM.format(above=above, factor=factor)
    path.write_text(text)
    space: dict[str, Any] = {"__name__": "program"}
    exec(compile(text, str(path), "exec"), space)
    return space["scale"]


def test_edited_files(tmp_path: Path) -> None:
    x = tw.to_device(np.ones(1024, np.float32))

    def run(name: str = "program.py", **text: str) -> bool:
        kernel = scale(tmp_path / name, **text)
        return is_found(lambda: kernel[8](x))

    assert not run()
    assert run()
    assert not run(factor="4.0")
    assert not run(above="# a line, so that others are named\n"), "messages name the line"
    assert not run("other.py"), "and the file"
    assert run()


def outside(value: Any, *, attribute: bool = False) -> Any:
    """A kernel that captures a value, and uses it where it may."""
    def body(x: Any) -> None:
        t = tw.load(x, tw.bid(0), 128)
        tw.store(x, tw.bid(0), t * (value.factor if attribute else value(t)))

    return tw.tile_kernel(body)


class Factors(enum.Enum):
    factor = 2.0


def answering() -> types.ModuleType:
    module = types.ModuleType("answering")
    vars(module)["__getattr__"] = lambda name: 2.0
    return module


def evaluated(tile: Any) -> Any:
    return tile * tw.static_eval(float(len(sys.argv)))


evaluate = tw.static_eval


def evaluated_by_another_name(tile: Any) -> Any:
    return tile * evaluate(float(len(sys.argv)))


UNCLEAR: dict[str, Any] = {
    "Python that runs while compiling": evaluated,
    "the same by another name": evaluated_by_another_name,
    "a class": Factors,
    "an option of the user's": Factors.factor,
    "an object": types.SimpleNamespace(factor=2.0),
    "a module that computes its attributes": answering(),
    "a part of a function": operator.itemgetter(1),
}


def texts(value: Any, names: tuple[str, ...] = ()) -> list[str]:
    def kernel() -> None:
        """One of its own."""

    read = fingerprint.Fingerprint(kernel)  # type: ignore[arg-type]
    return [read.text(value, frozenset(names)), *read.parts]


@pytest.mark.parametrize("what", UNCLEAR)
def test_what_has_no_text(what: str) -> None:
    with pytest.raises(fingerprint.Unclear):
        texts(outside(UNCLEAR[what]).__wrapped__)


class Nameless(type):
    """Of classes that do not say where they are from."""

    @property
    def __module__(cls) -> str:  # type: ignore[override]
        raise ValueError("no name")


class Odd(metaclass=Nameless):
    def __call__(self, tile: Any) -> Any:
        return tile


def test_without_a_key_a_kernel_is_translated_as_ever() -> None:
    for _ in range(2):
        assert not is_found(lambda: launch(make(evaluated)))


def test_an_object_that_raises_gives_no_key() -> None:
    kernel, device = outside(Odd()), get_device(0)
    with pytest.raises(ValueError, match="no name"):
        texts(kernel.__wrapped__)
    assert warm.key_of(kernel.specialiser, [], Switches(), device) is None
    assert warm.key_of(make().specialiser, [], Switches(), device) is not None


def test_what_a_module_holds_beside_what_comes_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [texts(module, ("load", "factor", "random", "normal")) for module in (tw, math, np)]
    _ = tw.random.normal  # modules of ours come when they are used
    assert before == [texts(module, ("load", "factor", "random", "normal")) for module in (tw, math, np)]
    for module in (tw, math, np, tw.random):
        monkeypatch.setattr(module, "factor", 2.0, raising=False)
        assert texts(module, ("factor",)) != texts(module, ("load",))
        assert "2.0" not in str(texts(module, ("load",)))
    monkeypatch.setattr(tw, "helper", doubled, raising=False)
    assert "doubled" in str(texts(tw, ("helper",)))
    monkeypatch.setattr(tw, "helper", tw.function(doubled), raising=False)
    assert "doubled" in str(texts(tw, ("helper",)))
    monkeypatch.setattr(tw, "helper", tw.static_eval, raising=False)
    with pytest.raises(fingerprint.Unclear):
        texts(tw, ("helper",))


def test_a_module_of_the_users_with_a_name_of_pythons(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("calendar")
    vars(module)["helper"] = doubled
    monkeypatch.setitem(sys.modules, "calendar", module)
    fingerprint._is_standard.cache_clear()
    assert "doubled" in str(texts(module, ("helper",)))
    fingerprint._is_standard.cache_clear()


def test_notes_that_lead_nowhere(tmp_path: Path) -> None:
    launch(make())
    for path in tmp_path.rglob("*.twk"):
        path.unlink()
    assert not is_found(lambda: launch(make())), "the entry is gone"
    assert is_found(lambda: launch(make()))
    for path in tmp_path.rglob("*.twk"):
        path.write_bytes(b"rubbish")
    assert not is_found(lambda: launch(make())), "the entry is damaged"
    [note] = tmp_path.rglob("*.twn")
    folder = DiskCache(tmp_path / "cache" / notes.FOLDER, suffix=notes.SUFFIX)
    entry = folder.load(note.stem)
    assert entry is not None and set(entry.meta) == {"entry", "written", "joins", "key"}
    notes.store(note.stem, {"entry": 3, "written": None})
    assert not is_found(lambda: launch(make())), "the note is odd"


def test_a_found_kernel_is_launched_as_a_made_one(cuda: FakeCuda) -> None:
    for _ in range(2):
        launch(make())
    first, second = cuda.launches
    assert (first.name, first.grid, first.threads, first.params[1:]) == (
        second.name, second.grid, second.threads, second.params[1:])
    x = np.ones(1024, np.float32)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        make()[8](x, 1)


def test_sources_are_read_where_they_have_changed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = tmp_path / "made_up_package"
    (package / "inside" / "simulator").mkdir(parents=True)
    for name in ("__init__.py", "inside/part.py", "inside/simulator/run.py", "notes.txt"):
        (package / name).write_text("x = 1\n")
        os.utime(package / name, (1e9, 1e9))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(notes, "PACKAGES", (package.name,))
    monkeypatch.setattr(notes, "SETTLED", -10.0)  # their time of change is now
    read: list[int] = []

    def reading(*args: Any) -> str:
        read.append(1)
        return sources.digest(*args)

    monkeypatch.setattr(notes, "digest", reading)
    first = notes._sources()
    assert (notes._sources(), read) == (first, [1])
    (package / "notes.txt").write_text("y")
    (package / "inside" / "simulator" / "run.py").write_text("y")
    assert (notes._sources(), read) == (first, [1])
    (package / "inside" / "part.py").write_text("x = 2\n")
    os.utime(package / "inside" / "part.py", (1e9, 1e9))  # the size and the time of before
    second = notes._sources()
    assert second != first and read == [1, 1]
    monkeypatch.setattr(notes, "SETTLED", 10.0)
    (package / "inside" / "more.py").write_text("")
    third = notes._sources()
    assert third not in (first, second) and notes._sources() == third
    assert read == [1, 1, 1, 1], "a file that has just changed may change again unnoticed"
