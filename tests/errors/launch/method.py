"""A kernel as a method."""

import tilewright as ct


def main() -> None:
    class Model:
        @ct.tile_kernel
        def kernel(self, x):
            ct.store(x, 0, 1.0)
