"""match by the keys of a dict."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    match {"place": ct.bid(0)}:
        case {"place": n}:
            ct.store(x, (n,), 1.0)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
