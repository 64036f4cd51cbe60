"""What the launcher in machine code compares and passes on: launches that Python made before, as words of memory."""

from __future__ import annotations

import ctypes
import enum
import os
import struct
import sys
from array import array
from collections.abc import Mapping, Sequence
from functools import cache
from types import FunctionType
from typing import Any

from tilewright.arguments.arrays import is_torch
from tilewright.arguments.dlpack import is_valid, pointer_in
from tilewright.arguments.torch_cells import CellFunctions, cell_functions
from tilewright.arguments.torch_handles import TensorFunctions, tensor_functions
from tilewright.arguments.torch_versions import raising_function, version_handles
from tilewright.backend_ptx.runtime.driver import check, driver
from tilewright.launching import native
from tilewright.launching.machine.layout import (
    ARGUMENT,
    CELL,
    CELLS,
    HEAD,
    LAUNCH,
    MOST_ARRAYS,
    MOST_BYTES,
    TORCH,
    Expected,
    Noted,
)
from tilewright.launching.packing import Layout, layout, packed
from tilewright.tileir.dtypes import DType

_BY_IDENTITY = (str, type(None), DType, enum.Enum, FunctionType)
_FORMATS = {
    "i1": Expected.BOOL, "i32": Expected.INT32, "i64": Expected.INT64, "u64": Expected.INT64, "f32": Expected.FLOAT32,
    "f64": Expected.FLOAT64,
}
_TAKEN = {int: (Expected.INT32, Expected.INT64), float: (Expected.FLOAT32, Expected.FLOAT64), bool: (Expected.BOOL,)}
_ANY = -1  # in the word `exact`: any address
_CUDA = 2  # kDLCUDA
_TORCH_CUDA = 1  # torch's own number
_PER_THREAD = "CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM"  # what cuda.bindings asks for the default stream


class Words:
    """The words of a launch, its fields by name, and what they point to."""

    def __init__(self, fields: Sequence[str], **values: int) -> None:
        self._fields = fields
        self.kept: list[Any] = []
        self.memory: Any = (ctypes.c_int64 * len(fields))()
        self.set(**values)

    def set(self, **values: int) -> None:
        for name, value in values.items():
            self.memory[self._fields.index(name)] = _signed(value)

    def copy(self, **values: int) -> Words:
        made = Words(self._fields)
        made.memory[:] = self.memory[:]
        made.kept = self.kept
        made.set(**values)
        return made

    def array(self, values: Sequence[int]) -> int:
        """The address of these numbers."""
        made = (ctypes.c_int64 * max(1, len(values)))(*map(_signed, values))
        return self.keep(made, ctypes.addressof(made))

    def object(self, thing: Any) -> int:
        """The address of an object."""
        return self.keep(thing, id(thing))

    def keep(self, thing: Any, address: int) -> int:
        self.kept.append(thing)
        return address

    @property
    def address(self) -> int:
        return ctypes.addressof(self.memory)


class Unknown(Exception):
    """A launch that only Python makes."""


class KnownLaunch:
    """A launch that machine code knows: its words, and what others note of it. All launches that it knows by these
    words have the same arguments, but for the contents and addresses of arrays, the values of floats, and those of
    `ints`: the numbers of such arguments, their places among the packed parameters, and how many bytes they have."""

    __slots__ = ("words", "ints", "_cell")

    def __init__(self, words: Words, ints: Sequence[tuple[int, int, int]] = ()) -> None:
        self.words = words
        self.ints = tuple(ints)
        self._cell = (ctypes.c_int64 * (len(CELL) + 3 * len(ints)))()
        words.set(cell=ctypes.addressof(self._cell))

    @property
    def whole(self) -> bool:
        return not self.ints

    def record(self, records: int, number: int, args: Sequence[Any]) -> None:
        """Let machine code record launches like this one, by these arguments, under a number at an address
        (RECORDS)."""
        parts = [records, number, len(self.ints)]
        for place, offset, size in self.ints:
            mask = (1 << 8 * size) - 1
            parts += offset, mask, int(args[place]) & mask
        self._cell[:] = [_signed(part) for part in parts]

    def forget(self) -> None:
        """No longer."""
        self._cell[0] = 0


