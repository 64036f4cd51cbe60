"""Columns count characters, not bytes of UTF-8."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    größe = ct.load(x, (0,), (16,))
    name = "größe"; ct.store(x, (0,), größe + höhe)  # noqa: E702


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
