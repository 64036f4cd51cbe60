"""Where a function first touches what other launches see: memory of arrays and lists, or the process' output."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.tileir.core import Function, Op, space_of
from tilewright.tileir.engines import GLOBAL
from tilewright.tileir.ops.arrays import ListItem
from tilewright.tileir.ops.output import Assert, Print


def first_access(function: Function) -> tuple[int, Op | None]:
    """The position in the body of the first op that may do so, itself or in a body of its own, and the op that does;
    that of the body's last op, and None, where there is none."""
    for position, op in enumerate(function.body.ops):
        found = next(filter(is_access, _with_bodies(op)), None)
        if found is not None:
            return position, found
    return len(function.body.ops) - 1, None


def is_access(op: Op) -> bool:
    """Whether an op, its bodies not counted, touches global memory, at once or by an engine, or writes output. An item
    of a list is read from the list's table."""
    if not op.effectful:
        return isinstance(op, ListItem)
    effects = op.effects()
    touched = (*effects.reads, *effects.writes, *(start.memory for start in effects.starts))
    return effects.ordered or isinstance(op, (Print, Assert)) or any(space_of(memory) is GLOBAL for memory in touched)


def _with_bodies(op: Op) -> Iterator[Op]:
    yield op
    for block in op.blocks:
        yield from block.walk()
