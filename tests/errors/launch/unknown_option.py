"""An option that kernels do not have."""


import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), 1.0)


def main() -> None:
    kernel.replace_hints(warps=4)
