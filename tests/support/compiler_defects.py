"""Defects put into the compiler, one at a time, for `tw.compare` to find."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import tilewright as tw
from tilewright.backend_ptx import pipeline
from tilewright.backend_ptx.lower import reduce as lower_reduce
from tilewright.backend_ptx.lower.registry import LOWERINGS
from tilewright.backend_ptx.ops.async_copy import AsyncLoad, AsyncWait
from tilewright.backend_ptx.ops.bulk import TmaLoad
from tilewright.backend_ptx.ops.shared import SharedLoad
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block
from tilewright.tileir.enums import PaddingMode, RoundingMode
from tilewright.tileir.ops import arith, control, convert, math, memory, shape
from tilewright.tileir.passes.manager import PassManager

ZERO, LOWEST = tw.PaddingMode.ZERO, tw.PaddingMode.NEG_INF


# ---- ways of putting a defect in ------------------------------------------------------------------------------------


@contextlib.contextmanager
def lowered(cls: type, lower: Callable[[Any, Any, Any], None]) -> Iterator[None]:
    """Ops of a class are lowered by `lower(the right way, context, op)`."""
    old, own = LOWERINGS.of_class(cls), cls in LOWERINGS
    LOWERINGS[cls] = lambda ctx, op: lower(old, ctx, op)
    try:
        yield
    finally:
        if own:
            LOWERINGS[cls] = old
        else:
            del LOWERINGS[cls]


def given(cls: type, change: Callable[[Any], dict[str, Any]]) -> Any:
    """Ops of a class are lowered with other fields."""
    def lower(old: Any, ctx: Any, op: Any) -> None:
        new = change(op)
        kept = {name: getattr(op, name) for name in new}
        vars(op).update(new)
        try:
            old(ctx, op)
        finally:
            vars(op).update(kept)
    return lowered(cls, lower)


def made(cls: type, change: Callable[[Any, Any, Any], Any]) -> Any:
    """The fragment that an op of a class is lowered to becomes `change(builder, fragment, op)`."""
    def lower(old: Any, ctx: Any, op: Any) -> None:
        old(ctx, op)
        ctx.set(op.result, change(ctx.b, ctx[op.result], op))
    return lowered(cls, lower)


@contextlib.contextmanager
def replaced(module: Any, name: str, wrap: Callable[[Any], Any]) -> Iterator[None]:
    """A function of the compiler is `wrap(itself)`."""
    old = getattr(module, name)
    setattr(module, name, wrap(old))
    try:
        yield
    finally:
        setattr(module, name, old)


def after(name: str, change: Callable[[Any], None]) -> Any:
    """A pass of the backend also does `change(function)`."""
    def wrap(manager: Any) -> Any:
        def broken(step: Any) -> Any:
            def run(c: Any) -> None:
                step(c)
                change(c.function)
            run.__name__ = step.__name__
            return run

        recipe = tuple(broken(step) if step.__name__ == name else step for step in manager.recipe)
        assert recipe != manager.recipe
        return PassManager(recipe, (), manager.check)
    return replaced(pipeline, "MANAGER", wrap)


def first(function: Any, cls: type, where: Callable[[Any], bool] = lambda op: True) -> Any:
    return next(op for op in function.walk() if isinstance(op, cls) and where(op))


def put_before(function: Any, op: Any, make: Callable[[Builder], Any]) -> Any:
    """What `make` emits stands in front of an op."""
    blocks = [function.body, *(block for other in function.walk() for block in other.blocks)]
    block = next(block for block in blocks if op in block.ops)
    b = Builder(Block(), op.span)
    value = make(b)
    at = block.ops.index(op)
    block.ops[at:at] = b.block.ops
    return value


def plus_one(function: Any, op: Any, value: Any) -> Any:
    return put_before(function, op, lambda b: b.value(arith.Add(lhs=value, rhs=b.number(1, value.type.dtype))))


# ---- kernels --------------------------------------------------------------------------------------------------------


@tw.tile_kernel
def chain(x, y, out):
    i = tw.bid(0)
    a = tw.load(x, i, 64)
    b = tw.load(y, i, 64)
    c = tw.where(a < b, a, -b)
    d = tw.minimum(c * a, b) + tw.floor(a)
    tw.store(out, i, tw.sqrt(abs(d)) - a / 3.0)


@tw.tile_kernel
def integers(x, y, out):
    i = tw.bid(0)
    a = tw.load(x, i, 32)
    b = tw.load(y, i, 32)
    c = (a >> 2) + a // 5
    d = tw.where(a < b, c, b)
    tw.store(out, i, d + b.astype(tw.int8).astype(tw.int32))


@tw.tile_kernel
def casts(x, out):
    i = tw.bid(0)
    t = tw.load(x, i, 64)
    h = (t * 1.1).astype(tw.float16)
    n = (t * 3.7).astype(tw.int32)
    tw.store(out, i, h.astype(tw.float32) + n.astype(tw.float32) + tw.round(t))


@tw.tile_kernel
def softmax(x, out):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (4, 64), padding_mode=LOWEST)
    e = tw.exp(t - tw.max(t, axis=1, keepdims=True))
    tw.store(out, (i, 0), e / tw.sum(e, axis=1, keepdims=True))


@tw.tile_kernel
def best(x, out):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (4, 32))
    tw.store(out, i, tw.argmax(t, axis=1))


@tw.tile_kernel
def best_of_one(x, out):
    """A thread holds one element, so that lanes exchange values with their indices."""
    i = tw.bid(0)
    tw.store(out, i, tw.argmax(tw.load(x, (i, 0), (1, 32)), axis=1))


@tw.tile_kernel
def gathers(x, index, out):
    i = tw.load(index, tw.bid(0), 32)
    t = tw.gather(x, i, mask=i % 3 != 0, padding_value=-1.0)
    tw.scatter(out, tw.bid(0) * 32 + tw.arange(32, dtype=tw.int32), t + 0.5, mask=t > 0.0)


@tw.tile_kernel
def transposed(x, out):
    i, j = tw.bid(0), tw.bid(1)
    t = tw.load(x, (i, j), (16, 32))
    u = tw.cat((t, t * 2.0), 0)
    tw.store(out, (j, i), tw.transpose(u))


@tw.tile_kernel
def running(x, out, n):
    i = tw.bid(0)
    total = tw.zeros((64,), tw.float32)
    for j in range(n):
        t = tw.load(x, (i, j), (1, 64)).reshape((64,))
        if j % 2 == 1:
            t = -t
        total = total * 0.5 + t
    tw.store(out, i, total)


@tw.tile_kernel
def halving(x, out):
    i = tw.bid(0)
    t = tw.load(x, i, 32)
    steps = 0
    while tw.max(t) > 1.0:
        t = t * 0.5
        steps += 1
    tw.store(out, i, t + tw.full((32,), steps, tw.float32))


@tw.tile_kernel
def product(a, b, c, m: tw.Constant[int], n: tw.Constant[int], depth: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((m, n), tw.float32)
    for k in range(tw.num_tiles(a, 1, (m, depth))):
        x = tw.load(a, (i, k), (m, depth), padding_mode=ZERO)
        y = tw.load(b, (k, j), (depth, n), padding_mode=ZERO)
        acc = tw.mma(x, y, acc)
    tw.store(c, (i, j), acc)


def floats(*dims: int, scale: float = 2.0) -> Any:
    return (np.random.default_rng(dims).standard_normal(dims) * scale).astype(np.float32)


def ints(*dims: int) -> Any:
    return np.random.default_rng(dims).integers(-300, 300, dims, dtype=np.int32)


ARGS: dict[Any, tuple[tuple[int, ...], Callable[[], tuple[Any, ...]]]] = {
    chain: ((3,), lambda: (floats(180), floats(1, 180)[0], np.zeros(180, np.float32))),
    integers: ((4,), lambda: (ints(120), ints(1, 120)[0], np.zeros(120, np.int32))),
    casts: ((2,), lambda: (floats(100), np.zeros(100, np.float32))),
    softmax: ((2,), lambda: (floats(8, 60), np.zeros((8, 60), np.float32))),
    best: ((2,), lambda: (ints(8, 32) // 60, np.zeros(8, np.int32))),
    best_of_one: ((8,), lambda: (ints(8, 32) // 60, np.zeros(8, np.int32))),
    gathers: ((3,), lambda: (floats(64), abs(ints(96)) % 64, np.zeros(96, np.float32))),
    transposed: ((2, 2), lambda: (floats(32, 64), np.zeros((64, 64), np.float32))),
    running: ((2,), lambda: (floats(2, 320), np.zeros(128, np.float32), 5)),
    halving: ((3,), lambda: (abs(floats(96)), np.zeros(96, np.float32))),
    product: ((1, 1), lambda: (floats(64, 96).astype(np.float16), floats(96, 64).astype(np.float16),
                               np.zeros((64, 64), np.float32), 64, 64, 32)),
}


# ---- defects --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Defect:
    """`seed()` is in force inside a with statement; `found` are the names of the op, the pass or the simulator's error
    that `compare` may give, in the kernel compiled for the target."""

    name: str
    kernel: Any
    seed: Callable[[], Any]
    found: tuple[str, ...]
    target: str = "sm_80"


def _no_mask(op: Any) -> dict[str, Any]:
    return {"mask": None}


def _zero_padding(op: Any) -> dict[str, Any]:
    return {"padding": PaddingMode.ZERO}


def _swapped(op: Any) -> dict[str, Any]:
    return {"lhs": op.rhs, "rhs": op.lhs}


def _only_out(change: Callable[[Any], dict[str, Any]]) -> Callable[[Any], dict[str, Any]]:
    """For stores of the kernel, not for those of probes."""
    return lambda op: {} if op.array.hint.startswith("probe") else change(op)


def _next_register(b: Any, value: Any, op: Any) -> Any:
    """The elements of the thread in another order."""
    return b.shuffle(value, [i ^ 1 for i in range(value.n)]) if value.n > 1 else value


def _reversed(b: Any, value: Any, op: Any) -> Any:
    return b.shuffle(value, range(value.n)[::-1]) if value.n > 1 else value


def _floored(old: Any, ctx: Any, op: Any) -> None:
    ctx.set(op.result, ctx.b.intrinsic("llvm.floor", [ctx[op.src]]))


def _carries_late() -> Any:
    """The body of a loop yields its first carried value as it came."""
    def change(op: Any) -> dict[str, Any]:
        end = op.after.terminator
        end.values = (op.after.params[0], *end.values[1:])
        return {}
    return given(control.While, change)


def _slot_ahead(function: Any) -> None:
    op = first(function, SharedLoad, lambda op: op.slot is not None)
    op.slot = plus_one(function, op, op.slot)


def _tile_ahead(cls: type) -> Callable[[Any], None]:
    def change(function: Any) -> None:
        op = first(function, cls)
        op.index = (op.index[0], plus_one(function, op, op.index[1]))
    return change


def _one_trip_less(function: Any) -> None:
    op = first(function, control.For)
    op.upper = put_before(function, op, lambda b: b.value(arith.Sub(lhs=op.upper, rhs=b.number(1))))


def _waits_less(function: Any) -> None:
    first(function, AsyncWait).pending = 3


def _wrong_lane(old: Any) -> Any:
    return lambda b, value, kind, number: old(b, value, kind, b.const("i32", 1))


def _other_wins(old: Any) -> Any:
    return lambda b, dtype, x, y, *rest: old(b, dtype, y, x, *rest)


def _largest(old: Any) -> Any:
    return lambda b, word, *rest: old(b, "max", *rest)


def _unsigned(old: Any, ctx: Any, op: Any) -> None:
    b = ctx.b
    if op.lhs.type.dtype.is_float:
        old(ctx, op)
    else:
        ctx.set(op.result, b.icmp("ult", ctx[op.lhs], ctx[op.rhs]))


def _zero_extended(old: Any, ctx: Any, op: Any) -> None:
    if op.src.type.dtype.name == "int8":
        ctx.set(op.result, ctx.b.cast("zext", ctx[op.src], "i32"))
    else:
        old(ctx, op)


def _logical(old: Any, ctx: Any, op: Any) -> None:
    ctx.set(op.result, ctx.b.binary("lshr", ctx[op.lhs], ctx[op.rhs]))


def _toward_zero(op: Any) -> dict[str, Any]:
    return {"rounding": RoundingMode.RZ} if op.result.type.dtype.is_float else {}


DEFECTS = [
    # masks
    Defect("padding of a load", softmax, lambda: given(memory.Load, _zero_padding), ("load",)),
    Defect("mask of a gather", gathers, lambda: given(memory.Gather, _no_mask), ("gather",)),
    Defect("mask of a scatter", gathers, lambda: given(memory.Scatter, _no_mask), ("scatter",)),
    Defect("branches of a select", chain, lambda: given(arith.Select, _swapped), ("select",)),
    Defect("branches of an if", running,
           lambda: given(control.If, lambda op: {"then": op.orelse, "orelse": op.then}), ("if",)),
    Defect("axes of a store", transposed,
           lambda: given(memory.Store, _only_out(lambda op: {"order": op.order[::-1]})), ("store",)),
    Defect("tiles of a store that overlap", chain,
           lambda: given(memory.Store, _only_out(lambda op: {"steps": (op.steps[0] // 2,)})), ("store", "Race")),
    # lanes and registers
    Defect("numbers of an arange", gathers, lambda: made(shape.Iota, lambda b, v, op: b.xor(v, 1)), ("iota",)),
    Defect("lanes of a maximum", softmax, lambda: replaced(lower_reduce, "from_lane", _wrong_lane), ("reduce_max",)),
    Defect("ties of an argmax", best_of_one, lambda: replaced(lower_reduce, "_second_wins", _other_wins), ("argmax",)),
    Defect("indices of an argmax", best, lambda: replaced(lower_reduce, "extreme", _largest), ("argmax",)),
    Defect("order of a transpose", transposed, lambda: made(shape.Permute, _next_register), ("permute",)),
    Defect("halves of a cat", transposed, lambda: given(shape.Cat, _swapped), ("cat",)),
    Defect("registers of a broadcast", softmax, lambda: made(shape.Broadcast, _reversed), ("broadcast",), "sm_90a"),
    Defect("row of a product's operand", product, lambda: made(
        SharedLoad, lambda b, v, op: _reversed(b, v, op) if op.buffer.hint.startswith("x") else v), ("mma", "load")),
    # stages of rings
    Defect("slot of a ring", product, lambda: after("pipeline_loops", _slot_ahead), ("pipeline_loops",)),
    Defect("tile that is copied ahead", product, lambda: after("pipeline_loops", _tile_ahead(AsyncLoad)),
           ("pipeline_loops",)),
    Defect("tile that is copied ahead by TMA", product, lambda: after("pipeline_loops", _tile_ahead(TmaLoad)),
           ("pipeline_loops",), "sm_90a"),
    Defect("last trip of a pipelined loop", product, lambda: after("pipeline_loops", _one_trip_less),
           ("pipeline_loops",)),
    Defect("wait for a stage", product, lambda: after("pipeline_loops", _waits_less), ("mma", "load", "Race")),
    # signs
    Defect("sign of a comparison", integers, lambda: lowered(arith.Lt, _unsigned), ("lt",)),
    Defect("sign of a widening", integers, lambda: lowered(convert.Cast, _zero_extended), ("cast",)),
    Defect("sign of a shift", integers, lambda: lowered(arith.Shr, _logical), ("shr",)),
    Defect("sign of a quotient", integers, lambda: lowered(
        arith.FloorDiv, lambda old, ctx, op: ctx.set(op.result, ctx.b.binary("sdiv", ctx[op.lhs], ctx[op.rhs]))),
        ("floordiv",)),
    Defect("sign of a negation", running, lambda: made(math.Neg, lambda b, v, op: b.fneg(v)), ("neg",)),
    Defect("sign of a product's sum", running, lambda: given(arith.Fma, lambda op: {"c": op.a}), ("fma",)),
    # rounding
    Defect("rounding of a cast", casts, lambda: given(convert.Cast, _toward_zero), ("cast",)),
    Defect("rounding of a sum", chain, lambda: given(arith.Add, _toward_zero), ("add",)),
    Defect("rounding of a root", chain, lambda: given(math.Sqrt, _toward_zero), ("sqrt",)),
    Defect("rounding of a quotient", chain, lambda: given(arith.Div, _toward_zero), ("div",)),
    Defect("rounding to an integer", casts, lambda: lowered(math.Round, _floored), ("round",)),
    # control flow
    Defect("condition of a while", halving, lambda: given(arith.Gt, _swapped), ("gt",)),
    Defect("what a loop carries", halving, _carries_late, ("while", "lowering")),
]
