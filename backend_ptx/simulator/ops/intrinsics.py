"""The llvm.* functions that the backend calls. Names are looked up without their type suffixes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from tilewright.backend_ptx.simulator.errors import Unsupported
from tilewright.backend_ptx.simulator.machine.code import Operation
from tilewright.backend_ptx.simulator.machine.compile import FunctionCompiler, OperationTable
from tilewright.backend_ptx.simulator.machine.state import Machine, Registers
from tilewright.backend_ptx.simulator.numbers import directed, floats
from tilewright.backend_ptx.simulator.numbers.approximate import approximate, divide_full
from tilewright.backend_ptx.simulator.numbers.integers import signed, unsigned
from tilewright.backend_ptx.simulator.ops import foreign, output, warp
from tilewright.backend_ptx.simulator.ops.arith import pure, with_ftz
from tilewright.backend_ptx.simulator.text.ir import LlvmInstruction
from tilewright.backend_ptx.simulator.text.types import numpy_type

Array = np.ndarray[Any, Any]
OPERATIONS = OperationTable()
Build = Callable[[FunctionCompiler, LlvmInstruction], Operation]


def _signed_pick(better: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    return lambda a, b: np.where(better(signed(a), signed(b)), a, b)


def _count_leading(a: Array, *_: Array) -> Array:
    width = a.dtype.itemsize * 8
    out = np.full(a.shape, width, a.dtype)
    for bit in range(width):
        out = np.where(a >> a.dtype.type(bit) != 0, a.dtype.type(width - 1 - bit), out)
    return out


def _count_trailing(a: Array, *_: Array) -> Array:
    lowest: Array = a & (~a + a.dtype.type(1))
    below = np.bitwise_count(lowest - a.dtype.type(1)).astype(a.dtype)
    return np.asarray(np.where(a == 0, a.dtype.type(a.dtype.itemsize * 8), below))


def _funnel_left(a: Array, b: Array, n: Array) -> Array:
    width = a.dtype.type(a.dtype.itemsize * 8)
    n = n % width
    return np.where(n == 0, a, (a << n) | (b >> ((width - n) % width)))


def _funnel_right(a: Array, b: Array, n: Array) -> Array:
    width = a.dtype.type(a.dtype.itemsize * 8)
    n = n % width
    return np.where(n == 0, b, (b >> n) | (a << ((width - n) % width)))


def _saturated(function: Callable[[Array, Array], Array], is_signed: bool) -> Callable[[Array, Array], Array]:
    def run(a: Array, b: Array) -> Array:
        kind = np.dtype(f"{'i' if is_signed else 'u'}{a.dtype.itemsize}")
        limits = np.iinfo(kind)
        exact = function(a.view(kind).astype(object), b.view(kind).astype(object))
        return np.asarray(np.clip(exact, limits.min, limits.max).astype(kind).view(a.dtype))

    return run


def _overflow(function: Callable[[Array, Array], Array], is_signed: bool) -> Callable[[Array, Array], Any]:
    def run(a: Array, b: Array) -> Any:
        kind = np.dtype(f"{'i' if is_signed else 'u'}{a.dtype.itemsize}")
        exact = function(a.view(kind).astype(object), b.view(kind).astype(object))
        wrapped = function(a, b)
        return wrapped, np.asarray(wrapped.view(kind).astype(object) != exact, bool)

    return run


def _high_half(is_signed: bool) -> Callable[[Array, Array], Array]:
    def run(a: Array, b: Array) -> Array:
        kind = np.dtype(f"{'i' if is_signed else 'u'}{a.dtype.itemsize}")
        width = a.dtype.itemsize * 8
        product = (a.view(kind).astype(object) * b.view(kind).astype(object)) >> width
        return np.asarray((product & ((1 << width) - 1)).astype(a.dtype))

    return run


def _is_class(a: Array, mask: Array) -> Array:
    """llvm.is.fpclass: whether a float is of one of the classes in the mask, bit by bit (LLVM's language reference)."""
    normal = ml_dtypes.finfo(a.dtype).smallest_normal  # type: ignore[no-untyped-call]
    tiny, minus = np.abs(a) < normal, np.signbit(a)
    plain = np.isfinite(a) & ~tiny
    classes = (np.zeros(a.shape, bool), np.isnan(a), np.isinf(a) & minus, plain & minus, tiny & (a != 0) & minus,
               (a == 0) & minus, (a == 0) & ~minus, tiny & (a != 0) & ~minus, plain & ~minus, np.isinf(a) & ~minus)
    wanted = int(mask.ravel()[0])
    return np.asarray(np.any([c for bit, c in enumerate(classes) if wanted >> bit & 1], axis=0))


def _permuted(low: Any, high: Any, selector: Any) -> Any:
    """prmt: each nibble of the selector names a byte of both words, or (8 and more) its sign."""
    both = low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)
    out = np.zeros_like(low)
    for place in range(4):
        nibble = (selector >> np.uint32(4 * place)).astype(np.uint64) & np.uint64(15)
        byte = both >> (nibble & np.uint64(7)) * np.uint64(8) & np.uint64(255)
        byte = np.where(nibble > 7, np.where(byte > 127, np.uint64(255), np.uint64(0)), byte)
        out |= byte.astype(np.uint32) << np.uint32(8 * place)
    return out


