"""What became of the mutants of a log: counts, and the survivors with their edits."""

from __future__ import annotations

import collections
import difflib
import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mutants import tree
from mutants.runner import CAUGHT, SURVIVED, UNCOVERED
from mutants.sites import Mutant

Entry = dict[str, Any]


def read(log: Path) -> list[Entry]:
    """The last result of each mutant."""
    entries = map(json.loads, log.open()) if log.exists() else ()
    return list({entry["name"]: entry for entry in entries}.values())


def equivalent() -> dict[str, str]:
    """The mutants that change nothing a test may hold, and why; by file, line and the text that they replace."""
    table = tomllib.loads((Path(__file__).parent / "equivalent.toml").read_text())
    return {_key(e["path"], e["line"], e["before"], e["after"]): e["reason"] for e in table["mutant"]}


def _key(path: str, line: str, before: str, after: str) -> str:
    return "\n".join([path, line.strip(), " ".join(before.split()), after])


def reason(mutant: Mutant, known: dict[str, str]) -> str | None:
    """Why a mutant is equivalent, None where nothing says so."""
    lines = (tree.ROOT / mutant.path).read_text().splitlines()
    line = lines[mutant.line - 1] if mutant.line <= len(lines) else ""
    return known.get(_key(mutant.path, line, mutant.before, mutant.after))


def diff(mutant: Mutant) -> str:
    old = (tree.ROOT / mutant.path).read_text()
    try:
        new = mutant.applied(old)
    except AssertionError:
        return f"(the file has changed) {mutant.before} -> {mutant.after}"
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=1)
    return "\n".join(line for line in lines if not line.startswith(("---", "+++")))


def text(entries: Sequence[Entry]) -> str:
    known = equivalent()
    counts = collections.Counter[str]()
    parts = []
    for entry in entries:
        mutant, outcome = Mutant(**entry["mutant"]), entry["outcome"]
        why = reason(mutant, known) if outcome in (SURVIVED, UNCOVERED) else None
        counts["equivalent" if why else outcome] += 1
        if outcome in (SURVIVED, UNCOVERED):
            note = f"equivalent: {why}" if why else f"{entry['tests']} tests"
            parts.append(f"{mutant.name} {outcome}, {note}\n{diff(mutant)}\n")
    caught = sum(counts[outcome] for outcome in CAUGHT)
    there = len(entries) - counts["equivalent"]
    share = f"{100 * caught / there:.1f} %" if there else "none"
    parts.append(", ".join(f"{n} {outcome}" for outcome, n in counts.most_common()))
    parts.append(f"{caught} of {there} that are not equivalent were killed: {share}")
    return "\n".join(parts)
