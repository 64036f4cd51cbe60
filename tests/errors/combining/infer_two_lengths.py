"""Two inputs of different lengths are read where the output is written."""


import tilewright as ct


@ct.tile_kernel
def add(x, y, out):
    i = ct.bid(0)
    ct.store(out, i, ct.load(x, i, 16) + ct.load(y, i, 16))


def main() -> None:
    ct.infer(add, 4, ct.spec("f32[50]"), ct.spec("f32[60]"), ct.spec("f32[?]"))
