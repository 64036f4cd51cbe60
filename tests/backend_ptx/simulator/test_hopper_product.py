"""A product with warp roles: right for every kind and layout, and every step that it leaves out is missed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.simulator.hopper import Gemm, operands
from support.thorough import part

from tilewright.backend_ptx.simulator import SimError

SCHEDULES: list[dict[str, Any]] = [{}, {"schedule": "random", "seed": 1}, {"schedule": "random", "seed": 2}]
FORMS = [
    Gemm(), Gemm(pending=0), Gemm(n=128, b_trans=True), Gemm(a_trans=True), Gemm(a_trans=True, b_trans=True, n=64),
    Gemm(kind="f16", n=64, b_trans=True, groups=2, pool=True, stages=3), Gemm(kind="f16acc"), Gemm(kind="tf32", n=8),
    Gemm(kind="e4m3", n=24), Gemm(kind="e4m3.e5m2"), Gemm(kind="s8"), Gemm(kind="u8.s8", n=32),
    Gemm(swizzle=64, n=32, b_trans=True), Gemm(swizzle=32, n=32, b_trans=True, stages=4), Gemm(swizzle=64),
]


def name_of(form: Gemm) -> str:
    return (f"{form.kind}-n{form.n}-{'t' if form.a_trans else 'n'}{'t' if form.b_trans else 'n'}-s{form.swizzle}"
            f"-g{form.groups}-p{form.pending}")


@pytest.mark.parametrize("form", FORMS, ids=map(name_of, FORMS))
def test_products_are_exact(form: Gemm) -> None:
    """Ragged on all sides; small integers, so every sum is exact."""
    a, b, want = operands(form, 100, 40, 5 * form.depth - 8)
    for how in part(SCHEDULES[1::-1], 2):
        np.testing.assert_array_equal(form.run(a, b, **how), want)


BASE = Gemm(n=32)
DEFECTS: dict[str, Gemm] = {
    **{f"no {step}": replace(BASE, without=frozenset({step})) for step in (
        "init fence", "init barrier", "empty wait", "full wait", "wgmma fence", "commit", "wait", "last wait",
        "release", "late release", "advance", "parity",
    )},
    "no wait, none pending": replace(BASE, pending=0, without=frozenset({"wait"})),
    "an arrival too few": replace(BASE, numbers=(("arrivals", 3),)),
    "an arrival too many": replace(BASE, numbers=(("arrivals", 5),)),
    "the producer's first parity": replace(BASE, numbers=(("empty parity", 0),)),
    "too few bytes": replace(BASE, numbers=(("bytes", 4096),)),
    "too many bytes": replace(BASE, numbers=(("bytes", 16384),)),
    "stride of A": replace(BASE, numbers=(("a stride", 512),)),
    "stride of B": replace(BASE, numbers=(("b stride", 2048),)),
    "leading offset of B": Gemm(n=128, b_trans=True, numbers=(("b leading", 1024),)),
    "swizzle of A": replace(BASE, numbers=(("a swizzle", 64),)),
    "no swizzle of B": replace(BASE, numbers=(("b swizzle", 0),)),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_defect_is_caught_under_every_schedule(name: str) -> None:
    form = DEFECTS[name]
    a, b, want = operands(form, 64, form.n + 8, 6 * form.depth - 8)
    for how in SCHEDULES:
        try:
            got = form.run(a, b, max_steps=5000, **how)
        except SimError:
            continue
        assert not np.array_equal(got, want), how


def test_deadlock_names_the_barrier() -> None:
    form = DEFECTS["no release"]
    a, b, _ = operands(form, 64, 40, 6 * form.depth)
    message = r"threads 128\.\.128 wait for parity 0 of the mbarrier .*phase 0: 4 of 4 arrivals and 0 bytes are missing"
    with pytest.raises(SimError, match=message):
        form.run(a, b)
