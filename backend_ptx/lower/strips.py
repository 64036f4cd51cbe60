"""A run of element-wise ops in strips: a few registers of each tile go through all ops before the next ones do.

Op by op, every intermediate tile would be complete before the next op starts, and a thread that holds 64 elements or
more would run out of registers: ptxas keeps the order more than it looks for a better one. A reduction or a store at
the end of a run takes each strip as it comes.

Of a tile that reaches beyond the array (a row of 12288 columns in a tile of 16384), threads skip strips that lie
outside: nothing is stored of them, and what is computed of the padding is the same for all registers of a strip, so
that one is computed for all. Where elements are moved one by one (rows at odd addresses), a strip has two ways: threads
whose last element is inside need neither predicates nor tests of columns, which would be live from run to run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import Any, cast

from tilewright.backend_ptx.llvm.builder import Val
from tilewright.backend_ptx.lower.addresses import TileAccess
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.convert import rounded
from tilewright.backend_ptx.lower.floats import widened_again
from tilewright.backend_ptx.lower.memory import StripStore, can_store_strips, padding
from tilewright.backend_ptx.lower.reduce import StripReduction, can_reduce_strips
from tilewright.backend_ptx.lower.registry import lowering_of
from tilewright.backend_ptx.resources.registers import LONG, STRIP, computed_again, is_dear, kept_by
from tilewright.tileir.analysis.axes import is_tile
from tilewright.tileir.analysis.neighbours import moves_elements
from tilewright.tileir.analysis.padded import Columns, padded_tiles, tests_columns
from tilewright.tileir.analysis.recomputation import is_widening
from tilewright.tileir.core import Op, Value
from tilewright.tileir.layouts.queries import register_offsets, registers
from tilewright.tileir.ops.memory import Load

# Instructions for each element from which on strips are skipped, and those of a dear op, about.
SAVED, FUNCTION = 4, 5
Tests = Mapping[Value, tuple[int, int]]  # of columns: along which axis they count up, and by which step
ENDS: dict[Callable[[Any], bool], Callable[..., StripReduction | StripStore]] = {
    can_reduce_strips: StripReduction, can_store_strips: StripStore}


class Run:
    """A run. `wanted` are the results that others use, `may_reach` says of a strip whether it is not skipped; the
    first strip is always computed, with what the others share."""

    def __init__(self, ctx: Context, run: Sequence[Op]) -> None:
        self.ctx, self.last, self.width = ctx, run[-1], registers(ctx.layout(run[0].results[0]))
        self.end = next((end(ctx, self.last, STRIP) for takes, end in ENDS.items() if takes(self.last)), None)
        self.ops = run if self.end is None else run[:-1]
        self.number = next(ctx.runs_of_ops)
        self.loads = {op: TileAccess(ctx, op, op.result.type) for op in run if isinstance(op, Load)}
        made = [v for op in self.ops for v in op.results]
        taken = [v for op in self.ops for v in op.operands if is_tile(v) and v not in made and self.width >= LONG]
        self.again = list(dict.fromkeys(op for v in taken for op in computed_again(v)))  # what nobody keeps
        self.apart = self.width >= LONG and moves_elements(ctx.function)
        # In loops, registers hold the weights too: branches made ptxas spill (8 to 32 bytes of rows of 32000). They do
        # not where no ring takes the rows, nor where registers are left for as many CTAs.
        body, dear = ctx.homes[run[0]] is ctx.function.body, any(map(is_dear, run))
        long = self.width >= LONG
        alone = self.apart or (long if body else (dear or long) and ctx.spare_registers >= STRIP)
        given = (v for op in (*self.again, *self.ops) for v in op.operands)
        self.tests = {v: found for v in given if self.apart and (found := tests_columns(v, ctx)) is not None}
        used = [v for v in made if any(user not in run for user in ctx.uses.get(v, ()))]
        self.wanted = [v for v in made if (v in used or v in map(kept_by, used)) and not self._made_again(v)]
        self.may_reach = self._test() if alone else None
        # A tile is the next power of two of a row as a rule: in loops, where branches cost most, half of it is inside.
        self.tested = STRIP if body or self.apart else self.width // 2
        self.read, self.ahead = dict[tuple[Op, int], Val](), self._comes_ahead()
        self.ops = sorted(self.ops, key=lambda op: self.ahead is None or not isinstance(op, Load))

    def _comes_ahead(self) -> bool | None:
        """Whether loads come a strip ahead, if registers then hold as many CTAs (ptxas takes twice of what is live), or
        else before the other ops of their strip; None: where they are used."""
        sizes = [STRIP * op.result.type.dtype.bitwidth // 32 for op in self.loads]
        if not sizes or self.apart:
            return None
        beside, spare = sum(sizes) - max(sizes), self.ctx.spare_registers
        return beside + 2 * sum(sizes) <= spare or (False if 0 < beside <= spare else None)

    def _made_again(self, test: Value) -> bool:
        """Whether all strips that use a test of columns make it: predicates of many elements cost more to keep."""
        users = self.ctx.uses.get(test, ()) if self.apart and tests_columns(test, self.ctx) else ()
        return bool(users) and all(op.elementwise for op in users)

    def _test(self) -> Callable[[int], Val | None] | None:
        """What says whether a strip may lie inside, by its start; None where every strip must be computed."""
        if sum(FUNCTION if is_dear(op) else 1 for op in self.ops) < SAVED:
            return None
        if isinstance(self.end, StripStore):
            return None if self.wanted or not self.end.at_once else self.end.tile.may_reach
        padded, taken = padded_tiles(self.ctx), [*self.wanted, *(() if self.end is None else (ended(self.last),))]
        source, *others = {padded.get(v) for v in taken} or {None}
        if source is None or others or self.loads:
            return None
        if isinstance(source, Columns):  # where the test does not hold of a strip's first register, it holds of none
            return lambda start: self.ctx.b.extract(
                _Strip(self.ctx, start, 1, self.width, dict([source]))[source.test], 0)
        return TileAccess(self.ctx, source, source.result.type).may_reach

    def lower(self) -> None:
        """Emit the ops, and define the results that others use."""
        pieces = []
        for start in range(0, self.width, STRIP):
            if self.ahead and start + STRIP < self.width:
                self.read |= {(op, start + STRIP): self._read(op, start + STRIP) for op in self.loads}
            taken = self._taken(start)
            pieces.append(taken[:len(self.wanted)])
            if isinstance(self.end, StripReduction):
                self.end.combine(start // STRIP, tuple(taken[len(self.wanted):]))
        for value, parts in zip(self.wanted, zip(*pieces, strict=True), strict=True):
            self.ctx.set(value, self.ctx.b.concat(parts))
        if self.end is not None:
            self.end.finish()

    def _read(self, op: Load, start: int) -> Val:
        """A strip of what the run loads."""
        self.loads[op].registers = slice(start, start + STRIP)
        return self.loads[op].read(padding(self.ctx, op, STRIP))

    def _taken(self, start: int) -> list[Val]:
        """What others take of a strip: the results, and what a reduction leaves of it."""
        inside = self.may_reach(start) if self.may_reach and start >= self.tested else None
        if inside is None:
            return self._reached(start)
        outside = list[Val] if isinstance(self.end, StripStore) else partial(self._strip, start, 1)
        return self._either(inside, partial(self._reached, start), outside)

    def _reached(self, start: int) -> list[Val]:
        """The same of a strip that may lie inside."""
        inside, last = dict[Any, Val](), start + STRIP - 1
        if self.apart:
            for tile in self._accesses():
                tile.registers = slice(start, start + STRIP)
                if (reached := tile.reaches_all(last)) is not None:
                    inside[tile] = reached
            one = _Strip(self.ctx, last, 1, self.width, self.tests)
            for test in self.tests:
                inside[test] = self.ctx.b.extract(one[test], 0)
        if not inside:
            return self._strip(start, STRIP)

        def strip(known: bool) -> list[Val]:
            for tile in self._accesses():
                tile.inside = known and tile in inside
            return self._strip(start, STRIP, [v for v in inside if isinstance(v, Value) and known])

        return self._either(reduce(self.ctx.b.and_, inside.values()), partial(strip, True), partial(strip, False))

    def _accesses(self) -> list[TileAccess]:
        stored = [self.end.tile] if isinstance(self.end, StripStore) and self.end.at_once else []
        return [*self.loads.values(), *stored]

    def _either(self, condition: Val, then: Callable[[], list[Val]], other: Callable[[], list[Val]]) -> list[Val]:
        b = self.ctx.b
        arrivals = b.branch(condition, then, other, ("strip", "outside"))
        return [b.join([(values[i], label) for values, label in arrivals]) for i in range(len(arrivals[0][0]))]

    def _strip(self, start: int, count: int, true: Sequence[Value] = ()) -> list[Val]:
        """The same where `count` registers are computed, which the others equal; these tests are true."""
        strip: Any = _Strip(self.ctx, start, count, self.width, self.tests)
        for test in true:
            strip.set(test, self.ctx.b.const("i1", 1, count))
        for op in (*self.again, *self.ops):
            self.ctx.locate(op.span)
            if op in self.again and is_widening(op):
                again = rounded(strip, op) or widened_again(self.ctx.b, strip[op.operands[0]], self.number)
                strip.set(op.results[0], again)
            elif isinstance(op, Load):
                strip.set(op.result, self.read.get((op, start)) or self._read(op, start))
            elif op.results[0] not in self.tests:
                lowering_of(op)(strip, op)

        def spread(value: Value) -> Val:
            return self.ctx.b.concat([strip[value]] * (STRIP // count))

        self.ctx.locate(self.last.span)
        taken = [spread(value) for value in self.wanted]
        if isinstance(self.end, StripStore):
            self.end.take(start // STRIP, strip[ended(self.last)])
        elif self.end is not None:
            taken += self.end.reduced(spread(self.end.walk.source))
        return taken


def ended(op: Any) -> Value:
    """The tile that an op at the end of a run takes strip by strip."""
    tile: Value = op.value if can_store_strips(op) else op.src
    return tile


class _Strip:
    """What a lowering sees of the context: `count` registers of every tile of the run, from `start` on."""

    def __init__(self, ctx: Context, start: int, count: int, width: int, tests: Tests) -> None:
        self._ctx, self._width, self._tests = ctx, width, tests
        self.first_register = start
        self._lanes = range(start, start + count)
        self._own: dict[Value, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)

    def __contains__(self, value: Value) -> bool:
        return value in self._own

    def __getitem__(self, value: Value) -> Any:
        if value not in self and value in self._tests:
            self._own[value] = self._tested(value, *self._tests[value])
        if value not in self and value not in self._ctx:  # of what such a test is
            made: Any = value.op
            lowering_of(made)(cast(Context, self), made)
        if value not in self:
            fragment = self._ctx[value]
            whole = isinstance(fragment, Val) and fragment.n == self._width
            self._own[value] = self._ctx.b.shuffle(fragment, self._lanes) if whole else fragment
        return self._own[value]

    def _tested(self, test: Value, axis: int, step: int) -> Val:
        """A test of columns, from how many are left: the numbers of all would be live from run to run."""
        b, op = self._ctx.b, test.op
        assert op is not None
        limit, first = (b.extract(self[v], 0) for v in reversed(op.operands))
        left, places = b.sub(limit, first), register_offsets(self._ctx.layout(test))
        behind = [(places[r][axis] - places[self._lanes[0]][axis]) * step for r in self._lanes]
        return b.icmp("sgt", b.splat(left, len(behind)), b.const_vector(left.elem, behind))

    def set(self, value: Value, fragment: Val) -> None:
        assert fragment.n == len(self._lanes), f"{value}: {fragment} is no strip of {len(self._lanes)}"
        self._own[value] = fragment
