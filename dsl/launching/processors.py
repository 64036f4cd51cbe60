"""How many CTAs of a kernel a GPU's SMs run at once, and how many of them a launch takes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from tilewright.arguments.bind import ArrayArgument, Leaf
from tilewright.arguments.checks import real
from tilewright.launching.grid import MAX_ENTRY

# Where blocks walk over tiles, a launch starts one for every few of these (`order_blocks` says how many), if the GPU
# then runs at least WAVES times as many as fit, and BESIDE fit an SM, so that others run while one starts.
WAVES, BESIDE = 2, 2
# Of the places of joined blocks, waves of one for each SM. On an H200 2048x2304x1024 by 64x128x64, 288 joined blocks
# in 3 waves, takes 20.6 us, 19.4 as it is; 2048^3, 256 in 2, 23.6 and 27.0.
FILLED = 0.75
# CTAs that share the iterations of each block at most: the largest cluster that every GPU can place.
MOST_SHARING = 8


def fills(blocks: int, processors: int) -> bool:
    """Whether so many blocks, one after another on each SM, leave none without and few idle at the end."""
    return blocks >= processors and blocks >= FILLED * processors * -(-blocks // processors)


def resident(kernel: Any) -> int:
    """How many CTAs of a kernel a launch starts at most: as many as run at once."""
    from tilewright.backend_ptx.runtime.driver import check, driver

    found = driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(kernel.handle, kernel.threads, kernel.shared_bytes)
    each = check(found, f"the occupancy of kernel {kernel.name}")
    return max(1, int(each)) * taken(processors_of(kernel))


def processors_of(kernel: Any) -> int:
    from tilewright.backend_ptx.runtime.driver import device_attribute

    return device_attribute(kernel.device.ordinal, "MULTIPROCESSOR_COUNT")


def walking(kernel: Any, flat: Sequence[Leaf]) -> tuple[int, int]:
    """From how many blocks on a launch leaves no SM to others, and how many walk over a kernel's tiles then at least;
    (0, 0) where tiles or CTAs are few."""
    parameter, axis, size, each = kernel.walked
    leaf = flat[parameter]
    assert isinstance(leaf, ArrayArgument)
    blocks = min(-(-real(leaf).shape[axis] // size) // each, MAX_ENTRY)
    fit, processors = resident(kernel), processors_of(kernel)
    pays = fit >= BESIDE * processors and blocks * kernel.cluster >= WAVES * fit
    return (processors, blocks) if pays else (0, 0)


def taken(processors: int) -> int:
    """How many SMs a launch takes that could take all: TILEWRIGHT_SPARE_SMS says how many it leaves to others."""
    spare = os.environ.get("TILEWRIGHT_SPARE_SMS") or "0"
    if not spare.isdecimal() or int(spare) >= processors:
        raise ValueError(f"TILEWRIGHT_SPARE_SMS must be a number of SMs below the GPU's {processors}, not {spare!r}")
    return processors - int(spare)
