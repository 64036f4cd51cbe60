"""`tilewright estimate`: what a launch moves and computes, and what bounds it, without a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tilewright.arguments.spec import spec
from tilewright.cli.answers import Answer, UsageError
from tilewright.cli.inputs import generated, loaded
from tilewright.cli.reading import literal, load_kernel, parse_grid, split_args
from tilewright.estimating.devices import limits_of
from tilewright.estimating.entry import estimated
from tilewright.estimating.result import Estimate
from tilewright.estimating.table import as_data, told
from tilewright.kernel import tile_kernel
from tilewright.launching.grid import make_grid


def answer(where: str, args: str, grid: str | None, gpu: str) -> Answer:
    """What the command says."""
    found = one(load_kernel(where), args, grid, gpu)
    return Answer(as_data(found), lambda: print(told(found)))


def one(kernel: tile_kernel, args: str, grid: str | None, gpu: str) -> Estimate:
    """The estimate for a command line's arguments."""
    values = [_value(text) for text in split_args(args)]
    device = limits_of(gpu)
    stages = kernel.lower(*values, target=device.target)
    if grid is not None:
        size: Any = parse_grid(grid)
    elif kernel.launcher.has_grid:
        size = kernel.specialiser.dimensions.grid(values, lambda: stages.arguments)
    else:
        raise UsageError("--grid is needed: the decorator of the kernel gives none")
    return estimated(stages, make_grid(size).size, device)


def _value(text: str) -> Any:
    """An argument: a spec, or an array whose contents matter, from a file or generated."""
    value = literal(text)
    if value is not None:
        return value[0]
    if text.startswith("[") and text.endswith("]"):
        return [_value(part) for part in split_args(text[1:-1])]
    if text.startswith("(") and text.endswith(")"):
        return tuple(_value(part) for part in split_args(text[1:-1]))
    if text.endswith(".npy"):
        return loaded(Path(text))
    if ":" in text:
        import numpy

        return generated(text, numpy.random.default_rng(0))
    return spec(text)
