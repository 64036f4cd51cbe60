"""How the launcher in machine code is made, kept for other processes, loaded, and switched off."""

from __future__ import annotations

import itertools
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import fake_cuda
from support.fake_cuda import FakeCuda

import tilewright as tw
from tilewright.launching import native, notes
from tilewright.launching.launcher import Launcher
from tilewright.launching.machine import code
from tilewright.launching.machine.layout import FUNCTIONS, OBJECTS
from tilewright.launching.machine.text import ENTRIES, module

pytestmark = pytest.mark.skipif(not native.possible(), reason="an interpreter for which there is no machine code")
kept_here = pytest.mark.skipif(sys.platform != "linux" or native.platform.machine() != "x86_64",
                               reason="code is kept on x86-64 under Linux alone")

NAMES = (*FUNCTIONS, *OBJECTS)
PROGRAM = """
import sys
import numpy as np
import pytest
from support import fake_cuda
cuda = fake_cuda.install(pytest.MonkeyPatch())
import tilewright as tw
from tilewright.launching import learning, native

@tw.tile_kernel
def double(x, n: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(x, i, tw.load(x, i, n) * 2.0)

x = tw.to_device(np.ones(1000, np.float32))
double[(8,)](x, 128)
for _ in range(learning._AT_FIRST - 1):
    assert not native.ready() and native._thread is None
    double[(8,)](x, 128)
"""
MAKES_IT = PROGRAM + """
native._thread.join()
assert native.ready()
for _ in range(100):
    double[(8,)](x, 128)
assert cuda.called > 30, cuda.called
host = np.ones(1000, np.float32)
"""
FINDS_IT = PROGRAM + """
assert native.ready() and native._thread is None and "llvmlite" not in sys.modules
before = cuda.called
double[(8,)](x, 128)
assert cuda.called == before + 1
"""


def run(program: str, cache: Path) -> None:
    variables = {"TILEWRIGHT_CACHE_DIR": str(cache), "PYTHONPATH": os.pathsep.join(sys.path)}
    environment = {**os.environ, **variables}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert not done.returncode, done.stderr


@kept_here
def test_one_process_makes_it_and_others_find_it(tmp_path: Path) -> None:
    run(MAKES_IT, tmp_path)
    run(FINDS_IT, tmp_path)


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCuda]:
    yield from fake_cuda.in_place(monkeypatch, tmp_path)


METHODS: list[Any] = []  # builtins that a test has made may outlive it


