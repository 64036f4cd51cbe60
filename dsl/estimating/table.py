"""An estimate in words, and as data."""

from __future__ import annotations

from typing import Any

from tilewright.estimating.flops import INTEGER
from tilewright.estimating.result import ArrayTraffic, Bytes, Estimate
from tilewright.tileir.words import columns, duration, percent, scaled


def told(estimate: Estimate) -> str:
    """An estimate as lines of text."""
    grid = " x ".join(str(n) for n in estimate.grid)
    lines = [f"{estimate.kernel}, grid {grid}, on {estimate.device.title} ({estimate.device.target})", ""]
    lines += columns([("array", "type", "bytes", "read", "requested", "written", "requested"),
                      *map(_row, estimate.arrays)], left=2) if estimate.arrays else []
    lines += ["", *_limits(estimate), "", _verdict(estimate)]
    return "\n".join([*lines, *(f"note: {note}" for note in estimate.notes)])


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
    }


def _part(part: Bytes) -> dict[str, int]:
    return {"unique": part.unique, "most": part.most, "requested": part.requested}
