"""float16 and bfloat16 do not mix."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    a = ct.ones((16,), ct.float16)
    b = ct.ones((16,), ct.bfloat16)
    ct.store(x, (0,), a * b)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
