"""Run the catalogue's kernels on a GPU under NVIDIA's compute-sanitizer: all four tools, a table, an exit code.

Each tool is one process, or several that share the cases, and launches one ragged case of every kernel; the processes
run side by side and share a cache of compiled kernels, which others without a tool fill first. What a tool reports is
counted for the case that ran. A kernel that writes far outside its array comes first: a tool that does not report it
sees nothing at all. The exit code is 0 if there were no other reports, every result was right, and every case ran in
the time given.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
PLAIN = "no tool"
# The first line of a report is not indented behind the mark; its details are.
_REPORT = re.compile(r"^========= (?=\S)(?!COMPUTE-SANITIZER|\w+ SUMMARY:|No |Target application|Saved )(.*)")
_PLACE = re.compile(r"^=========\s+(?:at|by|in) .*?\b(\w+)(?:\+0x|\()")
_MARK = "@case "
SHOWN = 8  # reports that are printed in full, per tool


@dataclass
class Outcome:
    """What came of one process: `ran` cases of `total`, `reports` as (case, first line), `wrong` results."""

    tool: str
    ran: int = 0
    total: int = 0
    reports: list[tuple[str, str]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0
    tail: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        return not self.reports and not self.wrong and self.ran == self.total > 0


def read(tool: str, lines: Iterable[str]) -> Outcome:
    """What the output of a process says: marks of the cases, and the tool's reports between them."""
    out = Outcome(tool)
    case = "before the first case"
    for line in lines:
        out.tail = [*out.tail[-19:], line.rstrip()]
        report = _REPORT.match(line)
        place = _PLACE.match(line)
        if line.startswith("@total "):
            out.total = int(line.split()[1])
        elif line.startswith(_MARK):
            case = line.removeprefix(_MARK).strip()
        elif line.startswith("@ok"):
            out.ran += 1
        elif line.startswith("@wrong "):
            out.ran += 1
            out.wrong.append(f"{case}: {line.removeprefix('@wrong ').strip()}")
        elif report:
            out.reports.append((case, report[1].strip()))
        elif place and out.reports and "(in " not in out.reports[-1][1]:
            out.reports[-1] = (out.reports[-1][0], f"{out.reports[-1][1]} (in {place[1]})")
    return out


