"""How tensor cores add products: one record for each generation of GPUs, which targets name.

`d = c + sum over k of a[k] * b[k]` is no chain of roundings. Products are exact; they and c are cut to a number of
fractional bits below the largest exponent among them, the cut terms are added exactly, and the sum is cut to the result
(arXiv 2511.10909 and 2512.07004, which give these numbers for ten GPUs). tileir/fused_sums.py computes it.
"""

from __future__ import annotations

from tilewright.tileir import dtypes as dt
from tilewright.tileir.dtypes import DType
from tilewright.tileir.records import record

FLOAT32_FRACTION = 23


@record
class Summation:
    """The sum of one instruction: at most `together` products at once, in order of k. Terms have `fraction` fractional
    bits below the largest exponent, a float32 result has `result` of them. `first` products are added exactly and count
    as one term."""

    together: int
    fraction: int
    result: int = FLOAT32_FRACTION
    first: int = 1


@record
class TensorCores:
    """Those of one generation. `row` is the bytes along k of what is added at once. `eight_bits`: the units whose sums
    of 8-bit floats have 13 bits. `confirmed`: compared with a GPU by us, bit for bit."""

    row: int
    fraction: int
    eight_bits: tuple[str, ...] = ()
    confirmed: bool = False

    def summation(self, unit: str, operand: DType, depth: int) -> Summation:
        """Of an instruction of depth `depth` of a matrix unit."""
        together = min(depth, max(1, 8 * self.row // max(8, operand.bitwidth)))
        if unit in self.eight_bits and operand in (dt.float8_e4m3fn, dt.float8_e5m2):
            return Summation(together, 13, 13)
        if operand is dt.float4_e2m1fn:  # block-scaled
            return Summation(depth, 35, first=16)
        return Summation(together, self.fraction)


AMPERE = TensorCores(16, 24)
ADA = TensorCores(16, 24, ("mma.sync",))
HOPPER = TensorCores(32, 25, ("wgmma",), confirmed=True)
BLACKWELL = TensorCores(32, 25)
