"""A kernel from IR that was made for arrays of sixteen elements and more."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x, out):
    i = ct.bid(0)
    ct.store(out, i, ct.load(x, i, 16))


def main() -> None:
    again = ct.kernel_from_ir(kernel.ir(ct.spec("f32[64]"), ct.spec("f32[64]")))
    again[(1,)](np.zeros(7, np.float32), np.zeros(64, np.float32))
