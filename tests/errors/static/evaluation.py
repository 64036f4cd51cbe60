"""An exception in static_eval."""

import numpy as np

import tilewright as ct

kind = "large"


@ct.tile_kernel
def kernel(x):
    size = ct.static_eval({"small": 8}[kind])
    ct.store(x, (0,), ct.zeros((size,), ct.float32))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
