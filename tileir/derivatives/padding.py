"""Which values may be infinite or NaN in lanes that stand for no element, beyond the ends of arrays.

No cotangent comes in there, so that adjoints are zero; but zero times such a value is NaN, and a sum over lanes (the
adjoint of a broadcast) would carry that to elements that exist.
"""

from __future__ import annotations

from tilewright.tileir.carried import carried
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.derivatives.activity import is_float
from tilewright.tileir.enums import PaddingMode
from tilewright.tileir.ops import arith, math
from tilewright.tileir.ops.memory import Gather, Load

_UNBOUNDED = (
    arith.Div, arith.Pow, arith.Mod, arith.Atan2, math.Exp, math.Exp2, math.Expm1, math.Log, math.Log2, math.Log1p,
    math.Sqrt, math.Rsqrt, math.Tan, math.Sinh, math.Cosh, math.Asin, math.Acos, math.Acosh, math.Atanh)
_INFINITE = (PaddingMode.NAN, PaddingMode.POS_INF, PaddingMode.NEG_INF)


def unbounded_values(function: Function) -> set[Value]:
    """The floats that are computed from padding through a function that is infinite or undefined somewhere."""
    walk = _Walk()
    while True:
        before = len(walk.padded), len(walk.unbounded)
        walk.over(function.body)
        if before == (len(walk.padded), len(walk.unbounded)):
            return walk.unbounded


class _Walk:
    """One walk after the other over a function, until nothing is added."""

    def __init__(self) -> None:
        self.padded: set[Value] = set()
        self.unbounded: set[Value] = set()

    def over(self, block: Block) -> None:
        for op in block.ops:
            for inner in op.blocks:
                self.over(inner)
            groups = carried(op)
            for met in groups:
                self._spread(met, met)
            if not groups:
                self._spread(op.operands, op.results)
            self._begin(op)

    def _spread(self, sources: tuple[Value, ...] | list[Value], targets: tuple[Value, ...]) -> None:
        floats = [value for value in targets if is_float(value)]
        for found in (self.padded, self.unbounded):
            if any(value in found for value in sources):
                found.update(floats)

    def _begin(self, op: Op) -> None:
        if isinstance(op, Load) and partial(op):
            self.padded.update(op.results)
            self.unbounded.update(op.results if op.padding in _INFINITE else ())
        elif isinstance(op, Gather) and (op.check_bounds or op.mask is not None):
            self.padded.update(op.results)
        elif isinstance(op, _UNBOUNDED) and any(value in self.padded for value in op.operands):
            self.unbounded.update(op.results)


def partial(op: Load) -> bool:
    """Whether a tile may reach beyond the end of its array."""
    array = op.array.type
    known = [array.extent_div[axis] if array.extents[axis] is None else array.extents[axis] for axis in op.order]
    return op.check_bounds and any(
        count % step or length > step for count, step, length in zip(known, op.steps, op.shape, strict=True))
