"""An output whose elements are stored again in each iteration."""


import tilewright as ct


@ct.tile_kernel
def kernel(x, out):
    total = ct.zeros((16,), ct.float32)
    for k in range(4):
        total = total + ct.load(x, k, 16)
        ct.store(out, 0, total)


def main() -> None:
    ct.grad(kernel, wrt="x", outputs="out").ir(*[ct.spec("f32[64]")] * 4)
