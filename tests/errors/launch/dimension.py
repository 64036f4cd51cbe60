"""Arrays whose dimensions do not agree."""
# ruff: noqa: F821
# mypy: disable-error-code="type-arg, name-defined, valid-type"

import numpy as np

import tilewright as ct


@ct.tile_kernel(grid="cdiv(M, 16)")
def kernel(a: ct.Array["M", "K"], b: ct.Array["K"], c: ct.Array["M"]):
    i = ct.bid(0)
    ct.store(c, i, ct.sum(ct.load(a, (i, 0), (16, 64)) * ct.load(b, 0, 64), 1))


def main() -> None:
    kernel(np.zeros((32, 64), np.float32), np.zeros(32, np.float32), np.zeros(32, np.float32))
