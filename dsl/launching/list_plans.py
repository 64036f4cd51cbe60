"""Launches with lists that were made before: the very arrays again, and numbers of the same types.

A list has many arrays, and a launch must look at each. What it finds is compared with launches before, addresses
included; so nothing that followed from the arrays is worked out again, neither facts nor tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from tilewright.arguments.arrays import is_torch
from tilewright.arguments.bind import Argument, ArrayArgument, ArrayList
from tilewright.arguments.checks import outputs_of, real
from tilewright.arguments.torch_tensors import note_writes
from tilewright.launching.grid import Grid
from tilewright.launching.streams import stream_handle, torch_stream
from tilewright.tileir.dtypes import DType

_MAX_KNOWN = 256  # new arrays in every launch must not pile up
_INT_LOW, _INT_HIGH = -(1 << 31), (1 << 31) - 1
_CONSTANTS = (bool, int, str, type(None), DType)


class _Read(NamedTuple):
    """What a launch has: the key, with the arrays' addresses; their strides, extents and dtypes, which take longer to
    hash than to compare; its scalars, the lengths of lists among them."""

    key: tuple[Any, ...]
    facts: list[Any]
    scalars: list[Any]


class _Known(NamedTuple):
    """A launch with arrays of these facts, the device whose stream of torch it takes (None: the default stream), and
    which arguments it writes."""

    facts: list[Any]
    launch: Any
    device: int | None
    written: tuple[int, ...]


class ListPlans:
    """What launches of one kernel with lists have found, by their arguments. It keeps no array alive: one that comes to
    lie where another was, with the same shape, is as good."""

    __slots__ = ("_constant", "_known", "_readers")

    def __init__(self, constant: Sequence[bool]) -> None:
        self._constant = constant
        self._known: dict[Any, _Known] = {}
        # By the arrays' types, of which a launch has succeeded.
        self._readers: dict[type, Callable[[Sequence[Any], list[Any], list[Any]], None]] = {}

    def launch(self, grid: Grid, args: Sequence[Any], stream: Any) -> bool:
        """Whether such a launch is known; then it has been queued."""
        read = self._read(grid, args)
        known = self._known.get(read.key) if read is not None else None
        if read is None or known is None or known.facts != read.facts:
            return False
        if grid.empty:
            return True
        if known.device is not None:
            note_writes([array for k in known.written for array in _arrays_in(args[k])])
        if stream is None:
            handle = 0 if known.device is None else torch_stream(known.device)
        else:
            handle = stream_handle(stream)
        known.launch(grid, read.scalars, handle)
        return True

    def remember(self, grid: Grid, args: Sequence[Any], arguments: Sequence[Argument], plan: Any) -> None:
        """Let the next launch with these arguments be known, where they are of kinds that are read here."""
        arrays = [array for arg, constant in zip(args, self._constant, strict=True) if not constant
                  for array in _arrays_in(arg)]
        torch = {is_torch(type(array)) for array in arrays}
        if len(torch) != 1:
            return
        for array in arrays:
            if is_torch(type(array)):
                self._readers[type(array)] = _read_tensors
            elif type(array).__module__ == "tilewright.arguments.device_array":
                self._readers[type(array)] = _read_device_arrays
        read = self._read(grid, args)
        if read is None:
            return
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        outputs = outputs_of(arguments, plan.written)
        written = tuple(k for k, argument in enumerate(arguments) if any(
            one is output for one in _arguments_in(argument) for output in outputs))
        device = next(real(array).device for a in arguments for array in _arguments_in(a)) if torch == {True} else None
        self._known[read.key] = _Known(read.facts, plan.listed(arguments).launch, device, written)

    def _read(self, grid: Grid, args: Sequence[Any]) -> _Read | None:
        key: list[Any] = [grid.linear]
        facts: list[Any] = []
        scalars: list[Any] = []
        readers = self._readers
        for arg, constant in zip(args, self._constant, strict=True):
            kind = type(arg)
            if constant:
                if kind is float:
                    key += (kind, arg.hex())
                elif isinstance(arg, _CONSTANTS):
                    key += (kind, arg)
                else:
                    return None
            elif kind in readers:
                readers[kind]((arg,), key, facts)
            elif kind is list and arg and (reader := readers.get(type(arg[0]))) is not None:
                if len(set(map(type, arg))) != 1:
                    return None
                reader(arg, key, facts)
                scalars.append(len(arg))
            elif kind in (float, bool) or (kind is int and _INT_LOW <= arg <= _INT_HIGH):
                key.append(kind)
                scalars.append(arg)
            else:
                return None
        return _Read(tuple(key), facts, scalars)


# A list may have hundreds of arrays: what is asked of them is asked in C. The device follows from the address.
_OF_TENSORS = attrgetter("shape", "dtype")
_OF_DEVICE_ARRAYS = attrgetter("shape", "strides", "dtype")
_POINTER = attrgetter("pointer")


def _read_tensors(tensors: Sequence[Any], key: list[Any], facts: list[Any]) -> None:
    """Of tensors of one class."""
    kind = type(tensors[0])
    key.append(tuple(map(kind.data_ptr, tensors)))
    facts.append(list(map(kind.stride, tensors)))
    facts.append(list(map(_OF_TENSORS, tensors)))


def _read_device_arrays(arrays: Sequence[Any], key: list[Any], facts: list[Any]) -> None:
    key.append(tuple(map(_POINTER, arrays)))
    facts.append(list(map(_OF_DEVICE_ARRAYS, arrays)))


def _arrays_in(arg: Any) -> Sequence[Any]:
    """The arrays of an argument that is no constant, where it is one or a list of them."""
    if isinstance(arg, list):
        return arg
    return () if arg is None or isinstance(arg, (bool, int, float, str, tuple)) else (arg,)


def _arguments_in(argument: Argument) -> Sequence[ArrayArgument]:
    if isinstance(argument, ArrayList):
        return argument.items
    return (argument,) if isinstance(argument, ArrayArgument) else ()
