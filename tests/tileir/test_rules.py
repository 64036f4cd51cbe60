"""Tables of rules: found along base classes, named when missing, at most one for each op."""

from __future__ import annotations

import pytest

import tilewright.backend_ptx.lower.families  # noqa: F401
import tilewright.backend_ptx.ops  # noqa: F401  (the parser must know the machine ops)
from tilewright.backend_ptx.lower.registry import LOWERINGS, REFUSALS
from tilewright.interp.handlers import missing_handlers
from tilewright.interp.lowering import HANDLERS
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import OPS, Op, Value
from tilewright.tileir.dtypes import float32
from tilewright.tileir.ops.arith import Add
from tilewright.tileir.ops.math import Integral, Neg, Trunc
from tilewright.tileir.ops.reduce import ReduceMax, ReduceSum, Reduction
from tilewright.tileir.parser import parse
from tilewright.tileir.passes.simplify_ranges import simplify_ranges
from tilewright.tileir.printer import to_text
from tilewright.tileir.rules import RuleTable
from tilewright.tileir.types import TileType


def op_of(cls: type[Op]) -> Op:
    src = Value(TileType(float32, (8,)))
    return cls(src=src, axes=(0,)) if issubclass(cls, Reduction) else cls(src=src)


def test_the_nearest_base_class_answers() -> None:
    table = RuleTable("word", {Op: "any", Reduction: "reduction", ReduceMax: "maximum"})
    assert [table.of(op_of(cls)) for cls in (Neg, ReduceSum, ReduceMax)] == ["any", "reduction", "maximum"]


def test_a_rule_that_comes_later_is_found() -> None:
    table = RuleTable("word", {Op: "any"})
    assert table.of(op_of(Trunc)) == "any"
    table.add(Integral, "integral")
    assert table.of(op_of(Trunc)) == "integral"
    del table[Integral]
    assert table.of(op_of(Trunc)) == "any"


def test_an_opcode_is_as_good_as_its_class() -> None:
    table = RuleTable[str]("word")
    table.add("neg", "by name")
    assert table.of(op_of(Neg)) == table[Neg] == table["neg"] == "by name"
    assert Neg in table and "neg" in table and Trunc not in table


def test_two_rules_for_an_op_are_refused() -> None:
    table = RuleTable("word", {Neg: "first"})
    with pytest.raises(AssertionError, match=r"neg has two rules \(word\)"):
        table.add("neg", "second")


def test_missing_names_ops_and_leaves_out_terminators() -> None:
    table = RuleTable("word", {Reduction: "reduction"})
    assert table.missing([ReduceSum, Add, Neg, OPS["yield"], Reduction]) == ["add", "neg"]


@pytest.mark.parametrize("table, opcode", [(HANDLERS, "neg"), (LOWERINGS, "permute")])
def test_a_forgotten_rule_is_named(table: RuleTable[object], opcode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    missing_handlers()  # fills the table
    before = set(LOWERINGS.missing(OPS.values())) - REFUSALS.keys() if table is LOWERINGS else set(missing_handlers())
    monkeypatch.delitem(table, opcode)
    after = set(LOWERINGS.missing(OPS.values())) - REFUSALS.keys() if table is LOWERINGS else set(missing_handlers())
    assert after - before == {opcode}


WAITS = """func @k(%x: tile<64x64xf32>, %c: i32) {
  wgmma_wait(accs=())
  %y: tile<64x64xf32> = wgmma_wait(accs=(%x))
  %zero: i32 = constant(value=0, type=tile<i32>)
  %two: i32 = constant(value=2, type=tile<i32>)
  %m: i32 = mod(lhs=%zero, rhs=%two)
  return()
}
"""


def test_ranges_meet_ops_of_one_class_with_and_without_results() -> None:
    """`wgmma_wait` gives as many results as it takes accumulators: none, one or several."""
    function = parse(WAITS)
    simplify_ranges(Unit(function))
    assert [line for line in to_text(function).splitlines() if "wgmma_wait" in line] == WAITS.splitlines()[1:3]
    assert "mod" not in to_text(function)


@pytest.mark.parametrize("mask, most, goes", [(7, 7, True), (7, 8, False), (2, 2, False), (5, 5, False), (0, 0, True),
                                              (6, 6, False), (1, 1, True), (3, 2, True)])
def test_a_mask_goes_where_it_keeps_every_bit(mask: int, most: int, goes: bool) -> None:
    """`i` is 0..most: a mask with a hole changes some of those."""
    function = parse(f"""func @k(%n: i32) {{
  %zero: i32 = constant(value=0, type=tile<i32>)
  %one: i32 = constant(value=1, type=tile<i32>)
  %end: i32 = constant(value={most + 1}, type=tile<i32>)
  %mask: i32 = constant(value={mask}, type=tile<i32>)
  %r: i32 = for(lower=%zero, upper=%end, step=%one, init=(%zero)) .loop(%i: i32, %a: i32) {{
    %b: i32 = and(lhs=%i, rhs=%mask)
    %c: i32 = add(lhs=%a, rhs=%b)
    yield(values=(%c))
  }}
  return()
}}
""")
    simplify_ranges(Unit(function))
    assert ("and(" not in to_text(function)) == goes
