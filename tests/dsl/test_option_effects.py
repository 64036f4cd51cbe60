"""No option is accepted and then ignored: each changes a result, or the code, or is a hint that its docstring names.

ROWS has two values for every option of every function of the language; a kernel is made with each.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from catalogue.cells.reductions import REDUCTIONS

import tilewright as ct
from tilewright.language.raw import RawArrayMemory

R, P, M, S = ct.RoundingMode, ct.PaddingMode, ct.MemoryOrder, ct.MemoryScope
TINY = 1e-40  # subnormal in float32


@dataclass(frozen=True)
class Row:
    """`make(value)` is a kernel of (x, m, ints, out, iout).

    `shows`: "result", other outputs and other code; "code", other code with the same outputs; "hint", speed only;
    "error", another message.
    """

    name: str
    shows: str
    values: tuple[Any, Any]
    make: Callable[[Any], Callable[..., Any]]

    def __str__(self) -> str:
        return self.name


def elementwise(name: str, option: str, shows: str, values: tuple[Any, Any], apply: Callable[[Any, Any], Any]) -> Row:
    """A row for an option of `apply(x, value)` on a tile of float32."""
    return Row(f"{name}.{option}", shows, values, lambda v: lambda x, m, ints, out, iout: ct.store(
        out, 0, apply(ct.load(x, 0, 32, padding_mode=P.ZERO), v)))


def matrix(name: str, option: str, shows: str, values: tuple[Any, Any], apply: Callable[[Any, Any], Any]) -> Row:
    """The same on an (8, 16) tile; 128 elements of the result, or as many as there are, are stored."""
    return Row(f"{name}.{option}", shows, values, lambda v: lambda x, m, ints, out, iout: ct.store(
        out, 0, flat(apply(ct.load(m, (0, 0), (8, 16)), v))))


def flat(t: Any) -> Any:
    """Float elements in one axis, weighted by position, so that moved elements are seen."""
    count = ct.static_eval(size(t.shape))
    line = ct.reshape(ct.astype(t, ct.float32), (count,))
    weights = 1 + ct.arange(count, dtype=ct.float32) * len(t.shape)
    return ct.cat((line * weights, ct.zeros((count,), ct.float32)), 0)


def size(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=int))


def arithmetic() -> Iterator[Row]:
    both = R.RM, R.RP
    yield elementwise("add", "rounding_mode", "result", both, lambda t, v: ct.add(t, 1e-9, rounding_mode=v))
    yield elementwise("sub", "rounding_mode", "result", both, lambda t, v: ct.sub(t, 1e-9, rounding_mode=v))
    yield elementwise("mul", "rounding_mode", "result", both, lambda t, v: ct.mul(t, 1.1, rounding_mode=v))
    yield elementwise("truediv", "rounding_mode", "result", both, lambda t, v: ct.truediv(t, 3.0, rounding_mode=v))
    yield elementwise("sqrt", "rounding_mode", "result", both, lambda t, v: ct.sqrt(ct.abs(t), rounding_mode=v))
    # The interpreter may be exact in every mode of these two.
    yield elementwise("exp", "rounding_mode", "code", (R.FULL, R.APPROX), lambda t, v: ct.exp(t, rounding_mode=v))
    yield elementwise("tanh", "rounding_mode", "code", (R.FULL, R.APPROX), lambda t, v: ct.tanh(t, rounding_mode=v))
    for name in ("astype", "Tile.astype"):
        yield elementwise(name, "rounding_mode", "result", (R.RN, R.RZ), lambda t, v: ct.astype(
            ct.astype(t * 1.01, ct.float16, rounding_mode=v), ct.float32))
    flush = False, True
    yield elementwise("add", "flush_to_zero", "result", flush, lambda t, v: ct.add(t, TINY, flush_to_zero=v))
    yield elementwise("sub", "flush_to_zero", "result", flush, lambda t, v: ct.sub(t, TINY, flush_to_zero=v))
    yield elementwise("mul", "flush_to_zero", "result", flush, lambda t, v: ct.mul(t, TINY, flush_to_zero=v))
    yield elementwise("truediv", "flush_to_zero", "result", flush, lambda t, v: ct.truediv(TINY, t, flush_to_zero=v))
    yield elementwise("sqrt", "flush_to_zero", "result", flush, lambda t, v: ct.sqrt(t * t * TINY, flush_to_zero=v))
    yield elementwise("rsqrt", "flush_to_zero", "result", flush, lambda t, v: ct.rsqrt(t * t * TINY, flush_to_zero=v))
    yield elementwise("exp2", "flush_to_zero", "result", flush, lambda t, v: ct.exp2(t - 140, flush_to_zero=v))
    yield elementwise("minimum", "flush_to_zero", "result", flush, lambda t, v: ct.minimum(t, TINY, flush_to_zero=v))
    yield elementwise("maximum", "flush_to_zero", "result", flush, lambda t, v: ct.maximum(t, TINY, flush_to_zero=v))
    nan = float("nan")
    yield elementwise("minimum", "propagate_nan", "result", flush, lambda t, v: ct.minimum(t, nan, propagate_nan=v))
    yield elementwise("maximum", "propagate_nan", "result", flush, lambda t, v: ct.maximum(t, nan, propagate_nan=v))


def along(name: str) -> Callable[[Any, Any], Any]:
    function = getattr(ct, name)
    return lambda t, v: function(t, v)


def keeping(name: str) -> Callable[[Any, Any], Any]:
    function = getattr(ct, name)
    return lambda t, v: function(t, 1, keepdims=v)


def reductions() -> Iterator[Row]:
    axis = (1, 0)
    keep = False, True  # `flat` weighs by the number of axes
    for name in ("any", "all"):
        yield matrix(name, "axis", "result", axis, lambda t, v, name=name: getattr(ct, name)(t > 0.5, v))
        yield matrix(name, "keepdims", "result", keep, lambda t, v, name=name: getattr(ct, name)(t, 1, keepdims=v))
    for name in REDUCTIONS:
        yield matrix(name, "axis", "result", axis, along(name))
        yield matrix(name, "keepdims", "result", keep, keeping(name))
    yield matrix("cumsum", "axis", "result", axis, lambda t, v: ct.cumsum(t, v))
    yield matrix("cumprod", "axis", "result", axis, lambda t, v: ct.cumprod(t, v))
    yield matrix("reduce", "keepdims", "result", keep, lambda t, v: ct.reduce(t, 1, ct.add, 0, keepdims=v))
    yield matrix("cumsum", "reverse", "result", keep, lambda t, v: ct.cumsum(t, 1, reverse=v))
    yield matrix("cumprod", "reverse", "result", keep, lambda t, v: ct.cumprod(t, 1, reverse=v))
    yield matrix("scan", "reverse", "result", keep, lambda t, v: ct.scan(t, 1, ct.add, 0, reverse=v))
    both = R.RM, R.RP
    yield matrix("sum", "rounding_mode", "result", both, lambda t, v: ct.sum(t, 1, rounding_mode=v))
    yield matrix("prod", "rounding_mode", "result", both, lambda t, v: ct.prod(t, 1, rounding_mode=v))
    yield matrix("cumsum", "rounding_mode", "result", both, lambda t, v: ct.cumsum(t, 1, rounding_mode=v))
    yield matrix("cumprod", "rounding_mode", "result", both, lambda t, v: ct.cumprod(t, 1, rounding_mode=v))
    yield matrix("sum", "flush_to_zero", "result", keep, lambda t, v: ct.sum(t * TINY, 1, flush_to_zero=v) * 1e30)
    yield matrix("prod", "flush_to_zero", "result", keep, lambda t, v: ct.prod(t * 3.3e-3, 1, flush_to_zero=v) * 1e30)
    yield matrix("max", "flush_to_zero", "result", keep, lambda t, v: ct.max(t * TINY, 1, flush_to_zero=v) * 1e30)
    yield matrix("min", "flush_to_zero", "result", keep, lambda t, v: ct.min(t * TINY, 1, flush_to_zero=v) * 1e30)
    yield matrix("cumsum", "flush_to_zero", "result", keep, lambda t, v: ct.cumsum(t * TINY, 1, flush_to_zero=v) * 1e30)
    yield matrix("cumprod", "flush_to_zero", "result", keep, lambda t, v: ct.cumprod(
        t * 1e-3, 1, flush_to_zero=v) * 1e30)
    yield matrix("max", "propagate_nan", "result", keep, lambda t, v: ct.max(with_nan(t), 1, propagate_nan=v))
    yield matrix("min", "propagate_nan", "result", keep, lambda t, v: ct.min(with_nan(t), 1, propagate_nan=v))
    yield matrix("argmax", "propagate_nan", "result", keep, lambda t, v: ct.argmax(with_nan(t), 1, propagate_nan=v))
    yield matrix("argmin", "propagate_nan", "result", keep, lambda t, v: ct.argmin(with_nan(t), 1, propagate_nan=v))


def orders() -> Iterator[Row]:
    axis, turn = (1, 0), (False, True)
    yield matrix("sort", "axis", "result", axis, lambda t, v: ct.sort(t, v))
    yield matrix("argsort", "axis", "result", axis, lambda t, v: ct.argsort(t, v))
    yield matrix("topk", "axis", "result", axis, lambda t, v: ct.topk(t, 2, v)[0])
    yield matrix("sort", "descending", "result", turn, lambda t, v: ct.sort(t, 1, descending=v))
    yield matrix("argsort", "descending", "result", turn, lambda t, v: ct.argsort(t, 1, descending=v))
    yield matrix("take", "axis", "result", axis, lambda t, v: ct.take(t, ct.arange(4, dtype=ct.int32), v))
    yield matrix("roll", "axis", "result", axis, lambda t, v: ct.roll(t, 1, v))
    yield matrix("flip", "axis", "result", axis, lambda t, v: ct.flip(t, v))
    yield matrix("topk", "largest", "result", turn, lambda t, v: ct.topk(t, 2, 1, largest=v)[0])


def with_nan(t: Any) -> Any:
    return ct.where(ct.arange(16, dtype=ct.int32) == 5, float("nan"), t)


def shapes_and_factories() -> Iterator[Row]:
    for name in ("transpose", "Tile.transpose"):
        for option in ("axis0", "axis1"):
            yield matrix(name, option, "result", (0, 1), lambda t, v, first=option == "axis0": ct.transpose(
                ct.reshape(t, (8, 4, 4)), v if first else 2, 2 if first else v))
    yield elementwise("astile", "dtype", "result", (ct.float32, ct.int32), lambda t, v: t * ct.sum(
        ct.astile((1.5, 2.5), dtype=v)))
    yield elementwise("arange", "dtype", "result", (ct.float32, ct.int8), lambda t, v: t + ct.arange(
        32, dtype=v, start=100, step=3))
    yield elementwise("arange", "start", "result", (0, 5), lambda t, v: t + ct.arange(32, dtype=ct.int32, start=v))
    yield elementwise("arange", "step", "result", (1, -2), lambda t, v: t + ct.arange(32, dtype=ct.int32, step=v))
    yield Row("num_tiles.order", "result", ("C", "F"), lambda v: lambda x, m, ints, out, iout: ct.store(
        iout, 0, ct.num_tiles(m, 0, (4, 4), order=v)))


def memory() -> Iterator[Row]:
    yield Row("load.order", "result", ("C", "F"), lambda v: lambda x, m, ints, out, iout: ct.store(
        out, 0, ct.reshape(ct.load(m, (0, 0), (8, 8), order=v), (64,))))
    yield Row("load.padding_mode", "result", (P.ZERO, P.NEG_INF), lambda v: lambda x, m, ints, out, iout: ct.store(
        out, 0, ct.load(x, 0, 32, padding_mode=v)))
    yield Row("load.check_bounds", "code", (True, False), lambda v: lambda x, m, ints, out, iout: ct.store(
        out, 0, ct.load(x, 0, 16, check_bounds=v)))
    yield Row("load.latency", "code", (1, 4), lambda v: lambda x, m, ints, out, iout: rounds(m, out, v))
    yield Row("load.allow_tma", "hint", (None, False), lambda v: lambda x, m, ints, out, iout: ct.store(
        out, 0, ct.load(x, 0, 16, allow_tma=v)))
    yield Row("load.memory_order", "code", (M.RELAXED, M.ACQUIRE), lambda v: lambda x, m, ints, out, iout: ct.store(
        out, 0, ct.load(x, 0, 16, memory_order=v, memory_scope=S.DEVICE)))
    yield Row("load.memory_scope", "code", (S.DEVICE, S.SYS), lambda v: lambda x, m, ints, out, iout: ct.store(
        out, 0, ct.load(x, 0, 16, memory_order=M.ACQUIRE, memory_scope=v)))
    yield Row("store.order", "result", ("C", "F"), lambda v: lambda x, m, ints, out, iout: ct.store(
        m, (0, 0), ct.reshape(ct.arange(64, dtype=ct.float32), (8, 8)), order=v))
    yield Row("store.check_bounds", "code", (True, False), lambda v: lambda x, m, ints, out, iout: ct.store(
        out, 0, ct.load(x, 0, 16), check_bounds=v))
    yield Row("store.latency", "hint", (None, 3), lambda v: lambda x, m, ints, out, iout: ct.store(
        out, 0, ct.load(x, 0, 16), latency=v))
    yield Row("store.allow_tma", "hint", (None, False), lambda v: lambda x, m, ints, out, iout: ct.store(
        out, 0, ct.load(x, 0, 16), allow_tma=v))
    yield Row("store.memory_order", "code", (M.RELAXED, M.RELEASE), lambda v: lambda x, m, ints, out, iout: ct.store(
        out, 0, ct.load(x, 0, 16), memory_order=v, memory_scope=S.DEVICE))
    yield Row("store.memory_scope", "code", (S.DEVICE, S.SYS), lambda v: lambda x, m, ints, out, iout: ct.store(
        out, 0, ct.load(x, 0, 16), memory_order=M.RELEASE, memory_scope=v))
    yield from gathers()
    yield Row("load_advanced_indexing.padding_mode", "result", (P.ZERO, P.POS_INF),
              lambda v: lambda x, m, ints, out, iout: ct.store(out, 0, flat(ct.load_advanced_indexing(
                  m, (ct.arange(4, dtype=ct.int32) * 3, ct.Slice(0, 4)), padding_mode=v))))
    for option, value in (("latency", 3), ("allow_tma", False)):
        yield Row(f"load_advanced_indexing.{option}", "hint", (None, value),
                  lambda v, o=option: lambda x, m, ints, out, iout: ct.store(out, 0, flat(ct.load_advanced_indexing(
                      m, (ct.arange(4, dtype=ct.int32), ct.Slice(0, 4)), latency=if_(o == "latency", v),
                      allow_tma=if_(o == "allow_tma", v)))))
        yield Row(f"store_advanced_indexing.{option}", "hint", (None, value),
                  lambda v, o=option: lambda x, m, ints, out, iout: ct.store_advanced_indexing(
                      m, (ct.arange(4, dtype=ct.int32), ct.Slice(0, 4)), ct.zeros((4, 4), ct.float32),
                      latency=if_(o == "latency", v), allow_tma=if_(o == "allow_tma", v)))


def if_(condition: bool, value: Any) -> Any:
    return value if condition else None


def rounds(m: Any, out: Any, latency: Any) -> None:
    total = ct.zeros((8, 4), ct.float32)
    other = ct.zeros((8, 16), ct.float32)
    for k in range(ct.num_tiles(m, 1, (8, 16))):
        t = ct.load(m, (0, k), (8, 16), latency=latency)
        other = other + ct.transpose(ct.reshape(ct.transpose(t), (8, 16)).reshape((16, 8)))
    ct.store(out, 0, ct.sum(other, 1) + ct.sum(total, 1))


def gathers() -> Iterator[Row]:
    yield Row("gather.mask", "result", (True, False), lambda v: lambda x, m, ints, out, iout: ct.store(
        out, 0, ct.gather(x, ct.load(ints, 0, 16), mask=ct.full((16,), v, ct.bool_))))
    yield Row("gather.padding_value", "result", (0, 7.5), lambda v: lambda x, m, ints, out, iout: ct.store(
        out, 0, ct.gather(x, ct.load(ints, 0, 16) + 12, padding_value=v)))
    yield Row("gather.check_bounds", "code", (True, False), lambda v: lambda x, m, ints, out, iout: ct.store(
        out, 0, ct.gather(x, ct.load(ints, 0, 16), check_bounds=v)))
    yield Row("gather.latency", "hint", (None, 3), lambda v: lambda x, m, ints, out, iout: ct.store(
        out, 0, ct.gather(x, ct.load(ints, 0, 16), latency=v)))
    yield Row("scatter.mask", "result", (True, False), lambda v: lambda x, m, ints, out, iout: ct.scatter(
        out, ct.load(ints, 0, 16), 3.0, mask=ct.full((16,), v, ct.bool_)))
    yield Row("scatter.check_bounds", "code", (True, False), lambda v: lambda x, m, ints, out, iout: ct.scatter(
        out, ct.load(ints, 0, 16), 3.0, check_bounds=v))
    yield Row("scatter.latency", "hint", (None, 3), lambda v: lambda x, m, ints, out, iout: ct.scatter(
        out, ct.load(ints, 0, 16), 3.0, latency=v))


def drop(old: Any) -> None:
    """A kernel returns nothing."""


def atomics() -> Iterator[Row]:
    orders, scopes = (M.RELAXED, M.ACQ_REL), (S.BLOCK, S.SYS)
    for name in ("cas", "xchg", "add", "max", "min", "and", "or", "xor"):
        update = (1, 5) if name == "cas" else (-6,) if name in ("min", "and") else (5,)
        function = getattr(ct, f"atomic_{name}")
        yield Row(f"atomic_{name}.check_bounds", "code", (True, False),
                  lambda v, f=function, u=update: lambda x, m, ints, out, iout: drop(f(
                      iout, ct.load(ints, 0, 16), *u, check_bounds=v)))
        yield Row(f"atomic_{name}.memory_order", "code", orders,
                  lambda v, f=function, u=update: lambda x, m, ints, out, iout: drop(f(
                      iout, ct.load(ints, 0, 16), *u, memory_order=v)))
        yield Row(f"atomic_{name}.memory_scope", "code", scopes,
                  lambda v, f=function, u=update: lambda x, m, ints, out, iout: drop(f(
                      iout, ct.load(ints, 0, 16), *u, memory_scope=v)))
        raw = getattr(RawArrayMemory, f"atomic_{name}_offset")
        yield Row(f"RawArrayMemory.atomic_{name}_offset.mask", "result", (True, False),
                  lambda v, f=raw, u=update: lambda x, m, ints, out, iout: drop(f(
                      iout.get_raw_memory(), ct.load(ints, 0, 16), *u, mask=v)))
        yield Row(f"RawArrayMemory.atomic_{name}_offset.memory_order", "code", orders,
                  lambda v, f=raw, u=update: lambda x, m, ints, out, iout: drop(f(
                      iout.get_raw_memory(), ct.load(ints, 0, 16), *u, memory_order=v)))
        yield Row(f"RawArrayMemory.atomic_{name}_offset.memory_scope", "code", scopes,
                  lambda v, f=raw, u=update: lambda x, m, ints, out, iout: drop(f(
                      iout.get_raw_memory(), ct.load(ints, 0, 16), *u, memory_scope=v)))


def views() -> Iterator[Row]:
    yield Row("Array.tiled_view.padding_mode", "result", (P.ZERO, P.NEG_INF),
              lambda v: lambda x, m, ints, out, iout: ct.store(out, 0, x.tiled_view(32, padding_mode=v).load(0)))
    yield Row("Array.tiled_view.traversal_steps", "result", (None, 3),
              lambda v: lambda x, m, ints, out, iout: ct.store(out, 0, x.tiled_view(8, traversal_steps=v).load(1)))
    yield Row("TiledView.load.check_bounds", "code", (True, False),
              lambda v: lambda x, m, ints, out, iout: ct.store(out, 0, x.tiled_view(8).load(1, check_bounds=v)))
    yield Row("TiledView.store.check_bounds", "code", (True, False),
              lambda v: lambda x, m, ints, out, iout: out.tiled_view(8).store(1, 3.0, check_bounds=v))
    for option, value in (("latency", 3), ("allow_tma", False)):
        yield Row(f"TiledView.load.{option}", "hint", (None, value),
                  lambda v, o=option: lambda x, m, ints, out, iout: ct.store(
                      out, 0, x.tiled_view(8).load(
                          1, latency=if_(o == "latency", v), allow_tma=if_(o == "allow_tma", v))))
        yield Row(f"TiledView.store.{option}", "hint", (None, value),
                  lambda v, o=option: lambda x, m, ints, out, iout: out.tiled_view(8).store(
                      1, 3.0, latency=if_(o == "latency", v), allow_tma=if_(o == "allow_tma", v)))
    yield Row("RawArrayMemory.load_offset.mask", "result", (True, False),
              lambda v: lambda x, m, ints, out, iout: ct.store(
                  out, 0, x.get_raw_memory().load_offset(ct.load(ints, 0, 16), mask=v)))
    yield Row("RawArrayMemory.load_offset.padding_value", "result", (0, 7.5),
              lambda v: lambda x, m, ints, out, iout: ct.store(
                  out, 0, x.get_raw_memory().load_offset(ct.load(ints, 0, 16), mask=False, padding_value=v)))
    yield Row("RawArrayMemory.load_offset.latency", "hint", (None, 3),
              lambda v: lambda x, m, ints, out, iout: ct.store(
                  out, 0, x.get_raw_memory().load_offset(ct.load(ints, 0, 16), latency=v)))
    yield Row("RawArrayMemory.store_offset.mask", "result", (True, False),
              lambda v: lambda x, m, ints, out, iout: out.get_raw_memory().store_offset(
                  ct.load(ints, 0, 16), 3.0, mask=v))
    yield Row("RawArrayMemory.store_offset.latency", "hint", (None, 3),
              lambda v: lambda x, m, ints, out, iout: out.get_raw_memory().store_offset(
                  ct.load(ints, 0, 16), 3.0, latency=v))


def others() -> Iterator[Row]:
    yield Row("print.sep", "code", (" ", "-"), lambda v: lambda x, m, ints, out, iout: ct.print(1, ct.bid(0), sep=v))
    yield Row("print.end", "code", ("\n", "."), lambda v: lambda x, m, ints, out, iout: ct.print(ct.bid(0), end=v))
    yield Row("assert_.message", "code", (None, "oh"), lambda v: lambda x, m, ints, out, iout: ct.assert_(
        ct.load(x, 0, 16) < 1e30, v))
    yield Row("static_assert.message", "error", (None, "oh"), lambda v: lambda x, m, ints, out, iout: ct.static_assert(
        x.ndim == 2, v))
    yield Row("mma.use_fast_acc", "hint", (False, True), lambda v: lambda x, m, ints, out, iout: ct.store(
        out, 0, ct.sum(ct.mma(ct.full((16, 32), 1, ct.float8_e4m3fn), ct.full((32, 16), 2, ct.float8_e4m3fn),
                              ct.zeros((16, 16), ct.float32), use_fast_acc=v), 1)))


ROWS = [row for part in (arithmetic, reductions, orders, shapes_and_factories, memory, atomics, views, others)
        for row in part()]
SPECS = (ct.spec("f32[20]"), ct.spec("f32[8,64]"), ct.spec("i32[20]"), ct.spec("f32[1024]"), ct.spec("i32[40]"))


def stub_of(name: str) -> Any:
    """The function that an option belongs to."""
    owner: Any = ct if not name.startswith("RawArrayMemory.") else None
    found: Any = RawArrayMemory if owner is None else owner
    for part in name.split(".")[(owner is None):-1]:
        found = getattr(found, part)
    return found


def documentation(stub: Any) -> str:
    """A docstring, and those that it refers to for its options."""
    text = inspect.getdoc(stub) or ""
    for name in re.findall(r"as (?:those of|in) `(?:ct\.)?(\w+)`", text):
        if getattr(ct, name, stub) is not stub:
            text += documentation(getattr(ct, name))
    return text


def options_of_the_language() -> set[str]:
    """Every argument with a default and every keyword of the stubs."""
    stubs = {n: getattr(ct, n) for n in ct.language.__all__}
    stubs["RawArrayMemory"] = RawArrayMemory
    for owner, thing in list(stubs.items()):
        if isinstance(thing, type):
            stubs |= {f"{owner}.{m}": f for m, f in vars(thing).items() if hasattr(f, "__tilewright_builtin__")}
    out: set[str] = set()
    for name, stub in stubs.items():
        if hasattr(stub, "__tilewright_builtin__") and not isinstance(stub, type):
            parameters = inspect.signature(stub).parameters.values()
            out |= {f"{name}.{p.name}" for p in parameters if p.kind is p.KEYWORD_ONLY or p.default is not p.empty}
    return out


def test_every_option_has_a_row() -> None:
    named = {row.name for row in ROWS}
    forgotten = ", ".join(sorted(options_of_the_language() - named))
    assert not forgotten, f"options without a row: add {forgotten} to ROWS in tests/dsl/test_option_effects.py"
    assert named <= options_of_the_language()
    assert len({row.name for row in ROWS}) == len(ROWS)


def outputs(kernel: Any) -> list[np.ndarray[Any, Any]]:
    random = np.random.default_rng(3)
    x = (random.random(20, dtype=np.float32) + 0.5) * np.float32(1.7)
    m = random.random((8, 64), dtype=np.float32) * np.float32(0.5) + np.float32(0.7)
    ints = random.permutation(20).astype(np.int32)
    out, iout = np.zeros(1024, np.float32), np.ones(40, np.int32)
    kernel[(1,)](x, m, ints, out, iout)
    return [m, out, iout]


@pytest.mark.parametrize("row", [row for row in ROWS if row.shows == "result"], ids=str)
def test_results_differ(row: Row) -> None:
    a, b = (outputs(ct.tile_kernel(row.make(value))) for value in row.values)
    assert not all(np.array_equal(p, q, equal_nan=True) for p, q in zip(a, b, strict=True))


@pytest.mark.parametrize("row", [row for row in ROWS if row.shows in ("result", "code")], ids=str)
def test_code_differs(row: Row) -> None:
    a, b = (ct.tile_kernel(row.make(value)).llvm(*SPECS, target="sm_90a") for value in row.values)
    assert a != b


@pytest.mark.parametrize("row", [row for row in ROWS if row.shows == "hint"], ids=str)
def test_hints_are_called_so_and_checked(row: Row) -> None:
    a, b = (ct.tile_kernel(row.make(value)).ir(*SPECS, passes=False) for value in row.values)
    option = row.name.rpartition(".")[2]
    reaches_no_op = option == "allow_tma" and "advanced" in row.name  # a gather has no tensor map
    assert (a != b) != reaches_no_op
    text = documentation(stub_of(row.name))
    assert f"`{option}`" in text and ("hint" in text or f"`{option}`, for float8 only, " in text)
    with pytest.raises((ct.TileTypeError, ct.TileValueError), match=option):
        ct.tile_kernel(row.make(11 if option == "latency" else "yes")).ir(*SPECS)


@pytest.mark.parametrize("row", [row for row in ROWS if row.shows == "error"], ids=str)
def test_messages_differ(row: Row) -> None:
    messages = []
    for value in row.values:
        with pytest.raises(ct.TileError) as caught:
            ct.tile_kernel(row.make(value)).ir(*SPECS)
        messages.append(caught.value.message)
    assert messages[0] != messages[1]
