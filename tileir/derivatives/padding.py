"""What values are in lanes that stand for no element, beyond the ends of arrays.

No cotangent comes in there, so that adjoints are zero; but zero times an infinite value is NaN, and a sum over lanes
(the adjoint of a broadcast) would carry that to elements that exist. So it is followed, axis by axis, in which lanes a
value stands for no element, and what it may be there. Where all elements exist it counts as finite: what is not comes
out of the kernel, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, Final

from tilewright.tileir.carried import carried
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.derivatives.activity import is_float
from tilewright.tileir.enums import PaddingMode
from tilewright.tileir.ops import arith, convert, math, reduce, shape
from tilewright.tileir.ops.matmul import Mma
from tilewright.tileir.ops.memory import Gather, Load
from tilewright.tileir.rules import RuleTable

Lane = frozenset[str]
"""What a value may be in a lane: zero "0", negative "-", positive "+", "-inf", and "any" for infinity and NaN."""


def _lane(text: str) -> Lane:
    return frozenset(text.split())


ZERO, FINITE, LOWEST, ANY = _lane("0"), _lane("0 - +"), _lane("-inf"), _lane("0 - + -inf any")
SOMEWHERE: Final = -1
"""In the place of an axis: the lanes follow no axis."""
Lanes = Mapping[int, Lane]
"""By axis: what a value is in the lanes that lie beyond the array's end along it."""
PADDINGS = {PaddingMode.ZERO: ZERO, PaddingMode.UNDETERMINED: ZERO, PaddingMode.NEG_INF: LOWEST}


def lanes_of(function: Function, saved: Mapping[Value, Value]) -> Mapping[Value, Lanes]:
    """The lanes of all values of a function that have some; other values stand for those in `saved`."""
    walk = _Walk(saved)
    while True:
        walk.changed = False
        walk.over(function.body)
        if not walk.changed:
            return walk.lanes


def unbounded(lane: Lane) -> bool:
    return not lane <= FINITE


class Derived:
    """The lanes of values of a derived function, as far as they follow from ops, and from what loops hand on."""

    def __init__(self, body: Block) -> None:
        self._body = body
        self._known: dict[Value, Lanes | None] = {}

    def of(self, value: Value) -> Lanes | None:
        """None where they are not known."""
        if value not in self._known:
            self._known[value] = self._find(value)
        return self._known[value]

    def same(self, value: Value, other: Value) -> None:
        """A value has the lanes of another one."""
        self._known[value] = self.of(other)

    def guarded(self, value: Value, by: Value) -> None:
        """A value is zero where another one is."""
        lanes, zeros = self.of(value), self.of(by)
        if lanes is not None and zeros is not None:
            self._known[value] = {**lanes, **{axis: lane for axis, lane in zeros.items() if lane == ZERO}}

    def _find(self, value: Value) -> Lanes | None:
        op = value.op
        if op is None or op.blocks:
            return {} if value.owner is self._body else None
        if any(is_float(v) and self.of(v) is None for v in op.operands):
            return None
        return lanes_after(op, lambda v: self.of(v) or {})


class _Walk:
    """One walk after the other over a function, until nothing changes."""

    def __init__(self, saved: Mapping[Value, Value]) -> None:
        self.lanes: dict[Value, Lanes] = {}
        self.saved = saved
        self.changed = False

    def of(self, value: Value) -> Lanes:
        return self.lanes.get(self.saved.get(value, value), {})

    def over(self, block: Block) -> None:
        for op in block.ops:
            for inner in op.blocks:
                self.over(inner)
            groups = carried(op)
            for met in groups:
                joined = self.joined(met)
                for value in met:
                    if value.owner is op or value.owner in op.blocks:
                        self.know(value, joined)
            if not groups:
                for result in op.results:
                    self.know(result, lanes_after(op, self.of))

    def joined(self, values: Sequence[Value]) -> Lanes:
        """What is true of whichever of some values."""
        axes = {axis for value in values for axis in self.of(value)}
        return {axis: frozenset().union(*(_at(value, self.of(value), axis) for value in values)) for axis in axes}

    def know(self, value: Value, lanes: Lanes) -> None:
        if not is_float(value):
            return
        before = self.lanes.get(value, {})
        now = {axis: before.get(axis, frozenset()) | lanes.get(axis, frozenset()) for axis in {*before, *lanes}}
        if now != before:
            self.lanes[value] = now
            self.changed = True


