"""Alias classes and conflicts: who may touch what."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.backend_ptx.simulator.entry import lower_function
from tilewright.backend_ptx.targets import get_target
from tilewright.interp.hazards import find_hazards
from tilewright.tileir.analysis.effects import Dependences, written_arrays
from tilewright.tileir.analysis.uses import parents, uses
from tilewright.tileir.core import Function, Op
from tilewright.tileir.diagnostics import TileInternalError, TileTypeError
from tilewright.tileir.parser import parse
from tilewright.tileir.plan import Aliases
from tilewright.tileir.verifier import verify

TEXT = """
func @k(%a: array<?xf32, strides=1>, %b: array<?xf32, strides=1>, %xs: list<array<?xf32, strides=1>>, %i: i32, %c: i1) {
  %zero: i32 = constant(value=0, type=tile<i32>)
  %one: i32 = constant(value=1, type=tile<i32>)
  %load_a: tile<4xf32> = load(array=%a, index=(%i), shape=(4), steps=(4), order=(0))
  %view: array<?xf32, strides=1> = slice_array(array=%a, start=%zero, stop=%i, axis=0, type=array<?xf32, strides=1>)
  %load_view: tile<4xf32> = load(array=%view, index=(%i), shape=(4), steps=(4), order=(0))
  %load_b: tile<4xf32> = load(array=%b, index=(%i), shape=(4), steps=(4), order=(0))
  %first: array<?xf32, strides=1> = list_item(list=%xs, index=%zero)
  %second: array<?xf32, strides=1> = list_item(list=%xs, index=%one)
  %load_first: tile<4xf32> = load(array=%first, index=(%i), shape=(4), steps=(4), order=(0))
  %chosen: array<?xf32, strides=1> = if(cond=%c) .then {
    yield(values=(%b))
  } .orelse {
    yield(values=(%second))
  }
  %load_chosen: tile<4xf32> = load(array=%chosen, index=(%i), shape=(4), steps=(4), order=(0))
  %acquired: tile<4xf32> = load(array=%b, index=(%i), shape=(4), steps=(4), order=(0),
                                memory_order="acquire", memory_scope="device")
  %loop: i32 = for(lower=%zero, upper=%i, step=%one, init=(%i)) .loop(%k: i32, %j: i32) {
    store(array=%a, index=(%k), value=%load_b, steps=(4), order=(0))
    yield(values=(%j))
  }
  store(array=%a, index=(%i), value=%load_a, steps=(4), order=(0))
  store(array=%b, index=(%i), value=%load_a, steps=(4), order=(0))
  store(array=%first, index=(%i), value=%load_a, steps=(4), order=(0))
  return()
}
"""


@pytest.fixture(name="function")
def fixture_function() -> Function:
    return parse(TEXT)


def named(function: Function) -> dict[str, Op]:
    """Ops by the name of their result; stores by the name of their array."""
    out: dict[str, Op] = {}
    for op in function.body.ops:
        if op.results:
            out[op.result.hint] = op
        elif op.opcode == "store":
            out[f"store_{op.operands[0].hint}"] = op
    return out


# Since %chosen may be %b or an item of %xs, those are one class.
CONFLICTS = [
    ("store_a", "load_a"), ("store_a", "load_view"), ("store_a", "loop"), ("loop", "load_a"), ("loop", "load_view"),
    ("store_b", "load_b"), ("store_b", "load_chosen"), ("store_b", "load_first"), ("store_first", "load_first"),
    ("store_first", "load_chosen"), ("store_first", "load_b"), ("store_b", "store_first"),
    ("acquired", "load_a"), ("acquired", "store_a"), ("acquired", "loop"),
]
FREE = [
    ("load_a", "load_view"), ("load_a", "load_b"), ("store_a", "load_b"), ("store_a", "store_b"), ("loop", "load_b"),
    ("loop", "store_first"), ("zero", "store_a"), ("zero", "acquired"), ("view", "store_a"), ("first", "store_first"),
]


@pytest.mark.parametrize(("one", "other"), CONFLICTS)
def test_conflicts(function: Function, one: str, other: str) -> None:
    ops, dependences = named(function), Dependences(function)
    assert dependences.may_conflict(ops[one], ops[other])
    assert dependences.may_conflict(ops[other], ops[one])


@pytest.mark.parametrize(("one", "other"), FREE)
def test_no_conflict(function: Function, one: str, other: str) -> None:
    ops, dependences = named(function), Dependences(function)
    assert not dependences.may_conflict(ops[one], ops[other])
    assert not dependences.may_conflict(ops[other], ops[one])


def test_arguments_that_share_memory_are_one_class(function: Function) -> None:
    assert (written_arrays(function), len(Dependences(function).classes(function))) == ({0, 1, 2}, 2)
    head = TEXT.strip().splitlines()[0]
    shared = parse(TEXT.replace(head, head[:-1] + "aliases(groups=((0, 1))) {"), "shared.tile")
    ops, dependences = named(shared), Dependences(shared)
    assert len(dependences.classes(shared)) == 1
    for one, other in [*CONFLICTS, ("store_a", "load_b"), ("store_a", "store_b"), ("loop", "store_first")]:
        assert dependences.may_conflict(ops[one], ops[other])
    assert not dependences.may_conflict(ops["load_a"], ops["load_b"])
    assert str(parse(str(shared), "again.tile")) == str(shared)
    assert written_arrays(parse(head[:-1] + "aliases(groups=((0, 1))) {" + """
      %v: tile<4xf32> = load(array=%b, index=(%i), shape=(4), steps=(4), order=(0))
      store(array=%a, index=(%i), value=%v, steps=(4), order=(0))
      return()
    }""", "shared.tile")) == {0, 1}, "b changes when a is written"


@pytest.mark.parametrize(("record", "message"), [
    ("groups=((0, 3))", "parameter 3 is no array"), ("groups=((0, 9))", "parameter 9 is no array"),
    ("groups=((0, 1), (1, 2))", "in two groups"), ("same=((1, 0))", "parameter 1 is used, though 0 stands for it"),
    ("same=((0, 1))", "no pair of a parameter and an earlier one"), ("same=((2, 0))", "no pair of a parameter"),
])
def test_aliases_are_checked(record: str, message: str) -> None:
    head = TEXT.strip().splitlines()[0]
    with pytest.raises(TileTypeError, match=message) as caught:
        parse(TEXT.replace(head, f"{head[:-1]}aliases({record}) {{"), "shared.tile")
    assert caught.value.span.line == 2


def test_the_verifier_looks_at_aliases_too(function: Function) -> None:
    function.aliases = Aliases(groups=((0, 1), (1, 2)))
    with pytest.raises(TileInternalError, match="in two groups"):
        verify(function)


def test_summaries_look_into_bodies(function: Function) -> None:
    ops, dependences = named(function), Dependences(function)
    summary = dependences.summary(ops["loop"])
    assert summary.writes == {function.params[0]} and not summary.reads and not summary.only_reads
    assert dependences.summary(ops["zero"]).none
    assert dependences.summary(ops["acquired"]).ordered and not dependences.summary(ops["acquired"]).only_reads


def test_output_keeps_its_order(function: Function) -> None:
    class Say(Op, opcode="test_say", io=True):
        """Output."""

        def infer(self) -> tuple[()]:
            return ()

    dependences, first, second = Dependences(function), Say(), Say()
    assert dependences.may_conflict(first, second)
    assert not dependences.may_conflict(first, named(function)["store_a"])


def test_uses_and_parents(function: Function) -> None:
    ops = named(function)
    readers = uses(function)
    assert [op.opcode for op in readers[ops["load_b"].result]] == ["store"]
    assert ops["loop"].result not in readers
    assert parents(function)[ops["loop"].blocks[0]] is ops["loop"]


HEAD = """
func @k(%a: array<?xf32, strides=1>, %b: array<?xf32, strides=1>, %xs: list<array<?xf32, strides=1>>,
        %ys: list<array<?xf32, strides=1>>, %i: i32, %c: i1) {{
  %t: tile<4xf32> = constant(value=0x1p+0, type=tile<4xf32>)
  %zero: i32 = constant(value=0, type=tile<i32>)
  {}
  store(array=%w, index=(%i), value=%t, steps=(4), order=(0))
  return()
}}
"""
ARRAY = "array<?xf32, strides=1>"
WRITTEN = {
    "a view": (f"%w: {ARRAY} = slice_array(array=%b, start=%zero, stop=%i, axis=0, type={ARRAY})", {1}),
    "a view of a view": (
        f"%v: {ARRAY} = slice_array(array=%a, start=%zero, stop=%i, axis=0, type={ARRAY})\n"
        f"%w: {ARRAY} = slice_array(array=%v, start=%zero, stop=%i, axis=0, type={ARRAY})", {0}),
    "an item of a list": (f"%w: {ARRAY} = list_item(list=%ys, index=%i)", {3}),
    "raw memory": (f"%w: {ARRAY} = raw_view(array=%a, type={ARRAY})", {0}),
    "raw memory of an item": (
        f"%v: {ARRAY} = list_item(list=%xs, index=%i)\n%w: {ARRAY} = raw_view(array=%v, type={ARRAY})", {2}),
    "one of two arrays": (
        f"%w: {ARRAY} = if(cond=%c) .then {{\n yield(values=(%a))\n }} .orelse {{\n yield(values=(%b))\n }}", {0, 1}),
    "an array or an item": (
        f"%v: {ARRAY} = list_item(list=%xs, index=%i)\n"
        f"%w: {ARRAY} = if(cond=%c) .then {{\n yield(values=(%v))\n }} .orelse {{\n yield(values=(%b))\n }}", {1, 2}),
    "what a loop carries": (
        f"%w: {ARRAY} = for(lower=%zero, upper=%i, step=%i, init=(%a)) .loop(%k: i32, %p: {ARRAY}) {{\n"
        f" %v: {ARRAY} = list_item(list=%ys, index=%k)\n yield(values=(%v))\n }}", {0, 3}),
}


@pytest.mark.parametrize("what", WRITTEN)
def test_written_arrays(what: str) -> None:
    text, expected = WRITTEN[what]
    function = parse(HEAD.format(text))
    assert written_arrays(function) == expected
    hazards = find_hazards(function, Dependences(function))
    assert hazards.written == expected and hazards.copied == frozenset()


@pytest.mark.parametrize("what", WRITTEN)
def test_the_ptx_promises_noalias_for_the_others(what: str) -> None:
    text, expected = WRITTEN[what]
    function = parse(HEAD.format(text))
    lowered = lower_function(function, get_target("sm_80"))
    params = lowered.llvm_text.split("define ")[1].split("{\n")[0].split(", ")
    promised = {lowered.abi.params[i].argument for i, p in enumerate(params) if "noalias" in p
                and lowered.abi.params[i].kind == "pointer"}
    assert promised == {0, 1} - expected


def test_short_questions_have_the_answers_of_the_long_ones() -> None:
    """`acts` and `operands`, which each class answers in the quickest way, of every op in the catalogue's dumps."""
    kinds = set()
    for file in sorted((Path(__file__).parent.parent / "catalogue" / "golden").rglob("*.tile")):
        for op in parse(file.read_text()).walk():
            kinds.add(type(op))
            assert op.acts == (op.effectful and op.effects().kept), op
            fields = [getattr(op, name) for name, field in op.fields.items() if field.kind not in ("attribute", "body")]
            read = [v for given in fields for v in (given if isinstance(given, tuple) else [given]) if v is not None]
            assert op.operands == read, op
    assert len(kinds) > 40
