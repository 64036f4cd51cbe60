"""What a name in a kernel can stand for.

A frontend value (`Val`) is one of
  * an IR `Value`: a tile (a scalar is a tile of rank 0), an array, a list of arrays; a rank-0 `Constant` is a strictly
    typed constant,
  * a Python bool, int or float: a loosely typed constant,
  * a Python object that exists only while compiling: str, None, Ellipsis, slice, enum member, DType, type, module,
    function,
  * a tuple of frontend values; a list is one that may change (`ListOf`),
  * an instance of one of the classes below.
"""

from __future__ import annotations

import ast
import enum
import itertools
import sys
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tilewright.frontend.scopes import Scope
from tilewright.frontend.source import FunctionSource
from tilewright.tileir.core import Value
from tilewright.tileir.diagnostics import TileValueError
from tilewright.tileir.dtypes import DType
from tilewright.tileir.enums import PaddingMode
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.types import ArrayType, ListType, TileType

Val = Any


@dataclass(frozen=True)
class ConstArg:
    """The argument spec of a parameter whose value is baked into the kernel."""

    value: Any


@dataclass(frozen=True, eq=False, slots=True)
class Closure:
    """A nested function or lambda. It reads the variables of `scope` when it is called, as Python does."""

    source: FunctionSource
    defaults: dict[str, Val]
    scope: Scope


@dataclass(frozen=True, slots=True)
class BoundMethod:
    """`function` waiting for its arguments after `receiver`."""

    function: Val
    receiver: Val


MOST_ITEMS = 1 << 16
"""Of a range whose items are listed."""


@dataclass(frozen=True, slots=True)
class Range:
    """`range(start, stop, step)` with bounds that may be known only at run time."""

    start: Val
    stop: Val
    step: Val

    @property
    def down(self) -> bool:
        """Whether it counts down. A step that only the run knows counts up."""
        step = known(self.step)
        return step is not None and step < 0

    @property
    def numbers(self) -> range | None:
        """Its numbers, where they are known while compiling; of more than Python counts none are."""
        bounds: list[Any] = [known(v) for v in (self.start, self.stop, self.step)]
        if not all(isinstance(b, int) for b in bounds):
            return None
        found = range(*bounds)
        return found if abs(found.stop - found.start) <= sys.maxsize else None

    def items(self, what: str, most: int = MOST_ITEMS) -> tuple[int, ...] | None:
        """Its numbers as items that the compiler handles one by one."""
        found = self.numbers
        if found is not None and len(found) > most:
            raise TileValueError(f"{what}: the range has {len(found)} items; {most} are the most",
                                 hints=["loop with for, or compute with a tile: ct.arange"])
        return None if found is None else tuple(found)


def listed(what: str, value: Val) -> Val:
    """A range of constants as the tuple of its items; all else as it is."""
    items = value.items(what) if isinstance(value, Range) else None
    return value if items is None else items


_MADE = itertools.count(1)
OUTSIDE = 0
"""What stands in `made` of a list or dict that a function did not make itself: its caller, or the host, has it too."""


class ListOf(tuple[Val, ...]):
    """A list that a kernel makes: a tuple whose name is bound anew when the list changes (`containers.py`).

    `made`: the numbers of the places that may have made it. Names whose values share one may stand for one list.
    """

    made: frozenset[int]

    def __new__(cls, items: Iterable[Val] = (), made: frozenset[int] | None = None) -> ListOf:
        new = super().__new__(cls, items)
        new.made = frozenset((next(_MADE),)) if made is None else made
        return new


class Live(tuple[Val, ...]):
    """What `enumerate`, `zip`, `reversed`, `map` or a view of a dict gives of lists and dicts; in Python, it changes
    with them.

    `made`: as in the lists and dicts. `order`: 1 where their items stand here in order, -1 in reverse, else 0. `keys`:
    it does not change where a key gets another value.
    """

    made: frozenset[int]
    order: int
    keys: bool

    def __new__(cls, items: Iterable[Val], made: frozenset[int], order: int = 1, keys: bool = False) -> Live:
        new = super().__new__(cls, items)
        new.made, new.order, new.keys = made, order, keys
        return new


def live(items: Iterable[Val], *sources: tuple[Val, ...]) -> tuple[Val, ...]:
    """A tuple of items that stand in the order of `sources`; Live where one of these is a list or of one."""
    found = [s if isinstance(s, Live) else Live((), s.made) for s in sources if isinstance(s, (ListOf, Live))]
    if not found:
        return tuple(items)
    order = found[0].order if len({s.order for s in found}) == 1 else 0
    return Live(items, frozenset().union(*(s.made for s in found)), order, all(s.keys for s in found))


@dataclass(frozen=True, slots=True)
class Keywords:
    """A dict: of a helper's `**kwargs`, or one that the kernel makes. Its keys are constants; `made` as in a ListOf."""

    items: dict[Any, Val]
    made: frozenset[int] = field(default_factory=lambda: frozenset((next(_MADE),)), compare=False)


@dataclass(slots=True)
class Iterated:
    """The items that a loop goes over, what gave them, and the place of the present one."""

    items: tuple[Val, ...]
    source: Val
    at: int = -1


@dataclass(frozen=True, slots=True)
class Changed:
    """What a method of a list or dict gives that changes it: what the container is now, and the method's result."""

    container: Val
    result: Val = None


@dataclass(frozen=True, slots=True)
class Struct:
    """An instance of a frozen dataclass."""

    type: type
    fields: dict[str, Val]


@dataclass(frozen=True, slots=True)
class SliceSpec:
    """`ct.Slice(start, length)`: a run of elements along an axis, for advanced indexing."""

    start: Val
    length: int


