"""`import tilewright` loads none of the heavy packages."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import tilewright

HEAVY = ("numpy", "llvmlite", "cuda", "lark", "torch", "cupy", "rich", "ml_dtypes")
PROGRAM = f"""
import sys
import tilewright
print(*(m for m in {HEAVY} if m in sys.modules))
"""


def test_import_loads_no_heavy_package() -> None:
    """The time of an import depends on the machine; what it loads does not."""
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert not run.stdout.split(), f"heavy modules were loaded: {run.stdout}"


# What a program needs that defines kernels, and nothing that only some programs use.
LATER = ("tune", "comparing", "combining", "deriving", "compilation", "profiling", "estimating", "frontend",
         "tileir.ops", "tileir.core", "inspecting.trace", "launching.host")


def test_import_loads_no_module_that_only_some_programs_use() -> None:
    program = "import sys, tilewright; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = run.stdout.split()
    for name in (f"tilewright.{part}" for part in LATER):
        assert not [module for module in loaded if f"{module}.".startswith(f"{name}.")], name


def test_names_that_are_loaded_later_are_where_type_checkers_see_them() -> None:
    tree = ast.parse(Path(tilewright.__file__).read_text())
    [block] = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    seen = {alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen == tilewright._LATER


def test_a_name_that_is_missing_is_an_attribute_error() -> None:
    assert not hasattr(tilewright, "no_such_name")


def test_every_public_name_exists() -> None:
    assert len(set(tilewright.__all__)) == len(tilewright.__all__)
    for name in tilewright.__all__:
        assert hasattr(tilewright, name), name
    assert tilewright.kernel is tilewright.tile_kernel
