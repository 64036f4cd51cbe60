"""`tilewright compare`: a kernel in two executors, on arrays from files or generated ones; or a saved comparison."""

from __future__ import annotations

from pathlib import Path

from tilewright.cli.answers import Answer, UsageError
from tilewright.cli.inputs import launch_values
from tilewright.cli.reading import load_kernel, parse_grid
from tilewright.comparing.entry import compare
from tilewright.comparing.result import Comparison


def compared(where: str, grid: str | None, args: str, a: str, b: str, seed: int, save: Path | None) -> Answer:
    """Compare; where the sides differ, the exit status is 1."""
    found = _again(Path(where)) if Path(where).is_dir() else _launched(where, grid, args, a, b, seed, save)
    return Answer(found.as_data(), lambda: print(found), status=0 if found.equal else 1)


def _launched(where: str, grid: str | None, args: str, a: str, b: str, seed: int, save: Path | None) -> Comparison:
    if grid is None:
        raise UsageError("write --grid with the number of blocks, such as --grid 16")
    values = launch_values(args, seed)
    return compare(load_kernel(where), parse_grid(grid), *values, a=a, b=b, save=save)


def _again(folder: Path) -> Comparison:
    from tilewright.comparing.saving import load

    return load(folder).compare()
