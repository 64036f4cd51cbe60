"""A tuple whose length depends on the run."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = tuple(i for i in ct.static_iter(range(4)) if ct.bid(0) > i)
    ct.store(x, (0,), t[0])


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