def _at(value: Value, lanes: Lanes, axis: int) -> Lane:
    """What a value is beyond the end along an axis; what exists there is finite."""
    if axis in lanes:
        return lanes[axis]
    if isinstance(value.op, arith.Constant) and value.type.dtype.is_float:
        number = float(value.op.value)
        kinds = (("0", number == 0), ("-inf", number == float("-inf")), ("-", -float("inf") < number < 0),
                 ("+", 0 < number < float("inf")))
        return frozenset([next((kind for kind, true in kinds if true), "any")])
    return lanes.get(SOMEWHERE, FINITE)


# ---- ops

Rule = Callable[[Any, Callable[[Value], Lanes]], Lanes]
RULES: RuleTable[Rule] = RuleTable("lanes beyond the ends of arrays")
Meet = Callable[..., Lane]


def lanes_after(op: Op, of: Callable[[Value], Lanes]) -> Lanes:
    """The lanes of an op's results; of an op without a rule they may be anything where an operand has some."""
    rule = RULES.of(op)
    if rule is not None:
        return rule(op, of)
    return {SOMEWHERE: ANY} if any(of(value) for value in op.operands) else {}


def _each(op: Op, of: Callable[[Value], Lanes], meet: Meet) -> Lanes:
    """Element by element: `meet` says what comes of the operands' lanes."""
    operands = [value for value in op.operands if is_float(value)]
    axes = {axis for value in operands for axis in of(value)}
    return {axis: meet(*[_at(value, of(value), axis) for value in operands]) for axis in axes}


def _pairs(one: Lane, other: Lane, meet: Callable[[str, str], str]) -> Lane:
    found: list[str] = []
    for a, b in product(one, other):
        found += ["any"] if "any" in (a, b) else meet(a, b).split()
    return frozenset(found)


def _sum(a: str, b: str) -> str:
    if "-inf" in (a, b):
        return "-inf"
    if "0" in (a, b):
        return a if b == "0" else b
    return a if a == b else "0 - +"


def _product(a: str, b: str) -> str:
    if "0" in (a, b):
        return "any" if "-inf" in (a, b) else "0"
    if "-inf" in (a, b):
        return "-inf" if "+" in (a, b) else "any"
    return "+ 0" if a == b else "- 0"


def _greater(a: str, b: str) -> str:
    return b if a == "-inf" else a if b == "-inf" else f"{a} {b}"


def _plus(one: Lane, other: Lane) -> Lane:
    return _pairs(one, other, _sum)


def _times(one: Lane, other: Lane) -> Lane:
    return _pairs(one, other, _product)


def _through(table: Mapping[str, str]) -> Meet:
    """Of a function that makes this of each kind of number; anything of infinity and NaN."""
    return lambda lane: frozenset(kind for one in lane for kind in table.get(one, "any").split())


_NEGATIVE = _through({"0": "0", "-": "+", "+": "-"})
_POWER = _through({"0": "+", "-": "0 +", "+": "+ any", "-inf": "0"})
_SMOOTH = _through(dict.fromkeys(("0", "-", "+"), "0 - +"))
_SQUASHED = _through(dict.fromkeys(("0", "-", "+", "-inf"), "0 - +"))
_EACH: dict[type[Op], Meet] = {
    arith.Add: _plus, arith.Sub: lambda one, other: _plus(one, _NEGATIVE(other)), arith.Mul: _times,
    arith.Fma: lambda a, b, c: _plus(_times(a, b), c), arith.Max: lambda one, other: _pairs(one, other, _greater),
    arith.Min: lambda one, other: one | other, math.Neg: _NEGATIVE, math.Abs: _through({"0": "0", "-": "+", "+": "+"}),
    convert.Cast: lambda lane: lane, math.StopGradient: lambda lane: lane, math.Exp: _POWER, math.Exp2: _POWER,
    math.Sin: _SMOOTH, math.Cos: _SMOOTH, math.Asinh: _SMOOTH, math.Integral: _SMOOTH, math.Tanh: _SQUASHED,
    math.Erf: _SQUASHED, math.Erfc: _SQUASHED, math.Sigmoid: _SQUASHED, math.Atan: _SQUASHED,
}
for _op, _meet in _EACH.items():
    RULES.add(_op, partial(_each, meet=_meet))


