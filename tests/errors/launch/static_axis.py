"""A static axis that the array does not have."""

from typing import Annotated

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x: Annotated[ct.Array, ct.ArrayAnnotation(static_shape_dims=(1,))]):
    ct.store(x, (0,), 1.0)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
