"""An error two calls deep."""

import numpy as np

import tilewright as ct


def inner(tile):
    return tile + ct.zeros((4,), ct.float32)


def outer(tile):
    return inner(tile * 2.0)


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), outer(ct.load(x, (0,), (16,))))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
