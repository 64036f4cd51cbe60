"""The gradient needs a value that the kernel has overwritten."""


import tilewright as ct


@ct.tile_kernel
def kernel(x, out):
    t = ct.load(x, 0, 16)
    ct.store(x, 0, t + 1.0)
    ct.store(out, 0, t * t)


def main() -> None:
    ct.grad(kernel, wrt="x", outputs="out").ir(*[ct.spec("f32[64]")] * 4)
