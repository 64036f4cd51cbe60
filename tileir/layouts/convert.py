"""Layout conversions: nothing to do, by registers, or through shared memory.

With S and D the source and target layouts, register r2 of thread t must receive the tile's element D(r2, t). If every
thread holds already what it needs, the register that it takes is `register_map[r2] ^ select(t)`, linear in r2 and in
the bits of the thread: a shuffle of vector elements, and one select for every thread bit with a part in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from tilewright.tileir.f2 import echelon, span
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.flat import LANE, WARP, parts


@dataclass(frozen=True, slots=True)
class Conversion:
    """A plan. `kind` is "none" (nothing to do), "registers" (each thread alone), "warp" (a shuffle through shared
    memory within each warp) or "block" (one across warps). The other fields belong to the first two kinds:

    `register_map[r2]` is the source register for target register r2 in thread 0; a thread whose bit is set in
    `selects` (dim, bit, mask) takes register_map[r2] ^ mask instead, combined over its bits.
    """

    kind: str
    register_map: tuple[int, ...] = ()
    selects: tuple[tuple[str, int, int], ...] = ()

    @property
    def crosses(self) -> bool:
        """Whether elements move to other threads."""
        return self.kind in ("warp", "block")


@lru_cache(maxsize=4096)
def plan_conversion(source: Layout, target: Layout) -> Conversion:
    """The cheapest way from `source` to `target` (layouts of one shape and one number of warps)."""
    within = _within_thread(source, target)
    if within is not None:
        return within
    s_register, s_lane, s_warp = parts(source)
    t_register, t_lane, t_warp = parts(target)
    reach = echelon(s_register + s_lane)
    inside = all(reach.contains(b) for b in t_register + t_lane)
    same_warp = all(reach.contains(a ^ b) for a, b in zip(s_warp, t_warp, strict=True))
    return Conversion("warp" if inside and same_warp else "block")


def _within_thread(source: Layout, target: Layout) -> Conversion | None:
    s_register, *s_thread = parts(source)
    t_register, *t_thread = parts(target)
    own = echelon(s_register)
    columns = [own.solve(b) for b in t_register]
    if any(c is None for c in columns):
        return None
    selects = []
    for dim, s_bases, t_bases in zip((LANE, WARP), s_thread, t_thread, strict=True):
        for bit, (a, b) in enumerate(zip(s_bases, t_bases, strict=True)):
            mask = own.solve(a ^ b)
            if mask is None:
                return None
            if mask:
                selects.append((dim, bit, mask))
    register_map = tuple(span([c for c in columns if c is not None]))
    kind = "none" if not selects and register_map == tuple(range(1 << len(s_register))) else "registers"
    return Conversion(kind, register_map, tuple(selects))
