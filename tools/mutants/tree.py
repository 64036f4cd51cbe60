"""The files that mutants are drawn from, and what of them is left out, with the reason (exclusions.toml)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("interp", "tileir/passes", "tileir/analysis", "backend_ptx/passes", "backend_ptx/lower", "backend_ptx/llvm",
           "backend_ptx/instructions")


@dataclass(frozen=True)
class Exclusion:
    """A file that decides cost or words; `names`: only these functions, methods (Class.method) and constants of it."""

    path: str
    names: tuple[str, ...]
    reason: str


@cache
def exclusions() -> dict[str, Exclusion]:
    table = tomllib.loads((Path(__file__).parent / "exclusions.toml").read_text())
    found = [Exclusion(e["path"], tuple(e.get("names", ())), e["reason"]) for e in table["exclude"]]
    return {e.path: e for e in found}


def sources() -> list[str]:
    """The files of the folders, from the root, in one order everywhere: each has its probes."""
    found = (p.relative_to(ROOT).as_posix() for folder in FOLDERS for p in (ROOT / folder).rglob("*.py"))
    return sorted(found)


def module(path: str) -> str:
    """The name by which a file is imported."""
    return "tilewright." + path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def files() -> list[str]:
    """Those that mutants are drawn from."""
    return [path for path in sources() if path not in exclusions() or exclusions()[path].names]
