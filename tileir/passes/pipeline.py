"""The passes from the frontend's IR to what executors take, in order; and the one place that runs them."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from tilewright.tileir.core import Function
from tilewright.tileir.diagnostics import TileError, TileInternalError
from tilewright.tileir.passes.canonicalise import canonicalise
from tilewright.tileir.passes.cse import cse
from tilewright.tileir.passes.dce import dce
from tilewright.tileir.passes.fold import fold
from tilewright.tileir.passes.licm import licm
from tilewright.tileir.passes.simplify_ranges import simplify_ranges
from tilewright.tileir.verifier import verify as check

Pass = Callable[[Function], None]

PIPELINE: tuple[Pass, ...] = (
    dce,  # first, so that no pass spends time on what nobody needs
    fold,
    canonicalise,
    simplify_ranges,
    canonicalise,
    licm,
    cse,
    dce,
)

BEFORE: tuple[tuple[Pass, Pass, str], ...] = (
    (fold, canonicalise, "a condition or trip count that folds to a constant removes control flow"),
    (canonicalise, simplify_ranges, "constants stand on the right, and loops that run once are gone"),
    (simplify_ranges, canonicalise, "a comparison that ranges decide removes its branch"),
    (canonicalise, cse, "equal expressions must have one form to be found equal"),
    (licm, cse, "what moves out of two loops meets its equal in front of them"),
    (cse, dce, "what the others replaced is still there"),
)
"""Pairs (earlier, later, reason): the earlier pass must have run before the last run of the later one."""


def _check_order() -> None:
    for earlier, later, reason in BEFORE:
        first = PIPELINE.index(earlier)
        last = len(PIPELINE) - 1 - PIPELINE[::-1].index(later)
        assert first < last, f"{earlier.__name__} must run before {later.__name__}: {reason}"
    assert PIPELINE[-1] is dce, "the last pass removes what the others left"


_check_order()

Observer = Callable[[str, Function], None]
Timer = Callable[[str, float], None]


def run_pipeline(
    function: Function, *, passes: tuple[Pass, ...] = PIPELINE, verify: bool = False,
    observer: Observer | None = None, timer: Timer | None = None,
) -> None:
    """Run the passes on the function, in place.

    `observer(name, function)` is called after each pass (for dumps), `timer(name, seconds)` too; with `verify` the
    function is checked before the first and after each.
    """
    if verify:
        check(function)
    for run in passes:
        start = perf_counter()
        _run(run, function, verify)
        if timer is not None:
            timer(run.__name__, perf_counter() - start)
        if observer is not None:
            observer(run.__name__, function)


def _run(run: Pass, function: Function, verify: bool) -> None:
    try:
        run(function)
        if verify:
            check(function)
    except Exception as error:
        what = error.message if isinstance(error, TileError) else repr(error)
        span = error.span if isinstance(error, TileError) else function.span
        raise TileInternalError(
            f"pass {run.__name__} failed on kernel {function.name}: {what}", span,
            notes=error.notes if isinstance(error, TileError) else (),
            hints=["set TILEWRIGHT_DUMP_DIR to a folder to get the Tile IR after each pass; please report it"],
        ) from error
