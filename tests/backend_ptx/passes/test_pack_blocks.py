"""Which kernels have several blocks in a CTA, and that they compute the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.backend_ptx.abi import Lowered
from tilewright.backend_ptx.simulator.entry import lower_function, simulate_lowered
from tilewright.backend_ptx.targets import get_target


@tw.tile_kernel
def shares(x, out, width: tw.Constant[int]):
    """Each row over its sum; the number of rows and the block's own beside it."""
    i, j = tw.bid(0), tw.bid(1)
    row = tw.load(x, (j, i, 0), (1, 1, width), padding_mode=tw.PaddingMode.ZERO)
    tw.store(out, (j, i, 0), row / tw.sum(row) + tw.num_blocks(0) * i)


@tw.tile_kernel
def counted(x, out, width: tw.Constant[int]):
    """The same bytes in a loop."""
    for k in range(x.shape[2]):
        tw.store(out, (tw.bid(1), tw.bid(0), k), tw.load(x, (tw.bid(1), tw.bid(0), k), (1, 1, width)))


def lowered(kernel: Any, args: Any, linear: bool = False, **hints: Any) -> Lowered:
    f = (kernel.replace_hints(**hints) if hints else kernel).lower(*args, target="sm_90a").tile_ir()
    f.switches = replace(f.switches, pack_blocks=True, linear_grid=linear)
    return lower_function(f, get_target("sm_90a"))


def arrays(rows: int, columns: int) -> tuple[Any, Any]:
    x = np.random.default_rng(0).integers(1, 9, (2, rows, columns)).astype(np.float32)
    return x, np.full_like(x, np.nan)


@pytest.mark.parametrize(("rows", "columns", "width"), [(7, 100, 128), (8, 128, 128), (3, 200, 256), (5, 64, 64)])
def test_blocks_of_few_warps_share_ctas(rows: int, columns: int, width: int) -> None:
    """Also where the last CTA has warps for more blocks than there are."""
    x, out = arrays(rows, columns)
    made = lowered(shares, (x, out, width))
    assert made.packed == 4 and made.threads == 128 and made.shared_bytes == 0
    simulate_lowered(made, (rows, 2), (x, out))
    want = x / x.sum(axis=2, keepdims=True) + np.float32(rows) * np.arange(rows, dtype=np.float32)[:, None]
    np.testing.assert_allclose(out, want, rtol=1e-6)


@pytest.mark.parametrize("made", [
    lambda: lowered(shares, (*arrays(4, 4096), 4096)), lambda: lowered(counted, (*arrays(4, 128), 1)),
    lambda: lowered(shares, (*arrays(4, 128), 128), linear=True),
    lambda: lowered(shares, (*arrays(4, 128), 128), occupancy=2), lambda: lowered(shares, (*arrays(4, 512), 512)),
], ids=["shared memory", "a loop", "a linear grid", "a hint", "more bytes"])
def test_others_have_their_own(made: Any) -> None:
    assert made().packed == 1
