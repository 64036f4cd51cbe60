"""Rotary position embedding, in place: each pair of channels (i, i + half) turns by an angle of its position."""

import numpy as np
from _places import check, places

import tilewright as tw


@tw.tile_kernel
def rotate(q, cos, sin, heads_per_block: tw.Constant[int], half: tw.Constant[int]):
    """q: (batch, heads, positions, 2 * half), cos and sin: (positions, half). A block turns heads of one position."""
    batch, group, position = tw.bid(0), tw.bid(1), tw.bid(2)
    shape = (1, heads_per_block, 1, half)
    c = tw.load(cos, (position, 0), (1, half)).reshape((1, 1, 1, half))
    s = tw.load(sin, (position, 0), (1, half)).reshape((1, 1, 1, half))
    first = tw.load(q, (batch, group, position, 0), shape)
    second = tw.load(q, (batch, group, position, 1), shape)
    tw.store(q, (batch, group, position, 0), first * c - second * s)
    tw.store(q, (batch, group, position, 1), second * c + first * s)


def main() -> None:
    rng = np.random.default_rng(24)
    batch, heads, positions, half = 2, 6, 20, 32
    q = rng.standard_normal((batch, heads, positions, 2 * half), dtype=np.float32)
    angle = np.arange(positions)[:, None] * 10000.0 ** (-np.arange(half) / half)
    cos, sin = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
    first, second = q[..., :half].astype(np.float64), q[..., half:].astype(np.float64)
    want = np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)
    for place in places():
        dq, dc, ds = place.put(q.copy(), cos, sin)
        rotate[(batch, tw.cdiv(heads, 4), positions)](dq, dc, ds, 4, half)
        check(f"rotary embedding of {heads} heads x {2 * half}", place, place.get(dq), want, bound=1e-6)


if __name__ == "__main__":
    main()
