"""A context manager entered twice."""

import contextlib

import numpy as np

import tilewright as ct


@contextlib.contextmanager
def region():
    yield 1


@ct.tile_kernel
def kernel(x):
    r = region()
    with r:
        ct.store(x, (0,), 1.0)
    with r:
        ct.store(x, (0,), 1.0)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
