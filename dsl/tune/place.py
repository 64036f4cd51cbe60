"""Where a configuration runs: in the interpreter, or on which GPU and stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.arguments.arrays import HOST
from tilewright.arguments.bind import Argument
from tilewright.arguments.checks import common_device
from tilewright.launching import launcher


def gpu_of(arguments: Sequence[Argument], stream: Any) -> int | None:
    """The ordinal of the GPU that a launch with these arguments runs on; None for the interpreter."""
    device = common_device(arguments)
    if launcher.FORCE_INTERPRETER or device == HOST:
        return None
    if device is None and stream is not None:
        from tilewright.backend_ptx.runtime.driver import current_ordinal

        return current_ordinal()
    return device
