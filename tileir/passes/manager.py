"""The one place that runs passes, for Tile IR and for machine IR: it verifies, times, names what fails, shows dumps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Generic, TypeVar

from tilewright.tileir.analysis.unit import NONE, Preserved, Unit
from tilewright.tileir.core import Function
from tilewright.tileir.diagnostics import TileError, TileInternalError, TileTypeError
from tilewright.tileir.environment import switched_on
from tilewright.tileir.passes.unchanged import Snapshot
from tilewright.tileir.process import uncollected

U = TypeVar("U", bound=Unit)
Pass = Callable[[U], Preserved | None]
"""Changes the unit's function in place, and may say which analyses still hold."""
Order = tuple[Pass[U], Pass[U], str]
"""(earlier, later, reason): the earlier pass must run before the last run of the later one."""
Observer = Callable[[str, Function], None]
Timer = Callable[[str, float], None]


def verification_wanted() -> bool:
    """Whether TILEWRIGHT_VERIFY asks for a check of the IR after every pass."""
    return switched_on("TILEWRIGHT_VERIFY")


def check_order(recipe: Sequence[Pass[U]], order: Sequence[Order[U]]) -> None:
    """ValueError when two passes stand in the wrong order. A pass that is not in the recipe constrains nothing."""
    first = {p: i for i, p in reversed(list(enumerate(recipe)))}
    last = {p: i for i, p in enumerate(recipe)}
    for earlier, later, reason in order:
        if earlier in first and later in last and first[earlier] >= last[later]:
            raise ValueError(f"{name_of(earlier)} must run before {name_of(later)}: {reason}")


def name_of(step: Pass[U]) -> str:
    return getattr(step, "__name__", None) or repr(step)


@dataclass(frozen=True)
class PassManager(Generic[U]):
    """Runs a recipe of passes. `check` raises TileInternalError for a unit that is malformed."""

    recipe: tuple[Pass[U], ...]
    order: tuple[Order[U], ...]
    check: Callable[[U], None]

    def __post_init__(self) -> None:
        check_order(self.recipe, self.order)

    def run(
        self, unit: U, *, verify: bool | None = None, observer: Observer | None = None, timer: Timer | None = None,
        until: str | None = None, without: Collection[Pass[U]] = (),
    ) -> None:
        """Run the passes but for those in `without`, the last one being `until` if that is given.

        `observer(name, function)` is called after each pass (for dumps), `timer(name, seconds)` too; with `verify`
        (None: as TILEWRIGHT_VERIFY says) the function is checked before the first pass and after each that changes it.
        """
        checked = None
        if verify or (verify is None and verification_wanted()):
            self.check(unit)
            checked = Snapshot(unit.function)
        with uncollected:
            for step in self.recipe:
                start = perf_counter()
                if step not in without:
                    checked = self._run(step, unit, checked)
                if timer is not None:
                    timer(name_of(step), perf_counter() - start)
                if observer is not None:
                    observer(name_of(step), unit.function)
                if until is not None and name_of(step) == until:
                    return

    def _run(self, step: Pass[U], unit: U, checked: Snapshot | None) -> Snapshot | None:
        """The function as it was checked after the pass; None where no checks are wanted, as is `checked` then."""
        try:
            preserved = step(unit)
            if checked is not None and not checked.same(now := Snapshot(unit.function)):
                self.check(unit)
                stale = unit.stale(preserved or NONE)
                if stale:
                    raise TileInternalError(f"it says to preserve {', '.join(stale)}, but does not")
                checked = now
        except Exception as error:
            known = isinstance(error, TileError)
            if known and not isinstance(error, TileTypeError | TileInternalError):
                raise  # what a user can mend: a target that cannot do something, say
            what = error.message if isinstance(error, TileError) else repr(error)
            raise TileInternalError(
                f"pass {name_of(step)} failed on kernel {unit.function.name}: {what}",
                error.span if isinstance(error, TileError) else unit.function.span,
                notes=error.notes if isinstance(error, TileError) else (),
                hints=["set TILEWRIGHT_DUMP_DIR to a folder to get the IR after each pass; please report it"],
            ) from error
        unit.forget(preserved or NONE)
        return checked
