"""How the addresses that a thread gathers from differ from each other, where their indices are linear in the position.

    gather(x, (row, i + arange(2048)))      // lane r of a thread lies 128 * r elements behind lane 0
    gather(x, (y[:, None] + 1, z))          // lanes of one row lie apart by numbers, rows by the stride of axis 0

An access then has the address of another one and a number of bytes, which an instruction of the hardware adds itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tilewright.tileir.analysis.same_places import IndexForms, is_function
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.flat import is_plain
from tilewright.tileir.layouts.queries import register_offsets
from tilewright.tileir.types import ArrayType

FAR = 1 << 30
"""Indices and bytes that lanes lie apart at most: numbers of 32 bits that wrap between lanes would name other elements,
or the same ones from other addresses."""


class Place(NamedTuple):
    """The address of lane `base`, and so many bytes behind it."""

    base: int
    bytes: int = 0


class LaneSteps:
    """Of a gather, scatter or atomic operation. `steps`: for each lane how far its indices lie from those of lane 0,
    along each axis of the array; None where they are not linear, or go far."""

    def __init__(self, unit: Unit, op: Any, layout: Layout | None) -> None:
        self.op = op
        forms = [IndexForms(unit.facts).of(index) for index in op.indices]
        linear = [form for form in forms if form is not None and not is_function(form)]
        exact = all(index.type.dtype.bitwidth >= 32 for index in op.indices)
        known = layout is not None and is_plain(layout) and len(linear) == len(forms) and exact
        steps = [tuple(sum(n * offset[axis] for axis, n in form.along) for form in linear)
                 for offset in register_offsets(layout)] if known and layout is not None else []
        near = bool(steps) and all(abs(n) <= FAR for step in steps for n in step)
        self.steps: list[tuple[int, ...]] | None = steps if near else None

    def places(self, array: ArrayType, lanes: Sequence[int]) -> list[Place]:
        """For each of some lanes one of them, and how many bytes its address lies behind that one's: those of a group,
        whose indices are equal along axes with strides that only the launch knows, share the least address.

        Where a lane's offset from the start of the array fits an index, that of the least one does, as it wraps to a
        negative number. Offsets of 64 bits are of widened indices: no index may be larger than that of its lane."""
        groups: dict[tuple[int, ...], list[Place]] = {}
        if self.steps is None:
            return [Place(lane) for lane in lanes]
        for lane in lanes:
            moved = list(zip(self.steps[lane], array.strides, strict=True))
            key = tuple(step for step, stride in moved if stride is None)
            known = sum(step * stride for step, stride in moved if stride is not None)
            groups.setdefault(key, []).append(Place(lane, known * array.dtype.bytes))
        found = {}
        for places in groups.values():
            least = min(places, key=lambda place: place.bytes)
            near = max(place.bytes for place in places) - least.bytes <= FAR
            shares = near if array.small else self._ascend(least.base, [place.base for place in places])
            for lane, bytes_ in places:
                found[lane] = Place(least.base, bytes_ - least.bytes) if shares else Place(lane)
        return [found[lane] for lane in lanes]

    def _ascend(self, base: int, lanes: Sequence[int]) -> bool:
        assert self.steps is not None
        signed = all(index.type.dtype.is_signed or index.type.dtype.bitwidth == 64 for index in self.op.indices)
        return signed and all(n >= m for lane in lanes for n, m in zip(self.steps[lane], self.steps[base], strict=True))

    def ends(self, axis: int, lanes: Sequence[int]) -> tuple[int, int] | None:
        """Of some lanes those whose index along an axis is the least and the greatest."""
        if self.steps is None:
            return None
        ranked = sorted(lanes, key=lambda lane: self.steps[lane][axis])  # type: ignore[index]
        return ranked[0], ranked[-1]
