"""The launches that an example makes in the interpreter, seen while its `main` runs."""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

if TYPE_CHECKING:
    from tilewright.inspecting.stages import Stages
    from tilewright.launching.specialise import Specialiser

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@dataclass(frozen=True)
class Launch:
    """One launch: `args` are copies, as they were before it."""

    specialiser: Specialiser
    grid: tuple[int, int, int]
    args: tuple[Any, ...]

    @property
    def name(self) -> str:
        return self.specialiser.name

    @property
    def constants(self) -> tuple[Any, ...]:
        """What the compiler knows of the arguments: values of constants, dtypes and ranks of arrays."""
        return tuple(
            arg if param.constant else (str(getattr(arg, "dtype", type(arg))), getattr(arg, "ndim", None))
            for param, arg in zip(self.specialiser.params, self.args, strict=True))

    def stages(self, target: str) -> Stages:
        from tilewright.inspecting.stages import Stages

        return Stages(self.specialiser, self.args, target)


def launches(name: str) -> list[Launch]:
    """The launches of an example with blocks to run, the first one of each kernel and its constants, in order."""
    seen: dict[Any, Launch] = {}
    _run(name, lambda one: seen.setdefault((one.name, one.constants), one))
    return list(seen.values())


def launch_of(name: str, kernel: str = "", number: int = 0) -> Launch:
    """A launch of an example with blocks to run, the first one or that `number` of a kernel; it goes no further. Of one
    on several devices, that of the first.

    LookupError where there is none.
    """
    seen: list[Launch] = []

    def see(one: Launch) -> None:
        if kernel in ("", one.name):
            seen.append(one)
        if len(seen) > number:
            raise Enough

    with contextlib.suppress(Enough), _of_devices(see):
        _run(name, see)
    if len(seen) <= number:
        raise LookupError(f"example {name} does not launch {kernel or 'anything'} {number + 1} times")
    return seen[number]


class Enough(BaseException):
    """Ends an example: no exception that it would catch."""


def _run(name: str, see: Callable[[Launch], object]) -> None:
    """Run an example without its output; `see` is called before each launch."""
    from tilewright.launching import watching

    def watcher(launch: Any, launcher: Any, grid: Any, args: tuple[Any, ...], stream: Any) -> None:
        if not grid.empty:
            see(Launch(launcher._specialiser, grid.size, deepcopy(launcher.call.complete(args, {}))))
        launch(launcher, grid, args, stream)

    with _without_gpu():
        module = importlib.import_module(name)
        watching.watch(watcher)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                module.main()
        finally:
            watching.unwatch(watcher)


@contextlib.contextmanager
def _of_devices(see: Callable[[Launch], object]) -> Iterator[None]:
    """Launches on several devices are seen, too, by what the first one gets."""
    from tilewright.launching.grid import make_grid
    from tilewright.launching.host_runs import HostRuns

    interpret = HostRuns.interpret

    def seen(self: HostRuns, grid: Any, *args: Any, devices: Any = None, **options: Any) -> Any:
        if devices is not None:
            given = deepcopy(self.specialiser.call.complete(tuple(devices[0]), {}))
            see(Launch(self.specialiser, make_grid(grid).size, given))
        return interpret(self, grid, *args, devices=devices, **options)

    with patch.object(HostRuns, "interpret", seen):
        yield


@contextlib.contextmanager
def _without_gpu() -> Iterator[None]:
    """Examples import each other from their folder, and run on GPUs that they find."""
    import tilewright as tw

    sys.path.insert(0, str(EXAMPLES))
    try:
        with patch.object(tw, "gpu_available", lambda: False):
            yield
    finally:
        sys.path.remove(str(EXAMPLES))
