"""`python -m mutants`: record which tests enter which code, draw mutants and run them, count."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools")]

from mutants import coverage, recorder, report, runner, sites, tree  # noqa: E402
from mutants.scratch import Scratch  # noqa: E402


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    return int(options.what(options))


def record(options: argparse.Namespace) -> int:
    """Runs in a copy, which stays: what is recorded holds for it."""
    records, base = options.folder / "records", Scratch(options.folder / "base")
    records.mkdir(exist_ok=True)
    if not base.folder.exists():
        base.make()
    environment = base.environment | {
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": recorder.__name__,
        recorder.FOLDER: str(records.absolute()), recorder.SAMPLE: str(options.sample),
        recorder.DEADLINE: str(time.time() + options.seconds)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "xdist", "-p", "_hypothesis_pytestplugin", "-p",
               "no:cacheprovider", "--hypothesis-seed=0", *options.tests]
    if options.j > 1:
        command += ["-n", str(options.j)]
    return subprocess.run(command, cwd=base.folder, env=environment, stdin=subprocess.DEVNULL).returncode


def run(options: argparse.Namespace) -> int:
    log = options.folder / f"log-{options.seed}.jsonl"
    done = {entry["name"] for entry in report.read(log) if not options.again or entry["outcome"] in runner.CAUGHT}
    mutants = list(itertools.islice(sites.drawn(options.seed), options.n))
    if options.only:
        mutants, done = [m for m in mutants if m.name in options.only], set()
    todo = [m for m in mutants if m.name not in done]
    print(f"seed {options.seed}: {len(mutants)} mutants, {len(mutants) - len(todo)} of them in {log}", flush=True)
    base = options.folder / "base"
    found = None if options.tests else coverage.read(options.folder / "records", base, tree.sources())
    waiting, lock = queue.SimpleQueue[sites.Mutant](), threading.Lock()
    for mutant in todo:
        waiting.put(mutant)

    def work(number: int) -> None:
        scratch = Scratch(options.folder / f"copy-{number}").make()
        while True:
            try:
                mutant = waiting.get_nowait()
            except queue.Empty:
                return
            tests = ([coverage.Test(name, 10.0, 0) for name in options.tests] if found is None
                     else found.chosen(mutant, options.budget))
            result = runner.run(mutant, tests, scratch)
            with lock:
                took = f"{result.tests} tests, {result.seconds} s"
                print(f"{mutant.name} {result.outcome}, {took}: {result.killer}", flush=True)
                if not options.only:
                    with log.open("a") as file:
                        file.write(json.dumps(result.record(mutant)) + "\n")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(options.j)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return 0


def show(options: argparse.Namespace) -> int:
    entries = report.read(options.folder / f"log-{options.seed}.jsonl")
    if options.confirm:
        scratch = Scratch(options.folder / "copy-0").make()
        killers = sorted({entry["killer"] for entry in entries if "::" in entry["killer"]})
        for name in runner.confirmed(killers, scratch):
            print(f"fails without a mutant: {name}")
    print(report.text(entries))
    return 0


def draw(options: argparse.Namespace) -> int:
    for mutant in itertools.islice(sites.drawn(options.seed), options.n):
        print(f"{mutant.name} {mutant.kind}\n{report.diff(mutant)}")
    return 0


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(prog="python -m mutants", description=__doc__)
    out.add_argument("--folder", type=Path, default=tree.ROOT / "build" / "mutants", help="of records, copies, logs")
    commands = out.add_subparsers(required=True)
    new = commands.add_parser("record", help="run a sample of the tests and record the code that each enters; resumes")
    new.add_argument("tests", nargs="*", default=["tests"])
    new.add_argument("--sample", type=int, default=60, help="tests of one function at most")
    new.add_argument("--seconds", type=float, default=1e9, help="no new test after so many")
    new.set_defaults(what=record)
    for name, what, words in (
        ("run", run, "draw mutants and run them; resumes"), ("report", show, "count"),
        ("draw", draw, "print what would be drawn"),
    ):
        new = commands.add_parser(name, help=words)
        new.add_argument("--seed", type=int, default=12)
        new.add_argument("-n", type=int, default=150, help="how many, in the order of the draw")
        new.set_defaults(what=what)
        if what is run:
            new.add_argument("--again", action="store_true", help="run those that survived again, with this budget")
            new.add_argument("--only", nargs="+", metavar="NAME", help="these of them, again and without log")
            new.add_argument("--tests", nargs="+", metavar="TEST", help="these tests in place of the recorded ones")
            new.add_argument("--budget", type=float, default=120.0, help="recorded seconds of tests for each")
        if what is show:
            new.add_argument("--confirm", action="store_true", help="run the tests that killed also without a mutant")
    for command in commands.choices.values():
        command.add_argument("-j", type=int, default=1, help="processes")
    return out


if __name__ == "__main__":
    os.environ.pop("PYTEST_ADDOPTS", None)
    raise SystemExit(main())