def chained(
    launches: Sequence[KnownLaunch], fallback: Any, held: array[int], tell: bool = False,
) -> tuple[int, list[Any]]:
    """The words that a builtin stands for, and what it must keep. It does nothing itself while `held` is not 0, but for
    launches that a profile lets it record. It answers None; with `tell`, the known launch that it has made."""
    head = Words(HEAD)
    head.set(held=head.keep(held, held.buffer_info()[0]))
    head.set(fallback=head.object(fallback))
    chain = [known.words.copy(answer=id(known if tell else None)) for known in launches]
    for launch, after in zip(chain, [*(launch.address for launch in chain[1:]), 0], strict=True):
        launch.set(next=after)
    head.set(first=chain[0].address)
    return head.address, [head, *chain, *launches]


def of_launch(
    plan: Any, grid: tuple[int, int, int], args: Sequence[Any], constant: Sequence[bool], known: Any,
    more: Sequence[Any],
) -> KnownLaunch:
    """The launch of a plan (a LaunchPlan) with arguments of these kinds; `more`: scalars behind them. Raises Unknown
    where arguments are read in ways that only Python knows."""
    words = Words(LAUNCH)
    scalars = list(plan.scalar_slots)
    params, template = plan.kernel.abi.params, list(plan.template)
    places = _layout(plan).places
    arguments: list[int] = []
    pointers: list[int] = []
    mapped, exact = {hole.pointer for hole in plan.maps}, set[int]()
    ints: list[tuple[int, int, int]] = []
    cells = _cells_for([args[number] for number in known.tensors])
    for number, (arg, is_constant) in enumerate(zip(args, constant, strict=True)):
        made = Words(ARGUMENT, exact=_ANY)
        if is_constant or arg is None:
            _constant(made, arg)
        elif type(arg) in _TAKEN:
            slot, dtype = scalars.pop(0)
            if type(arg) is not float:
                ints.append((number, places[slot], params[slot].size))
            _scalar(made, arg, places[slot], dtype)
        else:
            noted = Noted.IN_CELL if cells else Noted.BY_PYTHON
            pointer = _array(made, arg, noted if number in known.tensors else Noted.NOT)
            made.set(number=len(pointers), offset=places[plan.pointer_slots[len(pointers)]], low=pointer & 15)
            if len(pointers) in mapped and 0 in arg.shape:  # the map of an array without elements is of other memory
                made.set(exact=pointer)
                exact.add(len(pointers))
            pointers.append(pointer)
        arguments += made.memory
        words.keep(made, 0)
    if len(pointers) != len(plan.pointer_slots) or len(scalars) != len(more):
        raise Unknown
    for (slot, _), value in zip(scalars, more, strict=True):
        template[slot] = value
    words.set(count=len(args), arguments=words.array(arguments), pairs=len(known.pairs),
              pair_words=words.array([number for pair in known.pairs for number in pair]),
              outputs=len(known.tensors), output_numbers=words.array(known.tensors))
    maps = {hole.slot: hole.at(pointers[hole.pointer]).data for hole in plan.maps}
    _parameters(words, plan, template, maps)
    moved = [(places[hole.slot], hole.pointer) for hole in plan.maps if hole.pointer not in exact]
    if moved:  # the driver puts other addresses into maps
        words.set(maps=len(moved), map_words=words.array([word for pair in moved for word in pair]),
                  replace=function_address("cuTensorMapReplaceAddress", 12000))
    _driver(words, plan, grid)
    tensors = [arg for arg in args if is_torch(type(arg))]
    _library(words, tensors)
    words.set(torch=_functions() if tensors else 0, cells=cells)
    return KnownLaunch(words, ints)


def _layout(plan: Any) -> Layout:
    """Where the parameters of a launch are in one block."""
    params = plan.kernel.abi.params
    found = layout(params, plan.kernel.handle) if len(params) <= MOST_ARRAYS else None
    if found is None or not 0 < found.bytes <= MOST_BYTES:
        raise Unknown
    return found


