"""A target that does not exist."""


import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), 1.0)


def main() -> None:
    kernel.ptx(ct.spec("f32[16]"), target="sm_10")
