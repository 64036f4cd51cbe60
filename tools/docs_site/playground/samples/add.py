# arguments: f32[1000], f32[1000], f32[1000], 256
import tilewright as tw


@tw.tile_kernel
def add(x, y, out, tile: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, tile) + tw.load(y, i, tile))


if __name__ == "__main__":
    import numpy as np

    x, y = np.ones(1000, np.float32), np.arange(1000, dtype=np.float32)
    out = np.zeros_like(x)
    add[(tw.cdiv(1000, 256),)](x, y, out, 256)
    print(out[:4], out[-1])
