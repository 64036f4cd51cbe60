"""Annotations of kernel parameters: Constant, ScalarInt64, IndexedWithInt64, ArrayAnnotation, ListAnnotation."""

from __future__ import annotations

import inspect
import types
from dataclasses import field
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from tilewright.arguments.hints import annotations_of
from tilewright.tileir.dtypes import DType, int32, int64
from tilewright.tileir.records import record
from tilewright.tracebacks import public

T = TypeVar("T")


@record
class ConstantAnnotation:
    """The argument's value is baked into the kernel: one specialisation per value and type. `Constant[T]` is
    `Annotated[T, ConstantAnnotation()]`.

    Example:
        @ct.tile_kernel
        def kernel(out, WIDTH: ct.Constant[int], flag: ct.Constant):
            if flag:                               # decided while compiling
                ct.store(out, 0, ct.full((WIDTH,), 1, ct.int32))

        out = np.zeros(4, np.int32)
        kernel[(1,)](out, 2, True)
        print(out)  # [1 1 0 0]
        kernel[(1,)](out, np.zeros(2), True)  # TypeError
    """


@record
class ScalarAnnotation:
    """A Python int becomes a scalar of `dtype`, int32 or int64. `ScalarInt64` is
    `Annotated[int, ScalarAnnotation(int64)]`.

    Errors: ValueError for another dtype; at the launch OverflowError for an int that does not fit.

    Example:
        @ct.tile_kernel
        def kernel(out, small, large: ct.ScalarInt64):
            print(small.dtype, large.dtype)  # int32 int64
            ct.store(out, 0, small + large)

        out = np.zeros(1, np.int64)
        kernel[(1,)](out, 1, 1 << 40)
        print(out)  # [1099511627777]
        kernel[(1,)](out, 1 << 40, 1)  # OverflowError
    """

    dtype: DType = int32

    @public
    def __post_init__(self) -> None:
        if self.dtype not in (int32, int64):
            raise ValueError(f"ScalarAnnotation: dtype must be int32 or int64, not {self.dtype}")


@record
class ArrayAnnotation:
    """What is asked of an array parameter: `Annotated[ct.Array, ct.ArrayAnnotation(...)]`.

    Arguments: `index_dtype`, int32 or int64, the dtype of shape and strides in the kernel (`IndexedWithInt64` asks for
        int64: for extents or strides beyond int32); `static_shape_dims` and `static_stride_dims`, tuples of axes
        (negative: from the end) whose extents and strides are constants: one specialisation per value.
    Errors: ValueError for another index dtype; TypeError for axes that are no tuple of ints; at the launch ValueError
        for an axis that the array does not have, OverflowError for an extent or stride that does not fit.

    Example:
        from typing import Annotated

        @ct.tile_kernel
        def kernel(x: Annotated[ct.Array, ct.ArrayAnnotation(static_shape_dims=(-1,))], y: ct.IndexedWithInt64):
            ct.static_assert(x.shape[1] == 4)
            print(ct.zeros((x.shape[1],), ct.int8), y.shape[0].dtype)  # [0, 0, 0, 0] int64

        kernel[(1,)](np.zeros((3, 4)), np.zeros(5))
        kernel[(1,)](np.zeros(()), np.zeros(5))  # ValueError
    """

    index_dtype: DType = int32
    static_shape_dims: tuple[int, ...] = ()
    static_stride_dims: tuple[int, ...] = ()

    @public
    def __post_init__(self) -> None:
        if self.index_dtype not in (int32, int64):
            raise ValueError(f"ArrayAnnotation: index_dtype must be int32 or int64, not {self.index_dtype}")
        for name in ("static_shape_dims", "static_stride_dims"):
            dims = getattr(self, name)
            if not isinstance(dims, tuple) or any(isinstance(d, bool) or not isinstance(d, int) for d in dims):
                raise TypeError(f"ArrayAnnotation: {name} must be a tuple of ints, not {dims!r}")

    def axes(self, dims: tuple[int, ...], rank: int, name: str) -> list[int]:
        """The listed axes counted from 0; ValueError where the array has no such axis or one is listed twice."""
        out: list[int] = []
        for dim in dims:
            if not -rank <= dim < rank:
                count = f"{rank} axis" if rank == 1 else f"{rank} axes"
                raise ValueError(f"{name} names axis {dim}, but the array has {count}")
            if dim % rank in out:
                raise ValueError(f"{name} names axis {dim % rank} twice")
            out.append(dim % rank)
        return out


@record
class ListAnnotation:
    """What is asked of the arrays of a list parameter: `Annotated[list, ct.ListAnnotation(element)]`.

    Arguments: `element`, an ArrayAnnotation, or `Annotated[..., ArrayAnnotation(...)]`.
    Errors: TypeError for an element without exactly one ArrayAnnotation; at the launch ValueError where the arrays
        differ in a static axis.

    Example:
        from typing import Annotated

        Rows = Annotated[list, ct.ListAnnotation(ct.ArrayAnnotation(static_shape_dims=(1,)))]

        @ct.tile_kernel
        def kernel(xs: Rows):
            for i in range(len(xs)):
                print(ct.load(xs[i], (0, 0), (1, xs[i].shape[1])))  # [[0, 1]]
                                                                    # [[0, 1]]

        kernel[(1,)]([np.arange(6).reshape(3, 2), np.arange(2).reshape(1, 2)])
        kernel[(1,)]([np.zeros((3, 2)), np.zeros((3, 4))])  # ValueError
    """

    element: Any = field(default_factory=ArrayAnnotation)

    @public
    def __post_init__(self) -> None:
        found = [self.element] if isinstance(self.element, ArrayAnnotation) else [
            m for m in _metadata(self.element) if isinstance(m, ArrayAnnotation)]
        if len(found) != 1:
            raise TypeError("ListAnnotation: element must carry exactly one ArrayAnnotation")
        object.__setattr__(self, "element", found[0])


