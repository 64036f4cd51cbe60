"""Along which axes the elements of an integer tile count up, or stay the same: what gathers need to move whole vectors.

    arange(64)                     counts up in one run of 64
    8 * k + arange(64)             in runs of 8: a run starts at a multiple of its length
    arange(64) // 16               stays in groups of 16

All lengths are powers of two, and a group of n elements starts at a multiple of n of the tile's index. As a run of n
starts at a value that is a multiple of n, no integer type wraps inside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tilewright.tileir.analysis.facts import Facts
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.ops import arith, control, convert, shape
from tilewright.tileir.rules import RuleTable
from tilewright.tileir.types import TileType

__all__ = ["Run", "Runs", "runs"]


class Run(NamedTuple):
    """Along one axis: in every group of `rises` elements each is one more than the one before, and the first is a
    multiple of `rises`; in every group of `stays` all are equal."""

    rises: int = 1
    stays: int = 1


Along = tuple[Run, ...]  # for each axis of a tile


class Runs(dict[Value, Along]):
    """Runs by value; of a value that was not seen nothing is known."""

    def __missing__(self, value: Value) -> Along:
        return (Run(),) * len(value.type.shape)


def runs(function: Function, known: Facts) -> Runs:
    """The runs of every tile of integers or bools, from the facts of the same function."""
    walk = _Walk(known)
    walk.block(function.body)
    return walk.found


def meet(one: Along, other: Along) -> Along:
    """What holds of both."""
    return tuple(Run(min(a.rises, b.rises), min(a.stays, b.stays)) for a, b in zip(one, other, strict=True))


def _is_known(value: Value) -> bool:
    type_ = value.type
    return isinstance(type_, TileType) and bool(type_.shape) and not type_.dtype.is_float


class _Walk:
    def __init__(self, known: Facts) -> None:
        self.known = known
        self.found = Runs()

    def block(self, block: Block) -> None:
        for op in block.ops:
            if op.blocks:
                self.structured(op)
            elif len(op.results) == 1 and _is_known(op.results[0]):
                rule = self.rule(op)
                if rule is not None:
                    self.found[op.results[0]] = rule(op, self)

    def rule(self, op: Op) -> Rule | None:
        if op.same_elements:
            return _same
        return _RULES.of(op) or (_elementwise if op.elementwise else None)

    def structured(self, op: Any) -> None:
        match op:
            case control.If():
                self.block(op.then)
                self.block(op.orelse)
                self.join(op.results, op.then.terminator.operands, op.orelse.terminator.operands)
            case control.For():
                variables = op.loop.params[1:]
                self.loop(op.init, variables, [op.loop], lambda: op.loop.terminator.operands)
                self.join(op.results, variables, variables)
            case control.While():
                self.loop(op.init, op.before.params, [op.before, op.after], lambda: op.after.terminator.operands)
                passed = op.before.terminator.operands[1:]
                self.join(op.results, passed, passed)
            case _:  # an op of a backend: its bodies start from no knowledge
                for block in op.blocks:
                    self.block(block)

    def join(self, targets: Sequence[Value], first: Sequence[Value], second: Sequence[Value]) -> None:
        for target, a, b in zip(targets, first, second, strict=True):
            if _is_known(target):
                self.found[target] = meet(self.found[a], self.found[b])

    def loop(
        self, init: Sequence[Value], params: Sequence[Value], bodies: Sequence[Block],
        last: Callable[[], Sequence[Value]],
    ) -> None:
        """What holds on entry and after every iteration: lengths only shrink, so that this ends."""
        self.join(params, init, init)
        while True:
            for number, body in enumerate(bodies):
                if number:  # of a while loop: what the condition hands on
                    passed = bodies[0].terminator.operands[1:]
                    self.join(body.params, passed, passed)
                self.block(body)
            before = {p: self.found[p] for p in params if _is_known(p)}
            self.join(params, params, last())
            if all(self.found[p] == old for p, old in before.items()):
                return

    def power(self, value: Value, most: int) -> int:
        """The largest power of two up to `most` that divides every element."""
        divisor = self.known[value].divisor
        return min(most, divisor & -divisor) if divisor else most


Rule = Callable[[Any, _Walk], Along]


def _elementwise(op: Op, walk: _Walk) -> Along:
    """What is computed of equal elements is equal."""
    sources = [walk.found[v] if _is_known(v) else _unknown(v) for v in op.operands]
    return tuple(Run(1, min(along)) for along in zip(*([r.stays for r in s] for s in sources), strict=True))


def _unknown(value: Value) -> Along:
    """A tile of floats: a constant is the same everywhere."""
    if isinstance(value.op, arith.Constant):
        return tuple(Run(1, n) for n in value.type.shape)
    return (Run(),) * len(value.type.shape)


def _with_rises(along: Along, rises: Sequence[int]) -> Along:
    return tuple(Run(n, run.stays) for run, n in zip(along, rises, strict=True))


def _constant(op: arith.Constant, walk: _Walk) -> Along:
    return tuple(Run(1, n) for n in op.type.shape)


def _sum(op: Any, walk: _Walk) -> Along:
    """A run, moved by a number that stays through it and is a multiple of its length; so do bits that are set above
    a run."""
    lhs, rhs = walk.found[op.lhs], walk.found[op.rhs]
    rises = [max(min(a.rises, b.stays, walk.power(op.rhs, a.rises)), min(b.rises, a.stays, walk.power(op.lhs, b.rises)))
             for a, b in zip(lhs, rhs, strict=True)]
    return _with_rises(_elementwise(op, walk), rises)


def _difference(op: Any, walk: _Walk) -> Along:
    lhs, rhs = walk.found[op.lhs], walk.found[op.rhs]
    rises = [min(a.rises, b.stays, walk.power(op.rhs, a.rises)) for a, b in zip(lhs, rhs, strict=True)]
    return _with_rises(_elementwise(op, walk), rises)


def _product(op: Any, walk: _Walk) -> Along:
    for factor, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        if walk.known[factor].constant == 1:
            return walk.found[other]
    return _elementwise(op, walk)


def _quotient(op: Any, walk: _Walk) -> Along:
    """All of a run of n share their quotient by a positive multiple of n."""
    power = walk.power(op.rhs, 1 << 62) if walk.known[op.rhs].low > 0 else 1
    return _same_part(op.lhs, op.rhs, power, _elementwise(op, walk), walk)


def _shifted_right(op: Any, walk: _Walk) -> Along:
    low = walk.known[op.rhs].low
    return _same_part(op.lhs, op.rhs, 1 << min(max(low, 0), 62), _elementwise(op, walk), walk)


def _same_part(lhs: Value, rhs: Value, power: int, equal: Along, walk: _Walk) -> Along:
    pairs = zip(walk.found[lhs], walk.found[rhs], equal, strict=True)
    return tuple(Run(1, max(e.stays, min(a.rises, power, b.stays))) for a, b, e in pairs)


def _remainder(op: Any, walk: _Walk) -> Along:
    """Of a run of n by a multiple of n: the run again, from a multiple of n."""
    lhs, rhs = walk.found[op.lhs], walk.found[op.rhs]
    positive = walk.known[op.rhs].low > 0
    rises = [min(a.rises, b.stays, walk.power(op.rhs, a.rises)) if positive else 1
             for a, b in zip(lhs, rhs, strict=True)]
    return _with_rises(_elementwise(op, walk), rises)


def _masked(op: arith.And, walk: _Walk) -> Along:
    """x & 15 is x % 16; x & -16 is x without what counts up in runs of 16."""
    out = _elementwise(op, walk)
    for value, mask in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        bits = walk.known[mask].constant
        if bits is None or value.type.dtype.is_bool:
            continue
        low = ~bits & bits + 1  # the lowest bit that is not set: all below it are kept
        cleared = bits & -bits if bits else 1 << 62
        out = tuple(Run(max(o.rises, min(r.rises, low)), max(o.stays, min(r.rises, cleared)))
                    for o, r in zip(out, walk.found[value], strict=True))
    return out


def _select(op: arith.Select, walk: _Walk) -> Along:
    cond = walk.found[op.cond]
    rises = [min(c.stays, a.rises, b.rises)
             for c, a, b in zip(cond, walk.found[op.lhs], walk.found[op.rhs], strict=True)]
    return _with_rises(_elementwise(op, walk), rises)


def _below(swap: bool) -> Rule:
    """A run of n lies on one side of a multiple of n."""
    def rule(op: Any, walk: _Walk) -> Along:
        out = _elementwise(op, walk)
        if op.lhs.type.dtype.is_float:
            return out
        value, bound = (op.rhs, op.lhs) if swap else (op.lhs, op.rhs)
        values, bounds = walk.found[value], walk.found[bound]
        return tuple(Run(1, max(o.stays, min(v.rises, b.stays, walk.power(bound, v.rises))))
                     for o, v, b in zip(out, values, bounds, strict=True))

    return rule


def _cast(op: Any, walk: _Walk) -> Along:
    if op.src.type.dtype.is_float or op.dtype.is_bool or op.src.type.dtype.is_bool:
        return _elementwise(op, walk)
    width: int = 1 << op.dtype.bitwidth - 1  # a longer run would wrap
    return tuple(Run(min(r.rises, width), r.stays) for r in walk.found[op.src])


def _same(op: Any, walk: _Walk) -> Along:
    return walk.found[op.src]


def _iota(op: shape.Iota, walk: _Walk) -> Along:
    return (Run(min(op.size, 1 << op.dtype.bitwidth - 1)),)


def _broadcast(op: shape.Broadcast, walk: _Walk) -> Along:
    old = op.src.type.shape
    if not old:
        return tuple(Run(1, n) for n in op.shape)
    return tuple(r if n == m else Run(1, m) for r, n, m in zip(walk.found[op.src], old, op.shape, strict=True))


def _reshape(op: shape.Reshape, walk: _Walk) -> Along:
    """An axis keeps what is known of the old axis whose elements lie as far apart."""
    old, inner = {}, 1
    for n, run in zip(reversed(op.src.type.shape), reversed(walk.found[op.src]), strict=True):
        if n > 1:
            old[inner] = run
        inner *= n
    out, inner = [], 1
    for n in reversed(op.shape):
        run = old.get(inner, Run())
        out.append(Run(min(run.rises, n), min(run.stays, n)))
        inner *= n
    return tuple(reversed(out))


def _permute(op: shape.Permute, walk: _Walk) -> Along:
    return tuple(walk.found[op.src][a] for a in op.axes)


def _extract(op: shape.Extract, walk: _Walk) -> Along:
    return tuple(Run(min(r.rises, n), min(r.stays, n)) for r, n in zip(walk.found[op.src], op.shape, strict=True))


def _cat(op: shape.Cat, walk: _Walk) -> Along:
    return meet(walk.found[op.lhs], walk.found[op.rhs])


_RULES: RuleTable[Rule] = RuleTable("runs of elements", {
    arith.Constant: _constant,
    arith.Add: _sum,
    arith.Sub: _difference,
    arith.Mul: _product,
    arith.Or: _sum,
    arith.Xor: _sum,
    arith.And: _masked,
    arith.FloorDiv: _quotient,
    arith.Shr: _shifted_right,
    arith.Mod: _remainder,
    arith.Select: _select,
    arith.Lt: _below(swap=False),
    arith.Ge: _below(swap=False),
    arith.Gt: _below(swap=True),
    arith.Le: _below(swap=True),
    convert.Cast: _cast,
    shape.Iota: _iota,
    shape.Broadcast: _broadcast,
    shape.Reshape: _reshape,
    shape.Permute: _permute,
    shape.Extract: _extract,
    shape.Cat: _cat,
})
