"""Bytes as bools."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), ct.unpack_from_bytes(ct.zeros((16,), ct.uint8), ct.bool_).astype(ct.float32))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
