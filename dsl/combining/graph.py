"""Recorded launches, and the arrays and scalars that they share."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tilewright.arguments.arrays import HOST, ArrayInfo, describe
from tilewright.arguments.bind import Argument, ArrayArgument, ArrayList, Leaf, Scalar, leaves, runtime_values
from tilewright.arguments.dlpack import row_major
from tilewright.arguments.sharing import overlap
from tilewright.launching.grid import Grid
from tilewright.launching.specialise import Specialiser
from tilewright.tileir.dtypes import DType
from tilewright.tileir.plan import Aliases

_FAR = 1 << 60  # above all addresses of processes
_APART = 1 << 44


class Temporary:
    """An intermediate of recorded launches, which `g.empty` makes. Only these launches may use it: it is memory where
    fusing leaves a read of it, and nothing else.

    Attributes: `shape` and `dtype`.
    """

    __slots__ = ("shape", "dtype", "name", "info")

    def __init__(self, shape: tuple[int, ...], dtype: DType, number: int) -> None:
        self.shape = shape
        self.dtype = dtype
        self.name = f"t{number}"
        self.info = ArrayInfo(dtype, _FAR + number * _APART, shape, row_major(shape), HOST, owner=self)

    def __repr__(self) -> str:
        return f"Temporary(shape={self.shape}, dtype={self.dtype})"


@dataclass(eq=False)
class Slot:
    """An array or a scalar of the graph. `value` is what the user gave; `temporary`: it may vanish."""

    name: str
    argument: ArrayArgument | Scalar
    value: Any
    temporary: bool = False

    @property
    def info(self) -> ArrayInfo:
        info = self.argument.info  # type: ignore[union-attr]
        assert isinstance(info, ArrayInfo)
        return info

    @property
    def is_array(self) -> bool:
        return isinstance(self.argument, ArrayArgument)


@dataclass(eq=False)
class Part:
    """A recorded launch: the kernel, the grid, the arguments as given and as bound; `slots`: those of the arguments
    that remain at run time, in their order; `aliases`, of these among each other."""

    launcher: Any
    grid: Grid
    args: tuple[Any, ...]
    arguments: list[Argument]
    stream: Any
    slots: list[int]
    aliases: Aliases
    lists: bool = False
    number: int = 0  # its place among the recorded launches

    @property
    def specialiser(self) -> Specialiser:
        found: Specialiser = self.launcher._specialiser
        return found

    @property
    def name(self) -> str:
        return self.specialiser.name


@dataclass
class Graph:
    """What a capture has recorded."""

    temporaries: Sequence[Any] = ()
    reassociate: bool = False  # whether fused kernels may leave out roundings, and multiply with scales later
    slots: list[Slot] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    expressions: dict[Any, int] = field(default_factory=dict)  # see pointwise.py
    _arrays: dict[Any, int] = field(default_factory=dict)
    _overlaps: dict[tuple[int, int], bool] = field(default_factory=dict)
    _named: set[tuple[int, tuple[int, ...]]] = field(default_factory=set)

    def __post_init__(self) -> None:
        for array in self.temporaries:
            info = describe(array)
            if info is None:
                raise TypeError(f"fuse: temporaries are arrays, not {type(array).__name__}")
            self._named.add((info.pointer, info.shape))

    def record(self, launcher: Any, grid: Grid, args: tuple[Any, ...], stream: Any) -> None:
        """Add a launch. Raises what it would raise for arguments that do not fit."""
        specialiser: Specialiser = launcher._specialiser
        if len(args) != len(specialiser.params):
            args = specialiser.call.complete(args, {})
        known = tuple(_described(arg) for arg in args)
        arguments = specialiser.bind(known)
        aliases = specialiser.aliases(arguments, facts=False)
        given = list(runtime_values(arguments, args))
        flat = list(leaves(arguments))
        slots: list[int] = []
        for leaf, value in zip(flat, given, strict=True):
            for item, one in zip(leaf.items, value, strict=True) if isinstance(leaf, ArrayList) else [(leaf, value)]:
                slots.append(self._slot(item, one))
        lists = any(isinstance(leaf, ArrayList) for leaf in flat)
        self.parts.append(Part(launcher, grid, args, arguments, stream, slots, aliases, lists, len(self.parts)))

    def _slot(self, leaf: Leaf, value: Any) -> int:
        if isinstance(leaf, Scalar):
            self.slots.append(Slot(self._name(leaf.name), replace(leaf, value=None), value))
            return len(self.slots) - 1
        assert isinstance(leaf, ArrayArgument) and isinstance(leaf.info, ArrayInfo)
        info = leaf.info
        key = info.pointer, info.dtype, info.shape, info.strides, leaf.annotation
        if key not in self._arrays:
            name = self._name(value.name if isinstance(value, Temporary) else leaf.name)
            vanishes = isinstance(value, Temporary) or (info.pointer, info.shape) in self._named
            self._arrays[key] = len(self.slots)
            self.slots.append(Slot(name, replace(leaf, name=name), value, vanishes))
        return self._arrays[key]

    def _name(self, wanted: str) -> str:
        """A name for a slot that is no other's: that of the first parameter it was given to."""
        plain = "".join(c if c.isalnum() else "_" for c in wanted).strip("_")
        taken = {slot.name for slot in self.slots}
        names = (plain, *(f"{plain}_{k}" for k in range(2, len(taken) + 3)))
        return next(name for name in names if name not in taken)

    def overlapping(self, slot: int, others: Collection[int]) -> Iterator[int]:
        """The arrays among others that share memory with one, itself included."""
        for other in others:
            pair = (min(slot, other), max(slot, other))
            if slot == other:
                yield other
                continue
            if pair not in self._overlaps:
                both = [self.slots[k] for k in pair]
                self._overlaps[pair] = all(s.is_array for s in both) and overlap(both[0].info, both[1].info)
            if self._overlaps[pair]:
                yield other


def _described(arg: Any) -> Any:
    """An argument as it is bound: of a temporary what is known of it."""
    if isinstance(arg, Temporary):
        return replace(arg.info, owner=None)
    if isinstance(arg, list) or type(arg) is tuple:
        return type(arg)(_described(item) for item in arg)
    info = None if isinstance(arg, (bool, int, float, str)) else describe(arg)
    return arg if info is None else replace(info, owner=None, array=None)  # plans are kept longer than arrays
