"""Padding that does not fit the offsets."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    m = x.get_raw_memory()
    ct.store(x, (0,), m.load_offset(ct.arange(4, dtype=ct.int32), padding_value=ct.zeros((8,), ct.float32)))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
