"""Where counting begins is known while compiling."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x, n):
    for i, value in enumerate((1.0, 2.0), n):
        ct.store(x, i, value)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32), 3)
