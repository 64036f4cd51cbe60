"""Scores of 1 MiB and half a MiB of results: no plan holds them."""

import tilewright as tw


@tw.tile_kernel
def attention(q, k, v, out):
    query, key = tw.load(q, (0, 0), (512, 128)), tw.load(k, (0, 0), (512, 128))
    score = tw.mma(query, key.transpose(), tw.zeros((512, 512), tw.float32))
    weight = tw.exp(score - tw.max(score, axis=1, keepdims=True))
    value = tw.load(v, (0, 0), (512, 512))
    product = tw.mma(weight.astype(tw.float16), value, tw.zeros((512, 512), tw.float32))
    tw.store(out, (0, 0), product + weight)


def main() -> None:
    narrow, wide = tw.spec("f16[512,128]"), tw.spec("f16[512,512]")
    attention.ptx(narrow, narrow, wide, tw.spec("f32[512,512]"), target="sm_90a")
