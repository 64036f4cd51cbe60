"""The line that shows how far a search is, on a terminal."""

from __future__ import annotations

from types import TracebackType
from typing import Any


class Progress:
    """A context: `advance` after each configuration. Without a terminal, or where quiet, it shows nothing."""

    def __init__(self, total: int, *, quiet: bool) -> None:
        self._total = total
        self._bar: Any = None
        self._task: Any = None
        if not quiet:
            self._bar = _bar()

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task("tuning", total=self._total, found="")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
                 ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, best_us: float | None, failures: int) -> None:
        """One more configuration is done; the best mean so far, and how many have failed."""
        if self._bar is None:
            return
        found = [] if best_us is None else [f"best {best_us:.1f} us"]
        found += [f"{failures} failed"] if failures else []
        self._bar.update(self._task, advance=1, found=", ".join(found))


def _bar() -> Any:
    """A bar that disappears at its end; None without a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = Console()
    if not console.is_terminal:
        return None
    return Bar(SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
               TimeRemainingColumn(), TextColumn("{task.fields[found]}"), console=console, transient=True)
