"""Registers and shared memory over a machine function, op by op, and the occupancy that they leave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.backend_ptx.resources.occupancy import register_cap
from tilewright.backend_ptx.resources.registers import estimated_registers, registers_at
from tilewright.backend_ptx.resources.shared import find_intervals
from tilewright.backend_ptx.runtime.ptxas import assemble, has_ptxas
from tilewright.estimating.occupancy import limits_of
from tilewright.inspecting.explorer.places import Numbering
from tilewright.inspecting.explorer.stages import located
from tilewright.tileir.core import Function, Op
from tilewright.tileir.printer import to_text

if TYPE_CHECKING:
    from tilewright.inspecting.stages import Stages


def program(function: Function, number: Numbering) -> list[dict[str, Any]]:
    """The ops in program order: text, place, 32-bit registers of a thread that are live there, and bytes of shared
    memory that are."""
    registers: dict[Op, int] = {}
    for op, live in registers_at(function):
        registers[op] = max(registers.get(op, 0), live)
    intervals = find_intervals(function)
    out = []
    ops = list(function.walk())
    text = located("", to_text(function, spans=True))
    lines = [(line, chain) for line, chain in zip(text.lines, text.chains, strict=True) if _is_op(line)]
    for position, (op, (line, chain)) in enumerate(zip(ops, lines, strict=True), 1):
        out.append({
            "text": line, "at": number(chain), "registers": registers.get(op, 0),
            "shared": sum(i.size for i in intervals if i.first <= position <= i.last)})
    return out


def memory_map(function: Function) -> list[dict[str, Any]]:
    """The buffers in shared memory: first byte, bytes, and the positions of the ops between which each is live."""
    return [{"name": i.op.result.hint or "buffer", "type": str(i.op.type), "start": i.op.offset, "bytes": i.size,
             "first": max(i.first, 1), "last": i.last} for i in find_intervals(function)]


def occupancy(function: Function, stages: Stages) -> dict[str, Any]:
    """CTAs per SM, and what each limit alone would allow. `registers` of a thread are those of ptxas where it is
    installed, else the estimate that plans are made with."""
    target, plan, made = stages.target, function.plan, stages.compiled
    estimate = min(estimated_registers(function), target.registers_per_thread)
    given = assemble(made.ptx, made.target, kernel=made.name, level=stages.hints.opt_level) if has_ptxas() else None
    each = given.registers if given is not None else estimate
    limits = limits_of(each, made.threads, made.shared_bytes, target)
    resident = min(limits.values())
    return {
        "threads": made.threads, "registers": each, "estimate": estimate, "assembled": given is not None,
        "spills": given.spills if given is not None else 0, "shared": made.shared_bytes,
        "roles": [[role.name, role.warps, role.registers] for role in plan.roles], "limits": limits,
        "resident": resident, "limited": [name for name, count in limits.items() if count == resident],
        "warps": resident * -(-made.threads // 32), "most": target.threads_per_sm // 32,
        "cap": register_cap(max(plan.occupancy, 1), made.threads, target), "shared_most": target.shared_per_block}


def _is_op(line: str) -> bool:
    """Whether a line of the text form begins an op: not a brace, a layout, the head or a decision."""
    word = line.strip()
    return bool(word) and word[0] not in "}#" and not word.startswith(("func ", "decision "))
