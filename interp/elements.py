"""Single elements of arrays: what gathers, scatters and atomic operations access."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tilewright.interp.access import over_tile
from tilewright.interp.arrays import ArrayRef
from tilewright.interp.chunk import Chunk
from tilewright.interp.formats import Format
from tilewright.interp.jit.elements import Where, counts_up, gather, scatter
from tilewright.interp.memory import Change, Region, Values

ROW = 16
"""Fewer elements side by side are not worth a copy of their own."""


class ElementRegion(Region):
    """An element of an array for each element of a tile.

    Indices are always checked: where the kernel asks for no bounds check, an index outside is undefined, and it must
    not reach other memory. `given` is the user's mask alone; `padding` stands for what is not accessed.
    """

    __slots__ = ("tile", "format", "given", "padding", "_valid", "_places", "_inside")
    kind = "elements"

    def __init__(self, ref: ArrayRef, indices: list[Any], mask: Any, tile: tuple[int, ...], format: Format,
                 chunk: Chunk, blocks: Any, varies: bool, padding: Any = None) -> None:
        super().__init__(ref, indices, chunk, blocks, varies)
        self.tile = tile
        self.format = format
        self.given = mask
        self.padding = padding
        self._places: Any = None
        self._valid: Any = None
        self._inside: list[bool] | None = None

    @property
    def inside(self) -> list[bool]:
        """Along each axis of the array: is no index outside, also of those that the mask excludes?"""
        if self._inside is None:
            rank = len(self.tile)
            self._inside = [_within(index, over_tile(extent, rank))
                            for index, extent in zip(self.index, self.array.extents, strict=True)]
        return self._inside

    def _find(self) -> None:
        """The place of each element in `line`, and which of them are accessed (None: all)."""
        ref, rank, valid = self.array, len(self.tile), self.given
        unit, base = ref.unit, over_tile(ref.offset, rank)
        # Strides are whole units; only a view of raw elements may begin between them.
        whole = isinstance(ref.offset, int) and ref.offset % unit == 0
        by, places = (unit, base // unit) if whole else (1, base)
        for i, index in enumerate(self.index):
            if not self.inside[i]:
                extent = over_tile(ref.extents[i], rank)
                inside = (index >= 0) & (index < extent)
                valid = inside if valid is None else valid & inside
            step = ref.strides[i] // by
            along = np.asarray(index).astype(np.int64)
            places = places + (along if step == 1 else along * step)
        self._valid = valid
        self._places = np.asarray(places if whole else places // unit)

    @property
    def places(self) -> Any:
        if self._places is None:
            self._find()
        return self._places

    @property
    def valid(self) -> Any:
        if self._places is None:
            self._find()
        return self._valid

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.count, *self.tile) if self.varies else self.tile

    @property
    def mask(self) -> Any:
        if not len(self.array.line):
            return np.zeros(self.shape, np.bool_)
        return None if self.valid is None else np.broadcast_to(self.valid, self.shape)

    def offsets(self) -> Any:
        return np.broadcast_to(self.places * self.array.unit, self.shape)

    def read(self) -> Values:
        full, line = self.shape, self.array.line
        if not len(line):
            return np.broadcast_to(self.padding, full)
        rows = self._rows()
        if rows is not None:
            return rows
        where = self._where()
        if where is not None:
            fast = gather(where, np.asarray(self.padding, self.format.held), full)
            if fast is not None:
                return fast
        out = self.format.decode(line.take(self.places, mode="clip"))
        if self.valid is not None:
            out = np.where(self.valid, out, self.padding)
        return out if np.shape(out) == full else np.broadcast_to(out, full)

    def _rows(self) -> Values | None:
        """The elements where each row of the tile lies side by side in memory; None where it does not."""
        ref, length = self.array, self.tile[-1] if self.tile else 0
        if length < ROW or self.given is not None or not self.format.plain or ref.varies or not self.index:
            return None
        *others, last = (np.asarray(i) for i in self.index)
        if any(i.ndim and i.strides[-1] and i.shape[-1] > 1 for i in others) or any(
                i.ndim > 1 + len(self.tile) for i in others) or last.shape[-1:] != (length,) or any(
                step for step, n in zip(last.strides[:-1], last.shape, strict=False) if n > 1):
            return None
        along = last[(0,) * (last.ndim - 1)]
        first, stride = int(along[0]), ref.strides[-1]
        if first < 0 or first + length > ref.extents[-1] or not (along[1:] - along[:-1] == 1).all():
            return None
        if int(along[-1]) - first != length - 1:  # narrow integers wrap, as do the differences
            return None
        picked = [i[..., 0] if i.ndim else i for i in others]
        if not all(_within(i, n) for i, n in zip(picked, ref.extents, strict=False)):
            return None
        full = self.shape
        rows = ref.view(ref.offset + first * stride, (*ref.extents[:-1], length), ref.strides)
        if len(picked) == 1 and rows.flags.c_contiguous:
            return rows.take(np.broadcast_to(picked[0], full[:-1]), axis=0)
        return rows[tuple(np.broadcast_to(i, full[:-1]) for i in picked)] if picked else None

    def _where(self) -> Where | None:
        """For machine code, which knows elements that lie in memory as registers hold them; None for others."""
        ref = self.array
        if not self.format.plain or self._places is not None or ref.varies:
            return None
        base = ref.window.__array_interface__["data"][0] + ref.offset
        mask = None if self.given is None else np.asarray(self.given)
        return Where(base, ref.extents, ref.strides, [np.asarray(i) for i in self.index], mask)

    def write(self, values: Values) -> None:
        full, line = self.shape, self.array.line
        if not len(line):
            return
        where = self._where()
        if where is not None and scatter(where, np.asarray(values), full):
            return
        places = np.broadcast_to(self.places, full)
        values = np.broadcast_to(values, full)
        if self.valid is not None:
            valid = np.broadcast_to(self.valid, full)
            places, values = places[valid], values[valid]
        # ascontiguousarray makes an axis where there is none.
        line[places] = self.format.encode(np.ascontiguousarray(values)).reshape(places.shape)

    def update(self, change: Change) -> Values:
        """Elements that meet at one place are served in their order, so old values are those of a run of one element
        after another."""
        full, line, fmt = self.shape, self.array.line, self.format
        run = self._side_by_side() if fmt.plain and change.ufunc is None else None
        if run is not None:
            place = line[run].reshape(full)
            whole = place.copy()
            values = [np.broadcast_to(v, full) for v in change.values]
            if change.exact is None:
                place[...] = change.new(whole, *values)
            else:
                change.exact(whole, *values, out=place)
            return whole
        given = [np.broadcast_to(v, full).reshape(-1) for v in change.values]
        # Where nothing happens a compare-and-swap returns what it expected; the others may return anything.
        old = given[0].copy() if change.kind == "cas" else np.zeros(given[0].shape, fmt.held)
        if not len(line):
            return old.reshape(full)
        places = np.broadcast_to(self.places, full).reshape(-1)
        lanes: Any = slice(None)
        if self.valid is not None:
            lanes = np.flatnonzero(np.broadcast_to(self.valid, full))
            places = places[lanes]
        encoded = [fmt.encode(np.ascontiguousarray(v[lanes])) for v in given]
        if change.ufunc is not None:
            change.ufunc.at(line, places, encoded[0])
            return old.reshape(full)
        found = np.empty(len(places), fmt.memory)
        for group in distinct(places):
            at = places[group]
            was = found[group] = line[at]
            line[at] = change.new(was, *(e[group] for e in encoded))
        old[lanes] = fmt.decode(found)
        return old.reshape(full)

    def _side_by_side(self) -> slice | None:
        """The places, where all elements are accessed, each behind the one before: none meets another."""
        found = self._one_run()
        if found is not None:
            return found
        if self.valid is not None or self.places.shape != self.shape or self.places.size < 2:
            return None
        places = self.places.reshape(-1)
        first, last = int(places[0]), int(places[-1])
        if first < 0 or last - first != len(places) - 1 or not (places[1:] > places[:-1]).all():
            return None
        return slice(first, last + 1)

    def _one_run(self) -> slice | None:
        """The same of an array of one axis whose indices count up, which takes no places."""
        ref = self.array
        index, *more = (np.asarray(i) for i in self.index or (0,))
        if len(ref.strides) != 1 or more or self.given is not None or ref.varies:
            return None
        if ref.strides[0] != ref.unit or ref.offset % ref.unit:
            return None
        if index.shape != self.shape or not index.flags.c_contiguous or index.size < 2:
            return None
        flat = index.reshape(-1)
        first, last = int(flat[0]), int(flat[-1])
        if first < 0 or last - first != len(flat) - 1 or last >= ref.extents[0]:
            return None
        known = counts_up(flat)
        if not (np.array_equal(flat, np.arange(first, last + 1, dtype=flat.dtype)) if known is None else known):
            return None
        start = ref.offset // ref.unit
        return slice(start + first, start + last + 1)


def _within(index: Any, extent: Any) -> bool:
    """Are all indices inside 0..extent-1?"""
    index = np.asarray(index)
    if isinstance(extent, np.ndarray):
        return bool(np.all((index >= 0) & (index < extent)))
    return not index.size or bool(index.min() >= 0 and index.max() < extent)


def distinct(places: Any) -> Iterator[Any]:
    """Positions in `places`, in groups without two equal places: the n-th group holds each place's n-th occurrence."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    first = np.ones(len(ordered), bool)
    first[1:] = ordered[1:] != ordered[:-1]
    if first.all():
        yield slice(None)
        return
    starts = np.flatnonzero(first)
    number = np.arange(len(ordered)) - np.repeat(starts, np.diff(np.append(starts, len(ordered))))
    by_number = np.argsort(number, kind="stable")
    ends = np.cumsum(np.bincount(number))
    for low, high in zip([0, *ends[:-1]], ends, strict=True):
        yield order[by_number[low:high]]
