"""A run of the kernel for the page: on the GPU if there is one, else in the interpreter."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilewright.arguments.spec import Spec
from tilewright.tileir.diagnostics import TileError

if TYPE_CHECKING:
    from tilewright.kernel import tile_kernel

RUNS = 11


def launched(kernel: tile_kernel, args: Sequence[Any], grid: tuple[int, int, int] | None) -> dict[str, Any]:
    """What `run` found, or in "error" why the kernel was not run."""
    if grid is None:
        return {"error": "A run needs a grid: give --grid, the number of blocks along each axis."}
    try:
        return run(kernel, args, grid)
    except (TileError, TypeError, ValueError) as error:
        return {"error": f"The run failed: {error}"}


def run(kernel: tile_kernel, args: Sequence[Any], grid: tuple[int, int, int], seed: int = 0) -> dict[str, Any]:
    """Launch it over the grid, with random numbers where an argument is a spec: where it ran, the seconds of each run
    (sorted), and the arrays that it wrote."""
    import numpy

    from tilewright.arguments.bind import leaves
    from tilewright.arguments.device_array import gpu_available, to_device
    from tilewright.tileir.analysis.effects import written_arrays

    random = numpy.random.default_rng(seed)
    host = [_value(arg, random) for arg in args]
    device = gpu_available()
    given = [_moved(arg, to_device) for arg in host] if device else host
    seconds = _on_gpu(kernel, given, grid) if device else _interpreted(kernel, given, grid)
    stages = kernel.lower(*given)
    named = [(leaf.name, value) for leaf, value in zip(leaves(stages.arguments), stages.values, strict=True)]
    out = [_summary(name, one) for position in sorted(written_arrays(stages.tile_ir()))
           for name, one in _items(*named[position])]
    return {"device": _device_name() if device else "", "seconds": sorted(seconds), "arrays": out, "seed": seed,
            "random": any(isinstance(arg, Spec) for arg in args)}


def _items(name: str, value: Any) -> list[tuple[str, Any]]:
    """The arrays of a parameter, which may be a list of them."""
    return [(f"{name}[{k}]", one) for k, one in enumerate(value)] if isinstance(value, list) else [(name, value)]


def _on_gpu(kernel: tile_kernel, args: Sequence[Any], grid: tuple[int, int, int]) -> list[float]:
    from tilewright.launching.grid import make_grid
    from tilewright.tune.local import LocalRuns

    once = LocalRuns(kernel, make_grid(grid), lambda: tuple(args), None)
    once()  # which compiles
    return [once() * 1e-6 for _ in range(RUNS)]


def _interpreted(kernel: tile_kernel, args: Sequence[Any], grid: tuple[int, int, int]) -> list[float]:
    start = time.perf_counter()
    kernel[grid](*args)
    return [time.perf_counter() - start]


def _device_name() -> str:
    from tilewright.backend_ptx.runtime.driver import get_device

    return get_device(0).name


def _value(arg: Any, random: Any) -> Any:
    """An argument as a launch takes it."""
    if isinstance(arg, (list, tuple)):
        return type(arg)(_value(item, random) for item in arg)
    if not isinstance(arg, Spec):
        return arg
    if arg.extents is None:
        raise ValueError(f"a run needs the value of each scalar, not {arg}")
    if None in arg.extents:
        raise ValueError(f"a run needs the extents of {arg}: write numbers in place of ?")
    import numpy

    from tilewright.arguments.arrays import numpy_dtype

    shape = tuple(n for n in arg.extents if n is not None)
    dtype = numpy_dtype(arg.dtype)
    if arg.dtype.is_float:
        return random.standard_normal(shape, dtype=numpy.float32).astype(dtype)
    return random.integers(0, 2, shape).astype(dtype)


def _moved(arg: Any, to_device: Any) -> Any:
    if isinstance(arg, (list, tuple)):
        return type(arg)(_moved(item, to_device) for item in arg)
    return to_device(arg, keep_strides=True) if hasattr(arg, "__array_interface__") and arg.ndim else arg


def _summary(name: str, array: Any) -> dict[str, Any]:
    """Shape, and the least, mean and largest of the numbers that are finite."""
    import numpy

    host = numpy.asarray(array.to_host() if hasattr(array, "to_host") else array)
    numbers = host.astype(numpy.float64).reshape(-1)
    finite = numbers[numpy.isfinite(numbers)]
    least, mean, most = (finite.min(), finite.mean(), finite.max()) if finite.size else (0.0, 0.0, 0.0)
    return {"name": name, "shape": list(host.shape), "dtype": str(host.dtype), "least": float(least),
            "mean": float(mean), "most": float(most), "strange": int(numbers.size - finite.size),
            "first": [float(f"{value:.6g}") if numpy.isfinite(value) else str(value) for value in numbers[:8].tolist()]}
