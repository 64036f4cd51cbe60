"""Half a byte."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), ct.pack_to_bytes(ct.zeros((1,), ct.float4_e2m1fn)).astype(ct.float32))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
