"""Live ranges: where they differ from the textbook's."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilewright.backend_ptx.ops  # noqa: F401  (the parser knows machine ops)
from tilewright.backend_ptx.resources.registers import live_registers
from tilewright.tileir.analysis.words import is_uniform
from tilewright.tileir.core import Value
from tilewright.tileir.parser import parse

ROW = (Path(__file__).parents[1] / "passes" / "golden" / "relieve_pressure-spill.tile").read_text()
"""A row of 64 registers in each thread (32 as it is loaded), of which 16 are kept across a reduction."""


def live(*changes: tuple[str, str]) -> int:
    text = ROW
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return live_registers(parse(text))


@pytest.mark.parametrize("count", [0, 32, 64])
def test_of_a_kept_tile_only_the_first_registers_are_live(count: int) -> None:
    assert live(("count=16", f"count={count}")) == live() + count - 16


def test_widened_floats_live_in_their_source() -> None:
    """They are widened again at each use, and what few cheap ops make of them is rematerialised; other casts, and
    functions, take registers of their own."""
    last = "%r: tile<1x32768xbf16, #0> = cast(src=%q, dtype=bf16)"
    sum_ = "%w: tile<1x32768xf32, #0> = add(lhs=%q, rhs=%f)\n  " + last.replace("%q", "%w")
    assert live((last, sum_)) == live() + 32
    assert live((last, sum_), ("%f: tile<1x32768xf32, #0> = cast(src=%t, dtype=f32)",
                               "%g: tile<1x32768xf32, #0> = cast(src=%t, dtype=f32)\n  "
                               "%f: tile<1x32768xf32, #0> = abs(src=%g)")) == live() + 32
    assert live((last, sum_), ("%f: tile<1x32768xf32, #0> = cast(src=%t, dtype=f32)",
                               "%g: tile<1x32768xf32, #0> = cast(src=%t, dtype=f32)\n  "
                               "%f: tile<1x32768xf32, #0> = sqrt(src=%g)")) == live() + 64


def test_what_is_made_of_indices_is_found_in_as_many_steps_as_it_has_ops() -> None:
    """Each square uses the one before twice: 64 of them had taken 2 to the power 64 steps."""
    squares = [f"%i{k + 1}: tile<64xi32> = mul(lhs=%i{k}, rhs=%i{k})" for k in range(64)]
    ops = ["%i0: tile<64xi32> = iota(size=64, dtype=i32)", *squares, "return()"]
    function = parse("func @squares() {\n  " + "\n  ".join(ops) + "\n}")
    assert is_uniform(function.body.ops[-2].results[0])


def test_answers_of_a_chain_follow_from_its_end() -> None:
    """Whether each value of a chain is uniform takes the time of one walk, whichever is asked for first."""
    squares = [f"%i{k + 1}: tile<64xi32> = mul(lhs=%i{k}, rhs=%j)" for k in range(64)]
    for first, answer in ("iota(size=64, dtype=i32)", True), ("reduce_max(src=%k, axes=(1))", False):
        ops = ["%j: tile<64xi32> = iota(size=64, dtype=i32)", "%k: tile<64x1xi32> = reshape(src=%j, shape=(64, 1))",
               f"%i0: tile<64xi32> = {first}", *squares, "return()"]
        function = parse("func @squares() {\n  " + "\n  ".join(ops) + "\n}")
        known: dict[Value, bool] = {}
        assert is_uniform(function.body.ops[-2].results[0], known) is answer
        assert all(known[op.results[0]] is answer for op in function.body.ops[2:-1])
