"""Launches that wait for their kernels, so that a fault is raised where the kernel was launched."""

from __future__ import annotations

from typing import Any

from tilewright.arguments.arrays import HOST
from tilewright.arguments.checks import common_device
from tilewright.launching import launcher as launchers
from tilewright.launching.launcher import Launcher, own_stream
from tilewright.launching.streams import device_of_stream, stream_for
from tilewright.launching.watching import Launch, unwatch, watch


def wait_for_launches(wanted: bool) -> None:
    """From now on each launch waits, or no longer."""
    if wanted:
        watch(_waiting)
    else:
        unwatch(_waiting)


def _waiting(launch: Launch, launcher: Launcher, grid: Any, args: tuple[Any, ...], stream: Any) -> Any:
    known = launch(launcher, grid, args, stream)
    if not (grid.empty or launchers.FORCE_INTERPRETER or launchers.CHECKED is not None):
        _finish(launcher, grid, args, stream)
    return known


def _finish(launcher: Launcher, grid: Any, args: tuple[Any, ...], stream: Any) -> None:
    """Wait for the stream of a launch. RuntimeError that names the kernel where it failed."""
    arguments = launcher._specialiser.bind(launcher.call.complete(args, {}))
    device = common_device(arguments)
    handle = stream_for(stream, device) if stream is not None else None
    if device is None and handle is not None:
        device = device_of_stream(stream)
    if device is None or device == HOST:
        return
    from tilewright.backend_ptx.runtime.driver import CudaError, check, driver, get_device

    queue = own_stream(arguments) if handle is None else handle
    get_device(device).ensure_current()
    if int(check(driver().cuStreamIsCapturing(queue), "asking whether a graph is captured")):
        return  # the kernel runs with the graph
    [status] = driver().cuStreamSynchronize(queue)
    if int(status):
        raise CudaError(f"kernel {launcher.name}, launched over the grid {grid.size},", int(status), status.name)
