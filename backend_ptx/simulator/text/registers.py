"""Inline assembly takes what fills the register of an operand, a float where its record says a word, and so are results
that are tied to one. Bitcasts around it say so, so that all else meets the types of the records."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from tilewright.backend_ptx.instructions.record import Instruction
from tilewright.backend_ptx.simulator.text.ir import Function, LlvmInstruction, Local
from tilewright.backend_ptx.simulator.text.records import find_text
from tilewright.backend_ptx.simulator.text.types import I1, I16, I32, I64, Float, Struct, Type

_TYPES: dict[str, Type] = {
    "i1": I1, "i16": I16, "i32": I32, "i64": I64, "float": Float("float"), "double": Float("double")}


def in_own_types(function: Function) -> None:
    """Change the function in place."""
    numbers, packs = count(), dict[str, Struct]()  # results of several registers, by name
    for block in function.blocks:
        block.instructions = [new for old in block.instructions for new in _asm(old, numbers, packs)]
    _follow(packs, [i for block in function.blocks for i in block.instructions if i.opcode == "phi"])
    for block in function.blocks if packs else ():
        block.instructions = [new for old in block.instructions for new in _member(old, packs)]


def _asm(i: LlvmInstruction, numbers: count[int], packs: dict[str, Struct]) -> list[LlvmInstruction]:
    record = _record(i)
    if record is None:
        return [i]
    before: list[LlvmInstruction] = []
    for place, (operand, position) in enumerate(zip(i.operands, record.order, strict=True)):
        wanted = _TYPES.get(record.operands[position], operand.type)
        if operand.type != wanted:
            name = f"register {next(numbers)}"
            before.append(replace(i, opcode="bitcast", type=wanted, operands=[operand], result=name, extra={}))
            i.operands[place] = Local(wanted, name)
    made = i.type.elems if isinstance(i.type, Struct) else (i.type,)
    results = tuple(_TYPES.get(t, has) for t, has in zip(record.results, made, strict=False))
    if len(results) > 1 and i.type != Struct(results):
        assert i.result is not None
        packs[i.result] = Struct(results)
        i = replace(i, type=packs[i.result])
    elif len(results) == 1 and i.type != results[0]:
        return [*before, *_viewed(i, results[0])]
    return [*before, i]


def _follow(packs: dict[str, Struct], phis: list[LlvmInstruction]) -> None:
    """Phis of packs are packs, also of what a later block makes."""
    given = [(i, [o.name for o in i.operands if isinstance(o, Local)]) for i in phis]
    while new := [(i, name) for i, names in given if i.result not in packs for name in names if name in packs]:
        for i, name in new:
            assert i.result is not None
            packs[i.result] = packs[name]


def _member(i: LlvmInstruction, packs: dict[str, Struct]) -> list[LlvmInstruction]:
    if i.opcode == "phi" and i.result in packs:
        return [replace(i, type=packs[i.result])]
    pack = i.operands[0] if i.opcode == "extractvalue" else None
    if not isinstance(pack, Local) or pack.name not in packs:
        return [i]
    i.operands[0] = Local(packs[pack.name], pack.name)
    own = packs[pack.name].elems[i.extra["indices"][0]]
    return [i] if own == i.type else _viewed(i, own)


def _viewed(i: LlvmInstruction, own: Type) -> list[LlvmInstruction]:
    """The instruction with a result of its own type, and that one as the type that is read."""
    name = f"{i.result} as it is"
    view = replace(i, opcode="bitcast", operands=[Local(own, name)], extra={})
    return [replace(i, type=own, result=name), view]


def _record(i: LlvmInstruction) -> Instruction | None:
    if i.opcode != "asm":
        return None
    return find_text(i.extra["asm"], i.extra["constraints"].removesuffix("~{memory}").removesuffix(","))
