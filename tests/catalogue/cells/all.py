"""Every batch of cells; names are unique."""

from __future__ import annotations

import functools

from catalogue.cells import (
    atomics,
    binary,
    bits,
    containers,
    conversions,
    expressions,
    gathers,
    loads,
    members,
    mixed,
    objects,
    options,
    order,
    powers,
    products,
    random,
    raw,
    reduction_options,
    reductions,
    scans,
    shapes,
    special,
    statements,
    swaps,
    unary,
    views,
)
from catalogue.cells.model import Batch, Cell

MODULES = (binary, powers, mixed, unary, special, options, reductions, reduction_options, scans, order, random,
           conversions, bits, shapes, loads, views, gathers, raw, atomics, swaps, products, statements, expressions,
           objects, members, containers)


@functools.cache
def all_batches() -> tuple[Batch, ...]:
    found = [batch for module in MODULES for batch in module.batches()]
    names = [batch.name for batch in found]
    twice = {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else set()
    assert not twice, f"batches of one name: {', '.join(sorted(twice))}"
    return tuple(found)


@functools.cache
def executed_cells() -> dict[Cell, str]:
    """Each cell and the test that runs it."""
    return {cell: f"tests/catalogue/test_cells.py::test_interpreter[{batch.name}]"
            for batch in all_batches() for part in batch.parts for cell in part.cells}
