"""mypy --strict and pyright find nothing to complain about in a user's file with kernels; a wrong file they refuse."""

from __future__ import annotations

import importlib
import pkgutil
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tilewright.language as language

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
USER = HERE / "user_file.py"
TREE = ROOT / "build" / "typing"


@pytest.fixture(scope="module", autouse=True)
def tree() -> None:
    if not TREE.exists():
        subprocess.run([sys.executable, "tools/link_tree.py"], cwd=ROOT, check=True)


def test_user_file_runs() -> None:
    runpy.run_path(str(USER))["main"]()


def mypy(path: Path, cache: Path) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("mypy")
    # Not the project's settings: a user has none of them. The package is read as an installed one is: silently.
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--follow-imports=silent", f"--cache-dir={cache}",
         str(path)], cwd=HERE, env={"MYPYPATH": str(TREE), "PATH": ""}, text=True, capture_output=True)


def test_mypy(tmp_path: Path) -> None:
    result = mypy(USER, tmp_path / "cache")
    assert result.returncode == 0, result.stdout + result.stderr


def test_mypy_sees_a_wrong_call(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import tilewright as ct\nct.load(1, 2, 3, no_such_option=4)\n")
    assert "no_such_option" in mypy(wrong, tmp_path / "cache").stdout


def test_pyright(tmp_path: Path) -> None:
    program = shutil.which("pyright", path=str(Path(sys.executable).parent)) or shutil.which("pyright")
    if program is None:
        pytest.skip("pyright is not installed")
    config = tmp_path / "pyrightconfig.json"
    config.write_text(f'{{"include": ["{USER}"], "extraPaths": ["{TREE}"]}}')
    result = subprocess.run([program, "--pythonpath", sys.executable, "-p", str(config)], text=True,
                            capture_output=True)
    if "0 errors" not in result.stdout and "error:" not in result.stdout:
        pytest.skip(f"pyright does not start here: {result.stderr[-200:]}")
    assert result.returncode == 0, result.stdout


def test_every_stub_is_exported() -> None:
    own = {"Array", "Scalar", "Tile", "TiledView"}
    for module in pkgutil.iter_modules(language.__path__):
        loaded = importlib.import_module(f"tilewright.language.{module.name}")
        own |= set(getattr(loaded, "__all__", ()))
    assert set(language.__all__) == own, "add the name to __all__ of tilewright.language"
