"""Which arrays that a recording reads shall leave L2 first, and the loads that say so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.fused_kernels import data, layer_norm, linear

import tilewright as tw
from tilewright.combining.residence import Use, passing
from tilewright.estimating.devices import limits_of
from tilewright.tileir.parser import parse
from tilewright.tileir.printer import to_text

M, N, BF16 = 256, 64, ml_dtypes.bfloat16
SIZE = 2 * M * N


def use(read: str, written: str, again: str = "") -> Use:
    """Arrays of 10 bytes by letters; of those of `again` blocks read each byte more often."""
    reads, once = (frozenset(map(ord, letters)) for letters in (read, {*read} - {*written, *again}))
    return Use({ord(letter): 10 for letter in read + written}, reads, once)


@pytest.mark.parametrize(("uses", "l2", "found"), [
    ([use("x", "t"), use("t", "y")], 15, ["x", ""]),
    ([use("x", "t"), use("t", "y")], 20, ["", ""]),  # all fits
    ([use("x", "t"), use("t", "y")], 9, ["", ""]),  # the intermediate does not fit
    ([use("x", "t"), use("y", "z")], 15, ["", ""]),  # nothing is waited for
    ([use("xw", "t", "w"), use("t", "y")], 15, ["x", ""]),  # all blocks read w
    ([use("xy", "ty"), use("t", "z")], 15, ["x", ""]),  # y is written in its place
    ([use("x", "t"), use("y", "z"), use("t", "u")], 15, ["x", "y", ""]),  # t waits during the second launch
    ([use("x", "t"), use("tx", "y")], 25, ["", ""]),  # both are read again
    ([use("x", "t"), use("t", "y")], 0, ["", ""]),
])
def test_which(uses: list[Use], l2: int, found: list[str]) -> None:
    assert passing(uses, l2) == [frozenset(map(ord, names)) for names in found]


def chain(l2_bytes: int) -> tuple[Any, Any]:
    """A norm and a product that stay two launches, on a GPU with so much L2, and what they leave."""
    x, w, weight, bias = (data(*shape, dtype=BF16) for shape in ((M, N), (N, N), (N,), (N,)))
    out = np.zeros((M, N), BF16)
    with tw.fuse(device=replace(limits_of("h200"), l2_bytes=l2_bytes)) as g:
        t = g.empty((M, N), tw.bfloat16)
        layer_norm[M // 4](x, weight, bias, t, 4, N)
        linear[2, 1](t, w, out, M // 2, N, 32)
    assert len(g.launches) == 2
    return g, out


def test_a_recording() -> None:
    g, out = chain(SIZE + SIZE // 2)
    plain, want = chain(4 * SIZE)
    np.testing.assert_array_equal(out, want)
    assert "layer_norm: x shall leave L2 first" in g.explain() and "shall leave" not in plain.explain()
    norm, product = (ran.kernel.ir(*ran.args) for ran in g.launches)
    assert norm.count("passing") == 1 and "passing>" in norm.split("%x: array<")[1].split("%")[0]
    assert "passing" not in product and to_text(parse(norm)) == norm


def test_their_instructions() -> None:
    ran = chain(SIZE + SIZE // 2)[0].launches[0]
    for target in ("sm_80", "sm_90a"):
        ptx = ran.kernel.ptx(*ran.args, target=target)
        assert ptx.count("ld.global.cs.nc.v4") == 4 * N // 32 // 8 and "ld.global.nc.v4" in ptx
        t = np.zeros_like(ran.args[-1])
        ran.kernel.simulate(ran.grid, *ran.args[:-1], t, target=target)
        np.testing.assert_allclose(t.astype(np.float32), ran.args[-1].astype(np.float32), rtol=2**-7, atol=2**-7)
