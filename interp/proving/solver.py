"""z3, imported when the first proof begins. It is an extra: without it, only what needs no solver is decided."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

Formula = Any
"""A z3 expression: z3 has no types that a checker could hold."""

# For one question, in z3's own unit of work, about a second: answers do not depend on how busy the machine is.
EFFORT = 20_000_000
# Counterexamples are looked for among small numbers first: they are the ones that a reader can draw.
SMALL = (8, 64, 512, None)


def available() -> bool:
    return importlib.util.find_spec("z3") is not None


def z3() -> Any:
    import z3 as module

    return module


class Answer(NamedTuple):
    """Whether formulas can hold together: False for never, True with a model, None where z3 came to no end."""

    possible: bool | None
    model: Any = None


def possible(formulas: Iterable[Formula], sizes: Sequence[Formula] = ()) -> Answer:
    """Can all `formulas` hold? A model has `sizes` as small as a few tries make them."""
    solver = z3().Solver()
    solver.set("rlimit", EFFORT)
    solver.add(*formulas)
    found = solver.check()
    if found == z3().unsat:
        return Answer(False)
    if found != z3().sat:
        return Answer(None)
    for limit in SMALL:
        solver.push()
        if limit is not None:
            solver.add(*(size <= limit for size in sizes))
        if solver.check() == z3().sat:
            return Answer(True, solver.model())
        solver.pop()
    return Answer(None)


def number(model: Any, formula: Formula) -> int:
    """The value that a model gives to an integer."""
    value = model.eval(formula, model_completion=True)
    return int(value.as_long())
