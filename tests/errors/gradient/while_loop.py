"""A loop whose trips are known only when it has run."""


import tilewright as ct


@ct.tile_kernel
def kernel(x, out):
    t = ct.load(x, 0, 16)
    while ct.sum(t) < 100.0:
        t = t * 2.0
    ct.store(out, 0, t)


def main() -> None:
    ct.grad(kernel, wrt="x", outputs="out").ir(*[ct.spec("f32[64]")] * 4)
