"""functools.partial."""

import functools

import numpy as np

import tilewright as ct


def scale(v, factor):
    return v * factor


double = functools.partial(scale, factor=2.0)


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), double(1.0))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
