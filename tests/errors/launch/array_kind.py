"""A number for an array."""


import tilewright as ct


@ct.tile_kernel
def kernel(x: ct.IndexedWithInt64):
    ct.store(x, (0,), 1.0)


def main() -> None:
    kernel[(1,)](3)
