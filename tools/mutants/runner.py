"""One mutant: its tests in a process of their own, until one fails or its time is over."""

from __future__ import annotations

import json
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mutants.coverage import Test
from mutants.scratch import Scratch
from mutants.sites import Mutant

KILLED, TIMEOUT, SURVIVED, UNCOVERED = "killed", "timeout", "survived", "not covered"
CAUGHT = (KILLED, TIMEOUT)
PARTS = ((8, 2.0), (25, 4.0), (50, 8.0))  # the most tests of the first parts, and their seconds; the rest is the last
START, SLOWER = 15.0, 4.0  # CPU seconds for imports and collection, and how much slower than recorded tests may be
WALL = 20.0  # the same, for seconds on the clock of a busy machine
# A name may hold blanks and dashes between its brackets.
FAILED = re.compile(r"^(?:FAILED|ERROR) ([^\[\s]+(?:\[.*\])?)(?: - (.*))?$", re.MULTILINE)


@dataclass(frozen=True)
class Result:
    """How a mutant fared. `killer`: the test that failed; `why`: what pytest said of it; `tests`: how many were run"""

    outcome: str
    killer: str = ""
    why: str = ""
    tests: int = 0
    seconds: float = 0.0

    def record(self, mutant: Mutant) -> dict[str, Any]:
        return {"name": mutant.name} | asdict(self) | {"mutant": asdict(mutant)}


def run(mutant: Mutant, tests: Sequence[Test], scratch: Scratch) -> Result:
    """Put the mutant into the copy, run the tests there, and take it out again."""
    if not tests:
        return Result(UNCOVERED)
    start = time.time()
    scratch.put(mutant)
    try:
        names = [[test.name for test in part] for part in in_parts(tests)]
        outcome, killer, why = run_tests(names, sum(test.seconds for test in tests), scratch)
    finally:
        scratch.take_out(mutant)
    return Result(outcome, killer, why, len(tests), round(time.time() - start, 1))


def in_parts(tests: Sequence[Test]) -> list[Sequence[Test]]:
    out, rest = [], tests
    for most, seconds in PARTS:
        count, left = 0, seconds
        while count < min(len(rest), most) and (left := left - rest[count].seconds) >= 0:
            count += 1
        out.append(rest[:count])
        rest = rest[count:]
    return [part for part in (*out, rest) if part]


def run_tests(parts: Sequence[Sequence[str]], seconds: float, scratch: Scratch) -> tuple[str, str, str]:
    """The outcome of tests that take so many seconds, the test that failed and the message."""
    limit = int(START + SLOWER * seconds)
    options = ["-q", "-x", "-rfE", "--no-header", "--tb=no", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
    listed = scratch.folder / "build" / "tests.json"
    listed.write_text(json.dumps([parts, options]))
    command = [sys.executable, "-m", "mutants.session", str(listed)]
    try:
        done = subprocess.run(command, cwd=scratch.folder, env=scratch.environment, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=WALL * limit, errors="replace",
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5)))
    except subprocess.TimeoutExpired:
        return TIMEOUT, "", f"{WALL * limit:.0f} s on the clock"
    return judged(done.returncode, done.stdout, limit)


def judged(status: int, output: str, limit: int) -> tuple[str, str, str]:
    if status == 0:
        return SURVIVED, "", ""
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        return TIMEOUT, "", f"{limit} s of CPU"
    if found := FAILED.search(output):
        return KILLED, found[1], (found[2] or "")[:200]
    last = next((line for line in reversed(output.splitlines()) if line.strip()), "")
    return KILLED, "", f"pytest ended with {status}: {last}"[:300]


def confirmed(names: Sequence[str], scratch: Scratch) -> list[str]:
    """Those of the tests that fail without any mutant, and so kill nothing."""
    return [name for name in names if run_tests([[name]], 60.0, scratch)[0] != SURVIVED]
