"""The software pipeline of each loop with rings, as a timeline of a few iterations.

A model, not a measurement: a copy takes the latency of its engine and the time that its bytes keep the pipe busy; an
iteration computes as long as its busiest pipe takes (`backend_ptx/resources/pipes.py`). What the plan says decides the
rest: how many slots there are, how far ahead copies start, and who starts them.
"""

from __future__ import annotations

from typing import Any

from tilewright.backend_ptx.resources.pipes import LSU, TMA, Bound, bounds, pipes_of
from tilewright.backend_ptx.targets import Target
from tilewright.inspecting.explorer.places import Numbering, chain_of
from tilewright.tileir.core import Function, Op, Start, Value
from tilewright.tileir.types import SharedType

SHOWN = 8  # iterations, and one for each slot
# Cycles from a load of global memory to its data, from L2 or beyond: arXiv 2402.13499, as in resources/pipes.py.
LATENCY = 600


def timelines(function: Function, target: Target, number: Numbering) -> list[dict[str, Any]]:
    """The loops that carry tiles in rings, with the events of their first iterations in cycles."""
    out = []
    for bound in bounds(function, target):
        copies = _copies(bound.loop)
        if copies:
            out.append(_timeline(bound, copies, function, target, number))
    return out


def intervals(function: Function, target: Target, number: Numbering) -> list[dict[str, Any]]:
    """The innermost loops that work on tiles: cycles of each pipe in an iteration, and the pipe that binds."""
    return [{"at": number(chain_of(bound.loop.span)), "pipe": bound.pipe, "cycles": _rounded(bound)}
            for bound in bounds(function, target)]


def _copies(loop: Op) -> list[tuple[Op, Value]]:
    """The ops of a loop that put a tile into a slot of a ring, and the ring."""
    found = []
    for op in loop.inside():
        for buffer in _written(op):
            if isinstance(buffer.type, SharedType) and buffer.type.copies > 1 and buffer.type.shape:
                found.append((op, buffer))
    return found


def _written(op: Op) -> list[Value]:
    """The memory that an op writes, at once or by an engine."""
    effects = op.effects()
    started: list[Start] = [start for start in effects.starts if start.writes]
    return [*effects.writes, *(start.memory for start in started if start.memory not in effects.writes)]


def _timeline(
    bound: Bound, copies: list[tuple[Op, Value]], function: Function, target: Target, number: Numbering
) -> dict[str, Any]:
    first, ring = copies[0]
    engine = next((s.engine.family for s in first.effects().starts if s.memory is ring), "threads")
    slots = min(buffer.type.copies for _, buffer in copies)
    producer = first.effects().role == "producer"
    # A producer starts a copy as soon as a slot is free; other warps do so while they compute.
    ahead = slots if producer else max(getattr(op, "ahead", 0) for op, _ in copies) or slots - 1
    pipe = TMA if engine == "TMA" else LSU
    size = sum(buffer.type.size * buffer.type.dtype.bytes for _, buffer in copies)
    busy = bound.cycles.get(pipe, size / pipes_of(target)[pipe].rate)
    work = max((cycles for name, cycles in bound.cycles.items() if name != TMA), default=busy)
    names = list(dict.fromkeys(buffer.hint.removesuffix("_ring") or "tile" for _, buffer in copies))
    return {
        "at": number(chain_of(bound.loop.span)), "engine": engine, "producer": producer, "slots": slots,
        "ahead": ahead, "bytes": size, "tiles": names, "pipe": bound.pipe, "cycles": _rounded(bound),
        "latency": LATENCY, "busy": round(busy), "work": round(work),
        "roles": [[role.name, role.warps, role.registers] for role in function.plan.roles],
        "warps": function.plan.all_warps, "events": events(slots, ahead, busy, work, producer, slots + SHOWN)}


def events(
    slots: int, ahead: int, busy: float, work: float, producer: bool, iterations: int
) -> list[dict[str, int]]:
    """Of each iteration, in cycles: when its copy is started (`issue`), moves bytes (`move`) and has landed (`landed`),
    when the iteration computes (`begin` to `end`); its slot is free again at the end."""
    out: list[dict[str, int]] = []
    pipe_free = 0.0
    for k in range(iterations):
        free = float(out[k - slots]["end"]) if k >= slots else 0.0
        asked = 0.0 if producer or k < ahead else float(out[k - ahead]["begin"])
        issue = max(free, asked)
        move = max(issue, pipe_free)
        pipe_free = move + busy
        landed = move + busy + LATENCY
        begin = max(landed, float(out[k - 1]["end"]) if k else 0.0)
        out.append({"slot": k % slots, "issue": round(issue), "move": round(move), "landed": round(landed),
                    "begin": round(begin), "end": round(begin + work)})
    return out


def _rounded(bound: Bound) -> dict[str, int]:
    return {name: round(cycles) for name, cycles in bound.cycles.items()}
