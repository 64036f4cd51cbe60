"""The extents of outputs that a launch leaves open: how far its stores reach."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.arguments.bind import Argument, ArrayArgument
from tilewright.combining.regions import Access, array_leaves, launch_regions, shape_of
from tilewright.interp.affine import Form
from tilewright.tileir.core import Function
from tilewright.tileir.diagnostics import NO_SPAN, Span, TileValueError

_GIVE = "give its extents: a spec without ?"


class Extents:
    """What the accesses of one launch tell of extents."""

    def __init__(self, function: Function, grid: tuple[int, int, int], arguments: Sequence[Argument]) -> None:
        self.regions = launch_regions(function, grid, arguments)
        self.arrays = dict(array_leaves(arguments))
        # Where axes of known length are accessed.
        self._known = [
            (form, extent, f"axis {axis} of {leaf.name!r}")
            for position, leaf in self.arrays.items() if isinstance(leaf, ArrayArgument)
            for access in self.regions.of(position) if access.forms is not None
            for axis, (form, extent) in enumerate(zip(access.forms, shape_of(leaf), strict=True))
            if form is not None and extent is not None]

    def read(self, position: int) -> bool:
        """Whether the parameter at a position is read."""
        return any(access.reads for access in self.regions.of(position))

    def shape(self, position: int, array: ArrayArgument) -> tuple[int, ...]:
        """The extents of an array that is written; TileValueError at the store that does not tell."""
        stores = [access for access in self.regions.of(position) if access.writes]
        return tuple(self._extent(array.name, axis, stores) if extent is None else extent
                     for axis, extent in enumerate(shape_of(array)))

    def _extent(self, name: str, axis: int, stores: Sequence[Access]) -> int:
        what = f"the extent of axis {axis} of {name!r} cannot be inferred"
        forms: list[tuple[Form, Span]] = []
        for access in stores:
            form = None if access.forms is None else access.forms[axis]
            if form is None:
                why = "it is written through a view" if access.forms is None else (
                    "where this writes is no sum of multiples of block and loop numbers")
                raise TileValueError(f"{what}: {why}", access.op.span, hints=[_GIVE])
            forms.append((form, access.op.span))
        end = max(form.bounds(self.regions.forms.grid)[1] + 1 for form, _ in forms)
        found = {extent: where for form, _ in forms for other, extent, where in self._known
                 if other == form and _last_tile(form, end) < extent <= end}
        if len(found) > 1:
            raise TileValueError(
                f"{what}: it is written at the places of {' and of '.join(found.values())}, whose lengths are "
                f"{' and '.join(map(str, found))}", forms[0][1] if forms else NO_SPAN, hints=[_GIVE])
        return next(iter(found), end)


def _last_tile(form: Form, end: int) -> int:
    """Where the last of the tiles that reach up to `end` begins."""
    return end - (form.high - form.low + 1)
