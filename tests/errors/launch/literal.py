"""A value that the Literal of the annotation does not list."""

from typing import Literal

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x, act: Literal["relu", "gelu"] = "relu"):
    ct.store(x, (0,), 1.0)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32), act="silu")
