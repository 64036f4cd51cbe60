"""Two loads of one element: each adds to its gradient."""


import tilewright as ct


@ct.tile_kernel
def kernel(x, out):
    i = ct.bid(0)
    ct.store(out, i, ct.load(x, i, 16) * ct.load(x, i, 16, padding_mode=ct.PaddingMode.ZERO))


def main() -> None:
    ct.grad(kernel, wrt="x", outputs="out", overwrite="x").ir(*[ct.spec("f32[63]")] * 4)