def table(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """A line for each process, then what was found."""
    found = list(outcomes)
    yield f"{'':<12}{'cases':>12}{'reports':>10}{'wrong':>8}{'seconds':>10}"
    for o in found:
        yield f"{o.tool:<12}{f'{o.ran} of {o.total}':>12}{len(o.reports):>10}{len(o.wrong):>8}{o.seconds:>10.0f}"
    for o in found:
        for case, text in o.reports[:SHOWN]:
            yield f"{o.tool}: {case}: {text}"
        if len(o.reports) > SHOWN:
            yield f"{o.tool}: ... in {len({case for case, _ in o.reports})} cases altogether"
        yield from (f"{o.tool}: wrong result: {text}" for text in o.wrong[:SHOWN])
        if o.ran < o.total or not o.total:
            yield f"{o.tool}: not every case ran; the end of the output:"
            yield from (f"    {line}" for line in o.tail)


# ---- the processes ----------------------------------------------------------------------------------------------


def find_sanitizer() -> str:
    """Path of compute-sanitizer: $COMPUTE_SANITIZER, PATH, or the usual folder of the CUDA toolkit."""
    usual = Path("/usr/local/cuda/bin/compute-sanitizer")
    found = os.environ.get("COMPUTE_SANITIZER") or shutil.which("compute-sanitizer")
    if found is None and usual.exists():
        found = str(usual)
    if found is None:
        raise SystemExit("compute-sanitizer is not installed: it comes with the CUDA toolkit; or set COMPUTE_SANITIZER")
    return found


def command(tool: str, only: str, seconds: float, part: str) -> list[str]:
    launch = [sys.executable, str(Path(__file__)), "--launch", "--only", only, "--seconds", str(seconds)]
    launch += ["--part", part]
    if tool == PLAIN:
        return launch
    return [find_sanitizer(), "--tool", tool, "--print-limit", "1000", "--destroy-on-device-error", "kernel", *launch]


def process(tool: str, only: str, seconds: float, cache: str, part: str = "0/1") -> Outcome:
    """Run a part of the cases under a tool; the process launches nothing more after `seconds`, and is ended a minute
    later."""
    start = time.perf_counter()
    environment = {**os.environ, "TILEWRIGHT_CACHE_DIR": cache, "PYTHONUNBUFFERED": "1"}
    try:
        done = subprocess.run(command(tool, only, seconds, part), env=environment, cwd=ROOT, text=True,
                              errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds + 60)
        text = done.stdout
    except subprocess.TimeoutExpired as late:
        text = late.stdout.decode(errors="replace") if isinstance(late.stdout, bytes) else late.stdout or ""
    out = read(tool, text.splitlines())
    out.seconds = time.perf_counter() - start
    return out


def together(parts: Sequence[Outcome]) -> Outcome:
    """What came of the processes of one tool; the output shown is that of the first which did not run all its cases."""
    out = Outcome(parts[0].tool, seconds=max(p.seconds for p in parts))
    for part in parts:
        out.ran, out.total = out.ran + part.ran, out.total + part.total
        out.reports += part.reports
        out.wrong += part.wrong
    out.tail = next((p.tail for p in parts if p.ran < p.total or not p.total), [])
    if any(not p.total for p in parts):
        out.total = 0
    return out


def sees_defects(cache: str) -> bool:
    """Whether memcheck reports a store outside of all memory."""
    launch = [sys.executable, str(Path(__file__)), "--launch-defect"]
    done = subprocess.run([find_sanitizer(), "--tool", "memcheck", *launch], cwd=ROOT, text=True, errors="replace",
                          env={**os.environ, "TILEWRIGHT_CACHE_DIR": cache}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=120)
    return "Invalid __global__ write" in done.stdout


def launch_defect() -> None:
    """The process of `sees_defects`: elements 10**9 and up of an array of 64."""
    import numpy as np

    import tilewright as tw

    @tw.tile_kernel
    def outside(x):
        tw.scatter(x, tw.arange(64, dtype=tw.int32) + 1000000000, 1.0, check_bounds=False)

    x = tw.to_device(np.zeros(64, np.float32))
    outside[(1,)](x)
    x.to_host()


def launch_all(only: str, seconds: float, part: str) -> None:
    """The process under a tool: launch every case of a part (i/n: of n cases the i-th), and check its results."""
    sys.path[:0] = [str(ROOT / folder) for folder in ("tests", "examples", "tools", ".")]
    import numpy as np
    from catalogue.all import one_per_kernel
    from catalogue.test_gpu import on_device

    # Kernels with warps that talk to each other first, should time run out.
    cases = sorted((c for c in one_per_kernel() if only in c.name),
                   key=lambda c: ("hopper" not in c.tags, "unordered" not in c.tags))
    number, count = map(int, part.split("/"))
    cases = cases[number::count]
    print(f"@total {len(cases)}")
    end = time.monotonic() + seconds
    for case in cases:
        if time.monotonic() > end:
            return
        print(f"{_MARK}{case.name}", flush=True)
        try:
            args = on_device(case.args())
            case.kernel[case.grid](*args)
            got = [np.asarray(a.to_host()) for a in case.results(args)]
            case.check(got, case.reference(*case.args()), "the GPU")
        except Exception as error:
            print(f"@wrong {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}", flush=True)
        else:
            print("@ok", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="cases whose names contain this")
    parser.add_argument("--tools", default=",".join(TOOLS), help="which tools, separated by commas")
    parser.add_argument("--seconds", type=float, default=330, help="time for launches under each tool")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="processes for each tool")
    parser.add_argument("--part", default="0/1", help=argparse.SUPPRESS)
    parser.add_argument("--launch", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--launch-defect", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.launch:
        launch_all(given.only, given.seconds, given.part)
        return 0
    if given.launch_defect:
        launch_defect()
        return 0
    find_sanitizer()
    tools = given.tools.split(",")
    jobs = len(tools) * given.jobs
    with tempfile.TemporaryDirectory(prefix="tilewright-sanitize-") as cache, ThreadPoolExecutor(jobs) as pool:
        if not sees_defects(cache):
            print("memcheck does not see a store outside of all memory: its silence would mean nothing")
            return 1
        print("control: memcheck reports a store outside of all memory")

        def run(tool: str, seconds: float, count: int) -> list[Future[Outcome]]:
            return [pool.submit(process, tool, given.only, seconds, cache, f"{i}/{count}") for i in range(count)]

        first = run(PLAIN, given.seconds / 2, 1 if given.jobs == 1 else jobs)
        outcomes = [together([f.result() for f in first])]
        waited = [run(tool, given.seconds, given.jobs) for tool in tools]
        outcomes += [together([f.result() for f in of_tool]) for of_tool in waited]
    print("\n".join(table(outcomes)))
    return 0 if all(o.clean for o in outcomes) else 1


if __name__ == "__main__":
    raise SystemExit(main())
