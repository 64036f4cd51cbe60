"""`tilewright simulate`: a kernel's GPU code on the CPU, on arrays from files or generated ones."""

from __future__ import annotations

from typing import Literal

from tilewright.cli.answers import Answer
from tilewright.cli.inputs import launch_values
from tilewright.kernel import tile_kernel


def simulated(
    kernel: tile_kernel, grid: tuple[int, ...], args: str, target: str | None, schedule: Literal["inorder", "random"],
    seed: int,
) -> Answer:
    """Run it; what the command says when nothing is wrong."""
    values = launch_values(args, seed)
    name = kernel.lower(*values, target=target).target.name
    kernel.simulate(grid, *values, target=target, schedule=schedule, seed=seed)
    blocks = " x ".join(map(str, grid))
    data = {"kernel": kernel.__name__, "target": name, "grid": [*grid, 1, 1][:3], "schedule": schedule, "seed": seed}
    return Answer(data, lambda: print(f"{kernel.__name__}: nothing wrong in {blocks} blocks for {name} ({schedule})"))
