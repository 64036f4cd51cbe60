"""An atomic operation that older GPUs lack."""


import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.atomic_add(x, 0, 1.0)


def main() -> None:
    kernel.ptx(ct.spec("bf16[16]"), target="sm_80")