@dataclass(frozen=True, slots=True)
class TiledView:
    """An array seen as a space of equal tiles."""

    array: Value
    tile_shape: tuple[int, ...]  # () for single elements
    steps: tuple[int, ...]
    padding: PaddingMode

    @property
    def block_shape(self) -> tuple[int, ...]:
        """The tile's length along every axis of the array."""
        return self.tile_shape or (1,) * self.array.type.rank


@dataclass(frozen=True, slots=True)
class RawMemory:
    """The memory of an array, addressed by element offsets."""

    array: Value


@dataclass(frozen=True, slots=True)
class Text:
    """A formatted string with parts known only at run time: str, or (tile, C conversion of its elements)."""

    parts: tuple[str | tuple[Val, str], ...]


@dataclass(frozen=True, slots=True)
class Managed:
    """A context manager that waits to be entered: the activation of its generator function, and what it yields."""

    scope: Scope
    yielded: ast.expr | None


@dataclass(frozen=True, slots=True)
class Builtin:
    """A function of the language that is reached as a method: `t.reshape`."""

    name: str

    @property
    def __tilewright_builtin__(self) -> str:
        return self.name


def like(model: tuple[Any, ...], items: Iterable[Val]) -> tuple[Val, ...]:
    """A tuple of these items, with the names of the model's where it has some; a list, where the model is one."""
    if isinstance(model, ListOf):
        return ListOf(items, model.made)
    if isinstance(model, Live):
        return Live(items, model.made, model.order, model.keys)
    make: Any = getattr(type(model), "_make", tuple)
    return make(items)  # type: ignore[no-any-return]


def is_tile(value: Val) -> bool:
    """A tile or scalar in the IR."""
    return isinstance(value, Value) and isinstance(value.type, TileType)


def is_array(value: Val) -> bool:
    return isinstance(value, Value) and isinstance(value.type, ArrayType)


def is_list(value: Val) -> bool:
    return isinstance(value, Value) and isinstance(value.type, ListType)


def is_loose(value: Val) -> bool:
    """A loosely typed constant (members of an IntEnum take part as ints)."""
    return isinstance(value, (bool, int, float))


def strict_value(value: Val) -> bool | int | float | None:
    """The Python value of a strictly typed constant, None for anything else."""
    if isinstance(value, Value) and type(op := value.owner) is Constant and not value.type.shape:
        return op.value
    return None


def known(value: Val) -> bool | int | float | None:
    """The Python value of a loose or strict constant, None when only the run knows it."""
    return value if isinstance(value, (bool, int, float)) else strict_value(value)


def describe(value: Val) -> str:
    """A value in the user's words, for messages."""
    if isinstance(value, Value):
        return describe_type(value.type)
    for kinds, text in _DESCRIPTIONS:
        if isinstance(value, kinds):
            return text(value)
    return f"an object of type {type(value).__name__}"


def named(value: Val) -> str:
    """`describe` with its article."""
    text = describe(value)
    if isinstance(value, _ONLY_ONE):
        return f"the {text}"
    if text.startswith("an object"):
        return text
    if text in ("None", "...") or text[:1] in "\"'" or isinstance(value, enum.Enum):
        return text
    # uint8 is read "you-int".
    return f"an {text}" if text[:1] in "aeio" else f"a {text}"


_ONLY_ONE = (DType, type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, Builtin, RawMemory)


def describe_type(type_: Any) -> str:
    """An IR type in the user's words."""
    if isinstance(type_, TileType):
        return f"{type_.dtype} tile of shape {type_.shape}" if type_.shape else f"{type_.dtype} scalar"
    if isinstance(type_, ArrayType):
        return f"{type_.dtype} array of rank {type_.rank}"
    if isinstance(type_, ListType):
        return f"list of {type_.element.dtype} arrays of rank {type_.element.rank}"
    return str(type_)


def _of_tuple(value: tuple[Val, ...]) -> str:
    if isinstance(value, ListOf):
        return f"list of {len(value)}" if value else "empty list"
    if hasattr(value, "_fields"):
        return f"{type(value).__name__} object"
    return f"tuple of {len(value)}" if value else "empty tuple"


_DESCRIPTIONS: tuple[tuple[Any, Callable[[Any], str]], ...] = (
    (bool, lambda v: f"bool constant {v}"),
    (enum.Enum, lambda v: str(v)),
    (int, lambda v: f"int constant {v}"),
    (float, lambda v: f"float constant {v}"),
    (str, lambda v: f"string {v!r}"),
    (type(None), lambda v: "None"),
    (type(Ellipsis), lambda v: "..."),
    (slice, lambda v: "slice"),
    (DType, lambda v: f"dtype {v}"),
    (type, lambda v: f"{'type' if v.__module__ == 'builtins' else 'class'} {v.__name__}"),
    (types.ModuleType, lambda v: f"module {v.__name__}"),
    ((types.FunctionType, types.BuiltinFunctionType), lambda v: f"function {v.__name__}"),
    (Closure, lambda v: f"function {v.source.name}"),
    (BoundMethod, lambda v: "bound method"),
    (tuple, _of_tuple),
    (Range, lambda v: "range"),
    (Keywords, lambda v: f"dict of {len(v.items)}" if v.items else "empty dict"),
    (Struct, lambda v: f"{v.type.__name__} object"),
    (SliceSpec, lambda v: "Slice"),
    (TiledView, lambda v: f"tiled view of a {describe_type(v.array.type)}"),
    (RawMemory, lambda v: f"raw memory of a {describe_type(v.array.type)}"),
    (Text, lambda v: "formatted string"),
    (Managed, lambda v: "context manager"),
    (Builtin, lambda v: f"function {v.name}"),
)
