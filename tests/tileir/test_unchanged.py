"""What a pass leaves as it was is not checked again; whatever it changes is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from support.tileir.texts import LOADS_IN_A_LOOP as TEXT

from tilewright.tileir.analysis.unit import ALL, Preserved, Unit
from tilewright.tileir.core import Function
from tilewright.tileir.parser import parse
from tilewright.tileir.passes.manager import PassManager

Change = Callable[[Function], object]


def checks(*steps: Change, preserved: Preserved = ALL) -> int:
    """How often the function is checked, before the first of these passes and after each."""
    def made(step: Change) -> Callable[[Unit], Preserved]:
        def run(unit: Unit) -> Preserved:
            step(unit.function)
            return preserved

        return run

    seen: list[Unit] = []
    PassManager[Unit](tuple(map(made, steps)), (), seen.append).run(Unit(parse(TEXT)), verify=True)
    return len(seen)


def nothing(f: Function) -> None:
    pass


CHANGES: dict[str, Change] = {
    "an attribute": lambda f: setattr(f.body.ops[0], "value", 2),
    "an equal attribute of another type": lambda f: setattr(f.body.ops[0], "value", True),
    "an operand": lambda f: setattr(f.body.ops[1], "rhs", f.params[1]),
    "the type of a result": lambda f: f.body.ops[1].results[0].become(f.params[0].type),
    "the type of a parameter": lambda f: f.params[1].become(f.params[0].type),
    "who defines a result": lambda f: setattr(f.body.ops[1].results[0], "owner", None),
    "an op twice": lambda f: f.body.ops.insert(0, f.body.ops[0]),
    "an op less": lambda f: f.body.ops.pop(1),
    "an op in a loop": lambda f: f.body.ops[2].blocks[0].ops.pop(0),
    "an op out of a loop": lambda f: f.body.ops.insert(3, f.body.ops[2].blocks[0].ops.pop()),
    "the plan": lambda f: setattr(f.plan, "warps", 8),
    "hints": lambda f: setattr(f, "hints", replace(f.hints, occupancy=2)),
    "aliases": lambda f: setattr(f, "aliases", replace(f.aliases, groups=((0,),))),
}


def test_what_passes_leave_alone_is_checked_once() -> None:
    assert checks(nothing, nothing, nothing) == 1


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_each_change_is_checked_once(change: Change) -> None:
    assert checks(nothing, change, nothing, preserved=frozenset()) == 2
