"""An estimate in words, and as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.estimating.flops import INTEGER
from tilewright.estimating.names import ATOMIC, READ, WRITTEN
from tilewright.estimating.result import ArrayTraffic, Bytes, Estimate
from tilewright.tileir.words import columns, duration, percent, plural, scaled

if TYPE_CHECKING:
    from tilewright.estimating.machine import MachineCode
    from tilewright.estimating.sectors import Sectors

WORDS = {"store": "stores take", "load": "loads take", "copy": "asynchronous copies take"}


def told(estimate: Estimate) -> str:
    """An estimate as lines of text."""
    grid = " x ".join(str(n) for n in estimate.grid)
    lines = [f"{estimate.kernel}, grid {grid}, on {estimate.device.title} ({estimate.device.target})", ""]
    lines += columns([("array", "type", "bytes", "read", "requested", "written", "requested"),
                      *map(_row, estimate.arrays)], left=2) if estimate.arrays else []
    lines += ["", *_machine(estimate, estimate.machine)] if estimate.machine is not None else []
    lines += ["", *_limits(estimate), "", _verdict(estimate)]
    return "\n".join([*lines, *(f"note: {note}" for note in estimate.notes)])


def _machine(estimate: Estimate, code: MachineCode) -> list[str]:
    """Sectors and what of them reaches memory, CTAs per SM, waves, and bank conflicts."""
    rows = [("sectors", "of L2, read", "a request", "written", "a request", "memory reads", "writes")]
    for array in estimate.arrays:
        name = array.name
        read, written = code.of(name, READ), code.of(name, WRITTEN) + code.of(name, ATOMIC)
        rows.append((name, *_sectors(read), *_sectors(written), _span(estimate.dram_read[name]),
                     _span(estimate.dram_written[name])))
    return [*columns(rows), "", *_occupancy(estimate, code), *_conflicts(code)]


def _sectors(part: Sectors) -> tuple[str, str]:
    """Those that reach L2, and how many a request touches."""
    return (scaled(part.fetched, "").strip(), f"{part.asked / part.requests:.1f}") if part.requests else ("-", "")


def _span(bytes_: tuple[int, int]) -> str:
    least, most = (scaled(n, "B") for n in bytes_)
    return "-" if not bytes_[1] else least if least == most else f"{least} to {most}"


def _occupancy(estimate: Estimate, code: MachineCode) -> list[str]:
    found, sms = code.occupancy, estimate.device.sms
    by = "ptxas counts" if found.assembled else "estimated, as there is no ptxas"
    return [f"{plural(found.resident, 'CTA')} per SM, for {' and '.join(found.limited)}: {found.threads} threads with "
            f"{found.registers} registers each ({by}), {scaled(found.shared, 'B')} of shared memory; "
            f"{found.warps} of {found.slots} warps",
            f"{plural(code.ctas, 'CTA')} on {sms} SMs: {code.waves:.2f} waves"
            + (f"; the last one fills {percent(code.last_wave)} of the GPU" if code.waves > 1 else "")]


def _conflicts(code: MachineCode) -> list[str]:
    """Lines of the program whose requests of shared memory take more wavefronts than they need."""
    if not code.shared:
        return []
    bad = [use for use in code.shared if use.wavefronts > use.least]
    if not bad:
        return ["no bank conflicts in shared memory"]
    return [f"bank conflicts: {WORDS[use.what]} for line {use.line} {use.wavefronts / use.least:.1f} wavefronts where "
            f"1 would do" for use in bad]


def _row(array: ArrayTraffic) -> tuple[str, ...]:
    type_ = f"{array.dtype}[{','.join(map(str, array.shape))}]"
    return (array.name, type_, scaled(array.size, "B"), *_bytes(array.read), *_bytes(array.written))


def _bytes(part: Bytes) -> tuple[str, str]:
    if not part.requested:
        return "-", ""
    unique = scaled(part.unique, "B") if part.most <= part.unique else f"{scaled(part.unique, 'B')} or more"
    return unique, "once" if part.once else f"{part.requested / max(part.unique, 1):.1f} times"


def _limits(estimate: Estimate) -> list[str]:
    """What memory and each unit have to do, and how long that takes."""
    device, (least, most) = estimate.device, estimate.dram_bytes
    shares = estimate.shares
    rows = [("what", "how much", "limit", "", "takes", "busy")]
    rows.append(("memory", scaled(least, "B"), scaled(device.memory_limit, "B/s"), _source(device, "bandwidth"),
                 duration(estimate.seconds_memory), percent(shares["bandwidth"])))
    for kind, count in sorted(estimate.operations.items(), key=lambda item: -estimate.seconds_by_kind.get(item[0], 0)):
        limit, unit = device.rate_limit(kind), "OP" if kind == INTEGER or kind.endswith("i8") else "FLOP"
        rows.append((kind, scaled(count, unit), scaled(limit, f"{unit}/s") if limit else "not known",
                     _source(device, kind), duration(estimate.seconds_by_kind.get(kind, 0.0)),
                     percent(shares.get(kind, 0.0))))
    lines = columns(rows)
    if most > least:
        lines.append(f"memory moves up to {scaled(most, 'B')} where caches do not keep what is read again")
    return lines


def _source(device: Any, kind: str) -> str:
    return "measured" if kind in device.measured else "stated"


def _verdict(estimate: Estimate) -> str:
    return (f"at least {duration(estimate.seconds)}, bounded by {estimate.limit}; "
            f"{estimate.intensity:.3g} operations for each byte of memory")


def as_data(estimate: Estimate) -> dict[str, Any]:
    """An estimate as JSON has it."""
    device = estimate.device
    return {
        "kernel": estimate.kernel, "grid": list(estimate.grid), "device": device.name, "target": device.target,
        "arrays": [{"name": a.name, "dtype": a.dtype, "shape": list(a.shape), "bytes": a.size,
                    "read": _part(a.read), "written": _part(a.written)} for a in estimate.arrays],
        "operations": estimate.operations, "flops": estimate.flops, "intensity": estimate.intensity,
        "dram_bytes": list(estimate.dram_bytes), "exact": estimate.exact, "seconds": estimate.seconds,
        "limit": estimate.limit, "shares": estimate.shares, "notes": list(estimate.notes),
        "machine": None if estimate.machine is None else _code(estimate, estimate.machine),
    }


def _code(estimate: Estimate, code: MachineCode) -> dict[str, Any]:
    found = code.occupancy
    arrays = [{"name": a.name, **{how: _counts(code.of(a.name, how)) for how in (READ, WRITTEN, ATOMIC)},
               "dram_read": list(estimate.dram_read[a.name]), "dram_written": list(estimate.dram_written[a.name])}
              for a in estimate.arrays]
    return {
        "arrays": arrays, "threads": found.threads, "registers": found.registers, "assembled": found.assembled,
        "shared": found.shared, "resident": found.resident, "limits": found.allowed, "ctas": code.ctas,
        "waves": code.waves, "last_wave": code.last_wave,
        "banks": [{"what": use.what, "line": use.line, "wavefronts": use.wavefronts, "least": use.least}
                  for use in code.shared]}


def _counts(part: Sectors) -> dict[str, int]:
    return {"requests": part.requests, "asked": part.asked, "fetched": part.fetched}


def _part(part: Bytes) -> dict[str, int]:
    return {"unique": part.unique, "most": part.most, "requested": part.requested}
