"""Each question as formulas, and what z3's answer means.

An access is in bounds if no launch, block and element makes its index one that is not allowed. Two accesses do not
race if no launch has two blocks whose regions meet. A model of the contrary is a counterexample, unless it chose
values that formulas do not follow (loaded numbers): then nothing is decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tilewright.interp.proving import rules  # noqa: F401  (registers the formulas)
from tilewright.interp.proving.accesses import MemoryUse, Part, begins_inside, has_check, inside, region
from tilewright.interp.proving.contract import Assumption, Known, can_hold, candidates, of_grid
from tilewright.interp.proving.places import is_shapeless, place_of
from tilewright.interp.proving.solver import Answer, Formula, number, possible, z3
from tilewright.interp.proving.terms import Terms
from tilewright.interp.proving.verdicts import PROVED, REFUTED, UNDECIDED, Verdict
from tilewright.interp.proving.world import World
from tilewright.tileir.core import Function
from tilewright.tileir.diagnostics import NO_SPAN

LAUNCH_ONLY = "checked for the arguments of a checked launch only"
MOST_TRIES = 40  # assumptions that are tried for one access


class Question(NamedTuple):
    """Formulas that hold together only where something goes wrong, and the blocks that they speak of. `abstract`: the
    same with products of unknowns as functions of which nothing is known (`World.product`)."""

    formulas: list[Formula]
    blocks: tuple[Terms, ...]
    abstract: Question | None = None


class Prover:
    """One function's proof; what an access needed is taken for granted from then on."""

    def __init__(self, function: Function, found: Sequence[MemoryUse], known: Known) -> None:
        self.world = World(function)
        self.found = found
        self.assumed = of_grid(self.world, known)
        self.tried = candidates(self.world, found, known)[:MOST_TRIES]

    def ask(self, question: Question, assumed: Sequence[Assumption]) -> Answer:
        if question.abstract is not None and self.ask(question.abstract, assumed).possible is False:
            return Answer(False)
        limits = [limit for t in question.blocks for limit in t.limits]
        formulas = [*self.world.limits, *limits, *(a.formula for a in assumed), *question.formulas]
        return possible(formulas, self.world.sizes)

    def decide(self, kind: str, access: MemoryUse, make: Callable[[], Question], what: str, wrong: str,
               related: MemoryUse | None = None) -> Verdict:
        question = self._both_ways(make)
        answer = self.ask(question, self.assumed)
        if answer.possible is not False:
            self._assume_for(question)
            answer = self.ask(question, self.assumed)
        if answer.possible is not False:  # a counterexample is one even where everything is as it may be meant
            answer = self.ask(question, self._everything())
        span, other = access.op.span, None if related is None else related.op.span
        if answer.possible is False:
            return Verdict(kind, PROVED, what, span, other, assuming=self._needed(question))
        if answer.possible is None:
            return Verdict(kind, UNDECIDED, wrong, span, other, "z3 found neither a proof nor a counterexample")
        followed = _not_followed(question)
        if followed:
            return Verdict(kind, UNDECIDED, wrong, span, other, followed)
        return self._counterexample(kind, question, answer, wrong, access, related)

    def _both_ways(self, make: Callable[[], Question]) -> Question:
        self.world.abstract = True
        abstract = make()
        self.world.abstract = False
        return make()._replace(abstract=abstract)

    def _assume_for(self, question: Question) -> None:
        """Add the first assumptions that settle the question, if any do."""
        for more in ([one] for one in self.tried):
            if self._settles(question, more):
                return
        bounds = [a for a in self.tried if a.text.startswith("grid[")]
        if len(bounds) > 1 and self._settles(question, bounds):
            return
        others = [a for a in self.tried if a not in bounds]
        for one in others:
            if self._settles(question, [*bounds, one]):
                return
        if len(others) > 1 and not self._settles(question, others):
            self._settles(question, [*bounds, *others])

    def _everything(self) -> list[Assumption]:
        """As many assumptions as hold together."""
        every = [*self.assumed, *self.tried]
        return every if can_hold(self.world, every) else self.assumed

    def _settles(self, question: Question, more: list[Assumption]) -> bool:
        new = [a for a in more if a.text not in {known.text for known in self.assumed}]
        if not new or self.ask(question, [*self.assumed, *new]).possible is not False:
            return False
        if not can_hold(self.world, [*self.assumed, *new]):
            return False
        self.assumed += new
        return True

    def _needed(self, question: Question) -> tuple[str, ...]:
        """The assumptions without which the question is open; all of them where any one can be left out."""
        kept = list(self.assumed)
        for one in list(kept):
            rest = [a for a in kept if a is not one]
            if self.ask(question, rest).possible is False:
                kept = rest
        return tuple(a.text for a in kept)

    def _counterexample(self, kind: str, question: Question, answer: Answer, wrong: str, access: MemoryUse,
                        related: MemoryUse | None) -> Verdict:
        example = {name: number(answer.model, symbol) for name, symbol in self.world.chosen().items()
                   if not z3().is_bool(symbol)}
        blocks = [tuple(number(answer.model, n) for n in t.block) for t in question.blocks]
        axes = max([axis + 1 for axis in self.world.asked_axes], default=1)
        example = {name: value for name, value in example.items()
                   if not name.startswith("grid[") or int(name[5]) < axes or value > 1}
        return Verdict(kind, REFUTED, wrong, access.op.span, None if related is None else related.op.span,
                       example=example, block=blocks[0], other_block=blocks[1] if len(blocks) > 1 else None)


