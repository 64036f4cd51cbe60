"""The passes from the frontend's IR to what executors take, in order."""

from __future__ import annotations

from typing import Final

from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Function
from tilewright.tileir.passes.canonicalise import canonicalise
from tilewright.tileir.passes.cse import cse
from tilewright.tileir.passes.dce import dce
from tilewright.tileir.passes.fold import fold
from tilewright.tileir.passes.licm import licm
from tilewright.tileir.passes.manager import Observer, Order, Pass, PassManager, Timer
from tilewright.tileir.passes.simplify_ranges import simplify_ranges
from tilewright.tileir.verifier import verify as check

PIPELINE: Final[tuple[Pass[Unit], ...]] = (
    dce,  # first, so that no pass spends time on what nobody needs
    fold,
    canonicalise,
    simplify_ranges,
    canonicalise,
    licm,
    cse,
    dce,  # last, as it removes what the others left
)

BEFORE: Final[tuple[Order[Unit], ...]] = (
    (fold, canonicalise, "a condition or trip count that folds to a constant removes control flow"),
    (canonicalise, simplify_ranges, "constants stand on the right, and loops that run once are gone"),
    (simplify_ranges, canonicalise, "a comparison that ranges decide removes its branch"),
    (canonicalise, cse, "equal expressions must have one form to be found equal"),
    (licm, cse, "what moves out of two loops meets its equal in front of them"),
    (cse, dce, "what the others replaced is still there"),
)

MANAGER: Final = PassManager(PIPELINE, BEFORE, lambda unit: check(unit.function))


def run_pipeline(
    function: Function, *, verify: bool | None = None, observer: Observer | None = None, timer: Timer | None = None,
) -> None:
    """Run the passes on the function, in place; see `PassManager.run`."""
    MANAGER.run(Unit(function), verify=verify, observer=observer, timer=timer)
