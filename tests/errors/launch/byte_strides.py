"""Strides that are no whole elements."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), 1.0)


def main() -> None:
    kernel[(1,)](np.zeros(4, [("a", "i1"), ("b", "f4")])["b"])
