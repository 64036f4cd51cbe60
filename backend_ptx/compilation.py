"""The state of one compilation, as the backend's passes see it."""

from __future__ import annotations

from tilewright.backend_ptx.targets import Target
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Function
from tilewright.tileir.plan import Decision, Hints, Limits, MachinePlan


class Compilation(Unit):
    """A function on its way to machine IR, and the target that it is compiled for. Passes change the function, fill in
    its plan, and say what they decided (decisions.py has the words)."""

    __slots__ = ("target",)

    def __init__(self, function: Function, target: Target) -> None:
        super().__init__(function)
        self.target = target

    @property
    def hints(self) -> Hints:
        return self.function.hints

    @property
    def limits(self) -> Limits:
        return self.function.limits

    @property
    def plan(self) -> MachinePlan:
        return self.function.plan

    def decide(self, *made: Decision) -> None:
        """Add decisions to the function's; what is said already is not said again (of two loads of one array, say)."""
        said = {(d.name, d.value, d.reason) for d in self.function.decisions}
        for decision in made:
            if (decision.name, decision.value, decision.reason) not in said:
                self.function.decisions.append(decision)
