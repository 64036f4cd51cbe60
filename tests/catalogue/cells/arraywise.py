"""Batches whose parts each work on arrays of their own: loads, stores, gathers, atomics, products, control flow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from catalogue.case import Bound
from catalogue.cells.model import Array, Batch, Filled, Part

import tilewright as ct

Make = Callable[[np.random.Generator], tuple[tuple[Any, ...], Array]]


@dataclass(frozen=True)
class Task:
    """One part: `make(rng)` gives the inputs and the output array as they are before, `body(ins, out)` is what the
    kernel does in each block, `reference(ins, out)` the output array after all blocks. `ignore`: elements without a
    meaning."""

    names: tuple[str, ...]
    rank: int
    boundary: str
    make: Make
    body: Callable[[Any, Any], None]
    reference: Callable[[tuple[Any, ...], Array], Array]
    bound: Bound | None = None
    ignore: Callable[[tuple[Any, ...], Array], Any] | None = None


def arraywise(name: str, dtype: str, tasks: Sequence[Task], grid: tuple[int, ...] = (2,), unordered: bool = False,
              simulate: bool = True) -> Batch:
    """A batch of tasks."""
    bodies = tuple(task.body for task in tasks)
    count = len(bodies)

    @ct.tile_kernel
    def kernel(ins, outs):
        for k in ct.static_iter(range(count)):
            bodies[k](ins[k], outs[k])

    def fill(rng: np.random.Generator) -> Filled:
        made = [task.make(rng) for task in tasks]
        with np.errstate(all="ignore"):
            wants = tuple(np.asarray(task.reference(ins, out.copy())) for task, (ins, out) in zip(
                tasks, made, strict=True))
            skip = tuple(task.ignore(ins, out) if task.ignore else None for task, (ins, out) in zip(
                tasks, made, strict=True))
        for task, (_, out), want in zip(tasks, made, wants, strict=True):
            assert want.dtype == out.dtype, f"{name}: {task.names} gives {want.dtype}, not {out.dtype}"
        return Filled(tuple(ins for ins, _ in made), tuple(out for _, out in made), wants, skip)

    parts = tuple(Part(task.names, dtype, task.rank, task.boundary, task.bound) for task in tasks)
    return Batch(name, kernel, fill, parts, grid, unordered, simulate)
