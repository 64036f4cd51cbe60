"""Each pass on a short text: what it makes of it (goldens), and that nothing of what a program computes changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.interp_cases import bits
from support.tileir.programs import arguments, random_function

from tilewright.interp import ExecutionOptions, compile_function
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Function, Op, Value, clone_function
from tilewright.tileir.diagnostics import TileInternalError
from tilewright.tileir.ops.math import Neg
from tilewright.tileir.parser import parse
from tilewright.tileir.passes import pipeline
from tilewright.tileir.passes.manager import Pass, PassManager, name_of
from tilewright.tileir.passes.pipeline import PIPELINE, run_pipeline
from tilewright.tileir.printer import to_text
from tilewright.tileir.rewrite import Rewriter
from tilewright.tileir.rules import RuleTable
from tilewright.tileir.verifier import verify

GOLDEN = Path(__file__).parent / "passes"
SEPARATOR = "// ----- after\n"
STEPS: dict[str, Pass[Unit]] = {name_of(p): p for p in PIPELINE}
PASSES = [*STEPS, "pipeline"]


def run_named(name: str, function: Function) -> None:
    """One pass, or all of them."""
    if name in STEPS:
        STEPS[name](Unit(function))
    else:
        run_pipeline(function)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.tile")), ids=lambda p: p.stem)
def test_golden(path: Path, update_golden: bool) -> None:
    """The name of the file, up to a dash, is the pass; its text is the IR before, a separator, the IR after."""
    before, _, after = path.read_text().partition(SEPARATOR)
    function = parse(before, str(path))
    verify(function)
    run_named(path.stem.split("-")[0], function)
    verify(function)
    text = to_text(function)
    if update_golden:
        path.write_text(before + SEPARATOR + text)
    assert update_golden or text == after


def test_every_pass_has_a_golden() -> None:
    assert {path.stem.split("-")[0] for path in GOLDEN.glob("*.tile")} == set(PASSES)


def results(function: Function, seed: int, chunked: bool) -> list[np.ndarray]:
    """What the function leaves in its arrays: blocks in order, or one block in the chunked engine."""
    args: list[Any] = arguments(function, seed)
    grid = (1, 1, 1) if chunked else (2, 1, 1)
    compile_function(function).run(grid, args, ExecutionOptions(mode="chunked" if chunked else "single"))
    lists = [array for arg in args if isinstance(arg, list) for array in arg]
    return [arg for arg in args if isinstance(arg, np.ndarray)] + lists


def test_a_foreign_function_of_repeated_scalars_is_called_once() -> None:
    text = """func @k(%x: array<?xi32, strides=1>, %n: i32) {
  %zero: i32 = constant(value=0, type=tile<i32>)
  %tile: tile<8xi32> = broadcast(src=%n, shape=(8))
  %made: tile<8xi32> = foreign(args=(%tile, %tile), name="lop3.b32.ba3b3dab7198c13f", dtype=i32)
  store(array=%x, index=(%zero), value=%made, steps=(8), order=(0))
  return()
}
"""
    function = parse(text)
    run_named("canonicalise", function)
    [call] = [op for op in function.walk() if op.opcode == "foreign"]
    assert call.results[0].type.shape == ()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(5, 45), st.booleans())
def test_passes_change_no_bit(seed: int, size: int, chunked: bool) -> None:
    function = random_function(seed, size)
    want = results(function, seed, chunked)
    for name in PASSES:
        changed = clone_function(function)
        run_named(name, changed)
        verify(changed)
        for i, (got, expected) in enumerate(zip(results(changed, seed, chunked), want, strict=True)):
            assert (bits(got) == bits(expected)).all(), f"{name} changes array {i}\n{to_text(function)}"


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32))
def test_the_pipeline_is_stable(seed: int) -> None:
    """A second run finds little left: it never grows the function, and a third changes nothing that matters."""
    function = random_function(seed, 30)
    run_pipeline(function)
    size = sum(1 for _ in function.walk())
    run_pipeline(function)
    assert sum(1 for _ in function.walk()) <= size


def test_order_constraints_name_passes_of_the_pipeline() -> None:
    for earlier, later, reason in pipeline.BEFORE:
        assert earlier in PIPELINE and later in PIPELINE and reason


def test_observer_and_timer_see_every_pass() -> None:
    seen: list[str] = []
    times: list[tuple[str, float]] = []
    run_pipeline(random_function(1, 10), verify=True, observer=lambda name, f: seen.append(name),
                 timer=lambda name, seconds: times.append((name, seconds)))
    assert seen == [name_of(p) for p in PIPELINE] == [name for name, _ in times]
    assert all(seconds >= 0 for _, seconds in times)


def breaks(unit: Unit) -> None:
    del unit.function.body.ops[0]


def crashes(unit: Unit) -> None:
    raise KeyError("lost")


def crashes_at_an_op(unit: Unit) -> None:
    def rule(op: Op, rewriter: Rewriter) -> Value:
        raise KeyError("lost")

    Rewriter(RuleTable("rule", {Neg: rule})).run(unit.function)


@pytest.mark.parametrize("broken", [breaks, crashes, crashes_at_an_op])
def test_a_failing_pass_is_named(broken: Pass[Unit]) -> None:
    text = "func @k(%x: f32) {\n  %y: f32 = neg(src=%x)\n  %z: f32 = neg(src=%y)\n  return()\n}\n"
    with pytest.raises(TileInternalError) as caught:
        PassManager((broken,), (), lambda unit: verify(unit.function)).run(Unit(parse(text)), verify=True)
    assert name_of(broken) in caught.value.message and "kernel k" in caught.value.message
    assert "TILEWRIGHT_DUMP_DIR" in caught.value.hints[0]
    assert ("lost" if broken is crashes else "neg") in caught.value.message
    assert (caught.value.span.line == 2) == (broken is crashes_at_an_op)
