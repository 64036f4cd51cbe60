"""An object of a frozen dataclass as an argument."""

from dataclasses import dataclass

import numpy as np

import tilewright as ct


@dataclass(frozen=True)
class Parameters:
    scale: float


@ct.tile_kernel
def kernel(x, p):
    ct.store(x, 0, p.scale)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32), Parameters(2.0))
