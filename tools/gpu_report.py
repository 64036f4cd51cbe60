"""Everything that needs a GPU, in one command: tests, sanitizer, fuzzing, benchmarks; logs, a table, an exit code.

Time on a GPU machine is scarce, so the steps run side by side in lanes. The lane `times` has a GPU to itself, since
others would disturb its figures; `checks` takes the next GPU, or waits for `times` where there is one GPU alone; `host`
takes processors only. A lane runs its steps one after another. A step that runs past its time is ended with all that it
started, its log stays, and the others go on.

    python3 tools/gpu_report.py --out report --seconds 540

It runs from an uninstalled checkout, like `make gpu-test`: NumPy, llvmlite, lark and cuda-python must be importable.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LANES = ("times", "checks", "host")
JOBS = max(1, (os.cpu_count() or 2) * 2 // 3)
PYTEST = "-m pytest -q -n {jobs} -p no:cacheprovider -m gpu --require-gpu"
PACKAGES = ("build/typing", ".", "tools", "tests", "tests/support")


@dataclass(frozen=True)
class Step:
    """A command for Python, `words`, that may take `seconds`. `{jobs}` stands for the processes that it may start."""

    name: str
    lane: str
    seconds: float
    words: str
    thorough: bool = False  # all cases of a test that takes a sample otherwise


STEPS = (
    Step("persistent", "times", 60, "-m benchmarks persistent"),
    Step("in_place", "times", 30, "-m benchmarks in_place"),
    Step("decode", "times", 40, "-m benchmarks decode"),
    Step("groups", "times", 40, "-m benchmarks groups"),
    Step("counters", "times", 120, "-m benchmarks counters"),
    Step("sweep", "times", 240, "-m benchmarks.sweep --gpu 200 -j 8 --out {out}/sweep.jsonl"),
    Step("tests", "checks", 240, f"{PYTEST} tests"),
    Step("numerics", "checks", 60, f"{PYTEST} tests/dsl/test_numerics.py", thorough=True),
    Step("compare", "checks", 120, f"{PYTEST} tests/dsl/test_comparing.py", thorough=True),
    Step("sanitizer", "checks", 120, "tools/sanitize.py --seconds 90"),
    Step("fuzz", "checks", 120, "-m fuzz --gpu 20000 -j {jobs} --seconds 100"),
    Step("integers", "checks", 60, "-m fuzz integers --gpu 5000 -j {jobs} --seconds 50"),
    Step("products", "checks", 60, "-m fuzz products --gpu 5000 -j {jobs} --seconds 50"),
    Step("programs", "host", 400, "-m fuzz programs -n 100000 -j {jobs} --seconds 380"),
)


@dataclass
class Outcome:
    """How a step ended: its exit status (None: it ran out of time, or had none left), seconds, last line."""

    step: Step
    status: int | None
    seconds: float
    said: str

    def text(self) -> str:
        state = "out of time" if self.status is None else "ok" if self.status == 0 else f"failed ({self.status})"
        return f"{self.step.name:<12} {self.step.lane:<7} {state:<12} {self.seconds:6.0f} s  {self.said}"


def gpus() -> list[str]:
    """The numbers of this machine's GPUs, as CUDA_VISIBLE_DEVICES takes them."""
    if (given := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return [g for g in given.split(",") if g]
    query = ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"]
    try:
        ran = subprocess.run(query, capture_output=True, text=True)
    except FileNotFoundError:
        return []
    return ran.stdout.split() if ran.returncode == 0 else []


def timetable(steps: Sequence[Step], devices: Sequence[str]) -> list[tuple[str, list[Step]]]:
    """Rows of steps that run side by side, each with its GPU: on one GPU the checks come after the times."""
    by_lane = {lane: [s for s in steps if s.lane == lane] for lane in LANES}
    first, last = (devices[0], devices[-1]) if devices else ("", "")
    if len(devices) < 2:
        rows = [(first, [*by_lane["times"], *by_lane["checks"]])]
    else:
        rows = [(first, by_lane["times"]), (last, by_lane["checks"])]
    return [(device, row) for device, row in [*rows, ("", by_lane["host"])] if row]


def run(step: Step, device: str, out: Path, jobs: int, until: float) -> Outcome:
    """One step, until its own time or the time of all is over."""
    start = time.monotonic()
    allowed = min(step.seconds, until - start)
    if allowed <= 0:
        return Outcome(step, None, 0.0, "not begun: no time was left")
    log = out / f"{step.name}.log"
    command = [sys.executable, *shlex.split(step.words.format(jobs=jobs, out=out))]
    with log.open("w") as file:
        process = subprocess.Popen(command, cwd=ROOT, env=environment(step, device), stdin=subprocess.DEVNULL,
                                   stdout=file, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status: int | None = process.wait(allowed)
        except subprocess.TimeoutExpired:
            status = None
        with contextlib.suppress(ProcessLookupError):  # what it started and left behind, too
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return Outcome(step, status, time.monotonic() - start, lines[-1][:160] if lines else "")


def environment(step: Step, device: str) -> dict[str, str]:
    paths = [str(ROOT / p) for p in PACKAGES]
    if "PYTHONPATH" in os.environ:
        paths.append(os.environ["PYTHONPATH"])
    more = {"TILEWRIGHT_THOROUGH": "1"} if step.thorough else {}
    return os.environ | more | {"PYTHONPATH": os.pathsep.join(paths), "CUDA_VISIBLE_DEVICES": device,
                                "PYTHONUNBUFFERED": "1"}


def run_all(steps: Sequence[Step], devices: Sequence[str], out: Path, jobs: int, seconds: float) -> Iterator[Outcome]:
    """Outcomes as they come, of all lanes."""
    out.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + seconds
    done: list[Outcome] = []
    arrived = threading.Condition()

    def go(device: str, row: Sequence[Step]) -> None:
        for step in row:
            outcome = run(step, device, out, jobs, until)
            with arrived:
                done.append(outcome)
                arrived.notify()

    for device, row in timetable(steps, devices):
        threading.Thread(target=go, args=(device, row), daemon=True).start()
    for number in range(len(steps)):
        with arrived:
            while len(done) <= number:
                arrived.wait()
            outcome = done[number]
        yield outcome


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="*", help=f"any of {', '.join(s.name for s in STEPS)} (default: all)")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "gpu-report", help="where the logs go")
    parser.add_argument("--seconds", type=float, default=1500.0, help="no step runs longer than until then")
    parser.add_argument("--jobs", "-j", type=int, default=JOBS, help="processes of a step")
    options = parser.parse_args(argv)
    if unknown := set(options.steps) - {s.name for s in STEPS}:
        parser.error(f"no step {', '.join(sorted(unknown))}; there are {', '.join(s.name for s in STEPS)}")
    steps = [s for s in STEPS if not options.steps or s.name in options.steps]
    devices = gpus()
    if not devices and any(s.lane != "host" for s in steps):
        parser.error("there is no GPU here (nvidia-smi lists none); the steps of the lane `host` need none")
    bad = 0
    for outcome in run_all(steps, devices, options.out.resolve(), options.jobs, options.seconds):
        print(outcome.text(), flush=True)
        bad += outcome.status != 0
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
