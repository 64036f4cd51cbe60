"""The table itself: every record by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import chain
from types import MappingProxyType

from tilewright.backend_ptx.instructions import bulk, copies, mbarrier, memory, tensor_core, warp, warpgroup
from tilewright.backend_ptx.instructions.record import Instruction

_FAMILIES = (memory, copies, warp, tensor_core, mbarrier, bulk, warpgroup)


@cache
def instructions() -> Mapping[str, Instruction]:
    """Every record by its name."""
    table: dict[str, Instruction] = {}
    for record in chain.from_iterable(family.records() for family in _FAMILIES):
        assert record.name not in table, f"two records named {record.name}"
        table[record.name] = record
    return MappingProxyType(table)


def instruction(name: str) -> Instruction:
    """The record `name`, for example "mma.m16n8k16.f32.bf16"."""
    try:
        return instructions()[name]
    except KeyError:
        raise KeyError(f"no instruction {name!r} in the table backend_ptx/instructions") from None
