"""A comparison in a folder, from which it can be repeated: IR, arguments, a report and the command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tilewright.arguments.arrays import numpy_dtype
from tilewright.comparing.copies import groups
from tilewright.comparing.pairs import Pair
from tilewright.comparing.result import Comparison
from tilewright.comparing.sides import Runner, Side
from tilewright.launching.grid import make_grid
from tilewright.tileir.core import Function
from tilewright.tileir.printer import to_text
from tilewright.tileir.types import ArrayType, ListType

SIDES = ("a", "b")
RECORD = "compare.json"


def save(pair: Pair, found: Comparison, folder: Path) -> Comparison:
    """Write the folder; the comparison that says so."""
    folder.mkdir(parents=True, exist_ok=True)
    found = replace(found, folder=str(folder))
    record: dict[str, Any] = {"kernel": pair.name, "sides": [], "command": f"tilewright compare {folder}"}
    for name, function, runner in zip(SIDES, pair.functions, pair.runners, strict=True):
        (folder / f"{name}.tile").write_text(to_text(function, spans=True))
        arrays, places = _flat(function, runner.values)
        _write(folder / f"{name}.npz", arrays)
        record["sides"].append({
            "on": runner.side.on, "grid": list(runner.grid.size), "target": runner.target.name, "early": runner.early,
            "hints": asdict(runner.hints), "arguments": places})
    (folder / RECORD).write_text(json.dumps(record, indent=2) + "\n")
    (folder / "report.txt").write_text(f"{found}\n")
    (folder / "command.txt").write_text(record["command"] + "\n")
    return found


def load(folder: Path) -> Pair:
    """The pair that was saved. ValueError for another folder."""
    if not (folder / RECORD).is_file():
        raise ValueError(f"{folder} holds no comparison: there is no {RECORD}")
    record = json.loads((folder / RECORD).read_text())
    functions, runners = zip(*(_loaded(folder, name, side) for name, side in zip(SIDES, record["sides"], strict=True)),
                             strict=True)
    return Pair(record["kernel"], functions, runners)


def _loaded(folder: Path, name: str, side: dict[str, Any]) -> tuple[Function, Runner]:
    import numpy

    from tilewright.backend_ptx.targets import get_target
    from tilewright.tileir.parser import parse

    function = parse((folder / f"{name}.tile").read_text(), str(folder / f"{name}.tile"))
    hints = replace(function.hints, **side["hints"])
    with numpy.load(folder / f"{name}.npz") as arrays:
        values = _values(function, arrays, side["arguments"])
    grid = make_grid(tuple(side["grid"]))
    return function, Runner(Side(side["on"]), grid, values, get_target(side["target"]), hints, side["early"])


def _write(path: Path, arrays: dict[str, Any]) -> None:
    import numpy

    save_: Any = numpy.savez
    save_(path, **arrays)


def _flat(function: Function, values: Sequence[Any]) -> tuple[dict[str, Any], list[Any]]:
    """The arrays by name, and of each argument where in which memory its elements lie, so that they share it again."""
    import numpy

    memory = groups(values)
    arrays: dict[str, Any] = {}

    def placed(name: str, value: Any) -> Any:
        arrays[name] = numpy.ascontiguousarray(value) if numpy.ndim(value) else numpy.asarray(value)
        if not isinstance(value, numpy.ndarray):
            return {"name": name, "scalar": True}
        at, offset, size = memory(value)
        return {"name": name, "memory": at, "offset": offset, "size": size, "shape": list(value.shape),
                "strides": list(value.strides)}

    places: list[Any] = []
    for number, (param, value) in enumerate(zip(function.params, values, strict=True)):
        name = param.hint or f"argument{number}"
        places.append([placed(f"{name}.{k}", item) for k, item in enumerate(value)] if isinstance(value, list)
                      else placed(name, value))
    return arrays, places


def _values(function: Function, arrays: Any, places: Sequence[Any]) -> list[Any]:
    import numpy

    memories: dict[int, Any] = {}

    def restored(place: dict[str, Any], type_: Any) -> Any:
        dtype = numpy_dtype(type_.dtype)
        found = arrays[place["name"]]
        found = found.view(dtype) if found.dtype.kind == "V" else found
        if "scalar" in place:
            return found[()]
        room = numpy.zeros(place["size"] + 256, numpy.uint8)
        start = -room.__array_interface__["data"][0] % 256
        memory = memories.setdefault(place["memory"], room[start : start + place["size"]])
        array: Any = numpy.ndarray(place["shape"], found.dtype, memory, place["offset"], place["strides"])
        array[...] = found.reshape(array.shape)
        return array

    out: list[Any] = []
    for param, place in zip(function.params, places, strict=True):
        if isinstance(param.type, ListType):
            out.append([restored(item, param.type.element) for item in place])
        else:
            assert isinstance(param.type, ArrayType) or "scalar" in place
            out.append(restored(place, param.type))
    return out
