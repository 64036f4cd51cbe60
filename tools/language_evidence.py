"""What stands behind each name of the language: executed cells, refusals with their reasons, tests elsewhere."""

from __future__ import annotations

import functools
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [p for p in (str(ROOT / "tests"), str(ROOT / "tools"), str(ROOT)) if p not in sys.path]

from catalogue.cells.all import executed_cells  # noqa: E402  (found through the path above)
from catalogue.cells.contract import ELSEWHERE, FEATURES, HOST_OPTIONS, RANKS, SYNTAX_ERRORS  # noqa: E402
from catalogue.cells.kinds import KINDS  # noqa: E402
from catalogue.cells.model import Cell  # noqa: E402
from catalogue.cells.refusals import ARRAYS, NO_ARRAYS, TILES, refusals, with_array, with_tile  # noqa: E402

import tilewright.backend_ptx.lower.families  # noqa: E402, F401  (fills the registry)
import tilewright.interp.handlers  # noqa: E402, F401  (fills the registry)
from tilewright.backend_ptx.lower.registry import LOWERINGS  # noqa: E402
from tilewright.backend_ptx.lower.registry import REFUSALS as REWRITTEN  # noqa: E402
from tilewright.frontend.calls.registry import RULES  # noqa: E402
from tilewright.interp.lowering import HANDLERS  # noqa: E402
from tilewright.tileir.core import OPS  # noqa: E402

__all__ = ["ELSEWHERE", "FEATURES", "RANKS", "RULES", "SYNTAX_ERRORS", "Evidence", "cells", "evidence", "is_shown",
           "missing", "opcodes", "option_names", "refused_names", "unhandled"]


@dataclass(frozen=True)
class Evidence:
    """`cells` with the test that runs each; `refused`: dtype -> reason; `elsewhere`: why there are no cells, and a
    test."""

    name: str
    cells: dict[Cell, str]
    refused: dict[str, str]
    elsewhere: tuple[str, str] | None

    @property
    def dtypes(self) -> list[str]:
        """The dtypes run, in the order of the language; pairs of dtypes after them."""
        found = {cell.dtype for cell in self.cells}
        return [n for n in KINDS if n in found] + sorted(found - KINDS.keys())

    @property
    def ranks(self) -> list[int]:
        return sorted({cell.rank for cell in self.cells})

    @property
    def boundaries(self) -> Counter[str]:
        """Executed cells by what is special about them, without the axis and the like."""
        return Counter(cell.boundary.split(",")[0] for cell in self.cells)

    @property
    def test(self) -> str:
        if self.elsewhere:
            return self.elsewhere[1]
        tests = sorted(set(self.cells.values()), key=lambda t: (len(t), t))
        return f"{tests[0]} and {len(tests) - 1} more" if len(tests) > 1 else tests[0] if tests else ""


@functools.cache
def cells() -> dict[str, dict[Cell, str]]:
    """The executed cells of each name, with the test that runs each."""
    found: dict[str, dict[Cell, str]] = {}
    for cell, test in executed_cells().items():
        found.setdefault(cell.name, {})[cell] = test
    return found


@functools.cache
def _refused() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for refusal in refusals():
        found.setdefault(refusal.name, {})[refusal.dtype] = refusal.reason()
    return found


def evidence(name: str) -> Evidence:
    """All that is known of a name: "add", "Tile.reshape", "load(order)", "operator +", "statement while"."""
    refused = dict(_refused().get(name, {}))
    if name in ARRAYS:
        refused |= NO_ARRAYS
    return Evidence(name, cells().get(name, {}), refused, ELSEWHERE.get(name))


def is_shown(name: str) -> bool:
    """Whether a cell runs a name, or a test that is named with the reason why no cell can."""
    return name in cells() or name in ELSEWHERE


def option_names(name: str) -> list[str]:
    """The options of a function of kernels, as names of cells: its keyword-only parameters that have a default."""
    if name in HOST_OPTIONS:
        return [f"{name}({option})" for option in HOST_OPTIONS[name]]
    rule = RULES.get(name)
    if rule is None:
        return []
    return [f"{name}({option})" for option in rule.signature.keyword_only if option in rule.signature.defaults]


def missing(name: str) -> list[str]:
    """What a name lacks: cells at all, a dtype neither run nor refused, a rank without a reason."""
    found = evidence(name)
    if not found.cells:
        return [] if found.elsewhere or found.refused else ["no executed cell and no reason"]
    if name not in TILES and name not in ARRAYS:
        return []
    lacking = [f"{dtype} neither run nor refused" for dtype in KINDS
               if dtype not in found.dtypes and dtype not in found.refused]
    if "(" not in name:
        excused = RANKS.get(name, ((), ""))[0]
        lacking += [f"rank {rank} neither run nor excused" for rank in range(5)
                    if rank not in found.ranks and rank not in excused]
    return lacking


# -- The ops that a name becomes ---------------------------------------------------------------------------------------


@functools.cache
def opcodes(name: str) -> tuple[str, ...]:
    """The ops of a kernel that does this one thing, without those that only load its operand."""
    run = evidence(name).dtypes
    kind = next((KINDS[n] for n in ("float32", "int32", *run) if n in run and n in KINDS), None)
    if kind is None or (name not in TILES and name not in ARRAYS):
        return ()
    in_tiles = name in TILES
    function = with_tile(TILES[name], kind) if in_tiles else with_array(ARRAYS[name], kind)
    around = {"constant", "return", "yield"} | ({"load"} if in_tiles else set())
    return tuple(dict.fromkeys(op.opcode for op in function.walk() if op.opcode not in around))


def unhandled(codes: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The ops that the interpreter has no handler of, and those that the backend neither lowers nor rewrites."""
    ops = [OPS[code] for code in codes]
    lacking = set(LOWERINGS.missing(ops)) & set(REWRITTEN.missing(ops))
    return HANDLERS.missing(ops), sorted(lacking)


def refused_names() -> list[str]:
    """The names of which some dtype or pair is refused."""
    return list(dict.fromkeys([*_refused(), *ARRAYS]))
