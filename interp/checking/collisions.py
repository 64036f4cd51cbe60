"""One scatter that writes several values to one element: which of them stays is unspecified, also within a block."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.interp.checking.log import Log
from tilewright.interp.checking.places import block_of, called, element_of
from tilewright.interp.checking.report import Report
from tilewright.interp.elements import ElementRegion
from tilewright.interp.memory import Region, Values
from tilewright.tileir.core import Op


def check_collisions(region: Region, values: Values, op: Op, log: Log) -> None:
    """Look at what was just written: where something else stands, another element has won. Those of two blocks are a
    matter of races."""
    lanes = int(np.prod(region.tile)) if isinstance(region, ElementRegion) else 0
    if lanes < 2 or not isinstance(region, ElementRegion) or not len(region.array.line):
        return
    given = np.asarray(values)
    region.padding = given  # what is not written differs from nothing
    if not _differ(region.read(), given).any():
        return
    places = np.broadcast_to(region.places, region.shape).reshape(-1, lanes)
    if region.valid is not None:
        # What is not written has a place of its own.
        valid = np.broadcast_to(region.valid, region.shape).reshape(-1, lanes)
        places = np.where(valid, places, -1 - np.arange(lanes))
    order = np.argsort(places, axis=1, kind="stable")
    places = np.take_along_axis(places, order, 1)
    given = np.take_along_axis(np.broadcast_to(given, region.shape).reshape(-1, lanes), order, 1)
    one, other = given[:, :-1], given[:, 1:]
    wrong = (places[:, 1:] == places[:, :-1]) & _differ(one, other)
    if wrong.any():
        row, at = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        log.add(("collision", op), int(np.count_nonzero(wrong)), lambda: _report(
            region, op, int(row) * lanes + int(order[row, at]), (one[row, at], other[row, at])))


def _differ(one: Any, other: Any) -> Any:
    """Where numbers are not equal; two NaNs are alike."""
    found = np.asarray(one != other)
    return found & ((one == one) | (other == other)) if found.any() else found


def _report(region: ElementRegion, op: Op, flat: int, values: tuple[Any, Any]) -> Report:
    lane = tuple(int(i) for i in np.unravel_index(flat, region.shape))
    index, name = element_of(region, lane), region.array.name
    element = f"{name}[{', '.join(map(str, index))}]"
    return Report(
        "race", f"{called(op)} writes several values to {element}, of which one stays", op.span, severity="warning",
        array=name, index=index, block=block_of(region, lane),
        values={"one": values[0].item(), "another": values[1].item()},
        reason="of several elements with one position one wins, unspecified which",
        hint="say which is meant, with atomic_max, atomic_min or atomic_add, or mask the others")
