"""An array with a batch axis that a branch chooses."""


import tilewright as ct


@ct.tile_kernel
def either(x, y, flag, out):
    source = x
    if flag > 0:
        source = y
    ct.store(out, 0, ct.load(source, 0, 16))


def main() -> None:
    one = ct.spec("f32[4,16]")
    ct.vmap(either).ir(one, one, ct.spec("i32"), one)
