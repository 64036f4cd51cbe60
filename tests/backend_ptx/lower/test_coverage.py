"""Every op is lowered or refused on purpose."""

from __future__ import annotations

import pytest

import tilewright.backend_ptx.lower.families  # noqa: F401
import tilewright.backend_ptx.ops  # noqa: F401
import tilewright.tileir.ops  # noqa: F401
from tilewright.backend_ptx.lower.reduce import COMBINERS, combiner
from tilewright.backend_ptx.lower.registry import LOWERINGS, REFUSALS
from tilewright.tileir.core import OPS, Value
from tilewright.tileir.diagnostics import TileInternalError, TileTypeError
from tilewright.tileir.dtypes import float32
from tilewright.tileir.machine_ops.reduce import ReduceBits
from tilewright.tileir.ops.reduce import REDUCTIONS, ReduceProd, Reduction
from tilewright.tileir.types import TileType


def unmerged() -> list[type[Reduction]]:
    """The reductions that combine their own partial results."""
    return [reduction for reduction in REDUCTIONS.values() if reduction.merged_by is None]


def test_every_op_is_lowered_or_refused() -> None:
    # Other tests declare ops of their own.
    ours = [cls for cls in OPS.values() if cls.__module__.startswith("tilewright.")]
    missing = set(LOWERINGS.missing(ours)) & set(REFUSALS.missing(ours))
    assert not missing, f"ops without a lowering: {', '.join(sorted(missing))}"


def test_no_op_is_both() -> None:
    assert not LOWERINGS.keys() & REFUSALS.keys()


def test_refusals_say_why() -> None:
    assert all(refusal.reason and refusal.hint for refusal in REFUSALS.values())


def test_every_reduction_is_combined() -> None:
    """A reduction is lowered by the walk of all of them; what differs is how two fragments become one. One that
    another merges becomes that one before."""
    assert COMBINERS.missing(unmerged()) == []


def test_the_machine_op_has_the_options_of_all_reductions() -> None:
    options = {name for reduction in unmerged() for name in reduction.fields}
    assert options - ReduceBits.fields.keys() == set(), "give ReduceBits these fields (tileir/machine_ops/reduce.py)"


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(TileTypeError, match="'mean' is no kind of reduction; there are 'sum', 'prod', "):
        ReduceBits(src=Value(TileType(float32, (8,))), axes=(0,), keep=(1,), kind="mean")


def test_a_reduction_without_a_combination_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(COMBINERS, ReduceProd)
    assert COMBINERS.missing(unmerged()) == ["reduce_prod"]
    with pytest.raises(TileInternalError, match=r"reduce_prod has no combination in lower/reduce\.py"):
        combiner(ReduceProd)
