"""The verifier accepts what the builder makes and names what is wrong with anything else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.diagnostics import NO_SPAN, Span, TileInternalError, TileTypeError
from tilewright.tileir.dtypes import bool_, float32, int32
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.layout import Layout
from tilewright.tileir.ops.arith import Add, Constant
from tilewright.tileir.ops.control import For, If, Return, Yield
from tilewright.tileir.ops.math import Neg
from tilewright.tileir.ops.shape import Iota
from tilewright.tileir.parser import parse
from tilewright.tileir.types import TileType
from tilewright.tileir.verifier import verify

SPAN = Span("kernel.py", 3, 4, 3, 9)


def sample() -> Function:
    body = Block()
    x = body.add_param(TileType(float32), "x")
    n = body.add_param(TileType(int32), "n")
    build = Builder(body, SPAN)
    y = build.value(Add(lhs=x, rhs=x), "y")
    with build.into([TileType(int32), TileType(float32)], ["i", "acc"]) as loop:
        z = build.value(Neg(src=loop.params[1]), "z")
        build.emit(Yield(values=(z,)))
    build.emit(For(lower=n, upper=n, step=n, init=(y,), loop=loop), "r")
    build.emit(Return())
    return Function("k", body)


def test_the_builder_makes_verified_ir() -> None:
    function = sample()
    verify(function)
    assert [op.span for op in function.walk()] == [SPAN] * 5
    assert [v.hint for op in function.walk() for v in op.results] == ["y", "r", "z"]


def test_builder_errors_get_the_current_span() -> None:
    build = Builder(Block())
    x = Value(TileType(float32))
    with pytest.raises(TileTypeError) as caught, build.at(SPAN):
        build.emit(Add(lhs=x, rhs=Value(TileType(int32))))
    assert caught.value.span is SPAN and build.span is NO_SPAN


def ops(function: Function) -> list[Op]:
    return list(function.walk())


def undefined(f: Function) -> None:
    del f.body.ops[0]


def reordered(f: Function) -> None:
    f.body.ops[0], f.body.ops[1] = f.body.ops[1], f.body.ops[0]


def out_of_scope(f: Function) -> None:
    inner = f.body.ops[1].blocks[0].params[1]
    f.body.ops.insert(2, Neg(src=inner))


def wrong_type(f: Function) -> None:
    ops(f)[0].result.type = TileType(int32)


def stale_operand(f: Function) -> None:
    f.body.ops[1].blocks[0].terminator.values = ()  # type: ignore[attr-defined]


def no_terminator(f: Function) -> None:
    f.body.ops[1].blocks[0].ops.pop()


def terminator_inside(f: Function) -> None:
    f.body.ops.insert(0, Yield(values=()))


def no_return(f: Function) -> None:
    f.body.ops.pop()


def twice(f: Function) -> None:
    f.body.ops.insert(0, f.body.ops[0])


def shared_body(f: Function) -> None:
    block = Block([], [Yield(values=())])
    condition = f.body.add_param(TileType(bool_))
    f.body.ops.insert(0, If(cond=condition, then=block, orelse=block))


def bad_attribute(f: Function) -> None:
    ops(f)[0].ftz = 3  # type: ignore[attr-defined]


def bad_enum(f: Function) -> None:
    ops(f)[0].rounding = "nearest_even"  # type: ignore[attr-defined]


def bad_operand(f: Function) -> None:
    ops(f)[0].lhs = 1.0  # type: ignore[attr-defined]


def bad_owner(f: Function) -> None:
    f.params[0].owner = None


def odd_tile(f: Function) -> None:
    f.body.ops.insert(0, Iota(size=3, dtype=int32))


BROKEN: list[tuple[Callable[[Function], None], str]] = [
    (undefined, "not defined before"), (reordered, "not defined before"), (out_of_scope, "not in scope"),
    (wrong_type, "the results have the types (i32), its rule gives (f32)"), (stale_operand, "0 values, expected 1"),
    (no_terminator, "is no terminator"), (terminator_inside, "an op follows the terminator"),
    (no_return, "does not end with return()"), (twice, "stands in two places"), (shared_body, "shared with another op"),
    (bad_attribute, "field ftz is 3: expected true or false"), (bad_enum, "expected one of 'nearest_even'"),
    (bad_operand, "field lhs holds 1.0"), (bad_owner, "does not know that it is defined here"),
    (odd_tile, "powers of two"),
]


@pytest.mark.parametrize(("damage", "message"), BROKEN, ids=[d.__name__ for d, _ in BROKEN])
def test_damage_is_named(damage: Callable[[Function], None], message: str) -> None:
    function = sample()
    damage(function)
    with pytest.raises(TileInternalError) as caught:
        verify(function)
    assert message in caught.value.message


def test_a_failure_shows_the_op_and_its_place() -> None:
    function = sample()
    bad_attribute(function)
    with pytest.raises(TileInternalError) as caught:
        verify(function)
    assert caught.value.message.startswith("add is malformed")
    assert caught.value.span is SPAN and "add(lhs=" in caught.value.notes[0]


def test_layouts_do_not_matter_to_type_rules() -> None:
    from tilewright.tileir.layout import Layout

    layout = Layout({"register": [(1,), (2,)]}, (4,))
    constant = Constant(value=0.0, type=TileType(float32, (4,)))
    constant.result.type = TileType(float32, (4,), layout)
    added = Add(lhs=constant.result, rhs=constant.result, rounding=RoundingMode.RZ)
    verify(Function("k", Block([], [constant, added, Return()])))


def test_only_the_layout_of_a_value_may_change() -> None:
    layout = Layout([("register", [(1,)])], [2])
    value = Value(TileType(float32, (2,)))
    assert value.lay_out(layout) is value and value.type == TileType(float32, (2,), layout)
    assert value.retype(TileType(float32, (2,))).type.layout is None
    with pytest.raises(TileTypeError, match=r"tile<2xf32> cannot become tile<2xi32>: only the layout"):
        value.retype(TileType(int32, (2,)))


LOADED = "%y: tile<4xf32> = load(array=%a, index=(%i), shape=(4), steps=(4), order=(0), memory_order="
# Whatever a type rule admits must run, so that a `.tile` file that was changed by hand fails with words.
REFUSED = {
    "shl of floats": ("%y: f32 = shl(lhs=%x, rhs=%x)", "shl: expected integers"),
    "and of floats": ("%y: f32 = and(lhs=%x, rhs=%x)", "and: expected integers or bools"),
    "mod of bools": ("%y: i1 = mod(lhs=%b, rhs=%b)", "mod: expected numbers"),
    "add of bools": ("%y: i1 = add(lhs=%b, rhs=%b)", "add: expected numbers"),
    "add of e4m3": ("%y: e4m3 = add(lhs=%e, rhs=%e)", "add: expected numbers"),
    "div of integers": ("%y: i32 = div(lhs=%i, rhs=%i)", "div: expected floats"),
    "fma of integers": ("%y: i32 = fma(a=%i, b=%i, c=%i)", "fma: expected floats"),
    "cdiv of floats": ("%y: f32 = cdiv(lhs=%x, rhs=%x)", "cdiv: expected integers"),
    "neg of bools": ("%y: i1 = neg(src=%b)", "neg: expected numbers"),
    "not of floats": ("%y: f32 = not(src=%x)", "not: expected integers or bools"),
    "sqrt of integers": ("%y: i32 = sqrt(src=%i)", "sqrt: expected floats"),
    "sqrt of e4m3": ("%y: e4m3 = sqrt(src=%e)", "sqrt: expected floats"),
    "pow of bools": ("%y: i1 = pow(lhs=%b, rhs=%b)", "pow: expected numbers"),
    "the length of a scalar": ("%y: i32 = list_length(list=%i)", "list_length: expected a list, got i32"),
    "sums of arrays": ("%y: array<64xf32, strides=1> = add(lhs=%a, rhs=%a)", "add: expected numbers, got array"),
    "an array as a tile": ("%y: tile<64x1xf32> = reshape(src=%a, shape=(64, 1))", "expected a tile, got array"),
    "a buffer as a tile": ("%y: tile<4x2xf32> = permute(src=%s, axes=(1, 0))", "permute: expected a tile, got shared"),
    "a tile as index": ("%y: tile<2xf32> = extract(src=%t, index=(%u), shape=(2))", "index of type tile<4xi32>"),
    "a float as index": ("%y: tile<2xf32> = extract(src=%t, index=(%x), shape=(2))", "extract: index of type f32"),
    "a large f16": ("%y: f16 = constant(value=0x1.0p+100, type=tile<f16>)", "is no value of float16"),
    "an f16 of many digits": ("%y: f16 = constant(value=0x1.000001p+0, type=tile<f16>)", "is no value of float16"),
    "infinity in e4m3": ("%y: e4m3 = constant(value=inf, type=tile<e4m3>)", "is no value of float8_e4m3fn"),
    "a negative e8m0": ("%y: e8m0 = constant(value=-0x1.0p+0, type=tile<e8m0>)", "is no value of float8_e8m0fnu"),
    "a large tile": ("%y: tile<4096x8192xf32> = broadcast(src=%x, shape=(4096, 8192))", "at most 16777216"),
    "a divisor of 0": ("%y: i32 = assume_divisible(src=%i, divisor=0)", "the divisor is 0"),
    "a divisor of floats": ("%y: f32 = assume_divisible(src=%x, divisor=2)", "expected integers"),
    "an order without a scope": (LOADED + '"acquire")', "the order acquire needs a scope"),
    "a scope without an order": (LOADED + '"weak", memory_scope="sys")', "has no scope, but here it is sys"),
    "a load that releases": (LOADED + '"release", memory_scope="sys")', "the order cannot be release"),
    "a store that acquires": (
        'store(array=%a, index=(%i), value=%t, steps=(4), order=(0), memory_order="acquire", memory_scope="sys")',
        "the order cannot be acquire"),
    "an atomic of a cluster": (
        '%y: f32 = atomic_rmw(array=%a, indices=(%i), shape=(), memory_scope="cluster", value=%x, kind="add")',
        "needs a scope of block, device or sys, but it is cluster"),
    "an atomic that is weak": (
        '%y: f32 = atomic_rmw(array=%a, indices=(%i), shape=(), memory_order="weak", value=%x, kind="add")',
        "the order cannot be weak"),
}


@pytest.mark.parametrize("line, message", REFUSED.values(), ids=REFUSED)
def test_type_rules_refuse(line: str, message: str) -> None:
    params = ("%x: f32, %i: i32, %b: i1, %e: e4m3, %t: tile<4xf32>, %u: tile<4xi32>, %a: array<64xf32, strides=1>, "
              "%s: shared<2x4xf32>")
    with pytest.raises((TileTypeError, TileInternalError)) as caught:
        verify(parse(f"func @k({params}) {{\n  {line}\n  return()\n}}\n"))
    assert message in caught.value.message
