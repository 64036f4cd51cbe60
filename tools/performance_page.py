"""docs/performance.md: runs the commands that it shows, and makes its table from the record of a benchmark run.

`python tools/performance_page.py [--commit C] LOG ...` makes what `python -m benchmarks` printed, or wrote with --json,
the record, and brings the page up to date.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import speed_goals
from speed_goals import GOALS, NAMES, Goal

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"
RECORD = ROOT / "benchmarks" / "measured-h200.txt"
START, END = "<!-- measured: made from the record by tools/performance_page.py -->\n", "<!-- end of measured -->"
SHOWN = re.compile(r"```console\n\$ tilewright (?P<command>decisions .*)\n(?P<output>(?:.*\n)*?)```")
LOOP = re.compile(r"<!-- loop after (?P<pass>\w+): (?P<command>.*) -->\n```\n(?P<output>(?:.*\n)*?)```")
ROW = re.compile(r"^(?P<name>\S.*?)\s*?(?:\s{2}ours\s+(?P<us>[\d.]+) us\s+(?P<rate>[\d.]+) (?P<unit>\S+))?"
                 r"(?P<others>(?:\s+\| [^|]+? +(?:[\d.]+ )?ratio [\d.]+)+)\s*$")
OTHER = re.compile(r"\| ([^|]+?) +(?:[\d.]+ )?ratio ([\d.]+)")
SAVED = re.compile(r"^\s+saves ([\d.]+) us of the ([\d.]+) us")  # behind a fused product
COMMIT = "# commit "


# ---- commands ---------------------------------------------------------------------------------------------------


def current(page: str) -> str:
    """The page with the output that its commands give now, and the table of the record."""
    page = SHOWN.sub(lambda m: f"```console\n$ tilewright {m['command']}\n{output_of(m['command'])}```", page)
    page = LOOP.sub(lambda m: f"<!-- loop after {m['pass']}: {m['command']} -->\n```\n"
                              f"{loop_after(m['pass'], m['command'])}```", page)
    before, _, rest = page.partition(START)
    measured = table(RECORD.read_text() if RECORD.exists() else "")
    return f"{before}{START}\n{measured}\n{END}{rest.partition(END)[2]}"


def output_of(command: str, status: int = 0) -> str:
    """What `tilewright COMMAND` prints, run from the root of the repository; `status` is what it exits with."""
    from tilewright.cli.main import main

    out = io.StringIO()
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(out):
        ended = main(shlex.split(command))
    if ended != status:
        raise ValueError(f"tilewright {command} ended with {ended}")
    return out.getvalue()


def loop_after(name: str, command: str) -> str:
    """The innermost loop of a kernel after a pass of the backend, as the dump shows it. `command` is what would stand
    behind `tilewright ptx`."""
    from tilewright.backend_ptx.compile import backend_dumps
    from tilewright.cli.reading import load_kernel, parse_args
    from tilewright.tileir.parser import parse

    parser = argparse.ArgumentParser()
    parser.add_argument("kernel")
    parser.add_argument("--args", required=True)
    parser.add_argument("--target", required=True)
    given = parser.parse_args(shlex.split(command))
    with contextlib.chdir(ROOT):
        kernel = load_kernel(given.kernel)
    texts: dict[str, str] = {}
    function = parse(kernel.ir(*parse_args(given.args)))
    backend_dumps(function, given.target, lambda step, made: texts.update({step: str(made)}))
    return innermost_loop(texts[name])


def innermost_loop(text: str) -> str:
    """The first `for` that holds no other, its indentation taken off."""
    lines = text.splitlines()
    starts = [i for i, line in enumerate(lines) if " = for(" in line]
    for start in starts:
        indent = len(lines[start]) - len(lines[start].lstrip())
        end = next(i for i in range(start + 1, len(lines)) if lines[i] == " " * indent + "}")
        if not any(start < other < end for other in starts):
            return "".join(line[indent:] + "\n" for line in lines[start:end + 1])
    raise ValueError("there is no loop")


# ---- the record -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Figure:
    """One line of a benchmark: ours, and the ratio of speeds to each contender (above 1: ours is faster)."""

    name: str
    rate: float | None
    unit: str
    ratios: dict[str, float] = field(default_factory=dict)
    note: str = ""

    @property
    def quality(self) -> float:
        """What makes one of several ways to do the same work the better one."""
        return self.rate if self.rate is not None else next(iter(self.ratios.values()))


def figures(record: str) -> list[Figure]:
    """The rows of a record. Where a row was measured more than once, the last one counts."""
    found: dict[str, Figure] = {}
    last = ""
    for line in record.splitlines():
        saved = SAVED.match(line)
        if saved and last:
            found[last] = replace(found[last], note=f"; {saved[1]} of {saved[2]} us saved")
        row = ROW.match(line)
        if row is None or line.startswith("#"):
            continue
        ratios = {who: float(ratio) for who, ratio in OTHER.findall(row["others"])}
        last = row["name"]
        found[last] = Figure(last, float(row["rate"]) if row["rate"] else None, row["unit"] or "", ratios)
    return list(found.values())


def provenance(record: str) -> list[str]:
    """The machines and commits of a record, in words, and its other remarks."""
    lines = record.splitlines()
    machines = dict.fromkeys(line for line in lines if line.startswith("Python "))
    commits = dict.fromkeys(line.removeprefix(COMMIT) for line in lines if line.startswith(COMMIT))
    remarks = dict.fromkeys(line[2:] for line in lines if line.startswith("# ") and not line.startswith(COMMIT))
    return [*machines, *(["commit " + ", ".join(commits)] if commits else []), *remarks]


def best(found: Iterable[Figure], goal: Goal) -> Iterator[tuple[str, Figure]]:
    """For each piece of work of a goal its name and the best of the ways that were measured."""
    by_work: dict[str, Figure] = {}
    for figure in found:
        match = re.match(goal.rows, figure.name)
        if match is None:
            continue
        work = match[1] if match.groups() else match[0]
        if work not in by_work or figure.quality > by_work[work].quality:
            by_work[work] = figure
    yield from by_work.items()


def table(record: str) -> str:
    """The goals and what was measured, in Markdown."""
    found = figures(record)
    lines = [*(f"- {part}" for part in provenance(record)), ""]
    lines += ["| work | measured | speed against | goal | met |", "|---|---|---|---|---|"]
    for goal in GOALS:
        rows = list(best(found, goal))
        for work, figure in rows:
            rate = "" if figure.rate is None else f"{figure.rate:.0f} {figure.unit}"
            against = ", ".join(f"{NAMES.get(who, who)} {ratio:.2f}" for who, ratio in figure.ratios.items())
            met = _met(goal, work, figure)
            lines.append(f"| `{work}` | {rate} | {against}{figure.note} | {goal.text(work)} | {met} |")
        if not rows:
            lines.append(f"| {goal.work} | not in the record | | {goal.text(goal.work)} | |")
    # `kernel[grid](...)` is no link.
    lines += ["| {} | {} | | {} | {} |".format(work.replace("](", r"]\("), *cells)
              for work, *cells in speed_goals.other_rows(record)]
    return "\n".join(lines) + "\n"


def _met(goal: Goal, work: str, figure: Figure) -> str:
    met = goal.met(work, figure.ratios)
    return "" if met is None else "yes" if met else "no"


def as_log(path: Path) -> str:
    """The text of a log; of what --json wrote, the lines that were printed."""
    text = path.read_text()
    if path.suffix != ".json":
        return text
    from benchmarks._timing import Row

    made = json.loads(text)
    rows = [row if isinstance(row, str) else Row(**row).text() for row in made["rows"]
            if isinstance(row, str) or "times" in row]
    return "\n".join([made["machine"], *rows]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", nargs="*", type=Path, metavar="LOG", help="none: only bring the page up to date")
    parser.add_argument("--commit", help="the commit that was measured")
    parser.add_argument("--keep", action="store_true", help="add to the record; a row measured again replaces the old")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    if options.logs:
        old = RECORD.read_text() if options.keep and RECORD.exists() else ""
        commit = f"{COMMIT}{options.commit}\n" if options.commit else ""
        RECORD.write_text(old + commit + "".join(map(as_log, options.logs)))
    PAGE.write_text(current(PAGE.read_text()))
    print(f"{PAGE.relative_to(ROOT)} is up to date")


if __name__ == "__main__":
    main()
