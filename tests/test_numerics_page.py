"""docs/numerics.md: its table has every operation in every dtype that its declaration admits, with the bounds that the
language page and the tests have, and names tests that are there; its program prints what it says."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from catalogue.cells.unary import FUNCTIONS

import tilewright.tileir.ops  # fills OPS  # noqa: F401
from tilewright.backend_ptx.targets import TARGETS
from tilewright.tileir import dtypes as dt
from tilewright.tileir.core import OPS, Op, Value
from tilewright.tileir.diagnostics import TileError
from tilewright.tileir.types import TileType

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "numerics.md").read_text()
GROUPS = {
    "bool": ["i1"], "integers": [d.ir for d in dt.BY_IR.values() if d.is_int], "floats": ["f16", "bf16", "f32", "f64"],
    "small floats": ["tf32", "e4m3", "e5m2", "e8m0", "e5m3", "e2m1"], "all": list(dt.BY_IR),
}
Row = tuple[list[str], set[str], str, str]


def dtypes_of(words: str) -> set[str]:
    """The dtypes of a cell such as "bool integers, small floats"."""
    out: set[str] = set()
    for group, names in sorted(GROUPS.items(), key=lambda item: -len(item[0])):
        if re.search(rf"\b{group}\b", words):
            words = re.sub(rf"\b{group}\b", "", words)
            out.update(names)
    rest = words.replace(",", " ").split()
    assert set(rest) <= dt.BY_IR.keys(), rest
    return out | set(rest)


def rows(page: str) -> list[Row]:
    lines = page.split("<!-- operations -->")[1].split("<!-- end of operations -->")[0].strip().splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [(re.findall(r"`(\w+)`", ops), dtypes_of(dtypes), kind, tests) for ops, dtypes, kind, tests in cells]


ROWS = rows(PAGE)


def tile_ops() -> dict[str, type[Op]]:
    return {name: op for name, op in OPS.items() if op.__module__.startswith("tilewright.tileir.ops.")}


def operands(op: type[Op], dtype: dt.DType) -> dict[str, Any] | None:
    """Operands of a dtype, for ops of one, two or three tiles of it and for reductions."""
    tile = Value(TileType(dtype, (4,)))
    made: dict[str, Any] = {name: tile for name in op.fields if name in ("src", "lhs", "rhs", "a", "b", "c")}
    plain = [name for name, field in op.fields.items() if name not in made and name not in
             ("rounding", "ftz", "cond", "axes", "axis", "propagate_nan")]
    if not made or plain:
        return None
    extra: dict[str, Any] = {"cond": Value(TileType(dt.bool_, (4,))), "axes": (0,), "axis": 0}
    return made | {name: value for name, value in extra.items() if name in op.fields}


def admitted(op: type[Op]) -> set[str] | None:
    """The dtypes for which an op's declaration has a type; None for ops whose operands are of several kinds."""
    if operands(op, dt.float32) is None:
        return None
    out = set()
    for dtype in dt.BY_IR.values():
        try:
            op(**operands(op, dtype) or {}).infer()
        except TileError:
            continue
        out.add(dtype.ir)
    return out


def missing(table: list[Row]) -> list[str]:
    """What the table lacks, in words."""
    listed: defaultdict[str, list[str]] = defaultdict(list)
    for names, dtypes, _, _ in table:
        for name in names:
            listed[name] += dtypes
    others = listed.keys() - tile_ops().keys()
    out = [f"docs/numerics.md has a row for {name}, which is no operation" for name in others]
    for name, op in tile_ops().items():
        if name not in listed:
            out.append(f"docs/numerics.md has no row for {name}")
            continue
        twice = {d for d in listed[name] if listed[name].count(d) > 1}
        wanted = admitted(op)
        if twice:
            out.append(f"docs/numerics.md has two rows for {name} of {', '.join(sorted(twice))}")
        if wanted is not None and wanted != set(listed[name]):
            found = sorted(listed[name])
            out.append(f"docs/numerics.md: {name} is declared for {sorted(wanted)}, its rows say {found}")
    return out


def test_every_operation_has_its_row() -> None:
    assert missing(ROWS) == []


def test_what_is_forgotten_is_named() -> None:
    assert missing([row for row in ROWS if "cdiv" not in row[0]])[0] == "docs/numerics.md has no row for cdiv"
    without = [row for row in ROWS if not ("add" in row[0] and "i8" in row[1])]
    assert any(line.startswith("docs/numerics.md: add is declared for") for line in missing(without))
    again: Row = (["fma"], {*GROUPS["floats"]}, "", "")
    assert "docs/numerics.md has two rows for fma of bf16, f16, f32, f64" in missing([*ROWS, again])


def test_checked_declarations_are_many() -> None:
    """The comparison with declarations would hold of nothing, were all ops of several kinds."""
    assert sum(admitted(op) is not None for op in tile_ops().values()) > 60


def ulps(name: str, dtype: str) -> int | None:
    for names, dtypes, kind, _ in ROWS:
        found = re.match(r"(\d+) ulp", kind)
        if name in names and dtype in dtypes and found is not None:
            return int(found[1])
    return None


def test_bounds_are_those_of_the_tests_and_of_the_language_page() -> None:
    for name, (_, _, count) in FUNCTIONS.items():
        assert ulps(name, "f32") == (count or None), name
    numbers = (ROOT / "docs" / "language.md").read_text().split("## Numbers")[1].split("\n## ")[0].replace("\n", " ")
    found = re.search(r"- `([\w ]+)` of float32 are within 2 units in the last place .*?, `([\w ]+)` within\s+4; "
                      r"of float64 all\s+within 4", numbers)
    assert found is not None
    for names, count in zip(found.groups(), (2, 4), strict=True):
        for name in names.split():
            assert (ulps(name, "f32"), ulps(name, "f64"), ulps(name, "bf16")) == (count, 4, 1), name


def test_the_tests_are_there() -> None:
    for path in re.findall(r"`(tests/[\w/.]+)`", PAGE):
        assert (ROOT / path).exists(), path
    for _, _, _, tests in ROWS:
        assert tests and set(re.sub(r"`tests/[\w/.]+`", "", tests).replace(",", " ").split()) <= {
            "cells", "library", "catalogue"}, tests


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_has_its_numbers(name: str) -> None:
    found = [line for line in PAGE.splitlines() if line.startswith("|") and f"`{name}`" in line.split("|")[1]]
    assert len(found) == 1, f"docs/numerics.md has {len(found)} rows that say how the tensor cores of {name} add"
    [row], cores = found, TARGETS[name].tensor_cores
    assert str(cores.fraction) in row.split("|")[3]
    assert ("confirmed" in row) == cores.confirmed
