"""Which pass makes the difference: the IR after each is executed in the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.comparing.copies import copies
from tilewright.comparing.outputs import nearer, slight
from tilewright.comparing.sides import Runner, interpret
from tilewright.tileir.core import Function, clone_function
from tilewright.tileir.diagnostics import TileError

LOWERING = "lowering"
"""In place of a pass: the IR after all of them computes what it should."""


def making(runner: Runner, function: Function, right: Sequence[Any], wrong: Sequence[Any] | None) -> str:
    """The first pass behind which the IR computes `wrong` (None: it failed) in place of `right`; else LOWERING."""
    for name, text in _stages(runner, function):
        found = _result(runner, text)
        if found is None or (not slight(found, right) and (wrong is None or nearer(found, right, wrong))):
            return name
    return LOWERING


class _Stages(list[tuple[str, str]]):
    """The IR after each pass that changes it, as text: the function itself changes further."""

    def __init__(self, function: Function) -> None:
        super().__init__()
        self._last = str(function)

    def observe(self, name: str, now: Function) -> None:
        text = str(now)
        if text != self._last:
            self.append((name, text))
        self._last = text


def _stages(runner: Runner, function: Function) -> list[tuple[str, str]]:
    function = clone_function(function)
    early = _Stages(function)
    runner.prepare(function, early.observe)
    if not runner.side.compiles:
        return early
    late, first = _Stages(function), ""

    def observe(name: str, now: Function) -> None:
        nonlocal late, first
        if name == first:
            late = _Stages(function)  # another attempt, with a smaller plan
        first = first or name
        late.observe(name, now)

    runner.machine(function, observe)
    return [*early, *late]


def _result(runner: Runner, text: str) -> list[Any] | None:
    """What a stage computes; None where it cannot be run."""
    from tilewright.tileir.parser import parse

    values = copies(runner.values)
    try:
        interpret(parse(text, "stage.tile"), runner.grid, values)
    except TileError:
        return None
    return values
