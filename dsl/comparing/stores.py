"""Whether a store has put the values that it was given where they belong."""

from __future__ import annotations

from typing import Any

from tilewright.comparing.bounds import same
from tilewright.comparing.probes import blank
from tilewright.comparing.records import Fault, Records, is_unwritten
from tilewright.tileir.core import Op

Array = Any


def wrong_store(records: Records, op: Op, arrays: tuple[Array, Array]) -> Fault | None:
    """`arrays` are what the op alone has stored on each side, between bytes that nobody wrote."""
    from tilewright.interp.debugging.replay import OneOp

    if same(*arrays).all():
        return None
    replay, site = OneOp(op), records.sites.of_op[op]
    visits = range(records.blocks * site.slots)
    if site.conditional or len(replay.arrays) != 1:
        equal = all(same(*records.values[v]).all() for v in replay.inputs if v in records.values)
        return Fault(op, records.judged[0], site, 0, got=arrays, sure=False) if equal else None
    for number in records.judged:
        want = blank(arrays[number])
        for visit in visits:
            operands = [records.operand(v, visit, site)[number] for v in replay.inputs]
            if not any(is_unwritten(x).any() for x in operands):
                records.replayed(replay, operands, {replay.arrays[0]: want}, visit, site)
        wrong = ~same(arrays[number], want)
        if not wrong.any():
            continue
        visit = next((v for v in visits if _reaches(records, replay, v, number, arrays[number], wrong)), 0)
        return Fault(op, number, site, visit, want=want, got=arrays)
    return None


def _reaches(records: Records, replay: Any, visit: int, number: int, array: Array, wrong: Array) -> bool:
    """Whether a visit should write, or writes, one of the wrong elements."""
    site = records.sites.of_op[replay.op]
    operands = [records.operand(v, visit, site)[number] for v in replay.inputs]
    if any(is_unwritten(x).any() for x in operands):
        return False
    alone = blank(array)
    records.replayed(replay, operands, {replay.arrays[0]: alone}, visit, site)
    return bool((~is_unwritten(alone) & wrong).any())
