"""Where a launch reads and writes its arrays: indices of accesses as sums of block numbers and turns of loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.arguments.bind import Argument, ArrayArgument, Leaf, Scalar, leaves
from tilewright.arguments.spec import Spec
from tilewright.interp.affine import Form, Forms
from tilewright.tileir.analysis.effects import MEMORY, Dependences
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.ops.arrays import Extent
from tilewright.tileir.ops.atomics import Atomic
from tilewright.tileir.ops.memory import Gather, Load, Scatter, Store

Shape = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Access:
    """One op that reads or writes a parameter. `forms`: by axis of the array, where its elements lie; None where the
    indices are no such sum, and for an array that is a view."""

    op: Op
    reads: bool
    writes: bool
    forms: tuple[Form | None, ...] | None


class LaunchForms(Forms):
    """The forms of a function's integers in one launch, whose arrays may be known by their extents alone."""

    def __init__(
        self, function: Function, grid: tuple[int, int, int], shapes: Mapping[int, Shape], scalars: Mapping[int, int]
    ) -> None:
        super().__init__(function, grid, [None] * len(function.params))
        self.arguments = {function.params[k]: number for k, number in scalars.items()}
        self.shapes = {function.params[k]: shape for k, shape in shapes.items()}

    def _make(self, value: Value) -> Form | None:
        op = value.op
        if isinstance(op, Extent):
            extent = self.shapes.get(op.array, (None,) * op.array.type.rank)[op.axis]
            return None if extent is None else Form(extent, extent)
        return super()._make(value)


class Regions:
    """The accesses of one launch by the parameters of its function."""

    def __init__(self, function: Function, grid: tuple[int, int, int], shapes: Mapping[int, Shape],
                 scalars: Mapping[int, int]) -> None:
        self.function = function
        self.forms = LaunchForms(function, grid, shapes, scalars)
        self.accesses: dict[int, list[Access]] = {}
        dependences = Dependences(function)
        for op in function.walk():
            effects = op.effects()
            for memory in dict.fromkeys((*effects.reads, *effects.writes)):
                if not isinstance(memory.type, MEMORY):
                    continue
                direct = memory is getattr(op, "array", None) and memory in function.params
                forms = indices_of(op, self.forms) if direct else None
                found = Access(op, memory in effects.reads, memory in effects.writes, forms)
                for position in dependences.parameters(memory):
                    self.accesses.setdefault(position, []).append(found)

    def of(self, position: int) -> list[Access]:
        return self.accesses.get(position, [])


def launch_regions(function: Function, grid: tuple[int, int, int], arguments: Sequence[Argument]) -> Regions:
    """The regions of a launch with these arguments, of which some may be specifications."""
    flat = list(leaves(arguments))
    shapes = {k: shape_of(leaf) for k, leaf in enumerate(flat) if isinstance(leaf, ArrayArgument)}
    scalars = {k: int(leaf.value) for k, leaf in enumerate(flat)
               if isinstance(leaf, Scalar) and leaf.value is not None and leaf.dtype.is_int}
    return Regions(function, grid, shapes, scalars)


def shape_of(array: ArrayArgument) -> Shape:
    """The extents of an argument, None for those that are not known."""
    info = array.info
    return (info.extents or ()) if isinstance(info, Spec) else tuple(info.shape)


def array_leaves(arguments: Sequence[Argument]) -> list[tuple[int, Leaf]]:
    """What remains of the arguments at run time and is no scalar, by position."""
    return [(k, leaf) for k, leaf in enumerate(leaves(arguments)) if not isinstance(leaf, Scalar)]


def indices_of(op: Any, forms: Forms) -> tuple[Form | None, ...] | None:
    """By axis of the array: which elements an op accesses; None for an op that has no indices."""
    if isinstance(op, Gather | Scatter | Atomic):
        return tuple(forms.of(index) for index in op.indices)
    if not isinstance(op, Load | Store):
        return None
    out: list[Form | None] = [None] * len(op.index)
    for axis, index, step, length in zip(op.order, op.index, op.steps, op.tile.type.shape, strict=True):
        first = forms.of(index)
        out[axis] = None if first is None else first.times(step).plus(Form(0, length - 1))
    return tuple(out)
