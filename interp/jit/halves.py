"""float16 in memory to float32 in registers and back: one instruction each for the CPU, many for NumPy.

NaNs keep their payload, as in NumPy's conversions; the CPU's own would set its first bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.interp.jit import POLICY
from tilewright.interp.jit.emit import Emitter, Name
from tilewright.interp.jit.engine import usable
from tilewright.interp.jit.loops import FastLoop

Array = Any


class Conversion:
    """A conversion of arrays: by NumPy until it has cost as much as a loop."""

    def __init__(self, slow: Callable[[Array], Array], types: tuple[str, str], dtypes: tuple[Any, Any],
                 emit: Callable[[Emitter, Name], Name]) -> None:
        self._slow = slow
        self._types, self._dtypes = types, dtypes
        self._emit = emit
        self._work = 0
        self._loop: FastLoop | None = None

    def __call__(self, x: Array) -> Array:
        if x.size < max(POLICY.elements, 64) or not POLICY.enabled or x.dtype != self._dtypes[0]:
            return self._slow(x)
        if self._loop is None:
            self._work += 4 * x.size
            if self._work < POLICY.work or not usable():
                return self._slow(x)
            unsigned = [f"u{np.dtype(d).itemsize}" for d in self._dtypes]
            e = Emitter()
            out = self._emit(e, "%x0")
            self._loop = FastLoop(self._types, unsigned, 1, lambda names: (e.lines, [out], "false"), {})
        found = self._loop(x.shape, [x.view(f"u{x.itemsize}")])
        assert found is not None
        return found[0].view(self._dtypes[1])


def _widened(e: Emitter, half: Name) -> Name:
    number = e(f"bitcast half {half} to i16")
    wide = e(f"bitcast float {e(f'fpext half {half} to float')} to i32")
    bits = e(f"zext i16 {number} to i32")
    sign = e.do("shl i32", e.do("and i32", bits, "32768"), "16")
    nan = e.do("or i32", e.do("shl i32", e.do("and i32", bits, "1023"), "13"), e.do("or i32", sign, str(0x7F800000)))
    return e(f"bitcast i32 {e.select(e.do('fcmp uno half', half, half), 'i32', nan, wide)} to float")


def _narrowed(e: Emitter, x: Name) -> Name:
    bits = e.bits(x, "float")
    narrow = e(f"bitcast half {e(f'fptrunc float {x} to half')} to i16")
    sign = e.do("and i32", e.do("lshr i32", bits, "16"), "32768")
    payload = e.do("and i32", e.do("lshr i32", bits, "13"), "1023")
    some = e.select(e.do("icmp eq i32", payload, "0"), "i32", "1", payload)
    nan = e(f"trunc i32 {e.do('or i32', e.do('or i32', sign, some), str(0x7C00))} to i16")
    return e(f"bitcast i16 {e.select(e.nan(x, 'float'), 'i16', nan, narrow)} to half")


decode = Conversion(lambda x: x.astype(np.float32), ("half", "float"), (np.float16, np.float32), _widened)
encode = Conversion(lambda x: x.astype(np.float16), ("float", "half"), (np.float32, np.float16), _narrowed)
