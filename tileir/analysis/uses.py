"""Who uses which value."""

from __future__ import annotations

from tilewright.tileir.core import Block, Function, Op, Value


def uses(function: Function) -> dict[Value, list[Op]]:
    """The ops that read each value, terminators included; a value that none reads has no entry."""
    out: dict[Value, list[Op]] = {}
    for op in function.walk():
        for value in op.operands:
            out.setdefault(value, []).append(op)
    return out


def parents(function: Function) -> dict[Block, Op]:
    """The op that owns each nested block."""
    return {block: op for op in function.walk() for block in op.blocks}


def free_values(op: Op) -> list[Value]:
    """The values that an op and its bodies read from outside, each once, in order of first use."""
    inside: set[Value] = set()
    out: dict[Value, None] = {}
    _collect(op, inside, out)
    return list(out)


def _collect(op: Op, inside: set[Value], out: dict[Value, None]) -> None:
    out.update((v, None) for v in op.operands if v not in inside)
    for block in op.blocks:
        inside.update(block.params)
        for nested in block.ops:
            _collect(nested, inside, out)
    inside.update(op.results)
