"""A field that a dataclass does not have."""

import dataclasses

import numpy as np

import tilewright as ct


@dataclasses.dataclass(frozen=True)
class Config:
    rows: int = 4


config = Config()


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), config.columns)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