_PURE: dict[str, Callable[..., Any]] = {
    "llvm.is.fpclass": _is_class,
    "llvm.fabs": np.abs, "llvm.floor": np.floor, "llvm.ceil": np.ceil, "llvm.trunc": np.trunc,
    "llvm.rint": np.rint, "llvm.nearbyint": np.rint, "llvm.roundeven": np.rint,
    "llvm.round": lambda a: np.copysign(np.trunc(np.abs(a) + np.nextafter(a.dtype.type(0.5), a.dtype.type(0))), a),
    "llvm.copysign": np.copysign, "llvm.canonicalize": lambda a: a,
    "llvm.ldexp": lambda a, n: np.ldexp(a, signed(n)),
    "llvm.minimum": floats.minimum, "llvm.maximum": floats.maximum, "llvm.minnum": floats.minimum_number,
    "llvm.maxnum": floats.maximum_number, "llvm.minimumnum": floats.minimum_number,
    "llvm.maximumnum": floats.maximum_number,
    "llvm.smax": _signed_pick(np.greater), "llvm.smin": _signed_pick(np.less), "llvm.umax": np.maximum,
    "llvm.umin": np.minimum, "llvm.abs": lambda a, _: unsigned(np.abs(signed(a))),
    "llvm.ctpop": lambda a: np.bitwise_count(a).astype(a.dtype), "llvm.ctlz": _count_leading,
    "llvm.cttz": _count_trailing, "llvm.bswap": lambda a: a.byteswap(), "llvm.fshl": _funnel_left,
    "llvm.fshr": _funnel_right, "llvm.expect": lambda a, _: a,
    "llvm.sadd.sat": _saturated(np.add, True), "llvm.ssub.sat": _saturated(np.subtract, True),
    "llvm.uadd.sat": _saturated(np.add, False), "llvm.usub.sat": _saturated(np.subtract, False),
    "llvm.sadd.with.overflow": _overflow(np.add, True), "llvm.smul.with.overflow": _overflow(np.multiply, True),
    "llvm.ssub.with.overflow": _overflow(np.subtract, True), "llvm.uadd.with.overflow": _overflow(np.add, False),
    "llvm.umul.with.overflow": _overflow(np.multiply, False), "llvm.usub.with.overflow": _overflow(np.subtract, False),
    "llvm.nvvm.mulhi.i": _high_half(True), "llvm.nvvm.mulhi.ui": _high_half(False),
    "llvm.nvvm.mulhi.ll": _high_half(True), "llvm.nvvm.mulhi.ull": _high_half(False),
    "llvm.nvvm.div.full": lambda a, b: divide_full(False, a, b),
    "llvm.nvvm.div.full.ftz": lambda a, b: divide_full(True, a, b),
    "llvm.nvvm.div.approx.f": lambda a, b: divide_full(False, a, b),
    "llvm.nvvm.div.approx.ftz.f": lambda a, b: divide_full(True, a, b),
    "llvm.nvvm.rcp.rn.f": lambda a: np.float32(1) / a, "llvm.nvvm.rcp.rn.d": lambda a: 1.0 / a,
    "llvm.nvvm.sqrt.rn.f": np.sqrt, "llvm.nvvm.sqrt.rn.d": np.sqrt,
    "llvm.nvvm.saturate.f": lambda a: np.clip(np.nan_to_num(a, nan=0.0), 0, 1),
    "llvm.nvvm.prmt": _permuted,
    "llvm.nvvm.f2tf32.rna": lambda a: floats.to_tf32(a).view(np.uint32),
    "llvm.nvvm.lohi.i2d": lambda low, high: ((high.astype(np.uint64) << np.uint64(32)) | low).view(np.float64),
    "llvm.nvvm.d2i.lo": lambda a: a.view(np.uint64).astype(np.uint32),
    "llvm.nvvm.d2i.hi": lambda a: (a.view(np.uint64) >> np.uint64(32)).astype(np.uint32),
}
# These honour the kernel's flush-to-zero attribute.
_ROUNDED: dict[str, Callable[..., Any]] = {"llvm.fma": floats.fma, "llvm.sqrt": np.sqrt, "llvm.fmuladd": floats.fma}

