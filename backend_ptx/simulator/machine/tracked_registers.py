"""Watch the registers that wgmma owns or takes (see outstanding.py), at every other instruction.

Only modules with wgmma pay for it.
"""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.backend_ptx.simulator.machine.code import Asked, Operation
from tilewright.backend_ptx.simulator.machine.outstanding import OutstandingMmas, outstanding, settle
from tilewright.backend_ptx.simulator.machine.state import Machine, Registers
from tilewright.backend_ptx.simulator.text.ir import Const, Function, LlvmInstruction, LlvmModule, Local
from tilewright.backend_ptx.simulator.text.types import Float, Int, Type, VectorType, scalar

# What only moves registers, or renames them.
_MOVES = frozenset("extractelement insertelement shufflevector extractvalue insertvalue phi freeze".split())
_FLOAT, _WORD = Float("float"), Int(32)
_HALVES = (Float("half"), Float("bfloat"), Int(16))  # two of a vector share a register


def is_mma(i: LlvmInstruction) -> bool:
    return i.opcode == "asm" and "wgmma.mma_async" in i.extra["asm"]


def _passes_through(i: LlvmInstruction) -> bool:
    """wgmma.wait_group with registers tied through it."""
    return i.opcode == "asm" and i.extra["asm"].startswith("wgmma.")


def _is_move(i: LlvmInstruction) -> bool:
    if i.opcode == "bitcast":
        return _holds_words(i.type) and _holds_words(i.operands[0].type)
    if i.opcode not in _MOVES:
        return False
    return _moves_pairs(i) or not any(scalar(o.type) in _HALVES for o in i.operands)


def _moves_pairs(i: LlvmInstruction) -> bool:
    """Whether halves that share a register stay together."""
    if i.opcode in ("phi", "freeze"):
        return _holds_words(i.type)
    if i.opcode != "shufflevector":
        return False
    mask = i.operands[2]
    places = mask.bits if isinstance(mask, Const) and isinstance(mask.bits, tuple) else ()
    pairs = zip(places[::2], places[1::2], strict=False)
    whole = len(places) > 0 and len(places) % 2 == 0
    return whole and all(isinstance(a, int) and a % 2 == 0 and b == a + 1 for a, b in pairs)


def uses_mmas(module: LlvmModule) -> bool:
    return any(is_mma(i) for f in module.functions.values() for b in f.blocks for i in b.instructions)


def register_operands(i: LlvmInstruction) -> list[Local]:
    """The operands of an MMA that are accumulators or A in registers."""
    found = [o for o in i.operands if isinstance(o, Local) and o.type in (_FLOAT, _WORD)]
    # The last 32-bit word that is not tied is scale_d.
    results = len(getattr(i.type, "elems", (i.type,)))
    plain = i.operands[: len(i.operands) - results]
    return [o for o in found if o is not plain[-1]]


def left_operands(i: LlvmInstruction) -> list[Local]:
    """The operands of an MMA that are A in registers."""
    results = len(getattr(i.type, "elems", (i.type,)))
    return [o for o in register_operands(i) if o not in i.operands[len(i.operands) - results :]]


def roots(operands: Iterable[Local], defined: dict[str, LlvmInstruction]) -> frozenset[str]:
    """The registers whose writing decides what an MMA takes: its operands, seen through moves and MMAs."""
    seen: set[str] = set()
    found: set[str] = set()
    todo = [o.name for o in operands]
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        source = defined.get(name)
        if source is None or is_mma(source):
            continue
        if _is_move(source) or _passes_through(source):
            todo += [o.name for o in source.operands if isinstance(o, Local)]
        else:
            found.add(name)
    return frozenset(found)


def watched(function: Function, defined: dict[str, LlvmInstruction]) -> frozenset[str]:
    """The roots of all MMAs of a function."""
    all_: Iterable[LlvmInstruction] = (i for b in function.blocks for i in b.instructions if is_mma(i))
    return frozenset().union(*(roots(register_operands(i), defined) for i in all_))


def _holds_words(t: Type) -> bool:
    if isinstance(t, VectorType) and t.elem in _HALVES:
        return t.count % 2 == 0
    return scalar(t) in (_FLOAT, _WORD)


def guard(i: LlvmInstruction, slots: list[int], operation: Operation, watch: frozenset[str]) -> Operation:
    """The operation, with tokens among its operands settled before and its result noted after.

    `slots` are those of its operands.
    """
    if is_mma(i) or _passes_through(i):
        return operation
    checked = [] if _is_move(i) else [
        (s, scalar(o.type) == _FLOAT) for s, o in zip(slots, i.operands, strict=True)
        if isinstance(o, Local) and _holds_words(o.type)
    ]
    name = i.result if i.result in watch else None
    if not checked and name is None:
        return operation

    def run(m: Machine, r: Registers) -> Asked:
        if m.has(OutstandingMmas):
            for slot, strict in checked:
                r[slot] = settle(m, r[slot], strict=strict)
        asked = operation(m, r)
        if name is not None:
            outstanding(m).note_write(name, m.active_warps())
        return asked

    return run
