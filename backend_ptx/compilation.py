"""The state of one compilation, as the backend's passes see it."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.backend_ptx.targets import Target
from tilewright.tileir.core import Function


@dataclass(slots=True)
class Compilation:
    """A function on its way to machine IR, and the target that it is compiled for. Passes change the function."""

    function: Function
    target: Target
