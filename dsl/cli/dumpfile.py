"""Running a Tile IR dump in the interpreter, on arrays from files or generated ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tilewright.arguments.arrays import numpy_dtype
from tilewright.cli.answers import Answer, values_of
from tilewright.cli.inputs import generated, loaded
from tilewright.cli.reading import literal, split_args
from tilewright.launching.grid import make_grid
from tilewright.tileir.analysis.effects import written_arrays
from tilewright.tileir.core import Value
from tilewright.tileir.types import ArrayType, ListType, TileType


def run_dump(
    text: str, filename: str, grid: tuple[int, ...], args: Sequence[str], seed: int, mode: str
) -> tuple[str, dict[str, Any]]:
    """Parse, verify and run; the function's name and the arrays that it may write, by parameter name.

    Raises TypeError or ValueError for arguments that do not fit, TileError for text that is no valid Tile IR.
    """
    import numpy

    import tilewright.backend_ptx.ops  # noqa: F401  (dumps of the backend hold its machine ops)
    from tilewright.interp import ExecutionOptions, compile_function
    from tilewright.tileir.parser import parse
    from tilewright.tileir.verifier import verify

    function = parse(text, filename)
    verify(function)
    params = function.params
    names = [p.hint or f"arg{i}" for i, p in enumerate(params)]
    if len(args) != len(params):
        raise TypeError(f"{function.name} has {len(params)} parameters ({', '.join(names)}), but {len(args)} arguments "
                        "were given")
    random = numpy.random.default_rng(seed)
    values = [_argument(n, p, a, random) for n, p, a in zip(names, params, args, strict=True)]
    compile_function(function).run(make_grid(grid).size, values, ExecutionOptions(mode=mode))
    written = sorted(written_arrays(function))
    return function.name, {names[i]: values[i] for i in written if not isinstance(values[i], list)}


def answer(name: str, grid: tuple[int, ...], changed: dict[str, Any], out: Path | None) -> Answer:
    """What `tilewright run` says of the arrays; they are written to files in `out`."""
    files = {key: str(out / f"{key}.npy") if out is not None else None for key in changed}
    if out is not None:
        import numpy

        out.mkdir(parents=True, exist_ok=True)
        for key, array in changed.items():
            numpy.save(out / f"{key}.npy", array)

    def show() -> None:
        for key, array in changed.items():
            print(f"{key}: {array.dtype.name}{list(array.shape)}\n{array}")

    arrays = {key: {"dtype": array.dtype.name, "shape": list(array.shape), "values": values_of(array),
                    "file": files[key]} for key, array in changed.items()}
    return Answer({"function": name, "grid": [*grid, 1, 1][:3], "arrays": arrays}, show)


def _argument(name: str, param: Value, text: str, random: Any) -> Any:
    if isinstance(param.type, TileType):
        value = literal(text)
        if value is None or not isinstance(value[0], (bool, int, float)):
            raise TypeError(f"{name} is a scalar of {param.type.dtype}; {text[:80]!r} is no number")
        return numpy_dtype(param.type.dtype).type(value[0])
    if isinstance(param.type, ListType):
        if not (text.startswith("[") and text.endswith("]")):
            raise TypeError(f"{name} is a list of arrays; write [.., ..]")
        return [_array(name, param.type.element, part, random) for part in split_args(text[1:-1])]
    return _array(name, param.type, text, random)


def _array(name: str, type: ArrayType, text: str, random: Any) -> Any:

    array = loaded(Path(text)) if text.endswith(".npy") else generated(text, random)
    wanted = numpy_dtype(type.dtype)
    if array.dtype.kind == "V" and array.dtype.itemsize == wanted.itemsize:
        array = array.view(wanted)  # .npy files keep the bits of bf16 and fp8, not their name
    if array.dtype != wanted or array.ndim != type.rank:
        raise TypeError(f"{name} must be an array of {type.dtype} with {type.rank} axes, not of {array.dtype.name} "
                        f"with {array.ndim}")
    # The IR may rest on what was known of the arrays it was made for.
    for axis in range(type.rank):
        step = array.strides[axis] // array.itemsize
        for what, value, known, divisor in (
            ("extent", array.shape[axis], type.extents[axis], type.extent_div[axis]),
            ("stride", step, type.strides[axis], type.stride_div[axis]),
        ):
            if (known is not None and value != known) or value % divisor:
                must = f"be {known}" if known is not None else f"be a multiple of {divisor}"
                raise ValueError(f"{name}: the {what} of axis {axis} must {must} for this IR; it is {value}")
    return array
