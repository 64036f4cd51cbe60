"""Ops that must not depend on undefined values, as steps around theirs: accesses, branches, loops, assertions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tilewright.interp.checking.origins import SHADOW, Origins
from tilewright.interp.checking.places import block_coordinates
from tilewright.interp.checking.report import Report
from tilewright.interp.checking.taint import Shadow, fitted, joined
from tilewright.interp.chunk import Regs
from tilewright.interp.lowering import Step
from tilewright.tileir.core import Op, Value
from tilewright.tileir.ops import arrays, atomics, control, memory, output
from tilewright.tileir.rules import RuleTable

BEFORE: RuleTable[Callable[[Any, Any], Step | None]] = RuleTable("use of values that is checked")
"""Steps that run before the op."""

AFTER: RuleTable[Callable[[Any, Any], Step | None]] = RuleTable("result of an access that may be undefined")
"""Steps that run after it."""


def watch(value: Value, op: Op, low: Any, what: str, reason: str) -> Step | None:
    """Report where a scalar (or any element of a tile) is undefined."""
    if value not in low.suspects:
        return None
    source, origins = low.shadow(value), low.origins

    def step(regs: Regs) -> None:
        shadow = regs[source]
        if shadow is not None and np.any(shadow):
            flat = np.asarray(shadow).reshape(-1)
            at = int(np.argmax(flat != 0))
            block = at // max(flat.size // regs[0].count, 1) if low.varies(value) else 0
            regs[0].memory.log.add(("undefined", op, value), int(np.count_nonzero(flat)), lambda: replace(
                undefined(f"{what} depends on an undefined value", op, int(flat[at]), origins, reason),
                block=block_coordinates(regs[0], block)))
    return step


def undefined(message: str, op: Op, number: int, origins: Origins, reason: str) -> Report:
    """The report of a use of an undefined value."""
    words = origins.words(number)
    return Report("undefined", message, op.span, related=origins.span(number), related_label=words,
                  reason=f"it comes from {words}; {reason}",
                  hint=_HINTS.get(words, "mask the elements that are undefined"))


_HINTS = {
    "padding that the load leaves undetermined":
        "say what the padding is (padding_mode=ct.PaddingMode.ZERO, NEG_INF, ...), or mask it with ct.where",
    "padding that the access leaves undetermined":
        "say what the padding is (padding_mode=, of raw memory padding_value=), or mask it with ct.where",
    "memory that nothing has written": "write it first, in this launch or before",
    "a division by zero": "mask these divisors with ct.where",
    "a shift by a count outside of 0 to the width - 1": "mask these counts with ct.where",
}


def _several(steps: list[Step | None]) -> Step | None:
    present = [step for step in steps if step is not None]
    if not present:
        return None

    def step(regs: Regs) -> None:
        for one in present:
            one(regs)
    return step


@BEFORE.register(control.If)
def if_(op: control.If, low: Any) -> Step | None:
    return watch(op.cond, op, low, "the condition", "which branch runs is undefined")


@BEFORE.register(control.For)
def for_(op: control.For, low: Any) -> Step | None:
    return _several([watch(v, op, low, "the range of the loop", "how often it runs is undefined")
                     for v in (op.lower, op.upper, op.step)])


@BEFORE.register(output.Assert)
def assert_(op: output.Assert, low: Any) -> Step | None:
    return watch(op.cond, op, low, "the assertion", "whether it holds is undefined")


@BEFORE.register(arrays.SliceArray)
def slice_array(op: arrays.SliceArray, low: Any) -> Step | None:
    return _several([watch(v, op, low, "the slice", "which elements it has is undefined") for v in (op.start, op.stop)])


@BEFORE.register(arrays.ListItem)
def list_item(op: arrays.ListItem, low: Any) -> Step | None:
    return watch(op.index, op, low, "the position in the list", "which array it is, is undefined")


@BEFORE.register(memory.Load)
def load(op: memory.Load, low: Any) -> Step | None:
    return _several([watch(v, op, low, "the index of the tile", "what is read is undefined") for v in op.index])


@BEFORE.register(memory.Store)
def store(op: memory.Store, low: Any) -> Step | None:
    places = [watch(v, op, low, "the index of the tile", "where it goes is undefined") for v in op.index]
    return _several([*places, _hand_over(op, low, (op.value,))])


@BEFORE.register(memory.Scatter)
def scatter(op: memory.Scatter, low: Any) -> Step | None:
    return _hand_over(op, low, (op.value,))


@BEFORE.register(atomics.AtomicRmw)
def atomic_rmw(op: atomics.AtomicRmw, low: Any) -> Step | None:
    return _hand_over(op, low, (op.value,))


@BEFORE.register(atomics.AtomicCas)
def atomic_cas(op: atomics.AtomicCas, low: Any) -> Step | None:
    return _hand_over(op, low, (op.expected, op.desired))


@BEFORE.register(memory.Gather)
def gather(op: memory.Gather, low: Any) -> Step | None:
    return None if op.check_bounds else _hand_over(op, low, ())


def _hand_over(op: Any, low: Any, values: tuple[Value, ...]) -> Step | None:
    """Give the memory the shadows of what is written and of where: it knows which elements are accessed."""
    places = tuple(getattr(op, "indices", ()))
    mask = getattr(op, "mask", None)
    if not any(v in low.suspects for v in (*values, *places, *([mask] if mask is not None else []))):
        return None
    of_values, of_places = [low.shadow(v) for v in values], [low.shadow(v) for v in places]
    of_mask = low.shadow(mask) if mask is not None else low.nothing

    def step(regs: Regs) -> None:
        given = joined([regs[s] for s in of_values])
        where = joined([regs[s] for s in of_places])
        unsure = regs[of_mask]
        regs[0].memory.expect(op, given, where, unsure)
    return step


@AFTER.register(memory.Load)
def loaded(op: memory.Load, low: Any) -> Step | None:
    if op.result not in low.suspects:
        return None
    target, whole = low.shadow(op.result), low.full(op.result)

    def step(regs: Regs) -> None:
        regs[target] = _found(regs, whole)
    return step


@AFTER.register(memory.Gather)
@AFTER.register(atomics.Atomic)
def gathered(op: Any, low: Any) -> Step | None:
    """What is read at an undefined place is undefined, and so is the padding if it is."""
    if op.result not in low.suspects:
        return None
    target, whole = low.shadow(op.result), low.full(op.result)
    places = [low.shadow(v) for v in op.indices]
    masked = op.mask is not None
    mask, of_mask = (low.slot(op.mask), low.shadow(op.mask)) if masked else (0, low.nothing)
    padding = low.shadow(op.padding) if isinstance(op, memory.Gather) else low.nothing
    zero = SHADOW.type(0)

    def step(regs: Regs) -> None:
        out, where = _found(regs, whole), joined([regs[s] for s in places])
        if where is not None and masked:
            where = np.where(regs[mask], where, zero)
        out = joined([out, where, regs[of_mask], regs[padding]])
        regs[target] = fitted(out, whole(regs))
    return step


def _found(regs: Regs, whole: Callable[[Regs], tuple[int, ...]]) -> Shadow:
    """The shadow of what the memory has just read."""
    parts = regs[0].memory.found()
    if not parts:
        return None
    if len(parts) == 1 and parts[0][0] is None:
        return fitted(parts[0][1], whole(regs))
    out = np.zeros(whole(regs), SHADOW)
    for blocks, part in parts:
        out[slice(None) if blocks is None else blocks] = part
    return out
