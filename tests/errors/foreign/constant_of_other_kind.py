"""A float constant for an integer operand."""

import numpy as np

import tilewright as ct

larger = ct.inline_ptx("max.s32 $0, $1, $2;", [ct.int32, ct.int32], ct.int32, reference=np.maximum)


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), larger(ct.load(x, (0,), (16,)), 2.5))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.int32))
