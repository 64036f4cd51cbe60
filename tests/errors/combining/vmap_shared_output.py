"""An output without the batch axis: every batch would write it."""


import tilewright as ct


@ct.tile_kernel
def double(x, out):
    i = ct.bid(0)
    ct.store(out, i, ct.load(x, i, 16) * 2.0)


def main() -> None:
    ct.vmap(double, in_axes={"out": None}).ir(ct.spec("f32[4,64]"), ct.spec("f32[64]"))
