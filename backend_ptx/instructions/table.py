"""The table itself: every record by name, and by the text that a call in LLVM IR carries."""

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


def find_text(asm: str, constraints: str) -> Instruction | None:
    """The record whose call carries this assembly text and these constraints (without the memory clobber), if any."""
    key = asm, constraints
    return by_text().get(key) or warpgroup.from_text(*key) or _DECLARED.get(key)


_DECLARED: dict[tuple[str, str], Instruction] = {}


def declare(record: Instruction) -> Instruction:
    """Make a record known by its text: one that is made on demand, for a unit that this package does not have."""
    return _DECLARED.setdefault((record.asm, record.constraints), record)


@cache
def by_text() -> Mapping[tuple[str, str], Instruction]:
    """Every record by (assembly text, constraints without the memory clobber): what an asm call shows."""
    table: dict[tuple[str, str], Instruction] = {}
    for record in instructions().values():
        key = (record.asm, record.constraints)
        assert key not in table, f"{record.name} and {table[key].name} have one text"
        table[key] = record
    return MappingProxyType(table)
