"""Recording the launches of a thread in the place of running them, those of bound and known kernels as well."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tilewright.launching.launcher import Launcher
from tilewright.launching.tracing import RecordedLaunch, collected, record
from tilewright.launching.watching import Launch, unwatch, watch


@contextmanager
def recorded() -> Iterator[list[RecordedLaunch]]:
    """In this context no launch of this thread runs; the list has them, in their order."""
    watch(_record)
    try:
        with collected() as launches:
            yield launches
    finally:
        unwatch(_record)


def _record(launch: Launch, launcher: Launcher, grid: Any, args: tuple[Any, ...], stream: Any) -> Any:
    taken = record(launcher, grid.size, launcher.call.complete(args, {}))
    return None if taken else launch(launcher, grid, args, stream)
