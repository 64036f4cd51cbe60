"""The gradient of weights that all blocks read adds in no particular order."""


import tilewright as ct


@ct.tile_kernel(deterministic=True)
def kernel(x, weight, out):
    i = ct.bid(0)
    ct.store(out, i, ct.load(x, i, 16) * ct.load(weight, 0, 16))


def main() -> None:
    ct.grad(kernel, wrt="weight", outputs="out").ir(*[ct.spec("f32[64]")] * 5)
