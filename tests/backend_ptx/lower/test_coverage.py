"""Every op is lowered or refused on purpose."""

from __future__ import annotations

import tilewright.backend_ptx.lower.families  # noqa: F401  (registers the lowerings)
import tilewright.backend_ptx.ops  # noqa: F401  (registers the machine ops)
import tilewright.tileir.ops  # noqa: F401
from tilewright.backend_ptx.lower.registry import LOWERINGS, REFUSALS
from tilewright.tileir.core import OPS


def test_every_op_is_lowered_or_refused() -> None:
    # Other tests declare ops of their own.
    ours = [cls for cls in OPS.values() if cls.__module__.startswith("tilewright.")]
    missing = set(LOWERINGS.missing(ours)) & set(REFUSALS.missing(ours))
    assert not missing, f"ops without a lowering: {', '.join(sorted(missing))}"


def test_no_op_is_both() -> None:
    assert not LOWERINGS.keys() & REFUSALS.keys()


def test_refusals_say_why() -> None:
    assert all(refusal.reason and refusal.hint for refusal in REFUSALS.values())