@RULES.register(arith.Div)
def _quotient(op: arith.Div, of: Any) -> Lanes:
    """Of divisors that exist it has the sign of what is divided, or the other one."""
    if of(op.rhs):
        return dict.fromkeys({*of(op.lhs), *of(op.rhs)}, ANY)
    return {axis: _times(lane, _lane("- +")) for axis, lane in of(op.lhs).items()}


@RULES.register(arith.Select)
def _select(op: arith.Select, of: Any) -> Lanes:
    axes = {*of(op.lhs), *of(op.rhs)}
    return {axis: _at(op.lhs, of(op.lhs), axis) | _at(op.rhs, of(op.rhs), axis) for axis in axes}


@RULES.register(Load)
def _load(op: Load, of: Any) -> Lanes:
    lane = PADDINGS.get(op.padding, ANY)
    return {axis: lane for axis, beyond in enumerate(_beyond(op)) if beyond}


@RULES.register(Gather)
def _gather(op: Gather, of: Any) -> Lanes:
    return {SOMEWHERE: FINITE | _at(op.padding, {}, SOMEWHERE)} if op.check_bounds or op.mask is not None else {}


@RULES.register(reduce.Reduction)
def _reduction(op: Any, of: Any) -> Lanes:
    """Lanes along the reduced axes disappear; what is no number there would be one nowhere."""
    lanes = of(op.src)
    bad = any("any" in lanes.get(axis, ZERO) for axis in (*op.axes, SOMEWHERE))
    kept = [axis for axis in range(op.src.type.rank) if axis not in op.axes]
    out = {SOMEWHERE: ANY} if SOMEWHERE in lanes else {}
    for axis in kept:
        if axis in lanes:
            lane = lanes[axis]
            out[kept.index(axis)] = ANY if bad else lane if lane in (ZERO, LOWEST) else FINITE | lane
    return out


@RULES.register(shape.Broadcast)
def _broadcast(op: shape.Broadcast, of: Any) -> Lanes:
    return dict(of(op.src))


@RULES.register(shape.Permute)
def _permute(op: shape.Permute, of: Any) -> Lanes:
    return {axis if axis == SOMEWHERE else op.axes.index(axis): lane for axis, lane in of(op.src).items()}


@RULES.register(shape.Reshape)
def _reshape(op: shape.Reshape, of: Any) -> Lanes:
    """Axes of length 1 come and go; other changes mix the lanes."""
    lanes, before = of(op.src), op.src.type.shape
    old, new = ([axis for axis, n in enumerate(s) if n != 1] for s in (before, op.shape))
    if [before[axis] for axis in old] != [op.shape[axis] for axis in new]:
        return {SOMEWHERE: FINITE.union(*lanes.values())} if lanes else {}
    to = dict(zip(old, new, strict=True))
    return {to.get(axis, SOMEWHERE): lane for axis, lane in lanes.items()}


@RULES.register(Mma)
def _mma(op: Mma, of: Any) -> Lanes:
    """Rows are those of a, columns those of b; what is no number along the axis of the sum is one nowhere."""
    rows, columns = op.a.type.rank - 2, op.a.type.rank - 1
    bad = any(unbounded(lanes.get(axis, ZERO)) for lanes, axis in ((of(op.a), columns), (of(op.b), rows)))
    found: dict[int, Lane] = {}
    for lanes, dropped in ((of(op.a), columns), (of(op.b), rows)):
        for axis, lane in lanes.items():
            if axis != dropped:
                made = ANY if bad or unbounded(lane) else ZERO if lane == ZERO else FINITE
                found[axis] = made if axis not in found else ZERO if ZERO in (made, found[axis]) else made | found[axis]
    axes = {*found, *of(op.acc)}
    return {axis: _plus(found.get(axis, FINITE), _at(op.acc, of(op.acc), axis)) for axis in axes}


def _beyond(op: Load) -> list[bool]:
    """Along which of its axes a tile may reach beyond the end of its array."""
    array = op.array.type
    known = [array.extent_div[axis] if array.extents[axis] is None else array.extents[axis] for axis in op.order]
    return [op.check_bounds and bool(count % step or length > step)
            for count, step, length in zip(known, op.steps, op.shape, strict=True)]
