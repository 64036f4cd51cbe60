"""The launches that programs of XLA know by a number, and how they run with the memory that XLA hands over."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tilewright.arguments.arrays import HOST, ArrayInfo, host_view
from tilewright.jax.entries import InputOutput, Zeros, is_array, shape_of
from tilewright.jax.ffi import Handed, register
from tilewright.kernel import tile_kernel
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
            register(run)
        try:
            known = _numbers.get(key)
        except TypeError:  # a constant that cannot be hashed
            known, key = None, (len(_records),)
        if known is None:
            known = _numbers[key] = len(_records)
            _records.append(record)
    return known


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
