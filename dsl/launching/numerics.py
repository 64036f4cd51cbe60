"""Interpreted launches with the arithmetic of a GPU: whose tensor cores, and the machine IR that says what they do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilewright.arguments.bind import Argument
from tilewright.launching.specialise import Specialiser
from tilewright.tileir.diagnostics import TileValueError
from tilewright.tileir.plan import Aliases

if TYPE_CHECKING:
    from tilewright.backend_ptx.targets import Target


def target_of(numerics: str | None, checked: bool) -> Target | None:
    """The target that the option `numerics` names: as this machine's GPU runs it, where it is one."""
    from tilewright.backend_ptx.runtime import driver
    from tilewright.backend_ptx.targets import TARGETS, get_target

    if numerics is None:
        return None
    if not isinstance(numerics, str):
        raise TypeError(f"numerics must be the name of a target, not {type(numerics).__name__}; "
                        f"there are {', '.join(TARGETS)}")
    if checked:
        raise ValueError("check and numerics cannot go together: a checked run executes the kernel as it is written, "
                         "numerics the code that the backend makes of it; run it twice")
    try:
        found = get_target(numerics)
    except TileValueError:
        raise TileValueError(
            f"numerics: there is no target {numerics!r}",
            hints=[f"name the GPU whose tensor cores multiply: {', '.join(TARGETS)}",
                   "without numerics, products are exact, and their sums are rounded as NumPy rounds them"]) from None
    here = driver.get_device(0).target if driver.available() else found
    return here if here.name == found.name else found


def program_of(specialiser: Specialiser, arguments: Sequence[Argument], aliases: Aliases, target: Target) -> Any:
    """The interpreter's program of what the backend makes of the kernel for a target."""
    from tilewright.backend_ptx.compile import backend_dumps
    from tilewright.interp import compile_function
    from tilewright.tileir.core import clone_function

    function = clone_function(specialiser.tile_ir(arguments, facts=True, aliases=aliases))
    function.hints = specialiser.hints.resolve(target.name)
    return compile_function(backend_dumps(function, target, lambda name, now: None), target.tensor_cores)
