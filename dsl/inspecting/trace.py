"""`tw.trace`: what every op of a kernel computes, as a table to read."""

from __future__ import annotations

import html
import linecache
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tilewright.launching.grid import block_place, make_grid
from tilewright.tracebacks import public

if TYPE_CHECKING:
    from tilewright.interp.debugging.trace import Row
    from tilewright.kernel import tile_kernel

_HEAD = ("line", "source", "name", "op", "value")
_WIDEST = 48  # characters of a source line, or of a value, in the table of text


class Trace:
    """The ops that blocks executed, in their order. `rows` has for each result `block`, `span` (the place in the
    source), `name`, `op` and `value`, a NumPy array; `str(trace)` is a table, `trace.html()` one for a browser.

    Example:
        @ct.tile_kernel
        def negate(x):
            ct.store(x, 0, -ct.load(x, 0, 4))

        found = ct.trace(negate, (1,), np.arange(4, dtype=np.float32))
        print(str(found).splitlines()[0])  # block (0, 0, 0) of kernel negate
    """

    def __init__(self, kernel: str, rows: Sequence[Row]) -> None:
        self.kernel = kernel
        self.rows = tuple(rows)

    def __str__(self) -> str:
        return "\n".join(_text(self.kernel, block, rows) for block, rows in self._blocks())

    def html(self) -> str:
        """The table as a part of an HTML page; notebooks show it."""
        return "\n".join(_html(self.kernel, block, rows) for block, rows in self._blocks())

    _repr_html_ = html

    def _blocks(self) -> Iterator[tuple[Any, list[Row]]]:
        for block in dict.fromkeys(row.block for row in self.rows):
            yield block, [row for row in self.rows if row.block == block]


@public
def trace(kernel: tile_kernel, grid: Any, /, *args: Any, blocks: Any = None, **named: Any) -> Trace:
    """Run a kernel in the interpreter and record what every op of some blocks computes.

    The IR is that of the kernel as it is written, before any pass, so that each row has the user's line and name.
    Arguments: `kernel`, `grid` and `args` as in a launch; the arrays are written as by one.
    Options: `blocks`, a list of blocks to record, each an int or a tuple of up to three; None records all of them.
    Result: a `Trace`: print it, look at its `rows`, or let a notebook show it.
    Errors: those of a launch; ValueError for a block outside the grid.

    Example:
        @ct.tile_kernel
        def double(x):
            t = ct.load(x, ct.bid(0), 4)
            ct.store(x, ct.bid(0), t * 2.0)

        x = np.arange(8, dtype=np.float32)
        found = ct.trace(double, (2,), x, blocks=[1])
        print([(row.op, row.name) for row in found.rows][1])  # ('load', 't')
        print(found.rows[1].value)                            # [4. 5. 6. 7.]
    """
    made = make_grid(grid if isinstance(grid, tuple) else (grid,))
    places = None if blocks is None else {block_place(block, made) for block in blocks}
    bound = kernel.specialiser.bind(kernel.specialiser.call.complete(args, named))
    return Trace(kernel.__name__, kernel.launcher.trace(made, bound, places))


def _text(kernel: str, block: Any, rows: Sequence[Row]) -> str:
    table = [_HEAD, *([_cut(cell) for cell in _cells(row)] for row in rows)]
    widths = [max(len(line[i]) for line in table) for i in range(len(_HEAD))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in table]
    return "\n".join([f"block {block} of kernel {kernel}", *lines])


def _html(kernel: str, block: Any, rows: Sequence[Row]) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}><code>{html.escape(cell)}</code></{tag}>" for cell in cells) + "</tr>"

    body = "\n".join(line(_cells(row), "td") for row in rows)
    return (f"<table><caption>block {block} of kernel {html.escape(kernel)}</caption>\n<thead>{line(_HEAD, 'th')}"
            f"</thead>\n<tbody>\n{body}\n</tbody></table>")


def _cells(row: Row) -> list[str]:
    source = linecache.getline(row.span.file, row.span.line).strip()
    return [str(row.span.line), source, row.name, row.op, _summary(row.value)]


def _summary(value: Any) -> str:
    """A tile as NumPy writes it, on one line and summarised where it is large."""
    import numpy as np

    text = np.array2string(np.asarray(value), threshold=8, edgeitems=2, precision=5, separator=" ")
    shape = "x".join(map(str, np.shape(value)))
    return f"{value.dtype}[{shape}] " * bool(shape) + " ".join(text.split())


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else text[: _WIDEST - 3] + "..."
