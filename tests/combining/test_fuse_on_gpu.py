"""Fused launches on a GPU: the bits of the launches one by one."""

from __future__ import annotations

import numpy as np
import pytest
from support.chains import random_chain
from support.fused_kernels import plus, relu, reverse, times

import tilewright as tw

pytestmark = pytest.mark.gpu
CHAINS = 100


@pytest.mark.parametrize("first", range(0, CHAINS, 10))
def test_random_chains(first: int) -> None:
    for seed in range(first, first + 10):
        chain = random_chain(seed)
        want, got = ({name: tw.to_device(array) for name, array in chain.arrays().items()} for _ in range(2))
        chain.run(want)
        with tw.fuse() as g:
            kept = got.copy()
            for name in chain.vanishing:
                shape, dtype = chain.made[name]
                got[name] = g.empty(shape, dtype)
            chain.run(got)
        for name in want.keys() - chain.vanishing:
            one, other = (arrays[name].to_host().view(np.uint8) for arrays in (kept, want))
            np.testing.assert_array_equal(one, other, err_msg=f"chain {seed}, {name}")


def test_launches_are_made_again_as_a_graph() -> None:
    start = np.arange(-56, 56, dtype=np.float32)
    x, out = tw.to_device(start), tw.to_device(np.zeros(112, np.float32))
    with tw.fuse() as g:
        a = g.empty(112, tw.float32)
        relu[7](x, a)
        plus[7](a, x, 1.0)
        times[7](x, out, 2.0)
        reverse[7](out, x)
    want = start
    for turn in range(4):
        if turn:
            g.replay()
        doubled = 2 * (np.maximum(want, 0) + 1)
        want = doubled.reshape(7, 16)[::-1].ravel()
        np.testing.assert_array_equal(out.to_host(), doubled)
        np.testing.assert_array_equal(x.to_host(), want)
