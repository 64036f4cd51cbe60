"""The order of a proof: accesses one by one, then pairs of them, each with what must be assumed for it."""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.interp.hazards import private_axes
from tilewright.interp.proving.accesses import MemoryUse, accesses, has_check
from tilewright.interp.proving.contract import Known
from tilewright.interp.proving.solver import available
from tilewright.interp.proving.verdicts import PROVED, UNDECIDED, Proof, Verdict
from tilewright.tileir.analysis.effects import Dependences, written_arrays
from tilewright.tileir.core import Function

NEEDS_Z3 = "deciding it takes z3: pip install 'tilewright[prove]'"


def prove(function: Function, known: Known | None = None) -> Proof:
    """Decide the bounds of every access, and whether any two blocks can race. Index arithmetic is taken not to wrap."""
    found = accesses(function)
    if available():
        from tilewright.interp.proving.decide import decide

        return Proof(tuple(decide(function, found, known or Known())))
    return Proof((*(_without_solver(a) for a in found), *races_without_solver(function, found)))


def _without_solver(access: MemoryUse) -> Verdict:
    if not access.of_tile and has_check(access.op):
        return Verdict("bounds", PROVED, "checks its own bounds", access.op.span)
    return Verdict("bounds", UNDECIDED, "this access", access.op.span, reason=NEEDS_Z3)


def races_without_solver(function: Function, found: Iterable[MemoryUse]) -> list[Verdict]:
    """By the dependence analysis alone: arrays that nothing writes, and those of which each block keeps to its own."""
    dependences, written = Dependences(function), written_arrays(function)
    out = []
    for position in sorted(written):
        root = function.params[position]
        ops = [a for a in found if position in dependences.parameters(a.array)]
        own = private_axes(function, root, [a.op for a in ops])
        status, reason = (PROVED, "") if len(own) == 3 else (UNDECIDED, NEEDS_Z3)
        if ops:
            what = f"{root.hint or 'an array'} is written by blocks that share nothing of it"
            out.append(Verdict("race", status, what, ops[0].op.span, reason=reason))
    return out
