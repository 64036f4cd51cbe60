"""A residual must be stored once, and read by nothing."""


import tilewright as ct


@ct.tile_kernel
def kernel(x, size, out):
    t = ct.load(x, 0, 16)
    ct.store(size, 0, ct.sum(t * t))
    ct.store(out, 0, t * ct.load(size, 0, ()))


def main() -> None:
    x, one = ct.spec("f32[16]"), ct.spec("f32[1]")
    ct.grad(kernel, wrt="x", outputs="out", residuals="size").ir(x, one, x, x, x)
