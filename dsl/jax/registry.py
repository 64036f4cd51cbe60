"""The launches that programs of XLA know by a number, and how they run with the memory that XLA hands over."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tilewright.arguments.arrays import HOST, ArrayInfo, host_view, named_dtype
from tilewright.arguments.dlpack import row_major
from tilewright.jax.entries import InputOutput, Zeros, is_array, shape_of
from tilewright.jax.ffi import Handed, register
from tilewright.kernel import tile_kernel
from tilewright.launching import launcher
from tilewright.launching.grid import make_grid

INPUT, OUTPUT, BOTH = "input", "output", "both"


class Constant(NamedTuple):
    """An argument that stands in the program."""

    value: Any


class Record(NamedTuple):
    """One launch: its kernel, its grid, and for each parameter a kind of memory or a Constant."""

    kernel: tile_kernel
    grid: Any
    arguments: tuple[str | Constant, ...]


_lock = threading.Lock()
_records: list[Record] = []
_numbers: dict[Any, int] = {}


def number_of(kernel: tile_kernel, grid: Any, entries: Sequence[Any]) -> int:
    """The number of a launch; equal ones share it. Compiled programs hold it, so that a record is kept for good."""
    record = Record(kernel, tuple(grid) if isinstance(grid, list) else grid, tuple(map(_argument, entries)))
    # 1, 1.0 and True are different constants, though they are equal, and so are the zeros of both signs.
    constants = [a.value for a in record.arguments if isinstance(a, Constant)]
    key: Any = record, tuple((type(value), str(value) if isinstance(value, float) else "") for value in constants)
    with _lock:
        if not _records:
            register(run, _compiles())
        try:
            known = _numbers.get(key)
        except TypeError:  # a constant that cannot be hashed
            known, key = None, (len(_records),)
        if known is None:
            known = _numbers[key] = len(_records)
            _records.append(record)
    compile_ahead(_records[known], entries, _gpus() if _compiles() else ())
    return known


def _compiles() -> bool:
    """Whether launches on GPUs run there, and not in the interpreter."""
    return not launcher.FORCE_INTERPRETER and launcher.CHECKED is None


def _gpus() -> list[int]:
    """The ordinals of the GPUs that JAX sees."""
    import jax

    return [device.local_hardware_id for device in jax.local_devices() if device.platform == "gpu"]


def compile_ahead(record: Record, entries: Sequence[Any], ordinals: Sequence[int]) -> None:
    """Compile and load a launch with memory of these kinds for GPUs, because XLA records it into command buffers, and
    recording is no time to compile."""
    for ordinal in ordinals:
        values = tuple(_values(record.arguments, _stand_ins(entries, ordinal)))
        specialiser = record.kernel.specialiser
        arguments = specialiser.bind(values)
        size = record.grid
        if size is None:
            size = specialiser.dimensions.grid(values, lambda arguments=arguments: arguments)
        made = make_grid(size if isinstance(size, tuple) else (size,))
        record.kernel.launcher.gpu.prepare(arguments, made.linear, ordinal).over(made, arguments)


def _stand_ins(entries: Sequence[Any], ordinal: int) -> Handed:
    """Memory as XLA will hand it over, at addresses that nobody looks at: aligned, and apart from each other."""
    import numpy

    inputs: list[ArrayInfo] = []
    results: list[ArrayInfo] = []
    for number, entry in enumerate(entries, 1):
        like = shape_of(entry)
        if like is None:
            continue
        shape = tuple(map(int, like.shape))
        kind = _argument(entry)
        info = ArrayInfo(named_dtype(numpy.dtype(like.dtype).name), number << 48, shape, row_major(shape), ordinal,
                         kind == INPUT)
        if kind != OUTPUT:
            inputs.append(info)
        if kind != INPUT:
            results.append(info)
    return Handed(inputs, results, None)


def _argument(entry: Any) -> str | Constant:
    if isinstance(entry, (InputOutput, Zeros)):
        return BOTH
    if is_array(entry):
        return INPUT
    return Constant(entry) if shape_of(entry) is None else OUTPUT


def run(number: int, handed: Handed) -> None:
    """Launch in the interpreter on memory of the host, on a GPU on the stream of XLA."""
    kernel, grid, arguments = _records[number]
    values = tuple(_values(arguments, handed))
    if grid is None:
        kernel(*values, stream=handed.stream)
        return
    made = make_grid(grid if isinstance(grid, tuple) else (grid,))
    kernel.launcher.launch_over(made, values, handed.stream)


def _values(arguments: Sequence[str | Constant], handed: Handed) -> Iterator[Any]:
    inputs, results = iter(handed.inputs), iter(handed.results)
    for argument in arguments:
        if isinstance(argument, Constant):
            yield argument.value
        elif argument == OUTPUT:
            yield _memory(next(results))
        else:
            given = next(inputs)
            if argument == BOTH:
                result = next(results)
                if result.pointer != given.pointer:
                    raise RuntimeError("XLA has not given an output the memory of the array that it starts as")
                given = result
            yield _memory(given)


def _memory(info: ArrayInfo) -> Any:
    return host_view(info) if info.device == HOST else info
