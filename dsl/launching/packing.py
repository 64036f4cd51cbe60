"""The parameters of a launch as one block of bytes, in the layout of the kernel's own: the driver copies it as it is,
and need not look at each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.backend_ptx.abi import AbiParam
from tilewright.backend_ptx.map_records import MAP_ALIGN


def offsets(params: Sequence[AbiParam]) -> tuple[list[int], int]:
    """Where each parameter begins, in bytes, and how many bytes all of them take. Each is as aligned as it is long, a
    tensor map as the driver asks."""
    found, end = [], 0
    for param in params:
        align = min(param.size, MAP_ALIGN)
        start = -(-end // align) * align
        found.append(start)
        end = start + param.size
    return found, end


def packed(params: Sequence[AbiParam], slots: Sequence[int], maps: Mapping[int, bytes]) -> bytes:
    """The block: a number for each parameter, whose low bytes count, and the bytes of each tensor map by its place."""
    places, size = offsets(params)
    made = bytearray(size)
    for number, (param, start) in enumerate(zip(params, places, strict=True)):
        bits = maps.get(number) or (slots[number] & ((1 << 8 * param.size) - 1)).to_bytes(param.size, "little")
        made[start : start + param.size] = bits
    return bytes(made)
