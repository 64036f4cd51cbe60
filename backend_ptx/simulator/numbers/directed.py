"""NVVM's arithmetic and conversions in a given rounding mode, with and without flushing, from exact error terms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tilewright.backend_ptx.simulator.numbers.floats import flush
from tilewright.backend_ptx.simulator.numbers.integers import signed
from tilewright.tileir import rounding
from tilewright.tileir.dtypes import DType, float32, float64
from tilewright.tileir.enums import RoundingMode

Array = np.ndarray[Any, Any]
Function = Callable[..., Array]
MODES = {"rn": RoundingMode.RN, "rz": RoundingMode.RZ, "rm": RoundingMode.RM, "rp": RoundingMode.RP}


def _add(mode: RoundingMode, a: Array, b: Array) -> tuple[Array, Array]:
    total, error = rounding.add_error(a, b)
    return rounding.with_zero(total, a, b, mode), error


_EXACT: dict[str, Callable[..., tuple[Array, Array]]] = {
    "add": _add, "mul": lambda mode, a, b: rounding.mul_error(a, b),
    "div": lambda mode, a, b: rounding.div_error(a, b), "sqrt": lambda mode, a: rounding.sqrt_error(a),
}


def _operation(word: str, mode: RoundingMode, ftz: bool, dtype: DType) -> Function:
    def run(*operands: Array) -> Array:
        given = [flush(v) if ftz else v for v in operands]
        value, error = _EXACT[word](mode, *(v.astype(np.float64) for v in given))
        out = np.asarray(rounding.round_result(value, error, dtype, mode)).astype(operands[0].dtype)
        return flush(out) if ftz else out

    return run


def _fused(mode: RoundingMode, ftz: bool, dtype: DType) -> Function:
    def run(*operands: Array) -> Array:
        a, b, c = (flush(v) if ftz else v for v in np.broadcast_arrays(*operands))
        if dtype is float64:
            return np.asarray(rounding.fma_float64(a, b, c, mode))
        out = np.asarray(rounding.fma_narrow(a, b, c, dtype, mode)).astype(np.float32)
        return flush(out) if ftz else out

    return run


def _from_integer(mode: RoundingMode, is_signed: bool) -> Function:
    def run(a: Array) -> Array:
        value = signed(a) if is_signed else a
        high = (value >> value.dtype.type(11)).astype(np.float64) * 2048.0
        low = (value & value.dtype.type(2047)).astype(np.float64)
        odd = rounding.to_odd(*rounding.two_sum(high, low))
        return np.asarray(rounding.narrow(odd, float32, mode)).astype(np.float32)

    return run


def models() -> Iterator[tuple[str, Function]]:
    """(name of the intrinsic, what it computes)."""
    for suffix, mode in MODES.items():
        for word in _EXACT:
            yield f"llvm.nvvm.{word}.{suffix}.d", _operation(word, mode, False, float64)
            for ftz in (False, True):
                name = f"llvm.nvvm.{word}.{suffix}.{'ftz.' if ftz else ''}f"
                yield name, _operation(word, mode, ftz, float32)
        yield f"llvm.nvvm.fma.{suffix}.d", _fused(mode, False, float64)
        for ftz in (False, True):
            yield f"llvm.nvvm.fma.{suffix}.{'ftz.' if ftz else ''}f", _fused(mode, ftz, float32)
        for short in ("i2f", "ui2f", "ll2f", "ull2f"):
            yield f"llvm.nvvm.{short}.{suffix}", _from_integer(mode, not short.startswith("u"))
        yield f"llvm.nvvm.d2f.{suffix}", lambda a, m=mode: rounding.narrow(a, float32, m).astype(np.float32)
