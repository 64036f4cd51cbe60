"""The parameters of a launch as one block of bytes, in the layout of the kernel's own: the driver copies it as it is,
and need not look at each.

The assembler aligns a parameter by its address in the GPU's constant memory, where the first one begins at another
place on each architecture (528 on Hopper). A tensor map is aligned to more bytes than that place is, so that only the
loaded kernel says where its maps are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tilewright.backend_ptx.abi import AbiParam
from tilewright.backend_ptx.map_records import MAP_ALIGN
from tilewright.backend_ptx.runtime.driver import check, driver, driver_version

BASE_ALIGN = 16  # every architecture's first parameter is so aligned
PARAM_INFO = 12040  # the CUDA version from which the driver says where parameters are


class Layout(NamedTuple):
    """Where each parameter begins and how many `bytes` all of them take, counted from the first; a block that begins
    `shift` bytes behind an aligned address has its tensor maps aligned, as the driver asks of maps that it changes."""

    places: tuple[int, ...]
    bytes: int
    shift: int


def layout(params: Sequence[AbiParam], handle: Any) -> Layout | None:
    """That of a loaded kernel, a CUfunction; None where the driver cannot say it."""
    wide = [number for number, param in enumerate(params) if param.size > BASE_ALIGN]
    if wide and driver_version() < PARAM_INFO:
        return None
    places, end = [], 0
    for number, param in enumerate(params):
        start = _told(handle, number) if wide else -(-end // param.size) * param.size
        places.append(start)
        end = start + param.size
    return Layout(tuple(places), end, -places[wide[0]] % MAP_ALIGN if wide else 0)


def _told(handle: Any, number: int) -> int:
    start, _ = check(driver().cuFuncGetParamInfo(handle, number), "cuFuncGetParamInfo")
    return int(start)


def packed(params: Sequence[AbiParam], made: Layout, slots: Sequence[int], maps: Mapping[int, bytes]) -> bytes:
    """The block: a number for each parameter, whose low bytes count, and the bytes of each tensor map by its place."""
    block = bytearray(made.bytes)
    for number, (param, start) in enumerate(zip(params, made.places, strict=True)):
        bits = maps.get(number) or (slots[number] & ((1 << 8 * param.size) - 1)).to_bytes(param.size, "little")
        block[start : start + param.size] = bits
    return bytes(block)
