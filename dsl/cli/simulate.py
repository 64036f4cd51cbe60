"""`tilewright simulate`: a kernel's GPU code on the CPU, on arrays from files or generated ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from tilewright.cli.answers import Answer
from tilewright.cli.dumpfile import generated, loaded
from tilewright.cli.reading import literal, split_args
from tilewright.kernel import tile_kernel


def simulated(
    kernel: tile_kernel, grid: tuple[int, ...], args: str, target: str | None, schedule: Literal["inorder", "random"],
    seed: int,
) -> Answer:
    """Run it; what the command says when nothing is wrong."""
    import numpy

    random = numpy.random.default_rng(seed)
    values = [_argument(text, random) for text in split_args(args)]
    name = kernel.lower(*values, target=target).target.name
    kernel.simulate(grid, *values, target=target, schedule=schedule, seed=seed)
    blocks = " x ".join(map(str, grid))
    data = {"kernel": kernel.__name__, "target": name, "grid": [*grid, 1, 1][:3], "schedule": schedule, "seed": seed}
    return Answer(data, lambda: print(f"{kernel.__name__}: nothing wrong in {blocks} blocks for {name} ({schedule})"))


def _argument(text: str, random: Any) -> Any:
    value = literal(text)
    if value is not None:
        return value[0]
    if text.startswith("[") and text.endswith("]"):
        return [_argument(part, random) for part in split_args(text[1:-1])]
    if text.startswith("(") and text.endswith(")"):
        return tuple(_argument(part, random) for part in split_args(text[1:-1]))
    return loaded(Path(text)) if text.endswith(".npy") else generated(text, random)
