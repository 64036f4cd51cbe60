"""One seed's work, in a process of its own or in a pool's: generate, check, reduce, describe."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from fuzz import mutate
from fuzz.children import LOST
from fuzz.damage import Hang, limited
from fuzz.generate import KINDS, generate
from fuzz.oracles import Mismatch, Refused, check
from fuzz.program import Program
from fuzz.reduce import reduce
from tilewright.backend_ptx.runtime.driver import CudaError


@dataclass(frozen=True)
class Job:
    """What to do with a seed; the outcome is a word to count by, and the text of a find."""

    what: str
    oracles: tuple[str, ...]
    reduces: bool

    def __call__(self, seed: int) -> tuple[int, str, str]:
        if self.what in KINDS:
            return seed, *self._program(generate(seed, kind=self.what))
        if self.what == "ir":
            from fuzz.functions import check_function

            return seed, *check_function(seed)
        return seed, *mutate.KINDS[self.what](seed)

    def _program(self, program: Program) -> tuple[str, str]:
        kind, text = self._failure(program)
        if kind == LOST:
            return kind, f"{text}\n{program}"
        if kind in ("equal", "refused"):
            return kind, text
        if self.reduces:
            program = reduce(program, lambda smaller: self._fails(smaller, kind))
            text = self._failure(program)[1]
        return "mismatch", f"{text}\n{program}"

    def _fails(self, smaller: Program, kind: str) -> bool:
        """Whether the failure is still there. A loop without its counter never ends, which is another one."""
        try:
            with limited():
                return self._failure(smaller)[0] == kind
        except Hang:
            return False

    def _failure(self, program: Program) -> tuple[str, str]:
        """The kind of failure ("equal" for none) and what it says."""
        try:
            check(program, self.oracles)
        except Refused as error:
            # What the generator draws is valid: a refusal is a find, too, but one to look at in the generator first.
            return "refused", f"{error}\n{program}"
        except Mismatch as error:
            return error.kind, str(error)
        except CudaError as error:
            return LOST, f"{error}"
        except Exception as error:
            return f"{type(error).__name__}", traceback.format_exc(limit=-8)
        return "equal", ""
