"""A dataclass that can change."""

import dataclasses

import numpy as np

import tilewright as ct


@dataclasses.dataclass
class Config:
    rows: int = 4


config = Config()


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), config.rows)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
