# arguments: f32[4096,1000], f32[4096,1000], 1024
import tilewright as tw


@tw.tile_kernel
def softmax(x, out, tile: tw.Constant[int]):
    row = tw.bid(0)
    t = tw.load(x, (row, 0), (1, tile), padding_mode=tw.PaddingMode.NEG_INF)
    e = tw.exp(t - tw.max(t))
    tw.store(out, (row, 0), e / tw.sum(e))


if __name__ == "__main__":
    import numpy as np

    x = np.random.default_rng(0).standard_normal((8, 1000), dtype=np.float32)
    out = np.zeros_like(x)
    softmax[(8,)](x, out, 1024)
    print(out.sum(axis=1).round(3))