def _parameters(words: Words, plan: Any, slots: Sequence[int], maps: Mapping[int, bytes]) -> None:
    """The packed parameters that a launch begins with, and those of one that changes nothing."""
    found = _layout(plan)
    bits = packed(plan.kernel.abi.params, found, slots, maps)
    block = bits.ljust(-(-len(bits) // 16) * 16, b"\0")
    at = words.array(struct.unpack(f"<{len(block) // 8}q", block))
    words.set(bytes=len(bits), shift=found.shift, template=at, packed=at)


def event_function(name: str, symbol: str, fallback: Any) -> Any:
    """The builtin `record` (cuEventRecord of the handles of an event and a stream) or `create` (cuEventCreate for so
    many places from an address on) over a function of the driver; `fallback` is called with the same where that
    fails."""
    head = Words(HEAD, first=function_address(symbol, 4000))
    head.set(fallback=head.object(fallback))
    return native.builtin(name, head.address, head)


def of_fixed(fixed: Any, arrays: Sequence[Any], written: Sequence[Any]) -> KnownLaunch:
    """A launch whose parameters are packed. Raises Unknown for tables, which a graph may capture, and for arrays of a
    library that has its streams elsewhere."""
    tensors = [array for array in arrays if is_torch(type(array))]
    ours = [array for array in arrays if type(array).__module__ == "tilewright.arguments.device_array"]
    if fixed.tables is not None or (len(tensors) != len(arrays) and len(ours) != len(arrays)):
        raise Unknown
    words, plan, frame = Words(LAUNCH), fixed.plan, fixed.frame
    words.keep(fixed, 0)
    maps = {hole.slot: made.data for hole, made in zip(plan.maps, frame.maps, strict=True)}
    _parameters(words, plan, list(frame.slots), maps)
    _driver(words, plan, fixed.grid)
    _library(words, tensors)
    words.set(outputs=len(written), noted=words.object(tuple(written)))
    handles = version_handles(written)
    if handles is not None:
        words.set(**{"raise": raising_function() or 0, "handles": words.array(handles.addresses)})
        words.keep(handles, 0)
    return KnownLaunch(words)


def _driver(words: Words, plan: Any, grid: tuple[int, int, int]) -> None:
    """What the driver is called with beside parameters. A launch with attributes is Python's."""
    if plan.kernel.dependent:
        raise Unknown
    x, y, z = grid
    words.set(handle=int(plan.kernel.handle), x=x, y=y, z=z, threads=plan.kernel.threads,
              shared=plan.kernel.shared_bytes, launch=function_address("cuLaunchKernel", 4000),
              current=function_address("cuCtxGetCurrent", 4000),
              set_current=function_address("cuCtxSetCurrent", 4000), own=int(plan.device.context),
              context=int(plan.device.context) if plan.check_context else 0)


def function_address(name: str, since: int) -> int:
    """The address of a function of the driver, the one that cuda.bindings calls too."""
    flags = 2 if os.environ.get(_PER_THREAD, "0") not in ("", "0") else 0
    address, _ = check(driver().cuGetProcAddress(name.encode(), since, flags), f"looking up {name}")
    if not int(address):
        raise Unknown
    return int(address)


def _library(words: Words, tensors: Sequence[Any]) -> None:
    """torch's current stream, and its counters of versions."""
    if not tensors:
        return
    torch = sys.modules["torch"]
    table = _exchange(type(tensors[0]))
    increment = getattr(torch._C, "_increment_version", None)
    if table is None or increment is None:
        raise Unknown
    words.set(stream_of=table[6], device=tensors[0].get_device(), note=words.object(increment))


@cache
def _functions() -> int:
    """The address of the words of torch's functions on handles; 0 where there are none."""
    functions = tensor_functions()
    return functions_at(functions) if functions else 0


def functions_at(functions: TensorFunctions | CellFunctions) -> int:
    """The address of these functions' words, which stay."""
    words = Words(TORCH if isinstance(functions, TensorFunctions) else CELLS, **functions.words)
    _kept.append(words)
    return words.address


@cache
def _cells() -> int:
    """The address of the words of torch's functions on a cell; 0 where there are none."""
    functions = cell_functions()
    return functions_at(functions) if functions else 0


def _cells_for(written: Sequence[Any]) -> int:
    """The same for launches that write these tensors, which are torch's own: of other classes its conversion asks
    Python, and another thread may come in between. Functions on handles need no cell."""
    plain = getattr(sys.modules.get("torch"), "Tensor", None)
    return _cells() if not _functions() and all(type(tensor) is plain for tensor in written) else 0


_kept: list[Words] = []


def _constant(made: Words, arg: Any) -> None:
    kind = type(arg)
    if _is_int64(arg):
        made.set(kind=Expected.CONSTANT_INT, type=id(int), value=arg)
    elif kind is tuple and all(map(_is_int64, arg)):
        made.set(kind=Expected.CONSTANT_INTS, type=id(tuple), value=len(arg), extents=made.array(arg))
    elif kind is float:
        made.set(kind=Expected.CONSTANT_FLOAT, type=id(float), value=struct.unpack("<q", struct.pack("<d", arg))[0])
    elif kind is bool or isinstance(arg, _BY_IDENTITY) or _is_frozen(kind):
        made.set(kind=Expected.CONSTANT)
    else:
        raise Unknown
    made.set(object=made.object(arg))  # nothing changes it


def _is_int64(arg: Any) -> bool:
    return type(arg) is int and -(1 << 63) <= arg < 1 << 63


def _is_frozen(kind: type) -> bool:
    """Whether it is a class of dataclasses.dataclass(frozen=True), whose instances stay what they are."""
    return bool(getattr(getattr(kind, "__dataclass_params__", None), "frozen", False))


def _scalar(made: Words, arg: Any, offset: int, dtype: DType) -> None:
    kind = _FORMATS.get(dtype.ir)
    if kind not in _TAKEN[type(arg)]:
        raise Unknown
    made.set(kind=kind, type=id(type(arg)), offset=offset)


def _array(made: Words, arg: Any, noted: Noted) -> int:
    """An array's kind; its address."""
    made.set(type=made.object(type(arg)))
    if type(arg).__module__ == "tilewright.arguments.device_array":
        made.set(kind=Expected.ARRAY, extents=made.object(arg.shape), strides=made.object(arg.strides),
                 format=made.object(arg.dtype), place=made.object(arg.device))
        return int(arg.pointer)
    table = _exchange(type(arg)) if is_torch(type(arg)) else None
    if table is None or (noted and arg.requires_grad):
        raise Unknown
    read = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(table[5])
    found = (ctypes.c_int64 * 8)()
    if read(arg, ctypes.addressof(found)):
        raise Unknown
    rank = found[2] & 0xFFFFFFFF
    numbers = ctypes.c_int64 * rank
    shape = list(numbers.from_address(found[3])) if rank else []
    strides = list(numbers.from_address(found[4])) if rank and found[4] else []
    pointer = int(arg.data_ptr())
    same = shape == list(arg.shape) and strides == list(arg.stride()) and found[0] + found[5] == pointer
    if not same or found[1] != _CUDA | arg.get_device() << 32:
        raise Unknown
    made.set(kind=Expected.TENSOR, read=table[5], place=found[1], format=found[2], extents=made.array(shape),
             strides=made.array(strides), output=noted)
    if _functions():
        _held(made, arg)
    return pointer


def _held(made: Words, tensor: Any) -> None:
    """The same tensor as torch's functions tell of it."""
    functions = tensor_functions()
    assert functions is not None
    told = functions.told(tensor)
    same = (told.sizes, told.strides, told.data) == (tuple(tensor.shape), tensor.stride(), tensor.data_ptr())
    if not same or told.is_neg or (told.place, told.ordinal) != (_TORCH_CUDA, tensor.get_device()):
        raise Unknown
    made.set(kind=Expected.HELD, format=told.dtype, rank=told.rank, place=told.place, ordinal=told.ordinal)


_VERSION = 1  # the major version of DLPack that has this table


def _exchange(kind: type) -> list[int] | None:
    """The words of DLPack's table of functions for a class: its version, a table before, and five functions, of which
    the fourth reads a tensor and the fifth tells the current stream. None where there is none that is known here."""
    capsule = getattr(kind, "__dlpack_c_exchange_api__", None)
    name = b"dlpack_exchange_api"
    if capsule is None or not is_valid(capsule, name):
        return None
    address = pointer_in(capsule, name)
    while address:
        words = list((ctypes.c_int64 * 7).from_address(address))
        if words[0] & 0xFFFFFFFF == _VERSION and words[5] and words[6]:
            return words
        address = words[1]
    return None


def _signed(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
