"""Whether two accesses of different blocks can meet: by what block numbers show at once, else by the prover."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from tilewright.interp.certifying.certificate import Judgement
from tilewright.interp.certifying.forms import writes_once
from tilewright.interp.certifying.slices import Code
from tilewright.interp.hazards import private_axes
from tilewright.interp.proving.accesses import MemoryUse
from tilewright.interp.proving.contract import Known
from tilewright.interp.proving.proofs import NEEDS_Z3
from tilewright.interp.proving.solver import available
from tilewright.interp.proving.verdicts import PROVED
from tilewright.interp.proving.world import AXES
from tilewright.tileir.core import Value

if TYPE_CHECKING:
    from tilewright.interp.proving.decide import Prover

APART = Judgement(True)


class Meetings:
    """The races of one function; each pair is decided once."""

    def __init__(self, code: Code, known: Known) -> None:
        self.code = code
        self.known = known
        self._found: dict[Any, Judgement] = {}

    @cached_property
    def one_block(self) -> tuple[str, ...]:
        """What is taken for granted of axes of the grid that the kernel does not ask for: more blocks would do the same
        work again."""
        return tuple(f"grid[{axis}] == 1" for axis in self.unasked)

    @property
    def unasked(self) -> list[int]:
        """The axes of the grid that have one block."""
        return [a for a in range(AXES) if a not in self.code.asked_axes and self.known.blocks(a) == 1]

    @cached_property
    def _prover(self) -> Prover:
        from tilewright.interp.proving.decide import Prover

        return Prover(self.code.function, self.code.uses, self.known)

    def apart(self, one: MemoryUse, other: MemoryUse) -> Judgement:
        """Whether no two blocks meet in these accesses."""
        key = one, other
        if key not in self._found:
            private = self._is_private(self.code.memory(one.array))
            self._found[key] = Judgement(True, assuming=self.one_block) if private else self._proved(one, other)
        return self._found[key]

    def _is_private(self, memory: Value) -> bool:
        ops = [use.op for use in self.code.of(memory)]
        own = private_axes(self.code.function, memory, ops) if memory in self.code.function.params else frozenset()
        return len(own.union(self.unasked)) == AXES

    def _proved(self, one: MemoryUse, other: MemoryUse) -> Judgement:
        if not available():
            return Judgement(False, f"two blocks may meet; {NEEDS_Z3}", other.op.span)
        from tilewright.interp.proving.decide import race

        verdict = race(self._prover, one, other)
        if verdict.status == PROVED:
            return Judgement(True, assuming=verdict.assuming)
        lines = sorted({one.op.span.line, other.op.span.line})
        where = "" if len(lines) == 1 else f" (lines {lines[0]} and {lines[1]})"
        return Judgement(False, f"{verdict.what}{where}{': ' * bool(verdict.reason)}{verdict.reason}", one.op.span)

    def once(self, use: MemoryUse) -> Judgement:
        """Whether a scatter writes no element twice: which value stays is not specified."""
        if writes_once(use.op):
            return APART
        key = use, "once"
        if key not in self._found:
            open_ = Judgement(False, "one scatter may write an element twice: which value stays is not specified",
                              use.op.span)
            self._found[key] = open_ if not available() else self._injective(use, open_)
        return self._found[key]

    def _injective(self, use: MemoryUse, open_: Judgement) -> Judgement:
        from tilewright.interp.proving.decide import written_twice

        verdict = written_twice(self._prover, use)
        return Judgement(True, assuming=verdict.assuming) if verdict.status == PROVED else open_
