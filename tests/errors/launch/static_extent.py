"""Arrays of a list that differ on a static axis."""

from typing import Annotated, Any

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(xs: Annotated[list[Any], ct.ListAnnotation(element=ct.ArrayAnnotation(static_shape_dims=(0,)))]):
    ct.store(xs[0], (0,), 1.0)


def main() -> None:
    kernel[(1,)]([np.zeros(16, np.float32), np.zeros(8, np.float32)])
