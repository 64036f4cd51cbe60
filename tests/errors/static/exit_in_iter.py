"""A generator that ends the program while compiling."""

import numpy as np

import tilewright as ct


def items():
    yield 1
    raise SystemExit("enough")


@ct.tile_kernel
def kernel(x):
    for i in ct.static_iter(items()):
        ct.store(x, i, 0.0)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
