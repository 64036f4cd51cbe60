"""`tilewright check --certify`: what the bits of a kernel's outputs depend on, by interp/certifying."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tilewright.backend_ptx.targets import TARGETS
from tilewright.inspecting.proof import example

if TYPE_CHECKING:
    from tilewright.interp.certifying import Certificate
    from tilewright.kernel import tile_kernel


def certify_kernel(kernel: tile_kernel, args: Sequence[Any], grid: tuple[int, ...] | None = None) -> Certificate:
    """Judge each output of the kernel, for all launches with arrays of the types of `args`: is each bit independent of
    the order in which blocks run, of the number of blocks, and of the other rows of a batch?

    Arguments: `args`: as for `kernel.ptx`; extents and `grid`, where given, are those of an example: what does not hold
        of them is not taken for granted.
    Result: `outputs[name].block_order`, `.grid` and `.batch`, each with `holds`, `reason` and `place`, and `.trees`;
        `str` of it is what the command prints.
    Errors: TileError for what does not compile.
    """
    from tilewright.interp.certifying import certify
    from tilewright.interp.certifying.certificate import Certificate, Judgement
    from tilewright.launching.joining import joins_of

    stages = kernel.lower(*args)
    function = stages.tile_ir(passes=True, facts=False)
    targets = {name: target.tensor_cores for name, target in TARGETS.items()}
    made = certify(function, example(function, stages.values, grid), targets)
    if not any(joins_of(stages.tile_ir(), target, stages.hints) for target in TARGETS.values()):
        return made
    joined = Judgement(False, "in launches of many, neighbours become one block, whose sums may have another order")
    return Certificate(made.kernel, {name: replace(out, grid=joined) for name, out in made.outputs.items()})
