"""A profile as a table for people, and as data."""

from __future__ import annotations

import io
from typing import Any

from tilewright.profiling.records import Recording, Row
from tilewright.tileir.words import duration, percent, scaled

WIDTH = 120
LONGEST = 60  # characters of the arguments that are shown
GPU_COLUMNS = ("launches", "GPU time", "share", "a launch", "a call", "memory", "work", "reached")
HOST_COLUMNS = ("launches", "host time", "typical", "memory", "work", "at least")


def told(profile: Recording, width: int | None = None, colour: bool = False) -> str:
    """The table, and under it what else happened."""
    from rich.console import Console

    on_gpu = any(row.device is not None for row in profile.rows)
    out = io.StringIO()
    console = Console(file=out, width=width or WIDTH, force_terminal=colour, highlight=False)
    console.print(_headline(profile), markup=False)
    if profile.rows:
        console.print(_table(profile.rows, on_gpu))
    for line in (*_beside(profile), *_notes(profile, on_gpu)):
        console.print(line, markup=False)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def _headline(profile: Recording) -> str:
    launches, kernels = len(profile.launches), len({row.kind.specialiser for row in profile.rows})
    busy = [row.device for row in profile.rows if row.device is not None]
    text = f"{_many(launches, 'launch', 'es')} of {_many(kernels, 'kernel')} in {duration(profile.seconds)}"
    return text + (f", {duration(1e-9 * sum(busy))} of it on the GPU" if busy else "")


def _table(rows: list[Row], on_gpu: bool) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("kernel", overflow="fold")
    # Numbers stay whole: where the page is narrow, names and arguments go on in the next line.
    for name in GPU_COLUMNS if on_gpu else HOST_COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    whole = sum(row.device or 0 for row in rows) or 1
    for row in rows:
        table.add_row(*_cells(row, whole, on_gpu))
    return table


def _cells(row: Row, whole: int, on_gpu: bool) -> list[str]:
    kind, estimate, seconds = row.kind, row.estimate, row.seconds
    arguments = kind.specialisation
    short = arguments if len(arguments) <= LONGEST else f"{arguments[: LONGEST - 3]}..."
    grid = "x".join(str(n) for n in (kind.grid if kind.grid[2] > 1 else kind.grid[:2] if kind.grid[1] > 1
                                     else kind.grid[:1]))
    cells = [f"{kind.kernel}[{grid}]\n  ({short})".replace("[", r"\["), str(row.launches)]
    if on_gpu:
        cells += ["-"] * 3 if seconds is None else [
            duration(1e-9 * (row.device or 0)), percent((row.device or 0) / whole), duration(seconds)]
    cells += [*([] if on_gpu else [duration(1e-9 * row.host)]), duration(row.host_seconds)]
    if estimate is None:
        return [*cells, "?", "?", "-"]
    least = estimate.dram_bytes[0]
    cells += [scaled(least, "B"), scaled(estimate.flops, "FLOP")]
    if not on_gpu:
        return [*cells, duration(estimate.seconds)]
    if seconds is None:
        return [*cells, "-"]
    by_memory = estimate.limit == "bandwidth"
    rate = scaled(least / seconds, "B/s") if by_memory else scaled(estimate.work / seconds, "OP/s")
    return [*cells, f"{rate}, {percent(estimate.reached(seconds))}"]


def _beside(profile: Recording) -> list[str]:
    """What else happened: one line a kind of event."""
    out = []
    compiled = [event for event in profile.events if event.kind == "compile"]
    if compiled:
        caches = [event.facts.get("cache") for event in compiled]
        known = ", ".join(f"{caches.count(what)} {words}" for what, words in (
            ("hit", "from the disk cache"), ("miss", "not in the disk cache")) if what in caches)
        out.append(f"compiled: {_many(len(compiled), 'time')}, {_total(compiled)}" + (f" ({known})" if known else ""))
    moved = [event for event in profile.events if event.kind == "memory"]
    for name in dict.fromkeys(event.name for event in moved):
        same = [event for event in moved if event.name == name]
        size = sum(event.facts["bytes"] for event in same)
        out.append(f"{name}: {_many(len(same), 'time')}, {scaled(size, 'B')}, {_total(same)}")
    waits = [event for event in profile.events if event.kind == "wait"]
    if waits:
        out.append(f"waited for the GPU: {_many(len(waits), 'time')}, {_total(waits)}")
    return out


def _notes(profile: Recording, on_gpu: bool) -> list[str]:
    out = []
    failed = sum(row.failed for row in profile.rows)
    if failed:
        out.append(f"note: {_many(failed, 'launch', 'es')} failed")
    if profile.broken:
        out.append("note: a kernel failed on the GPU, so that the times there could not be read")
    limits = dict.fromkeys(row.kind.limits.title for row in profile.rows)
    if profile.rows and not on_gpu:
        out += ["host time: of the interpreter, with what was compiled; typical: the median launch",
                f"memory, work: of one launch; at least: its time on {' and '.join(limits)} at the limits of that GPU"]
    elif profile.rows:
        out += ["a launch: the median time on the GPU; a call: the median time of the call on the host",
                "memory, work: of one launch; reached: the rate of what bounds it, memory or units, and its share of "
                f"the limit of {' and '.join(limits)}"]
    return out


def _total(events: list[Any]) -> str:
    return duration(1e-9 * sum(event.end - event.start for event in events))


def _many(count: int, word: str, plural: str = "s") -> str:
    return f"{count} {word}{'' if count == 1 else plural}"


def as_data(profile: Recording) -> dict[str, Any]:
    """A profile as JSON has it; times in seconds, those of launches and events from the profile's beginning."""
    return {
        "seconds": profile.seconds, "broken": profile.broken,
        "kernels": [_row(row) for row in profile.rows],
        "launches": [{
            "kernel": launch.kind.kernel, "start": _since(profile, launch.start), "end": _since(profile, launch.end),
            "thread": launch.thread, "stream": launch.stream, "failed": launch.failed,
            "device": None if launch.device is None else [_since(profile, t) for t in launch.device],
        } for launch in profile.launches],
        "events": [{"kind": event.kind, "name": event.name, "start": _since(profile, event.start),
                    "end": _since(profile, event.end), "thread": event.thread, "facts": event.facts}
                   for event in profile.events],
    }


def _since(profile: Recording, moment: int) -> float:
    return 1e-9 * (moment - profile.start)


def _row(row: Row) -> dict[str, Any]:
    from tilewright.estimating.table import as_data as estimated

    return {
        "kernel": row.kind.kernel, "grid": list(row.kind.grid), "arguments": row.kind.specialisation,
        "executor": row.kind.executor, "limits": row.kind.limits.name, "launches": row.launches, "failed": row.failed,
        "host_seconds": 1e-9 * row.host, "device_seconds": None if row.device is None else 1e-9 * row.device,
        "estimate": None if row.estimate is None else estimated(row.estimate),
        "reached": None if row.estimate is None or row.seconds is None else row.estimate.reached(row.seconds),
    }
