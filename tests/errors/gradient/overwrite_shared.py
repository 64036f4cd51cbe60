"""The gradient of an array that several blocks read is a sum, which cannot be stored."""


import tilewright as ct


@ct.tile_kernel
def kernel(x, w, out):
    i = ct.bid(0)
    ct.store(out, i, ct.load(x, i, 16) * ct.load(w, 0, 16))


def main() -> None:
    x, w = ct.spec("f32[64]"), ct.spec("f32[16]")
    ct.grad(kernel, wrt="w", outputs="out", overwrite="w").ir(x, w, x, x, w)
