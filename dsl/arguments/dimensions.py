"""Dimension names: `ct.Array["M", "K"]` says how the extents of arrays depend on each other and on constants.

Extents and constants are part of what a launch is looked up by, so that the short way of a launch, which finds a plan,
checks nothing again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tilewright.arguments.annotations import Param
from tilewright.arguments.bind import Argument, ArrayArgument, Const, Scalar, Tuple
from tilewright.arguments.expressions import Expression, parse_all
from tilewright.arguments.spec import Spec


class Place(NamedTuple):
    """Where a name got its value."""

    argument: str
    axis: int | None  # None: it is a constant

    def __str__(self) -> str:
        return f"{self.argument!r}" if self.axis is None else f"axis {self.axis} of {self.argument!r}"


class Dimensions:
    """The dimension names of one kernel function, and the grid that is made of them, where the decorator gives it."""

    def __init__(self, params: Sequence[Param], grid: str | None, kernel: str) -> None:
        self._kernel = kernel
        self._dims = {name: [_entry(name, entry) for entry in dims] for name, dims in _named_axes(params)}
        self._constants = frozenset(p.name for p in params if p.constant)
        self._scalars = frozenset(p.name for p in params if not p.constant and not p.starred)
        self._grid = parse_all(grid, f"the grid of kernel {kernel}") if grid is not None else None
        # Where each name of the grid is read, where that needs no more than an argument's shape or value.
        self._sources: dict[str, tuple[int, int | None]] = {}
        named = {e.name for entries in self._dims.values() for e in entries if e is not None and e.name}
        self._check_names(named)
        positions = {p.name: i for i, p in enumerate(params)}
        for argument, entries in self._dims.items():
            for axis, entry in enumerate(entries):
                if entry is not None and entry.name and argument in positions:
                    self._sources.setdefault(entry.name, (positions[argument], axis))
        self._sources |= {name: (i, None) for name, i in positions.items() if name not in named - self._constants}

    @property
    def any(self) -> bool:
        return bool(self._dims)

    @property
    def has_grid(self) -> bool:
        return self._grid is not None

    def _check_names(self, named: set[str]) -> None:
        for argument, entries in self._dims.items():
            for entry in filter(None, entries):
                for name in sorted(entry.names):
                    if name in self._scalars and (name not in named or entry.name == name):
                        raise ValueError(f"parameter {argument!r}: the dimension {entry.text} names the parameter "
                                         f"{name}, whose value is known at run time only; annotate it as Constant")
                    if name not in named | self._constants:
                        raise ValueError(f"parameter {argument!r}: nothing tells what {name} is in the dimension "
                                         f"{entry.text}; give an axis that name, or a Constant parameter")
        if self._grid is None:
            return
        if len(self._grid) > 3:
            raise ValueError(f"the grid of kernel {self._kernel} has {len(self._grid)} axes; a grid has at most 3")
        for entry in self._grid:
            for name in sorted(entry.names - named - self._constants - self._scalars):
                raise ValueError(f"the grid of kernel {self._kernel}: nothing tells what {name} is in {entry.text}; it "
                                 "may use names of dimensions and parameters")

    def check(self, arguments: Sequence[Argument]) -> dict[str, int]:
        """The values of all names. ValueError where extents do not agree."""
        values: dict[str, int] = {}
        places: dict[str, Place] = {}
        for argument in arguments:
            if isinstance(argument, (Const, Scalar)) and hasattr(argument.value, "__index__"):
                values[argument.name], places[argument.name] = int(argument.value), Place(argument.name, None)
        known = [(array, self._dims[array.name]) for array in _arrays(arguments) if array.name in self._dims]
        for array, entries in known:
            extents = _extents(array)
            if len(extents) != len(entries):
                count = f"{len(entries)} {'axis' if len(entries) == 1 else 'axes'}"
                names = ", ".join("_" if e is None else e.text for e in entries)
                raise ValueError(f"argument {array.name!r} must have {count} ({names}), but has {len(extents)}")
            for axis, (entry, extent) in enumerate(zip(entries, extents, strict=True)):
                if entry is not None and entry.name and extent is not None and entry.name not in values:
                    values[entry.name], places[entry.name] = extent, Place(array.name, axis)
        for array, entries in known:
            for axis, (entry, extent) in enumerate(zip(entries, _extents(array), strict=True)):
                if entry is not None and extent is not None and entry.names <= values.keys():
                    self._agree(array.name, axis, entry, extent, values, places)
        return values

    def _agree(self, name: str, axis: int, entry: Expression, extent: int, values: dict[str, int],
               places: dict[str, Place]) -> None:
        try:
            wanted = entry.value(values)
        except ZeroDivisionError:
            raise ValueError(f"argument {name!r}: axis {axis} is {entry.text}, which divides by zero") from None
        if wanted == extent:
            return
        formula = f"{entry.text} = {wanted}" if entry.names else str(wanted)
        because = " and ".join(f"{n} is that of {places[n]}" for n in sorted(entry.names))
        raise ValueError(f"argument {name!r}: axis {axis} has length {extent}, but must have {formula}"
                         f"{' (' + because + ')' if because else ''}")

    def grid(self, args: Sequence[Any], arguments: Any) -> tuple[int, ...]:
        """The grid for a launch with these arguments; `arguments` binds them, which is only done where their shapes
        cannot be read directly."""
        assert self._grid is not None
        try:
            values = {}
            for name in frozenset().union(*(entry.names for entry in self._grid)):
                position, axis = self._sources[name]
                value = args[position] if axis is None else args[position].shape[axis]
                values[name] = int(value)
        except (KeyError, AttributeError, IndexError, TypeError, ValueError):
            values = self.check(arguments())
        try:
            return tuple([entry.value(values) for entry in self._grid])
        except KeyError as error:
            raise ValueError(f"the grid of kernel {self._kernel} needs {error.args[0]}, which these arguments do not "
                             "tell") from None
        except ZeroDivisionError:
            raise ValueError(f"the grid of kernel {self._kernel} divides by zero for these arguments") from None


def _named_axes(params: Sequence[Param]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The arrays with dimension names, those in tuples too, by the names that arguments are bound under."""
    for param in params:
        if param.dims is not None:
            yield param.name, param.dims
        if param.items is not None and not param.repeat:
            yield from _named_axes(param.items)


def _entry(name: str, entry: Any) -> Expression | None:
    """One axis: None for an axis that may have any length."""
    if entry is None or entry == "_":
        return None
    found = parse_all(str(entry), f"parameter {name!r}")
    if len(found) != 1 or not isinstance(entry, (str, int)) or isinstance(entry, bool):
        raise ValueError(f"parameter {name!r}: {entry!r} is no dimension; write names, ints and expressions of them, "
                         'one for each axis, and "_" for any length')
    return found[0]


def _arrays(arguments: Sequence[Argument]) -> Iterator[ArrayArgument]:
    for argument in arguments:
        if isinstance(argument, Tuple):
            yield from _arrays(argument.items)
        elif isinstance(argument, ArrayArgument):
            yield argument


def _extents(array: ArrayArgument) -> tuple[int | None, ...]:
    return (array.info.extents or ()) if isinstance(array.info, Spec) else array.info.shape
