# arguments: bf16[4096,4096], bf16[4096,4096], bf16[4096,4096], 128, 256, 64
import tilewright as tw

ZERO = tw.PaddingMode.ZERO


@tw.tile_kernel
def matmul(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, axis=1, shape=(tm, tk))):
        acc = tw.mma(tw.load(a, (i, k), (tm, tk), padding_mode=ZERO),
                     tw.load(b, (k, j), (tk, tn), padding_mode=ZERO), acc)
    tw.store(c, (i, j), acc.astype(c.dtype))


if __name__ == "__main__":
    import numpy as np

    a, b = np.ones((100, 80), np.float16), np.ones((80, 60), np.float16)
    c = np.zeros((100, 60), np.float16)
    matmul[(tw.cdiv(100, 32), tw.cdiv(60, 32))](a, b, c, 32, 32, 16)
    print(c[0, 0], c[-1, -1])
