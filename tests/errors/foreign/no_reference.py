"""In the interpreter, a function of which nobody has said what it computes."""

import numpy as np

import tilewright as ct

sine = ct.inline_ptx("sin.approx.f32 $0, $1;", [ct.float32], ct.float32)


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, (0,), (16,))
    ct.store(x, (0,), t + sine(t))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
