"""Clusters: products whose blocks share an operand, and every step that such a protocol can leave out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.simulator.hopper import Gemm, operands

from tilewright.backend_ptx.simulator import Deadlock, LeftBlock, PendingCopy, Race, SimError, Unfenced, UnwrittenRead

SCHEDULES: list[dict[str, Any]] = [{}, {"schedule": "random", "seed": 1}, {"schedule": "random", "seed": 2}]
BASE = Gemm(n=32, cluster=2)
FORMS = {
    "two": BASE,
    "none pending": replace(BASE, pending=0, stages=3),
    "two groups and pools": Gemm(kind="f16", n=128, b_trans=True, groups=2, pool=True, cluster=2),
    "four": Gemm(kind="e4m3", n=32, cluster=4),
}


@pytest.mark.parametrize("name", FORMS)
def test_products_are_exact(name: str) -> None:
    """Ragged on all sides; the last block has no rows at all."""
    form = FORMS[name]
    a, b, want = operands(form, form.rows * (form.cluster - 1) - 24, form.n - 8, 5 * form.depth - 8)
    for how in SCHEDULES:
        np.testing.assert_array_equal(form.run(a, b, **how), want)


def without(*steps: str, **numbers: int) -> Gemm:
    return replace(BASE, without=frozenset(steps), numbers=tuple(numbers.items()))


OWN = (64 + 16) * 128  # bytes of A, and of this block's part of B
# What must be reported; None where numbers are wrong and nothing else is.
DEFECTS: dict[str, tuple[Gemm, tuple[type[SimError], ...] | None]] = {
    "blocks leave when they are done": (without("end sync"), (LeftBlock,)),
    "blocks start without each other": (without("start sync"), (SimError,)),
    "mbarriers are not visible to copies": (without("init fence"), (Unfenced,)),
    "slots released in the own block": (without("remote release", arrivals=4), (Race, PendingCopy)),
    "slots released in the own block, all blocks expected": (without("remote release"), (Deadlock,)),
    "arrivals of one block expected": (without(arrivals=4), (SimError,)),
    "an arrival too few": (without(arrivals=7), (Race, PendingCopy)),
    "an arrival too many": (without(arrivals=9), (Deadlock,)),
    "bytes of the own part expected": (without(bytes=OWN), (PendingCopy, UnwrittenRead, Race)),
    "too many bytes": (without(bytes=OWN + 3 * 2048), (Deadlock,)),
    "copies to the first block only": (without(mask=1), (Deadlock,)),
    "copies to the second block only": (without(mask=2), (Deadlock,)),
    "copies to a third block": (without(mask=5), (SimError,)),
    "the parts swapped": (without("parts in order"), None),
    "the same part twice": (without("own part"), None),
    "both parts to one place": (without("own place"), (PendingCopy, Race)),
    "both blocks copy the same part": (without("own part", "own place"), (PendingCopy, Race)),
    "slots released a round early": (without("late release"), (Race,)),
    "no slot is waited for": (without("empty wait"), (SimError,)),
    "no copy is waited for": (without("full wait"), (PendingCopy, UnwrittenRead)),
    "parities never flip": (without("parity"), (SimError,)),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_defect_is_caught_under_every_schedule(name: str) -> None:
    form, errors = DEFECTS[name]
    a, b, want = operands(form, 100, form.n + 8, 6 * form.depth - 8)
    for how in SCHEDULES:
        if errors is not None:
            with pytest.raises(errors):
                form.run(a, b, max_steps=5000, **how)
        else:
            assert not np.array_equal(form.run(a, b, **how), want)


def test_deadlock_names_the_block_that_gets_nothing() -> None:
    a, b, _ = operands(BASE, 100, 40, 384)
    message = (r"threads 160\.\.287 wait for parity 0 of the mbarrier at offset 24576 of the shared memory of block 1 "
               r"of the cluster \(phase 0: 0 of 1 arrivals and 4096 bytes are missing\)")
    with pytest.raises(Deadlock, match=message):
        without(mask=1).run(a, b)


def test_a_block_that_may_leave_is_named_whatever_the_schedule() -> None:
    """Where blocks happen to stay long enough, what they waited for tells."""
    a, b, _ = operands(BASE, 100, 40, 384)
    found = set()
    for seed in range(1, 6):
        with pytest.raises(LeftBlock) as caught:
            without("end sync").run(a, b, schedule="random", seed=seed)
        found.add("may leave" if "may leave before the last arrival" in str(caught.value) else "has left")
    assert found == {"may leave", "has left"}
