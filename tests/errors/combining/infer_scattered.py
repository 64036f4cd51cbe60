"""Where a kernel writes depends on what an array holds, so that the extent of its output is not known."""


import tilewright as ct


@ct.tile_kernel
def scatter_rows(x, rows, out):
    i = ct.bid(0)
    place = ct.load(rows, i, 16)
    ct.scatter(out, place, ct.load(x, i, 16))


def main() -> None:
    ct.infer(scatter_rows, 4, ct.spec("f32[64]"), ct.spec("i32[64]"), ct.spec("f32[?]"))
