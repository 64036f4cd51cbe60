"""A profile in the JSON trace format, which ui.perfetto.dev and chrome://tracing show.

Slices have a beginning and a length in microseconds. The host is one process with a track for each thread, on which
compilations and memory operations lie inside the launch that made them; each GPU is another, with a track a stream. An
arrow goes from each launch to its kernel on the GPU.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

from tilewright.profiling.records import Launched, Recording

HOST_PROCESS = 1


def write(profile: Recording, path: Path) -> None:
    """Write the trace."""
    path.write_text(json.dumps({"traceEvents": events(profile), "displayTimeUnit": "ns"}), encoding="utf-8")


def events(profile: Recording) -> list[dict[str, Any]]:
    """The trace's events."""
    devices = list(dict.fromkeys(launch.kind.executor for launch in profile.launches if launch.device is not None))
    processes = {name: HOST_PROCESS + 1 + number for number, name in enumerate(devices)}
    out = _names(profile, processes)
    for event in profile.events:
        out.append(_slice(profile, f"{event.kind}: {event.name}", HOST_PROCESS, event.thread, event.start, event.end,
                          event.kind, event.facts))
    for number, launch in enumerate(profile.launches):
        kind = launch.kind
        facts = {"grid": list(kind.grid), "arguments": kind.specialisation, "executor": kind.executor,
                 "failed": launch.failed}
        out.append(_slice(profile, f"launch {kind.kernel}", HOST_PROCESS, launch.thread, launch.start, launch.end,
                          "launch", facts))
        if launch.device is not None:
            out += _on_device(profile, launch, processes[kind.executor], number, facts)
    return out


def _on_device(
    profile: Recording, launch: Launched, process: int, number: int, facts: dict[str, Any]
) -> list[dict[str, Any]]:
    """The kernel's slice, and the arrow that leads there."""
    assert launch.device is not None
    start, end = launch.device
    estimate, seconds = launch.kind.estimate, 1e-9 * (end - start)
    if estimate is not None and seconds:
        facts = {**facts, "bytes": estimate.dram_bytes[0], "flops": estimate.flops,
                 "share of limit": estimate.reached(seconds), "limit": estimate.limit}
    arrow = {"name": "launch", "cat": "launch", "id": number}
    return [
        _slice(profile, launch.kind.kernel, process, launch.stream, start, end, "kernel", facts),
        {**arrow, "ph": "s", "pid": HOST_PROCESS, "tid": launch.thread, "ts": _micro(profile, launch.start)},
        {**arrow, "ph": "f", "bp": "e", "pid": process, "tid": launch.stream, "ts": _micro(profile, start)},
    ]


def _slice(profile: Recording, name: str, process: int, track: int, start: int, end: int, category: str,
           facts: dict[str, Any]) -> dict[str, Any]:
    begin = _micro(profile, start)
    return {"name": name, "cat": category, "ph": "X", "pid": process, "tid": track, "ts": begin,
            "dur": round(_micro(profile, end) - begin, 3), "args": facts}


def _micro(profile: Recording, moment: int) -> float:
    return round((moment - profile.start) / 1000, 3)


def _names(profile: Recording, processes: dict[str, int]) -> list[dict[str, Any]]:
    """What processes and tracks are called."""
    known = {thread.ident: thread.name for thread in threading.enumerate()}
    threads = dict.fromkeys([x.thread for x in profile.launches] + [x.thread for x in profile.events])
    out = [_named("process_name", HOST_PROCESS, 0, "host")]
    out += [_named("process_name", number, 0, name) for name, number in processes.items()]
    out += [_named("thread_name", HOST_PROCESS, t, known.get(t, f"thread {t}")) for t in threads]
    streams = dict.fromkeys((processes[x.kind.executor], x.stream) for x in profile.launches if x.device is not None)
    return out + [_named("thread_name", process, stream, f"stream {stream:#x}") for process, stream in streams]


def _named(what: str, process: int, track: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": process, "tid": track, "args": {"name": name}}