def _not_followed(question: Question) -> str:
    """Why a model is no counterexample."""
    for t in question.blocks:
        for value in t.opaque:
            op = value.op
            what = "a value that a loop carries" if op is None else f"what `{op.opcode}` gives"
            where = "" if op is None or op.span is NO_SPAN else f" in line {op.span.line}"
            return f"it depends on {what}{where}: {LAUNCH_ONLY}"
        if t.loose:
            return f"it depends on how often a `while` loop runs: {LAUNCH_ONLY}"
    return ""


def decide(function: Function, found: Sequence[MemoryUse], known: Known) -> Iterator[Verdict]:
    prover = Prover(function, found, known)
    for access in found:
        yield _bounds(prover, access)
    for one, other in rivals(prover.world, found):
        yield race(prover, one, other)


def _bounds(prover: Prover, access: MemoryUse) -> Verdict:
    name = prover.world.name(access.array)
    if not access.of_tile and has_check(access.op):
        return Verdict("bounds", PROVED, f"{name}: the access checks its own bounds", access.op.span)
    if is_shapeless(access.array):
        return Verdict("bounds", UNDECIDED, f"{name}: memory whose end is not known", access.op.span)

    def make() -> Question:
        t = Terms(prover.world, "block")
        part = region(t, access)
        legal = begins_inside(part) if access.of_tile and has_check(access.op) else inside(part)
        return Question([*part.where, z3().Not(legal)], (t,))

    return prover.decide("bounds", access, make, f"{name}: every index is in bounds",
                         f"{name}: an index can be out of bounds")


def rivals(world: World, found: Sequence[MemoryUse]) -> Iterator[tuple[MemoryUse, MemoryUse]]:
    """Pairs of accesses to memory of one class of which at least one writes, and not both are atomic."""
    for i, one in enumerate(found):
        for other in found[i:]:
            same = world.dependences.alias_class(one.array) is world.dependences.alias_class(other.array)
            if same and (one.writes or other.writes) and not (one.atomic and other.atomic):
                yield one, other


def race(prover: Prover, one: MemoryUse, other: MemoryUse) -> Verdict:
    name = prover.world.name(one.array)
    ordered = next((a for a in prover.found if a.ordered), None)
    at_all = Terms(prover.world, "block")
    roots = [place_of(at_all, a.array).root for a in (one, other)]
    if roots[0] is None or roots[0] is not roots[1]:
        return Verdict("race", UNDECIDED, f"{name}: two blocks may meet", one.op.span, other.op.span,
                       "the arrays cannot be followed to one argument")

    def make() -> Question:
        t, u = Terms(prover.world, "block"), Terms(prover.world, "other")
        a, b = region(t, one), region(u, other)
        apart = z3().Or(*(x != y for x, y in zip(t.block, u.block, strict=True)))
        met = _meet(a, place_of(t, one.array).offsets, b, place_of(u, other.array).offsets)
        return Question([apart, *a.where, *b.where, *met], (t, u))

    wrong = f"{name}: two blocks can meet, of which one {one.verb} and one {other.verb}"
    found = prover.decide("race", one, make, f"{name}: no two blocks meet", wrong, None if one is other else other)
    if found.status == REFUTED and ordered is not None:
        return Verdict("race", UNDECIDED, wrong, found.span, found.related,
                       f"blocks wait for each other by atomics (line {ordered.op.span.line}): {LAUNCH_ONLY}")
    return found


def _meet(a: Part, a_offsets: Sequence[Formula], b: Part, b_offsets: Sequence[Formula]) -> list[Formula]:
    """One element of the root array lies in both regions, and inside both arrays."""
    out = []
    for axis, (p, q) in enumerate(zip(a_offsets, b_offsets, strict=True)):
        element = z3().Int(f"element[{axis}]")
        for part, offset in ((a, p), (b, q)):
            low = part.first[axis]
            out += [element >= low + offset, element < low + offset + part.lengths[axis],
                    element >= offset, element < offset + part.extents[axis]]
    return out


def written_twice(prover: Prover, access: MemoryUse) -> Verdict:
    """Whether two elements of one scatter can be the same element of the array."""
    op = access.op

    def make() -> Question:
        t = Terms(prover.world, "block")
        here, there = ([t.fresh(f"element{axis}", 0, n - 1) for axis, n in enumerate(op.shape)] for _ in range(2))
        masked = [] if op.mask is None else [t.at(op.mask, tuple(at)) for at in (here, there)]
        same = [t.at(index, tuple(here)) == t.at(index, tuple(there)) for index in op.indices]
        apart = z3().Or(*(a != b for a, b in zip(here, there, strict=True)))
        return Question([*t.reaches(op), *masked, *same, apart], (t,))

    name = prover.world.name(access.array)
    return prover.decide("race", access, make, f"{name}: no element is written twice",
                         f"{name}: an element may be written twice")
