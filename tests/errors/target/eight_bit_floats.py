"""A conversion that older GPUs lack."""


import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, (0,), (16,))
    ct.store(x, (0,), t.astype(ct.float8_e4m3fn).astype(ct.float32))


def main() -> None:
    kernel.ptx(ct.spec("f32[16]"), target="sm_80")