@record
class DimensionNames:
    """The names of an array's axes: what `ct.Array["M", "K"]` stands for."""

    names: tuple[Any, ...]


Constant = Annotated[T, ConstantAnnotation()]
"""Constant or Constant[int]: the argument is known while compiling."""
ScalarInt64 = Annotated[int, ScalarAnnotation(int64)]
"""A Python int that the kernel sees as int64."""
IndexedWithInt64 = Annotated[Any, ArrayAnnotation(index_dtype=int64)]
"""An array whose shape and strides the kernel sees as int64."""

PLAIN_ARRAY = ArrayAnnotation()


@record
class Param:
    """How an argument is to be read: at most one of the annotations, or those of the elements of a tuple.

    `items` are the rules for a tuple's elements; with `repeat` the single one holds for each. `choices` are the values
    of a Literal, which is a constant, `dims` the names of an array's axes (dimensions.py). `starred`: *args or
    **kwargs, which a kernel cannot have; the frontend says so, with the place.
    """

    name: str
    constant: bool = False
    scalar: ScalarAnnotation | None = None
    array: ArrayAnnotation | None = None
    list: ListAnnotation | None = None
    items: tuple[Param, ...] | None = None
    repeat: bool = False
    starred: bool = False
    choices: tuple[Any, ...] | None = None
    dims: tuple[Any, ...] | None = None

    @property
    def fixed(self) -> bool:
        """Whether the argument is constant throughout: a constant, or a tuple of such."""
        return self.constant or (bool(self.items) and all(item.fixed for item in self.items or ()))

    @property
    def kind(self) -> str:
        """The annotation in a user's words, "" if there is none."""
        found = [("Literal", self.choices is not None), ("Constant", self.constant), ("ScalarInt64", self.scalar),
                 ("ArrayAnnotation", self.array), ("ListAnnotation", self.list), ("tuple[...]", self.items is not None)]
        return next((name for name, there in found if there), "")


def read_params(function: types.FunctionType) -> tuple[Param, ...]:
    """One Param per parameter of a kernel function.

    Raises whatever resolving the annotations raises (NameError for an unknown name), and TypeError for annotations that
    contradict each other.
    """
    hints = annotations_of(function)
    parameters = inspect.signature(function).parameters.values()
    starred = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return tuple(Param(p.name, starred=True) if p.kind in starred else _read(p.name, hints.get(p.name))
                 for p in parameters)


def _metadata(hint: Any) -> tuple[Any, ...]:
    return get_args(hint)[1:] if get_origin(hint) is Annotated else ()


def _read(name: str, hint: Any, constant: bool = False) -> Param:
    choices = _choices(get_args(hint)[0] if _metadata(hint) else hint)
    hint = _without_none(hint)
    marks = _metadata(hint)
    inner = get_args(hint)[0] if marks else hint
    constant = constant or choices is not None or any(isinstance(m, ConstantAnnotation) for m in marks)
    scalar = _single(name, marks, ScalarAnnotation)
    array = _single(name, marks, ArrayAnnotation)
    items = _single(name, marks, ListAnnotation)
    dims = _single(name, marks, DimensionNames)
    given = [kind for kind, there in (("a Constant", constant), ("a scalar", scalar), ("an array", array or dims),
                                      ("a list", items)) if there]
    if len(given) > 1:
        raise TypeError(f"parameter {name!r} is annotated as {' and as '.join(given)}; it can be one of them")
    if get_origin(inner) is tuple and not (scalar or array or items):
        return _read_tuple(name, get_args(inner), constant)
    return Param(name, constant, scalar, array, items, choices=choices, dims=dims.names if dims is not None else None)


def _choices(hint: Any) -> tuple[Any, ...] | None:
    """The values of `Literal[...]`, also with `| None`; None for any other annotation."""
    if get_origin(hint) is Literal:
        return get_args(hint)
    if get_origin(hint) in (Union, types.UnionType):
        parts = [(None,) if part is types.NoneType else _choices(part) for part in get_args(hint)]
        if any(part not in (None, (None,)) for part in parts) and None not in parts:
            return tuple(value for part in parts for value in part or ())
    return None


def _without_none(hint: Any) -> Any:
    """`X | None` is read as X: None may be given for every parameter."""
    if get_origin(hint) in (Union, types.UnionType):
        others = [part for part in get_args(hint) if part is not types.NoneType]
        if len(others) == 1:
            return others[0]
    return hint


def _read_tuple(name: str, hints: tuple[Any, ...], constant: bool) -> Param:
    if len(hints) == 2 and hints[1] is Ellipsis:
        return Param(name, items=(_read(f"{name}[...]", hints[0], constant),), repeat=True)
    # tuple[()] has the empty tuple as its only argument in old spellings.
    given = () if hints == ((),) else hints
    return Param(name, items=tuple(_read(f"{name}[{i}]", h, constant) for i, h in enumerate(given)))


def _single(name: str, marks: tuple[Any, ...], kind: type[T]) -> T | None:
    found = [m for m in marks if isinstance(m, kind)]
    if len(found) > 1:
        raise TypeError(f"parameter {name!r} carries {len(found)} annotations of kind {kind.__name__}")
    return found[0] if found else None
