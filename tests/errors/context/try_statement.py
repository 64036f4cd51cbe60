"""A context manager with try."""

import contextlib

import numpy as np

import tilewright as ct


@contextlib.contextmanager
def region():
    try:
        yield 1
    finally:
        pass


@ct.tile_kernel
def kernel(x):
    with region() as r:
        ct.store(x, (r,), 1.0)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
