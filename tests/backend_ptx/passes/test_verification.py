"""TILEWRIGHT_VERIFY names the pass after which a function is malformed: each pass, each kind of defect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from support.pass_kernels import function

from tilewright.backend_ptx import pipeline as backend
from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.ops.shared import SharedAlloc
from tilewright.backend_ptx.simulator.entry import lower_function
from tilewright.backend_ptx.targets import get_target
from tilewright.backend_ptx.verifier import verify_machine
from tilewright.tileir.analysis.unit import ALL, Preserved, Unit
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.diagnostics import TileInternalError
from tilewright.tileir.dtypes import float32, int32
from tilewright.tileir.ops.arith import Add, Constant
from tilewright.tileir.passes import pipeline as front
from tilewright.tileir.passes import run_pipeline
from tilewright.tileir.passes.manager import Pass, name_of
from tilewright.tileir.types import TileType

TARGET = get_target("sm_90a")
BACKEND = [name_of(step) for step in backend.PIPELINE]
Defect = Callable[[Function], object]


def undefined(f: Function) -> None:
    """An op reads a value that nobody defines."""
    stray = Value(TileType(int32))
    f.body.ops.insert(0, Add(lhs=stray, rhs=stray))


def wrong_type(f: Function) -> None:
    """A result has another dtype than its op computes."""
    f.body.ops.insert(0, Constant(value=1, type=TileType(int32)))
    f.body.ops[0].results[0].type = TileType(float32)


def twice(f: Function) -> None:
    """An op stands in two places."""
    f.body.ops.insert(0, f.body.ops[0])


def tiles(f: Function) -> list[Value]:
    return [v for op in f.walk() for v in op.results if isinstance(v.type, TileType) and v.type.shape]


def no_layout(f: Function) -> None:
    value = tiles(f)[-1]
    value.type = replace(value.type, layout=None)


def other_warps(f: Function) -> None:
    f.plan.warps *= 2


def two_layouts(f: Function) -> None:
    """A sum of two tiles whose elements lie in different threads."""
    shape = (64, 64)
    found = {v.type.layout: v for v in tiles(f) if v.type.shape == shape}
    assert len(found) > 1
    made = [Constant(value=0.0, type=TileType(float32, shape)) for _ in range(2)]
    for op, layout in zip(made, found, strict=False):
        op.result.lay_out(layout)
    total = Add(lhs=made[0].result, rhs=made[1].result)
    total.result.lay_out(next(iter(found)))
    f.body.ops[:0] = [*made, total]


def buffers(f: Function) -> list[SharedAlloc]:
    return [op for op in f.walk() if isinstance(op, SharedAlloc)]


def no_place(f: Function) -> None:
    buffers(f)[-1].offset = -1


def beyond_the_end(f: Function) -> None:
    f.plan.shared_bytes -= 1


def odd_place(f: Function) -> None:
    buffers(f)[0].offset += 1
    f.plan.shared_bytes += 1


def same_place(f: Function) -> None:
    for op in buffers(f):
        op.offset = 0


ANYWHERE: list[Defect] = [undefined, wrong_type, twice]
LAYOUTS: list[Defect] = [no_layout, other_warps, two_layouts]
PLACES: list[Defect] = [no_place, beyond_the_end, odd_place, same_place]


def after(name: str) -> list[str]:
    return BACKEND[BACKEND.index(name):]


SEEDED = [(name, defect) for names, defects in (
    (BACKEND, ANYWHERE), (after("assign_layouts"), LAYOUTS), (after("plan_shared_memory"), PLACES),
) for name in names for defect in defects]


def seeded(step: Pass[Any], defect: Defect) -> Pass[Any]:
    """The pass with a defect in what it leaves."""

    def run(unit: Unit) -> Preserved | None:
        preserved = step(unit)
        defect(unit.function)
        return preserved

    run.__name__ = name_of(step)
    return run


def with_defect(monkeypatch: pytest.MonkeyPatch, where: Any, number: int, defect: Defect) -> None:
    """The pipeline of a module with a defect behind one of its passes, and verification asked for."""
    recipe = list(where.PIPELINE)
    recipe[number] = seeded(recipe[number], defect)
    monkeypatch.setattr(where, "MANAGER", replace(where.MANAGER, recipe=tuple(recipe), order=()))
    monkeypatch.setenv("TILEWRIGHT_VERIFY", "1")


@pytest.mark.parametrize(("name", "defect"), SEEDED, ids=[f"{n}-{d.__name__}" for n, d in SEEDED])
def test_a_defect_behind_a_backend_pass(monkeypatch: pytest.MonkeyPatch, name: str, defect: Defect) -> None:
    with_defect(monkeypatch, backend, BACKEND.index(name), defect)
    with pytest.raises(TileInternalError) as caught:
        lower_function(function("gemm_bf16"), TARGET)
    assert caught.value.message.startswith(f"pass {name} failed on kernel "), caught.value.message


@pytest.mark.parametrize("defect", ANYWHERE)
@pytest.mark.parametrize("number", range(len(front.PIPELINE)))
def test_a_defect_behind_a_pass_of_tile_ir(monkeypatch: pytest.MonkeyPatch, number: int, defect: Defect) -> None:
    seen: list[str] = []
    with_defect(monkeypatch, front, number, defect)
    with pytest.raises(TileInternalError) as caught:
        run_pipeline(function("gemm"), observer=lambda name, f: seen.append(name))
    assert caught.value.message.startswith(f"pass {name_of(front.PIPELINE[number])} failed on kernel ")
    assert len(seen) == number  # the passes before it are not accused


def test_without_the_switch_nothing_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    with_defect(monkeypatch, front, len(front.PIPELINE) - 1, undefined)
    monkeypatch.setenv("TILEWRIGHT_VERIFY", "0")
    run_pipeline(function("gemm"))


def test_a_pass_that_preserves_less_than_it_says_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(c: Compilation) -> Preserved:
        assert c.uses and c.facts is not None and c.dependences is not None
        f = c.function
        f.body.ops.insert(0, Constant(value=1, type=TileType(int32)))
        one: Op = f.body.ops[0]
        f.body.ops.insert(1, Add(lhs=one.results[0], rhs=one.results[0]))
        return ALL

    monkeypatch.setattr(backend, "MANAGER", replace(backend.MANAGER, recipe=(careless,), order=()))
    monkeypatch.setenv("TILEWRIGHT_VERIFY", "1")
    with pytest.raises(TileInternalError, match="pass careless failed .* says to preserve uses, facts, but does not"):
        backend.run_passes(function("gemm"), TARGET)


def test_every_stage_of_a_kernel_is_well_formed() -> None:
    """What the defects are seeded into has none."""
    for target in ("sm_80", "sm_90a"):
        for name in ("gemm", "gemm_bf16", "normalise_rows", "chained_rows"):
            f = function(name)
            c = Compilation(f, get_target(target))
            backend.MANAGER.run(c, verify=True)
            verify_machine(c)
