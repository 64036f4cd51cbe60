"""What a certificate says: judgements of each output with reasons, lines and evidence, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tilewright.tileir.diagnostics import NO_SPAN, Span


@dataclass(frozen=True)
class Judgement:
    """`holds`: whether the property holds in every launch. Where not, `reason` says what stands in the way, and `place`
    is its source line. `assuming`: what is taken for granted of launches."""

    holds: bool
    reason: str = ""
    place: Span = NO_SPAN
    assuming: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {"holds": self.holds, "reason": self.reason, "place": _place(self.place),
                "assuming": list(self.assuming)}

    @property
    def told(self) -> str:
        """In words, for people."""
        if not self.holds:
            return f"not shown: {self.reason}{_at(self.place)}"
        return f"independent{': ' * bool(self.reason)}{self.reason}"


@dataclass(frozen=True)
class Batch(Judgement):
    """`axes` of the output whose elements ("rows") are independent of each other; it holds where there is one.
    `along`: the judgement of each axis. `rows`: for each of `axes`, the arrays that are read row by row, with the axis
    of their rows. `shared`: the arrays that all rows read. `tile_size`: of the length of tiles along `axes`."""

    axes: tuple[int, ...] = ()
    along: Mapping[int, Judgement] = field(default_factory=dict)
    rows: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    shared: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    tile_size: Judgement = Judgement(False)

    def as_json(self) -> dict[str, Any]:
        return {**super().as_json(), "axes": list(self.axes),
                "along": {str(axis): one.as_json() for axis, one in self.along.items()},
                "rows": {str(axis): dict(arrays) for axis, arrays in self.rows.items()},
                "shared": {str(axis): list(arrays) for axis, arrays in self.shared.items()},
                "tile_size": self.tile_size.as_json()}


@dataclass(frozen=True)
class Tree:
    """How elements are combined at one place. `fixed`: whether the order is the same for every length of the tile, or
    no matter. `order`: the text without what does not decide the bits, where there is such. `shared_out`: whether warps
    and CTAs of a cluster make parts of it, so that their number counts."""

    text: str
    place: Span = NO_SPAN
    fixed: bool = True
    order: str = ""
    shared_out: bool = False

    def as_json(self) -> dict[str, Any]:
        return {"text": self.text, "place": _place(self.place), "fixed": self.fixed}


@dataclass(frozen=True)
class Output:
    """An array, or a list of arrays, that the kernel writes."""

    name: str
    block_order: Judgement
    grid: Judgement
    batch: Batch
    trees: tuple[Tree, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "block_order": self.block_order.as_json(), "grid": self.grid.as_json(),
                "batch": self.batch.as_json(), "trees": [tree.as_json() for tree in self.trees]}

    def lines(self) -> Iterator[str]:
        yield self.name
        yield f"  block order: {self.block_order.told}"
        if not self.block_order.holds:
            yield "  grid, rows: not shown either"
        else:
            yield f"  grid: {self.grid.told}"
        for axis, one in self.batch.along.items():
            yield f"  rows along axis {axis}: {one.told}"
            if one.holds:
                yield from self._roles(axis)
        if self.batch.axes:
            yield f"  length of tiles along the rows: {self.batch.tile_size.told}"
        for tree in self.trees:
            yield f"  tree: {tree.text}{_at(tree.place)}"

    def _roles(self, axis: int) -> Iterator[str]:
        rows = ", ".join(f"{name} along its axis {own}" for name, own in self.batch.rows[axis].items())
        shared = ", ".join(self.batch.shared[axis])
        if rows:
            yield f"    a row reads its own of {rows}"
        if shared:
            yield f"    every row reads {shared}"


@dataclass(frozen=True)
class Certificate:
    """All outputs of a kernel, by name."""

    kernel: str
    outputs: Mapping[str, Output]

    @property
    def assumptions(self) -> tuple[str, ...]:
        found = (text for out in self.outputs.values() for one in (out.block_order, out.grid, out.batch.tile_size)
                 if one.holds for text in one.assuming)
        return tuple(dict.fromkeys(found))

    def __str__(self) -> str:
        lines = [line for out in self.outputs.values() for line in out.lines()]
        return "\n".join([*lines, *(f"if {text}" for text in self.assumptions)])

    def as_json(self) -> dict[str, Any]:
        return {"kernel": self.kernel, "assumptions": list(self.assumptions),
                "outputs": [out.as_json() for out in self.outputs.values()]}


def _place(span: Span) -> dict[str, Any] | None:
    if span is NO_SPAN:
        return None
    return {"file": span.file, "line": span.line, "column": span.col + 1}


def _at(span: Span) -> str:
    return "" if span is NO_SPAN else f" (line {span.line})"
