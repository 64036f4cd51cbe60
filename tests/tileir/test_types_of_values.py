"""A value's type is what its op infers; only its layout may change afterwards, through `Value.retype` and `lay_out`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("tileir", "frontend", "interp", "backend_ptx", "dsl")

# Folders whose values still get their types by assignment. To be emptied.
BARE_TYPES = set[str]()


def type_assignments(path: Path) -> list[int]:
    """The lines that assign to the type of something other than `self`, or than `op`, whose attribute may be a type."""
    targets: list[ast.expr] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Assign):
            targets += node.targets
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            targets.append(node.target)
    return [t.lineno for t in targets if isinstance(t, ast.Attribute) and t.attr == "type"
            and not (isinstance(t.value, ast.Name) and t.value.id in ("self", "op"))]


@pytest.mark.parametrize("folder", FOLDERS)
def test_types_of_values_are_not_assigned(folder: str) -> None:
    for path in sorted((ROOT / folder).rglob("*.py")):
        lines = type_assignments(path)
        assert not lines, f"{path.relative_to(ROOT)}:{lines}: use Value.retype or Value.lay_out"


def test_an_assigned_type_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("value.type = other\nself.type = other\nop.type = other\nop.result.type = other\n")
    assert type_assignments(tmp_path / "bad.py") == [1, 4]