for _name in ("ex2", "lg2", "rcp", "rsqrt", "sqrt", "sin", "cos", "tanh"):
    for _ftz in (False, True):
        _PURE[f"llvm.nvvm.{_name}.approx{'.ftz' if _ftz else ''}"] = (
            lambda x, name=_name, ftz=_ftz: approximate(name, ftz, x)
        )


def _cvt_rzi(source: str, is_signed: bool, bits: int) -> Callable[[Array], Array]:
    # What cvt makes of NaN: zero, but the sign bit where float64 or a 64-bit integer is involved (PTX ISA, cvt).
    nan = 1 << (bits - 1) if source == "d" or bits == 64 else 0
    return lambda a: floats.to_integer(a, bits, is_signed, nan)


for _source in "fd":
    for _to, _signed, _bits in (("i", True, 32), ("ui", False, 32), ("ll", True, 64), ("ull", False, 64)):
        _PURE[f"llvm.nvvm.{_source}2{_to}.rz"] = _cvt_rzi(_source, _signed, _bits)
for _name, _model in directed.models():
    _PURE.setdefault(_name, _model)
# LLVM lowers these to the approximate instruction, whatever the flags.
_EXPANDED = {"llvm.exp2": "ex2", "llvm.sin": "sin", "llvm.cos": "cos", "llvm.tanh": "tanh", "llvm.log2": "lg2"}

_IGNORED = (
    "llvm.assume", "llvm.lifetime.start", "llvm.lifetime.end", "llvm.dbg.value", "llvm.dbg.declare",
    "llvm.experimental.noalias.scope.decl", "llvm.donothing", "llvm.nvvm.membar.cta", "llvm.nvvm.membar.gl",
    "llvm.nvvm.membar.sys",
)


def _fp8_pair(kind: str) -> Callable[[Array, Array], Array]:
    def run(high: Array, low: Array) -> Array:
        upper = floats.to_fp8(high, kind).astype(np.uint16) << np.uint16(8)
        return upper | floats.to_fp8(low, kind).astype(np.uint16)

    return run


def _fp8_values(kind: str) -> Callable[[Array], Array]:
    def run(pair: Array) -> Array:
        parts = [floats.from_fp8(((pair >> np.uint16(s)) & np.uint16(255)).astype(np.uint8), kind) for s in (0, 8)]
        return np.stack(parts, axis=1).astype(np.float16)

    return run


for _kind in ("e4m3", "e5m2"):
    _PURE[f"llvm.nvvm.ff.to.{_kind}x2.rn"] = _fp8_pair(_kind)
    _PURE[f"llvm.nvvm.{_kind}x2.to.f16x2.rn"] = _fp8_values(_kind)


def _sat(is_signed: bool) -> Build:
    def build(c: FunctionCompiler, i: LlvmInstruction) -> Operation:
        width = numpy_type(i.type).itemsize * 8
        return pure(c, i, lambda a: floats.to_integer(a, width, is_signed))

    return build


def _vector_reduce(ufunc: Callable[..., Array], as_signed: bool = False) -> Build:
    def build(c: FunctionCompiler, i: LlvmInstruction) -> Operation:
        if as_signed:
            return pure(c, i, lambda v: unsigned(ufunc(signed(v), axis=1)))
        return pure(c, i, lambda v: ufunc(v, axis=1, dtype=v.dtype) if v.dtype != bool else ufunc(v, axis=1))

    return build


def _ordered_reduce(ufunc: Callable[[Array, Array], Array]) -> Build:
    """llvm.vector.reduce.fadd(start, v): lane after lane, which LLVM keeps without `reassoc`."""

    def run(start: Array, v: Array) -> Array:
        for lane in range(v.shape[1]):
            start = ufunc(start, v[:, lane])
        return start

    return lambda c, i: pure(c, i, run)


def _lane_reduce(function: Callable[[Array, Array], Array]) -> Build:
    def run(v: Array) -> Array:
        out = v[:, 0]
        for lane in range(1, v.shape[1]):
            out = function(out, v[:, lane])
        return out

    return lambda c, i: pure(c, i, run)


def _register(which: Callable[[Machine], Array]) -> Build:
    def build(c: FunctionCompiler, i: LlvmInstruction) -> Operation:
        target = c.result(i)

        def run(m: Machine, r: Registers) -> None:
            m.put(r, target, which(m).astype(np.uint32))

        return run

    return build


def _one(number: int) -> Array:
    return np.array([number])


def _extent(m: Machine, axis: int) -> Array:
    return _one(m.grid[axis])


def _place(m: Machine, axis: int) -> Array:
    """Where each thread's block is in the grid."""
    first = m.block_index[axis]
    return _one(first) if axis or m.cluster == 1 else first + m.ranks


