"""`tilewright explore`: a page that shows a kernel at every stage, and what it does."""

from __future__ import annotations

from pathlib import Path

from tilewright.cli.answers import Answer
from tilewright.cli.estimate import grid_of
from tilewright.cli.inputs import specified_values
from tilewright.cli.reading import load_kernel
from tilewright.inspecting.explorer.page import page


def explored(
    where: str, args: str, grid: str | None, target: str | None, out: Path, run: bool
) -> Answer:
    """Write the page; what the command says."""
    kernel, values = load_kernel(where), specified_values(args)
    size = grid_of(kernel, kernel.lower(*values, target=target), values, grid)
    told = args if size is None else f"{args}; grid {_told(size)}"
    text = page(kernel, tuple(values), target, told, size, run)
    out.write_text(text, encoding="utf-8")
    return Answer({"kernel": kernel.__name__, "file": str(out), "bytes": len(text.encode())},
                  lambda: print(f"wrote {out}"))


def _told(grid: tuple[int, ...]) -> str:
    """Without the axes of one block at the end."""
    while len(grid) > 1 and grid[-1] == 1:
        grid = grid[:-1]
    return ", ".join(map(str, grid))
