"""Passes are imported by the pipeline alone: what two of them need, or one and the lowering, is a module below both."""

from __future__ import annotations

import ast
from pathlib import Path

from tilewright.backend_ptx.pipeline import PIPELINE

ROOT = Path(__file__).parents[2]
PACKAGE = "tilewright.backend_ptx"
PASSES = {step.__module__ for step in PIPELINE}

# Imports that are still there: (the importing file, the pass). To be emptied.
KNOWN = {
    ("lower/function.py", "choose_warps"),
    ("lower/function.py", "plan_shared_memory"),
    ("lower/function.py", "rematerialize_from_shared"),
    ("passes/barriers/insert_barriers.py", "choose_warps"),
    ("passes/clusters/share_gathered.py", "choose_warps"),
    ("passes/layouts/assign_layouts.py", "choose_warps"),
    ("passes/matmul/ping_pong_warpgroups.py", "choose_warps"),
    ("passes/pipelining/pipeline_loops.py", "choose_warps"),
    ("passes/pipelining/ring_loads.py", "choose_warps"),
    ("passes/pipelining/ring_rewrite.py", "choose_warps"),
    ("passes/pressure/prefetch_loads.py", "choose_warps"),
    ("passes/pressure/prefetch_loads.py", "rematerialize_from_shared"),
    ("passes/pressure/rematerialize_from_shared.py", "choose_warps"),
    ("passes/reductions/make_folds_warp_local.py", "choose_warps"),
    ("passes/sharing/elect_thread_for_atomics.py", "choose_warps"),
    ("passes/stores/split_stores.py", "choose_warps"),
}


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
    assert all(module.startswith(f"{PACKAGE}.passes.") for module in PASSES)


def test_no_pass_is_imported_but_by_the_pipeline() -> None:
    found = edges()
    new = [f"backend_ptx/{where} imports the pass {name}: move what both need below" for where, name in found - KNOWN]
    assert not new, "\n".join(sorted(new))
    assert not KNOWN - found, f"take these off the list, they are gone: {sorted(KNOWN - found)}"


def test_the_lowering_knows_no_passes() -> None:
    """It may need what they decided, which stands in the function and its ops."""
    allowed = {name for where, name in KNOWN if where.startswith("lower/")}
    for path in sorted((ROOT / "backend_ptx" / "lower").glob("*.py")):
        of_passes = {m for m in imports(path) if m.startswith(f"{PACKAGE}.passes.")}
        left = {m for m in of_passes if not allowed & set(m.split("."))}
        assert not left, f"lower/{path.name} imports {sorted(left)}: move what both need below them"