@pytest.fixture
def unmade(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no process had made anything."""
    made: dict[str, Any] = {}
    METHODS.append(made)
    monkeypatch.setattr(native, "_methods", made)
    monkeypatch.setattr(native, "_looked", False)


def launches_by_code(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> bool:
    @tw.tile_kernel
    def double(x: Any) -> None:
        tw.store(x, tw.bid(0), tw.load(x, tw.bid(0), 128) * 2.0)

    fake_cuda.learning_soon(monkeypatch)
    x = tw.to_device(np.ones(1000, np.float32))
    for _ in range(5):
        double[8](x)
    before = cuda.called
    double[8](x)
    assert cuda.launches[-1] == cuda.launches[0]
    return cuda.called == before + 1


@kept_here
def test_what_is_stored_is_what_was_made(cuda: FakeCuda, unmade: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not native.find()
    native.build()
    monkeypatch.setattr(native, "_methods", {})
    monkeypatch.setattr(native, "_looked", False)
    METHODS.append(native._methods)
    monkeypatch.setattr(code, "compiled", lambda *args: pytest.fail("it is compiled again"))
    assert native.find() and launches_by_code(cuda, monkeypatch)


ODD: dict[str, dict[str, Any]] = {
    "nothing": {},
    "a part": {"launch": {"text": "c3", "holes": {}}},
    "no text": {name: {"text": "", "holes": {}} for name in ENTRIES},
    "other holes": {name: {"text": "c3" * 8, "holes": {"abort": [0]}} for name in ENTRIES},
    "holes outside": {name: {"text": "c3" * 8, "holes": {"None": [1]}} for name in ENTRIES},
    "lists": {name: [] for name in ENTRIES},
}


def test_launches_do_not_wait_while_it_is_made(cuda: FakeCuda, unmade: None, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, end = threading.Event(), threading.Event()

    def compiled(*args: Any) -> None:
        begun.set()
        assert end.wait(60)

    monkeypatch.setattr(code, "compiled", compiled)
    thread = threading.Thread(target=native.build)
    thread.start()
    assert begun.wait(60) and not native.find()
    end.set()
    thread.join()
    assert native.find()


@kept_here
def test_what_is_odd_is_made_anew(cuda: FakeCuda, unmade: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for what, odd in ODD.items():
        notes.store(native._key(), odd)
        monkeypatch.setattr(native, "_looked", False)
        assert not native.find(), what
    native.build()
    assert native.ready()


def test_where_nothing_can_be_kept(cuda: FakeCuda, unmade: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other processors and systems: LLVM links it here, and nothing is stored."""
    monkeypatch.setattr(code, "compiled", lambda *args: None)
    native.build()
    assert launches_by_code(cuda, monkeypatch) and not notes.load(native._key())


def test_without_a_cache(cuda: FakeCuda, unmade: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", "0")
    assert not native.find()
    native.build()
    assert launches_by_code(cuda, monkeypatch)


@kept_here
@pytest.mark.parametrize("entry", ENTRIES)
def test_the_holes_are_all_that_differs(entry: str) -> None:
    """Code with addresses in its holes is what is compiled for such addresses. (They lie apart: of one LLVM would
    compute another by a short step. Which of two instructions comes first may hang on the numbers.)"""
    made = code.compiled(lambda values: module(entry, values), NAMES)
    assert made is not None and len(made.text) < 6000
    text = module(entry, dict.fromkeys(NAMES, 1))
    assert text.index("define ptr @entry(") == text.index("define "), "its address is that of the code"
    assert made == code.Code.from_data(made.as_data())
    others = [{name: code._made_up(name, number) for name in NAMES} for number in range(6, 16)]
    assert any(_filled(made, there) == code._section(module(entry, there)) for there in others)


def _filled(made: code.Code, addresses: Mapping[str, int]) -> bytes:
    text = bytearray(made.text)
    for name, places in made.holes.items():
        for place in places:
            struct.pack_into("<Q", text, place, addresses[name])
    return bytes(text)


UNFIT = {
    "a part of an address": "define i64 @entry() {{\n %a = add i64 {None}, 0\n %b = lshr i64 %a, 8\n"
        " ret i64 %b\n}}",
    "a constant elsewhere": "@c = internal constant [2 x i64] [i64 {None}, i64 1]\ndefine i64 @entry(i64 %i) {{\n"
        "%p = getelementptr i64, ptr @c, i64 %i\n%v = load i64, ptr %p\n ret i64 %v\n}}",
    "an address that decides": "define i64 @entry() {{\n %a = and i64 {None}, 1\n ret i64 %a\n}}",
}


@pytest.mark.parametrize("what", UNFIT)
def test_code_that_cannot_be_kept(what: str) -> None:
    def text(values: Mapping[str, int]) -> str:
        return UNFIT[what].format(**values)

    numbers = (n << 40 | n & 1 for n in itertools.count(4711))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code, "_made_up", lambda name, number: next(numbers))
        assert code.compiled(text, ("None",)) is None


def test_free_threaded_builds_and_other_interpreters_stay_with_python(
    unmade: None, monkeypatch: pytest.MonkeyPatch,
) -> None:
    for patched, name, value in (
        (native.platform, "python_implementation", lambda: "PyPy"),
        (native.sysconfig, "get_config_var", lambda name: 1 if name == "Py_GIL_DISABLED" else None),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(patched, name, value)
            assert not native.possible()
            native.build()
            assert not native.ready() and not native.find()


def test_the_switch_leaves_all_launches_to_python(
    cuda: FakeCuda, unmade: None, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TILEWRIGHT_LAUNCHER", "0")
    described: list[Any] = []
    monkeypatch.setattr(Launcher, "words", lambda *args: described.append(args))

    @tw.tile_kernel
    def double(x: Any) -> None:
        tw.store(x, tw.bid(0), tw.load(x, tw.bid(0), 128) * 2.0)

    x = tw.to_device(np.ones(1000, np.float32))
    for _ in range(200):
        double[8](x)
    assert len(cuda.launches) == 200 and not cuda.called and not native.ready() and not described