_AXES = "xyz"
_BUILDERS: dict[str, Build] = {
    "llvm.fptosi.sat": _sat(True), "llvm.fptoui.sat": _sat(False),
    "llvm.vector.reduce.add": _vector_reduce(np.sum), "llvm.vector.reduce.mul": _vector_reduce(np.prod),
    "llvm.vector.reduce.and": _vector_reduce(np.bitwise_and.reduce),
    "llvm.vector.reduce.or": _vector_reduce(np.bitwise_or.reduce),
    "llvm.vector.reduce.xor": _vector_reduce(np.bitwise_xor.reduce),
    "llvm.vector.reduce.smax": _vector_reduce(np.max, True), "llvm.vector.reduce.smin": _vector_reduce(np.min, True),
    "llvm.vector.reduce.umax": _lane_reduce(np.maximum), "llvm.vector.reduce.umin": _lane_reduce(np.minimum),
    "llvm.vector.reduce.fmax": _lane_reduce(floats.maximum_number),
    "llvm.vector.reduce.fmin": _lane_reduce(floats.minimum_number),
    "llvm.vector.reduce.fmaximum": _lane_reduce(floats.maximum),
    "llvm.vector.reduce.fminimum": _lane_reduce(floats.minimum),
    "llvm.vector.reduce.fadd": _ordered_reduce(np.add), "llvm.vector.reduce.fmul": _ordered_reduce(np.multiply),
    "llvm.nvvm.read.ptx.sreg.tid.x": _register(lambda m: m.all_threads % m.block_threads),
    "llvm.nvvm.read.ptx.sreg.ntid.x": _register(lambda m: _one(m.block_threads)),
    "llvm.nvvm.read.ptx.sreg.laneid": _register(lambda m: m.all_threads % 32),
    "llvm.nvvm.read.ptx.sreg.warpid": _register(lambda m: m.all_threads % m.block_threads // 32),
    "llvm.nvvm.read.ptx.sreg.warpsize": _register(lambda m: _one(32)),
    "llvm.nvvm.read.ptx.sreg.cluster.ctarank": _register(lambda m: m.ranks),
    "llvm.nvvm.read.ptx.sreg.cluster.nctarank": _register(lambda m: _one(m.cluster)),
    "vprintf": output.vprintf, "llvm.trap": output.trap,
    "llvm.nvvm.barrier0": lambda c, i: warp.barrier(c, i, {}),
    "llvm.nvvm.barrier.cta.sync.aligned.all": lambda c, i: warp.barrier(c, i, {}),
    "llvm.nvvm.bar.warp.sync": lambda c, i: warp.barrier_warp(c, i, {}),
}
for _axis in range(3):
    _letter = _AXES[_axis]
    _BUILDERS[f"llvm.nvvm.read.ptx.sreg.ctaid.{_letter}"] = _register(partial(_place, axis=_axis))
    _BUILDERS[f"llvm.nvvm.read.ptx.sreg.nctaid.{_letter}"] = _register(partial(_extent, axis=_axis))
    if _axis:
        _BUILDERS[f"llvm.nvvm.read.ptx.sreg.tid.{_letter}"] = _register(lambda m: _one(0))
        _BUILDERS[f"llvm.nvvm.read.ptx.sreg.ntid.{_letter}"] = _register(lambda m: _one(1))
for _mode in ("bfly", "idx", "down", "up"):
    _BUILDERS[f"llvm.nvvm.shfl.sync.{_mode}"] = partial(warp.shuffle_intrinsic, mode=_mode)


def _rounded(c: FunctionCompiler, i: LlvmInstruction, function: Callable[..., Array]) -> Operation:
    return pure(c, i, with_ftz(c, i, function))


def _expanded(c: FunctionCompiler, i: LlvmInstruction, function: str) -> Operation:
    return pure(c, i, partial(approximate, function, c.ftz))


def _nothing(c: FunctionCompiler, i: LlvmInstruction) -> Operation:
    return lambda m, r: None


def find(name: str) -> Build:
    """The builder of an intrinsic; type suffixes are dropped one by one."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        short = ".".join(parts[:end])
        if short in _BUILDERS:
            return _BUILDERS[short]
        if short in _PURE:
            return partial(pure, function=_PURE[short])
        if short in _ROUNDED:
            return partial(_rounded, function=_ROUNDED[short])
        if short in _EXPANDED:
            return partial(_expanded, function=_EXPANDED[short])
        if short in _IGNORED:
            return _nothing
    raise Unsupported(f"no model of the function {name}")


@OPERATIONS.define("call")
def _call(c: FunctionCompiler, i: LlvmInstruction) -> Operation:
    return foreign.operation(c, i) or find(i.extra["callee"])(c, i)
