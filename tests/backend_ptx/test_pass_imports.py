"""Passes are imported by the pipeline alone: what two of them need, or one and the lowering, is a module below both."""

from __future__ import annotations

import ast
from pathlib import Path

from tilewright.backend_ptx.pipeline import PIPELINE

ROOT = Path(__file__).parents[2]
PACKAGE = "tilewright.backend_ptx"
PASSES = {step.__module__ for step in PIPELINE}


def imports(path: Path) -> list[str]:
    """The modules that a file imports from, wherever in it the import stands."""
    out: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            out += [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            out += [alias.name for alias in node.names]
    return out


def edges() -> set[tuple[str, str]]:
    found = set()
    folder = ROOT / "backend_ptx"
    for path in sorted(folder.rglob("*.py")):
        where = path.relative_to(folder).as_posix()
        if where != "pipeline.py":
            found |= {(where, module.rpartition(".")[2]) for module in imports(path) if module in PASSES}
    return found


def test_every_pass_is_a_function_in_a_file_of_its_name() -> None:
    assert all(step.__module__.rpartition(".")[2] == step.__name__ for step in PIPELINE)
    folders = (f"{PACKAGE}.passes.", "tilewright.tileir.passes.")
    assert all(module.startswith(folders) for module in PASSES)


def test_no_pass_is_imported_but_by_the_pipeline() -> None:
    found = [f"backend_ptx/{where} imports the pass {name}: move what both need below" for where, name in edges()]
    assert not found, "\n".join(sorted(found))


def test_the_lowering_knows_no_passes() -> None:
    """It may need what they decided, which stands in the function and its ops."""
    for path in sorted((ROOT / "backend_ptx" / "lower").glob("*.py")):
        found = sorted(m for m in imports(path) if m.startswith(f"{PACKAGE}.passes."))
        assert not found, f"lower/{path.name} imports {found}: move what both need below them"
