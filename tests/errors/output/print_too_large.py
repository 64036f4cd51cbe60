"""More elements than a GPU prints."""

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, (0, 0), (64, 128))
    print("all of it:", t)


def main() -> None:
    kernel.ptx(ct.spec("f32[64,128]"))
