"""Each name of the language that works on tiles or arrays, done once: with which dtypes that is refused is tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from catalogue.cells.kinds import (
    E2M1,
    E5M3,
    TF32,
)
from catalogue.cells.reductions import REDUCTIONS
from catalogue.cells.special import COUNTS, FUNCTIONS

import tilewright as ct

Probe = Callable[[Any], Any]
RZ = ct.RoundingMode.RZ


def plainly(name: str) -> Probe:
    function = getattr(ct, name)
    return lambda t: function(t)


def reducing(name: str) -> Probe:
    """Looked up when it is called, so that a missing stub is found by the test that names it."""
    return lambda t: getattr(ct, name)(t)


# name -> what it does with one tile of eight elements.
TILES: dict[str, Probe] = {
    "add": lambda t: ct.add(t, t), "sub": lambda t: ct.sub(t, t), "mul": lambda t: ct.mul(t, t),
    "truediv": lambda t: ct.truediv(t, t), "floordiv": lambda t: ct.floordiv(t, t), "mod": lambda t: ct.mod(t, t),
    "cdiv": lambda t: ct.cdiv(t, t), "divmod": lambda t: ct.divmod(t, t), "builtin divmod": lambda t: divmod(t, t),
    "pow": lambda t: ct.pow(t, t), "minimum": lambda t: ct.minimum(t, t), "maximum": lambda t: ct.maximum(t, t),
    "builtin min": lambda t: min(t, t), "builtin max": lambda t: max(t, t), "atan2": lambda t: ct.atan2(t, t),
    "bitwise_and": lambda t: ct.bitwise_and(t, t), "bitwise_or": lambda t: ct.bitwise_or(t, t),
    "bitwise_xor": lambda t: ct.bitwise_xor(t, t), "bitwise_lshift": lambda t: ct.bitwise_lshift(t, t),
    "bitwise_rshift": lambda t: ct.bitwise_rshift(t, t), "equal": lambda t: ct.equal(t, t),
    "not_equal": lambda t: ct.not_equal(t, t), "less": lambda t: ct.less(t, t),
    "less_equal": lambda t: ct.less_equal(t, t), "greater": lambda t: ct.greater(t, t),
    "greater_equal": lambda t: ct.greater_equal(t, t),
    "operator +": lambda t: t + t, "operator -": lambda t: t - t, "operator *": lambda t: t * t,
    "operator /": lambda t: t / t, "operator //": lambda t: t // t, "operator %": lambda t: t % t,
    "operator **": lambda t: t ** t, "operator &": lambda t: t & t, "operator |": lambda t: t | t,
    "operator ^": lambda t: t ^ t, "operator <<": lambda t: t << t, "operator >>": lambda t: t >> t,
    "operator ==": lambda t: t == t, "operator !=": lambda t: t != t, "operator <": lambda t: t < t,
    "operator <=": lambda t: t <= t, "operator >": lambda t: t > t, "operator >=": lambda t: t >= t,
    "operator unary -": lambda t: -t, "operator unary +": lambda t: +t, "operator ~": lambda t: ~t,
    "operator not": lambda t: not t, "exp": ct.exp, "exp2": ct.exp2, "log": ct.log, "log2": ct.log2, "sqrt": ct.sqrt,
    "rsqrt": ct.rsqrt, "sin": ct.sin, "cos": ct.cos, "tan": ct.tan, "sinh": ct.sinh, "cosh": ct.cosh, "tanh": ct.tanh,
    "floor": ct.floor, "ceil": ct.ceil, "trunc": ct.trunc, "negative": ct.negative, "abs": ct.abs,
    "stop_gradient": ct.stop_gradient,
    "builtin abs": lambda t: abs(t), "isnan": ct.isnan, "bitwise_not": ct.bitwise_not,
    **{name: plainly(name) for name in (*FUNCTIONS, *COUNTS, "round", "isinf", "isfinite")},
    "builtin round": lambda t: round(t), "clamp": lambda t: ct.clamp(t, t, t), "any": lambda t: ct.any(t),
    "all": lambda t: ct.all(t), "any(keepdims)": lambda t: ct.any(t, keepdims=True),
    "all(keepdims)": lambda t: ct.all(t, keepdims=True), "sort": lambda t: ct.sort(t),
    "argsort": lambda t: ct.argsort(t), "topk": lambda t: ct.topk(t, 2), "histogram": lambda t: ct.histogram(t, 4),
    "sort(descending)": lambda t: ct.sort(t, descending=True), "join": lambda t: ct.join(t, t),
    "argsort(descending)": lambda t: ct.argsort(t, descending=True), "interleave": lambda t: ct.interleave(t, t),
    "topk(largest)": lambda t: ct.topk(t, 2, largest=False), "split": lambda t: ct.split(ct.reshape(t, (4, 2))),
    "take": lambda t: ct.take(t, ct.arange(4, dtype=ct.int32)), "roll": lambda t: ct.roll(t, 1), "flip": ct.flip,
    **{name: reducing(name) for name in REDUCTIONS},
    "cumsum": ct.cumsum, "cumprod": ct.cumprod, "reduce": lambda t: ct.reduce(t, 0, lambda a, b: a, 0),
    "scan": lambda t: ct.scan(t, 0, lambda a, b: a, 0), "where": lambda t: ct.where(True, t, t),
    "reshape": lambda t: ct.reshape(t, (2, 4)), "Tile.reshape": lambda t: t.reshape((2, 4)),
    "broadcast_to": lambda t: ct.broadcast_to(t, (2, 8)), "expand_dims": lambda t: ct.expand_dims(t, 0),
    "permute": lambda t: ct.permute(t, (0,)), "Tile.permute": lambda t: t.permute((0,)),
    "transpose": lambda t: ct.transpose(t[None]), "Tile.transpose": lambda t: t[None].transpose(),
    "cat": lambda t: ct.cat((t, t), 0), "extract": lambda t: ct.extract(t, (0,), (2,)),
    "Tile.extract": lambda t: t.extract((0,), (2,)), "insert": lambda t: ct.insert(t, (0,), t),
    "Tile.insert": lambda t: t.insert((0,), t), "Tile.item": lambda t: t.extract((0,), (1,)).item(),
    "pack_to_bytes": ct.pack_to_bytes, "full": lambda t: ct.full((8,), 1, t.dtype),
    "zeros": lambda t: ct.zeros((8,), t.dtype), "ones": lambda t: ct.ones((8,), t.dtype),
    "arange": lambda t: ct.arange(8, dtype=t.dtype), "astile": lambda t: ct.astile(t.extract((0,), ()), dtype=t.dtype),
    "arange(start)": lambda t: ct.arange(8, dtype=t.dtype, start=1),
    "arange(step)": lambda t: ct.arange(8, dtype=t.dtype, step=1),
    "unpack_from_bytes": lambda t: ct.unpack_from_bytes(ct.zeros((8,), ct.uint8), t.dtype),
    "matmul": lambda t: ct.matmul(t, t), "operator @": lambda t: t @ t,
    "add(rounding_mode)": lambda t: ct.add(t, t, rounding_mode=RZ),
    "sub(rounding_mode)": lambda t: ct.sub(t, t, rounding_mode=RZ),
    "mul(rounding_mode)": lambda t: ct.mul(t, t, rounding_mode=RZ),
    "truediv(rounding_mode)": lambda t: ct.truediv(t, t, rounding_mode=ct.RoundingMode.APPROX),
    "sqrt(rounding_mode)": lambda t: ct.sqrt(t, rounding_mode=ct.RoundingMode.APPROX),
    "exp(rounding_mode)": lambda t: ct.exp(t, rounding_mode=ct.RoundingMode.APPROX),
    "tanh(rounding_mode)": lambda t: ct.tanh(t, rounding_mode=ct.RoundingMode.APPROX),
    "sum(rounding_mode)": lambda t: ct.sum(t, rounding_mode=RZ),
    "prod(rounding_mode)": lambda t: ct.prod(t, rounding_mode=RZ),
    "cumsum(rounding_mode)": lambda t: ct.cumsum(t, rounding_mode=RZ),
    "cumprod(rounding_mode)": lambda t: ct.cumprod(t, rounding_mode=RZ),
    "add(flush_to_zero)": lambda t: ct.add(t, t, flush_to_zero=True),
    "sub(flush_to_zero)": lambda t: ct.sub(t, t, flush_to_zero=True),
    "mul(flush_to_zero)": lambda t: ct.mul(t, t, flush_to_zero=True),
    "truediv(flush_to_zero)": lambda t: ct.truediv(t, t, flush_to_zero=True),
    "minimum(flush_to_zero)": lambda t: ct.minimum(t, t, flush_to_zero=True),
    "maximum(flush_to_zero)": lambda t: ct.maximum(t, t, flush_to_zero=True),
    "sqrt(flush_to_zero)": lambda t: ct.sqrt(t, flush_to_zero=True),
    "rsqrt(flush_to_zero)": lambda t: ct.rsqrt(t, flush_to_zero=True),
    "exp2(flush_to_zero)": lambda t: ct.exp2(t, flush_to_zero=True),
    "sum(flush_to_zero)": lambda t: ct.sum(t, flush_to_zero=True),
    "prod(flush_to_zero)": lambda t: ct.prod(t, flush_to_zero=True),
    "max(flush_to_zero)": lambda t: ct.max(t, flush_to_zero=True),
    "min(flush_to_zero)": lambda t: ct.min(t, flush_to_zero=True),
    "cumsum(flush_to_zero)": lambda t: ct.cumsum(t, flush_to_zero=True),
    "cumprod(flush_to_zero)": lambda t: ct.cumprod(t, flush_to_zero=True),
}


def probe_atomic(name: str) -> Callable[[Any], Any]:
    function = getattr(ct, name)
    if name == "atomic_cas":
        return lambda x: function(x, 0, ct.load(x, 0, ()), ct.load(x, 1, ()))
    return lambda x: function(x, 0, ct.load(x, 0, ()))


# name -> what it does with an array of eight elements.
ATOMICS = tuple(f"atomic_{word}" for word in ("cas", "xchg", "add", "max", "min", "and", "or", "xor"))
ARRAYS: dict[str, Probe] = {name: probe_atomic(name) for name in ATOMICS}
ARRAYS |= {
    "load": lambda x: ct.load(x, 0, 8), "store": lambda x: ct.store(x, 0, ct.load(x, 0, 8)),
    "gather": lambda x: ct.gather(x, 0), "scatter": lambda x: ct.scatter(x, 0, ct.gather(x, 1)),
    "load_advanced_indexing": lambda x: x, "store_advanced_indexing": lambda x: x,
    "Array.slice": lambda x: x.slice(0, 1, 2), "Array.tiled_view": lambda x: x.tiled_view(4),
    "TiledView.load": lambda x: x.tiled_view(4).load(0), "Array.get_raw_memory": lambda x: x.get_raw_memory(),
    "TiledView.store": lambda x: x.tiled_view(4).store(0, ct.load(x, 0, 4)),
    "RawArrayMemory.load_offset": lambda x: x.get_raw_memory().load_offset(0),
    "RawArrayMemory.store_offset": lambda x: x.get_raw_memory().store_offset(0, ct.load(x, 0, ())),
    "RawArrayMemory.atomic_cas_offset": lambda x: x.get_raw_memory().atomic_cas_offset(
        0, ct.load(x, 0, ()), ct.load(x, 0, ())),
    "RawArrayMemory.atomic_xchg_offset": lambda x: x.get_raw_memory().atomic_xchg_offset(0, ct.load(x, 0, ())),
    "RawArrayMemory.atomic_add_offset": lambda x: x.get_raw_memory().atomic_add_offset(0, ct.load(x, 0, ())),
    "RawArrayMemory.atomic_max_offset": lambda x: x.get_raw_memory().atomic_max_offset(0, ct.load(x, 0, ())),
    "RawArrayMemory.atomic_min_offset": lambda x: x.get_raw_memory().atomic_min_offset(0, ct.load(x, 0, ())),
    "RawArrayMemory.atomic_and_offset": lambda x: x.get_raw_memory().atomic_and_offset(0, ct.load(x, 0, ())),
    "RawArrayMemory.atomic_or_offset": lambda x: x.get_raw_memory().atomic_or_offset(0, ct.load(x, 0, ())),
    "RawArrayMemory.atomic_xor_offset": lambda x: x.get_raw_memory().atomic_xor_offset(0, ct.load(x, 0, ())),
    "TiledView.atomic_store_add": lambda x: x.tiled_view(4).atomic_store_add(0, ct.load(x, 0, 4)),
    "TiledView.atomic_store_max": lambda x: x.tiled_view(4).atomic_store_max(0, ct.load(x, 0, 4)),
    "TiledView.atomic_store_min": lambda x: x.tiled_view(4).atomic_store_min(0, ct.load(x, 0, 4)),
    "TiledView.atomic_store_and": lambda x: x.tiled_view(4).atomic_store_and(0, ct.load(x, 0, 4)),
    "TiledView.atomic_store_or": lambda x: x.tiled_view(4).atomic_store_or(0, ct.load(x, 0, 4)),
    "TiledView.atomic_store_xor": lambda x: x.tiled_view(4).atomic_store_xor(0, ct.load(x, 0, 4)),
}
NO_ARRAYS = {kind.name: "no array has this dtype" for kind in (TF32, E5M3, E2M1)}
