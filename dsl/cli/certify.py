"""`tilewright check --certify`: what the bits of a kernel's outputs depend on."""

from __future__ import annotations

from tilewright.cli.answers import Answer
from tilewright.cli.reading import load_kernel, parse_args, parse_grid
from tilewright.inspecting.certificate import certify_kernel


def certified(where: str, args: str, grid: str | None) -> Answer:
    """Judge the outputs; what the command says."""
    kernel = load_kernel(where)
    found = certify_kernel(kernel, parse_args(args), None if grid is None else parse_grid(grid))
    return Answer(found.as_json(), lambda: print(found), command="check --certify")
