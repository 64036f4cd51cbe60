"""A Tile IR function on the GPU, on NumPy arrays: the ordinary compilation and launch, around copies there and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tilewright.arguments.annotations import ArrayAnnotation
from tilewright.arguments.arrays import ArrayInfo, describe
from tilewright.arguments.bind import ArrayArgument, ArrayList, Leaf, Scalar
from tilewright.launching.grid import Grid
from tilewright.launching.host import merge_spans
from tilewright.tileir.core import Function, Value
from tilewright.tileir.plan import Switches


class _Mirror:
    """GPU memory for ranges of host memory."""

    def __init__(self, device: Any, spans: Sequence[tuple[int, int]]) -> None:
        from tilewright.backend_ptx.runtime.memory import Buffer, upload

        self._device = device
        self._ranges: list[tuple[int, int, int, Any]] = []
        for low, high in merge_spans(spans):
            # An allocation is aligned to 256 bytes; an address keeps its alignment.
            buffer = Buffer(device, high - low + 256)
            pointer = buffer.pointer + low % 256
            upload(device, pointer, low, high - low)
            self._ranges.append((low, high, pointer, buffer))

    def moved(self, info: ArrayInfo) -> ArrayInfo:
        """The same array on the GPU."""
        found = next((pointer - low for low, high, pointer, _ in self._ranges if low <= info.pointer < high), 0)
        return replace(info, pointer=info.pointer + found, device=self._device.ordinal, array=None)

    def fetch(self) -> None:
        """Copy everything back."""
        from tilewright.backend_ptx.runtime.memory import download

        for low, high, pointer, _ in self._ranges:
            download(self._device, low, pointer, high - low)


def launch(function: Function, grid: Grid, values: Sequence[Any]) -> None:
    """Compile, run and wait; arrays among the values are written."""
    from tilewright.backend_ptx.runtime.build import build_kernel
    from tilewright.backend_ptx.runtime.driver import current_ordinal, get_device
    from tilewright.launching.device_plans import DevicePlan
    from tilewright.tileir.analysis.effects import written_arrays

    device = get_device(current_ordinal())
    mirror = _Mirror(device, [info.span for value in values for info in _infos(value)])
    arguments = [_argument(param, value, mirror) for param, value in zip(function.params, values, strict=True)]
    switches = Switches(linear_grid=grid.linear, loop_over_blocks=True, pack_blocks=True)
    kernel = build_kernel(function, device, function.hints, switches)
    DevicePlan(kernel, arguments, written_arrays(function)).launch_bound(grid, arguments, 0)
    mirror.fetch()


def _infos(value: Any) -> list[ArrayInfo]:
    """What is known of the arrays of an argument."""
    found = [describe(item) for item in value] if isinstance(value, list) else [describe(value)]
    return [info for info in found if info is not None]


def _argument(param: Value, value: Any, mirror: _Mirror) -> Leaf:
    name = param.hint
    items = [ArrayArgument(name, mirror.moved(info), ArrayAnnotation()) for info in _infos(value)]
    if isinstance(value, list):
        return ArrayList(name, items)
    return items[0] if items else Scalar(name, param.type.dtype, value)
