"""The source of a kernel over a batch: the kernel's own Tile IR, with an axis more in front of its grid."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import Any

from tilewright.arguments.annotations import ArrayAnnotation, ListAnnotation, Param
from tilewright.arguments.arrays import ArrayInfo
from tilewright.arguments.bind import Argument, ArrayArgument, ArrayList, Const, Leaf, Scalar, Tuple, arrays, leaves
from tilewright.arguments.spec import Spec, row_major_steps
from tilewright.launching.sources import Source, no_statements
from tilewright.tileir.core import Function
from tilewright.tileir.diagnostics import TileValueError
from tilewright.tileir.plan import Aliases, Hints


@dataclass(frozen=True, slots=True)
class BatchedAnnotation(ArrayAnnotation):
    """What is asked of an array that has a batch axis: its static axes are counted without that."""

    batch: int = 0

    def axes(self, dims: tuple[int, ...], rank: int, name: str) -> list[int]:
        found = ArrayAnnotation.axes(self, dims, rank - 1, name)
        return [axis if axis < self.batch else axis + 1 for axis in found]


class BatchedSource:
    """A kernel over a batch. `axes`: the batch axis of each parameter's arrays, None for those without; `scalars`: the
    scalar parameters that are given as arrays; `batches`: see `tileir/combining/batch.py`."""

    def __init__(
        self, one: Source, axes: Mapping[str, int | None], scalars: frozenset[str], batches: int | None = None
    ) -> None:
        self.one = one
        self.axes = axes
        self.scalars = scalars
        self.batches = batches
        self.name = f"{one.name}_batched"
        self.parameters: Sequence[inspect.Parameter] = one.parameters
        self.params: Sequence[Param] = tuple(self._param(p, axes[p.name]) for p in one.params)

    def linear(self, batches: int) -> BatchedSource:
        """The same for a grid whose axis 0 counts batches and blocks."""
        return BatchedSource(self.one, self.axes, self.scalars, batches)

    @property
    def namespace(self) -> Mapping[str, Any]:
        return self.one.namespace

    def _param(self, param: Param, axis: int | None) -> Param:
        if axis is None or param.constant:
            return param
        if param.name in self.scalars:
            return Param(param.name)
        named = None if param.dims is None else (*param.dims[:axis], None, *param.dims[axis:])
        listed = None if param.list is None else ListAnnotation(_annotated(param.list.element, axis))
        items = None if param.items is None else tuple(self._param(item, axis) for item in param.items)
        array = None if param.array is None else _annotated(param.array, axis)
        return replace(param, array=array, list=listed, dims=named, items=items)

    def check(self, arguments: Sequence[Argument]) -> None:
        """The arrays have the axis, and are of one length along it."""
        lengths: dict[int, str] = {}
        for argument in arguments:
            axis = self.axes[argument.name]
            for array in arrays([argument]) if axis is not None else ():
                shape = _shape(array)
                assert axis is not None
                if argument.name in self.scalars and len(shape) != 1:
                    raise TypeError(f"argument {array.name!r} must have one axis, with a scalar for each batch")
                if len(shape) <= axis:
                    count = f"{len(shape)} {'axis' if len(shape) == 1 else 'axes'}"
                    raise ValueError(f"argument {array.name!r} has {count}, so that axis {axis} cannot be the batch's")
                if shape[axis] is not None:
                    lengths.setdefault(shape[axis] or 0, array.name)
            if argument.name in self.scalars and not isinstance(argument, ArrayArgument):
                raise TypeError(f"argument {argument.name!r} must be an array, with a scalar for each batch")
        if len(lengths) > 1:
            (first, one), (second, other) = list(lengths.items())[:2]
            raise ValueError(f"arguments {one!r} and {other!r} have batches of {first} and {second}")
        self.one.check([self._unbatched(a, self.axes[a.name]) for a in arguments])

    def translate(
        self, arguments: Sequence[Argument], *, facts: bool, hints: Hints, aliases: Aliases, debug: bool
    ) -> Function:
        from tilewright.tileir.combining.batch import batch

        if debug:
            raise no_statements(self.name)
        flat = [(leaf, self.axes[argument.name]) for argument in arguments for leaf in leaves([argument])]
        self._check_shared(flat, aliases)
        inner = [self._unbatched(a, self.axes[a.name]) for a in arguments]
        function = self.one.translate(inner, facts=facts, hints=hints, aliases=aliases, debug=False)
        axes = {k: axis for k, (leaf, axis) in enumerate(flat) if axis is not None and not isinstance(leaf, Scalar)}
        types = {k: flat[k][0].type(facts) for k in axes}
        return batch(function, axes, types, name=self.name, batches=self.batches)

    def _check_shared(self, flat: Sequence[tuple[Leaf, int | None]], aliases: Aliases) -> None:
        """An array under two names is one in the body, so that both have the same axis."""
        for one, other in aliases.same:
            if flat[one][1] != flat[other][1]:
                raise TileValueError(f"arguments {flat[other][0].name!r} and {flat[one][0].name!r} are one array, but "
                                     f"their batch axes are {flat[other][1]} and {flat[one][1]}")

    def _unbatched(self, argument: Argument, axis: int | None) -> Argument:
        """The argument as the kernel itself has it."""
        if axis is None or isinstance(argument, (Const, Scalar)):
            return argument
        if isinstance(argument, Tuple):
            return replace(argument, items=[self._unbatched(item, axis) for item in argument.items])
        if isinstance(argument, ArrayList):
            return replace(argument, items=[_slice(item, axis) for item in argument.items])
        if argument.name in self.scalars:
            return Scalar(argument.name, argument.info.dtype, None)
        return _slice(argument, axis)


def _annotated(annotation: ArrayAnnotation, axis: int) -> BatchedAnnotation:
    return BatchedAnnotation(
        annotation.index_dtype, annotation.static_shape_dims, annotation.static_stride_dims, axis)


def _without(values: Sequence[Any], axis: int) -> tuple[Any, ...]:
    return (*values[:axis], *values[axis + 1:])


def _slice(array: ArrayArgument, axis: int) -> ArrayArgument:
    """What is known of any slice of an array along an axis."""
    info, own = array.info, array.annotation
    annotation = ArrayAnnotation(own.index_dtype, own.static_shape_dims, own.static_stride_dims)
    if isinstance(info, ArrayInfo):
        aligned = gcd(info.pointer, info.strides[axis] * info.dtype.bytes)
        return ArrayArgument(array.name, replace(
            info, pointer=aligned, shape=_without(info.shape, axis), strides=_without(info.strides, axis)), annotation)
    assert info.extents is not None
    steps = info.strides if info.strides is not None else row_major_steps(info.extents)
    step = steps[axis]
    align = gcd(info.align, step * info.dtype.bytes) if step is not None else info.dtype.bytes
    strides = None if info.strides is None and axis == 0 else _without(steps, axis)
    return ArrayArgument(
        array.name, Spec(info.dtype, _without(info.extents, axis), strides, align & -align), annotation)


def _shape(array: ArrayArgument) -> tuple[int | None, ...]:
    return (array.info.extents or ()) if isinstance(array.info, Spec) else array.info.shape
