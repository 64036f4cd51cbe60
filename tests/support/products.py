"""Matrix products for tests that compare bits."""

from __future__ import annotations

import numpy as np


def product_in_order_of_k(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a @ b where the shape of the operands has no influence on an element's sum, as it has in a BLAS.

    OpenBLAS's kernels for Haswell and Zen add the columns at the edges of a product in another order than those inside.
    What cuts tiles, transposes them or runs more of them at once would seem to change bits.
    """
    out = a[..., :, :1] * b[..., :1, :]
    for k in range(1, a.shape[-1]):
        out += a[..., :, k : k + 1] * b[..., k : k + 1, :]
    return out
