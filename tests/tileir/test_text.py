"""The text form: print, parse and print give the same text; broken texts give located errors and nothing else."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.tileir.programs import random_function

from tilewright.tileir.core import OPS, Block, Function
from tilewright.tileir.diagnostics import NO_SPAN, Span, TileError, TileInternalError, TileSyntaxError, TileTypeError
from tilewright.tileir.dtypes import ALL, bool_, float32, float64, int32, int64
from tilewright.tileir.layout import Layout
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.control import If, Return, Yield
from tilewright.tileir.ops.math import Neg
from tilewright.tileir.parser import parse
from tilewright.tileir.plan import Decision, Hints, MachinePlan, Role
from tilewright.tileir.printer import to_text
from tilewright.tileir.types import ArrayType, ListType, SharedType, TileType, TupleType, Type
from tilewright.tileir.verifier import verify

WORKED = """\
#0 = linear<4x4, register=[(0, 1), (1, 0)], lane=[(2, 0), (0, 2)], warp=[]>

func @worked(%a: array<?x3xf32, strides=?x1>, %n: i32) hints(occupancy=2) plan(warps=4, roles=(("one", 4, none))) {
  decision num_warps = 4, "a \\"b\\""
  decision rings = "no ring"
  %x: tile<4x4xf32, #0> = constant(value=-0x1.8p+0, type=tile<4x4xf32>)
  %z: f32 = constant(value=inf, type=tile<f32>)
  %0: f32 = neg(src=%z)
  %l: tile<4x4xf32> = load(array=%a, index=(%n, %n), shape=(4, 4), steps=(4, 4), order=(0, 1), padding="zero")
  %c: i1 = lt(lhs=%z, rhs=%0)
  %r: f32 = if(cond=%c) .then {
    yield(values=(%z))
  } .orelse {
    yield(values=(%0))
  }
  %s: tile<4x4xf32> = for(lower=%n, upper=%n, step=%n, init=(%l)) .loop(%i: i32, %acc: tile<4x4xf32>) {
    %q: f32 = cast(src=%n, dtype=f32, rounding="zero")
    yield(values=(%acc))
  }
  return()
}
"""


def test_the_worked_text_is_its_own_print() -> None:
    function = parse(WORKED)
    verify(function)
    assert to_text(function) == WORKED
    assert function.hints == Hints(occupancy=2)
    assert function.plan == MachinePlan(4, roles=(Role("one", 4),))
    assert function.decisions == [Decision("num_warps", 4, 'a "b"'), Decision("rings", "no ring")]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 60))
def test_print_and_parse_are_inverse(seed: int, size: int) -> None:
    function = random_function(seed, size)
    verify(function)
    text = to_text(function)
    again = parse(text)
    verify(again)
    assert to_text(again) == text


ONLY_PASSES_MAKE = {"launched_block", "launched_blocks"}  # what they give depends on the launch, not on the grid


def test_the_generator_makes_nearly_every_op() -> None:
    made = {op.opcode for seed in range(150) for op in random_function(seed, 40).walk()}
    wanted = {name for name, cls in OPS.items() if cls.__module__.startswith("tilewright.tileir.ops.")}
    wanted -= ONLY_PASSES_MAKE
    forgotten = ", ".join(sorted(wanted - made))
    assert len(wanted & made) >= 0.9 * len(wanted), f"add to tests/support/tileir/ops.py: {forgotten}"


LAYOUT = Layout({"register": [(0, 1)], "lane": [(1, 0)]}, (2, 2))
ARRAY = ArrayType(float32, (None, 8), (8, 1), (16, 1), (1, 1), 16, True, True, int64, True)


@pytest.mark.parametrize(
    "type_",
    [*map(TileType, ALL), TileType(int32, (1, 2, 4)), TileType(float32, (2, 2), LAYOUT), ARRAY, ListType(ARRAY),
     ArrayType(float32, (), ()), ArrayType(float32, (None,), (None,)), ArrayType(int32, (0, 3), (3, -1)),
     TupleType((TileType(int32), TupleType((ARRAY,)))), TupleType(()), SharedType(float32, (8, 4)),
     SharedType(float32, (2, 2), 3, LAYOUT)],
    ids=str,
)
def test_types_survive(type_: Type) -> None:
    block = Block()
    block.add_param(type_, "p")
    block.ops.append(Return())
    [param] = parse(to_text(Function("f", block))).params
    assert param.type == type_


FLOATS = [0.0, -0.0, 1.0, 1 / 3, 5e-324, 1.7976931348623157e308, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("value", FLOATS)
def test_floats_survive(value: float) -> None:
    block = Block()
    block.ops = [Constant(value=value, type=TileType(float64)), Return()]
    op = parse(to_text(Function("f", block))).body.ops[0]
    assert isinstance(op, Constant) and isinstance(op.value, float)
    assert op.value.hex() == value.hex()


def test_hints_become_unique_names() -> None:
    block = Block()
    first, second, third = (block.add_param(TileType(float32), hint) for hint in ("x", "x", "x_1"))
    block.ops = [Neg(src=first), Neg(src=second), Neg(src=third), Return()]
    text = to_text(Function("f", block))
    assert "func @f(%x: f32, %x_1: f32, %x_1_1: f32)" in text
    assert to_text(parse(text)) == text


def test_spans_survive() -> None:
    """Of ops in a helper, over several lines and with bodies, of the function and of its decisions."""
    call = Span("kernel.py", 7, 4, 9, 2, "f")
    block = Block()
    param = block.add_param(TileType(float32), "x")
    then, orelse = Block(), Block()
    then.ops, orelse.ops = [Yield(values=())], [Yield(values=())]
    always = Constant(value=True, type=TileType(bool_))
    block.ops = [always, If(cond=always.result, then=then, orelse=orelse), Neg(src=param), Return()]
    for op in (*block.ops, *then.ops, *orelse.ops):
        op.span = call
    always.span = Span('a "b".py', 3, 0, 3, 9, "g", call)
    function = Function("f", block, span=replace(call, line=1, col=0, end_line=1, end_col=9))
    function.decisions = [Decision("warps", 4, "", call), Decision("warps", 8, "why", call), Decision("warps", 2)]
    text = to_text(function, spans=True)
    assert '@0 = "kernel.py" in "f"\n@1 = "a \\"b\\".py" in "g" from @0:7:5-9:2\n' in text
    assert ") @0:1:1-9 {\n" in text and "neg(src=%x) @0:7:5-9:2\n" in text and "decision warps = 2\n" in text
    again = parse(text)
    assert to_text(again, spans=True) == text and to_text(again) == to_text(function)
    assert again.span == function.span and [d.span for d in again.decisions] == [d.span for d in function.decisions]
    assert [op.span for op in again.walk()] == [op.span for op in function.walk()]


def test_names_may_be_used_again_in_another_scope() -> None:
    text = WORKED.replace("yield(values=(%z))", "%t: f32 = neg(src=%0) yield(values=(%t))")
    text = text.replace("    yield(values=(%0))", "    %t: f32 = neg(src=%z) yield(values=(%t))")
    printed = to_text(parse(text))
    assert "yield(values=(%t))" in printed and "yield(values=(%t_1))" in printed


BAD = {
    "unknown source": ("neg(src=%z)", "neg(src=%z) @0:1:2-3", TileSyntaxError, "@0 is not defined above"),
    "source defined twice": ("func @", '@0 = "a.py" @0 = "b.py" func @', TileSyntaxError, "@0 is defined twice"),
    "unknown op": ("neg(src", "nag(src", TileSyntaxError, "there is no operation nag"),
    "unknown value": ("src=%z", "src=%zz", TileSyntaxError, "%zz is not defined"),
    "out of scope": ("neg(src=%z)", "neg(src=%q)", TileSyntaxError, "%q is not defined"),
    "missing field": ("neg(src=%z)", "neg()", TileSyntaxError, "src is missing"),
    "unknown field": ("neg(src=%z)", "neg(src=%z, up=1)", TileSyntaxError, "neg has no field up"),
    "twice": ("neg(src=%z)", "neg(src=%z, src=%z)", TileSyntaxError, "src is given twice"),
    "defined twice": ("%0: f32", "%z: f32", TileSyntaxError, "%z is defined twice"),
    "result type": ("%0: f32", "%0: f16", TileTypeError, "%0 is written as f16, but neg gives f32"),
    "results": ("%0: f32 =", "", TileTypeError, "neg has 1 results, not 0"),
    "enum": ('"zero")\n  %c', '"nil")\n  %c', TileTypeError, "padding: expected one of 'undetermined', 'zero'"),
    "attribute type": ("order=(0, 1)", "order=1", TileTypeError, "order: expected a tuple of integers"),
    "operand for attribute": ("dtype=f32", "dtype=%n", TileTypeError, "dtype must be a constant"),
    "attribute for operand": ("src=%z", "src=1", TileTypeError, "src must be a value"),
    "type rule": ("order=(0, 1)", "order=(0, 0)", TileTypeError, "order (0, 0) is not a permutation"),
    "wrong kind of operand": ("lt(lhs=%z, rhs=%0)", "lt(lhs=%a, rhs=%a)", TileTypeError, "do not fit"),
    "terminator": ("    yield(values=(%z))\n", "", TileTypeError, "must end with a terminator"),
    "no yield": ("yield(values=(%z))", "return()", TileTypeError, "must end with yield"),
    "after terminator": ("  return()\n", "  return()\n  return()\n", TileTypeError, "nothing may follow return"),
    "no return": ("  return()\n", "", TileTypeError, "must end with return()"),
    "layout": ("f32, #0>", "f32, #1>", TileSyntaxError, "there is no line #1"),
    "layout shape": ("linear<4x4", "linear<4x2", TileTypeError, "its layout is for the shape 4x2"),
    "not a power of two": ("%x: tile<4x4xf32, #0>", "%x: tile<3x4xf32>", TileTypeError, "powers of two"),
    "dtype": ("dtype=f32", "dtype=f33", TileSyntaxError, "f33 is neither"),
    "type": ("type=tile<f32>", "type=tail<f32>", TileTypeError, "there is no type tail"),
    "syntax": ("neg(src=%z)", "neg(src %z)", TileSyntaxError, "unexpected '%z'"),
    "character": ("neg(src=%z)", "neg(src=%z]$)", TileSyntaxError, "unexpected"),
    "cut off": ("  return()\n}\n", "", TileSyntaxError, "unexpected"),
    "nesting": ("hints(occupancy=2", "hints(o=" + "(" * 5000, TileSyntaxError, ""),
    "no such record": ("hints(", "hint(", TileSyntaxError, "a function has no hint(...)"),
    "record twice": ("hints(", "hints() hints(", TileSyntaxError, "hints(...) is given twice"),
    "no such hint": ("occupancy=2", "occupation=2", TileTypeError, "hints: there is no occupation, only num_ctas"),
    "kind of hint": ("occupancy=2", 'occupancy="2"', TileTypeError, "hints: occupancy cannot be '2'"),
    "negative": ("warps=4", "warps=-4", TileTypeError, "plan: warps cannot be -4"),
    "role": ('("one", 4, none)', '("one", none)', TileTypeError, "plan: roles cannot be"),
    "decision": ('= "no ring"', "= f32", TileTypeError, "a decision is a number or a string"),
    "long integer": ("occupancy=2", "occupancy=" + "9" * 5000, TileSyntaxError, "too long"),
    "huge float": ("-0x1.8p+0", "0x1p+99999", TileTypeError, "too large"),
}


@pytest.mark.parametrize("case", BAD.values(), ids=list(BAD))
def test_mistakes_are_located(case: tuple[str, str, type[TileError], str]) -> None:
    old, new, kind, message = case
    assert old in WORKED
    text = WORKED.replace(old, new, 1)
    with pytest.raises(kind) as caught:
        parse(text)
    assert message in caught.value.message
    assert caught.value.span is not NO_SPAN and caught.value.span.line >= 1
    assert "error:" in str(caught.value)


def test_an_error_shows_the_line() -> None:
    with pytest.raises(TileSyntaxError) as caught:
        parse(WORKED.replace("neg(src", "nag(src"))
    assert "nag(src=%z)\n  |             ^^^" in str(caught.value)
    assert "did you mean" in str(caught.value)


TOKENS = ["(", ")", "{", "}", "<", ">", "=", ",", ":", "%x", "%0", "f32", "tile", "array", "#0", "-1", "0x1p+0",
          '"zero"', "?", "none", "yield", ".then", "return()", "func", "8x8xf32", "nan", "i1", "99999999999",
          "\x00", "é"]


def mutate(text: str, rng: random.Random) -> str:
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text) + 1)
        to = min(len(text), at + rng.choice([0, 1, 2, 5, 20]))
        kind = rng.randrange(4)
        if kind == 0:
            text = text[:at] + text[to:]
        elif kind == 1:
            text = text[:at] + rng.choice(TOKENS) + text[to:]
        elif kind == 2:  # one word for another word of the text
            words = text.split(" ")
            words[rng.randrange(len(words))] = rng.choice(words)
            text = " ".join(words)
        else:
            other = rng.randrange(len(text) + 1)
            text = text[:at] + text[other : other + 15] + text[at:]
    return text


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 40), st.integers(0, 2**32))
def test_mutated_texts_never_crash(seed: int, mutation: int) -> None:
    rng = random.Random(mutation)
    text = mutate(WORKED if seed == 0 else to_text(random_function(seed, 15)), rng)
    try:
        function = parse(text)
    except TileInternalError:
        raise
    except TileError as error:
        assert error.span is not NO_SPAN
        str(error)
        return
    verify(function)  # what is accepted is well formed
    printed = to_text(function)
    assert to_text(parse(printed)) == printed
