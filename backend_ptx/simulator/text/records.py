"""The record of the instruction table that a call of inline assembly was emitted from, by its text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from tilewright.backend_ptx.instructions.record import Instruction
from tilewright.backend_ptx.instructions.table import instructions
from tilewright.backend_ptx.instructions.warpgroup import FENCE, KINDS, wgmma, wgmma_wait_tied

# Columns, element types, whether A is in registers, the flags of transposed operands.
_PRODUCT = re.compile(
    r"wgmma\.mma_async\.sync\.aligned\.m64n(\d+)k\d+\.(\w+\.\w+\.\w+) \{[^}]*\}, (\{?)[^;]*, p(?:, 1, 1)?([^;]*);"
)
_WAIT = re.compile(r"wgmma\.wait_group\.sync\.aligned (\d+);")
_KIND_OF = {f"{k.acc}.{k.a}.{k.b}": name for name, k in KINDS.items()}
_DECLARED: dict[tuple[str, str], Instruction] = {}


def find_text(asm: str, constraints: str) -> Instruction | None:
    """The record whose call carries this assembly text and these constraints (without the memory clobber), if any."""
    key = asm, constraints
    return by_text().get(key) or _made_on_demand(*key) or _DECLARED.get(key)


def declare(record: Instruction) -> Instruction:
    """Make a record known by its text: one of a unit that this package does not have."""
    return _DECLARED.setdefault((record.asm, record.constraints), record)


@cache
def by_text() -> Mapping[tuple[str, str], Instruction]:
    """Every record of the table by (assembly text, constraints without the memory clobber): what an asm call shows."""
    table: dict[tuple[str, str], Instruction] = {}
    for record in instructions().values():
        key = (record.asm, record.constraints)
        assert key not in table, f"{record.name} and {table[key].name} have one text"
        table[key] = record
    return table


def _made_on_demand(asm: str, constraints: str) -> Instruction | None:
    """The record of wgmma, of which there are thousands, whose call carries this text and these constraints."""
    found = _parse(asm, constraints)
    matches = found is not None and (found.asm, found.constraints) == (asm, constraints)
    return found if matches else None


def _parse(asm: str, constraints: str) -> Instruction | None:
    outputs = [c for c in constraints.split(",") if c[0] == "="] if constraints else []
    wait = _WAIT.fullmatch(asm)
    if wait is not None:
        return wgmma_wait_tied(int(wait[1]), outputs.count("=f"), outputs.count("=r"))
    product = _PRODUCT.search(asm)
    if product is None or product[2] not in _KIND_OF:
        return None
    *a_trans, b_trans = [t == "1" for t in re.findall(r"[01]", product[4])] or [False]
    left = None if product[3] else a_trans == [True]
    kind, steps = _KIND_OF[product[2]], asm.count("wgmma.mma_async")
    return wgmma(int(product[1]), kind, left, b_trans, steps, FENCE in asm)
