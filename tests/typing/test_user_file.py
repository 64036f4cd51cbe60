"""mypy --strict and pyright find nothing to complain about in a user's file with kernels; a wrong file they refuse."""

from __future__ import annotations

import importlib
import pkgutil
import runpy
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import link_tree
import pytest
from support.language_server import Server

import tilewright.language as language

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
USER = HERE / "user_file.py"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The Python of an environment as `make` sets it up for editors: the package is known by a .pth file alone."""
    folder = tmp_path_factory.mktemp("environment")
    venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
    program = str(folder / "bin" / "python")
    if not link_tree.ENVIRONMENT.exists():  # other tests may import from it
        link_tree.link_folders()
    [site_packages] = folder.rglob("site-packages")
    link_tree.name_in_environment(site_packages)
    (site_packages / "others.pth").write_text(f"{sysconfig.get_path('purelib')}\n")  # numpy, for the user's file
    return program


def test_the_environment_runs_what_type_checkers_see(python: str) -> None:
    program = "import tilewright.backend_ptx.targets as t, tilewright.cli.main; print(t.__file__)"
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True, env={"PATH": ""})
    assert Path(done.stdout.strip()) == link_tree.ENVIRONMENT / "tilewright" / "backend_ptx" / "targets.py"


def test_link_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TREE", "ENVIRONMENT"):
        monkeypatch.setattr(link_tree, name, tmp_path / name)
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["link_tree.py", "--environment"])
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    with pytest.raises(SystemExit, match="is for the Python of a virtual environment"):
        link_tree.main()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    link_tree.main()
    assert (tmp_path / link_tree.PTH).read_text() == f"{tmp_path / 'ENVIRONMENT'}\n"
    for file in ("__init__.py", "py.typed", "backend_ptx/targets.py", "cli/main.py", "tileir/grammar.lark"):
        for tree in (link_tree.TREE, link_tree.ENVIRONMENT):
            assert (tree / "tilewright" / file).is_file(), file


def test_a_stale_tree_says_what_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_tree, "TREE", tmp_path / "tree")
    link_tree.link_files()
    assert link_tree.complaint() == ""
    added, removed = (link_tree.TREE / "tilewright" / name for name in ("gone.py", "options.py"))
    added.symlink_to(removed)
    assert link_tree.complaint().endswith("still has tilewright/gone.py: run `python tools/link_tree.py`")
    added.unlink()
    removed.unlink()
    assert link_tree.complaint().endswith("lacks tilewright/options.py: run `python tools/link_tree.py`")


def test_user_file_runs() -> None:
    runpy.run_path(str(USER))["main"]()


def mypy(path: Path, python: str, cache: Path) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("mypy")
    # Not the project's settings: a user has none of them.
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--python-executable", python,
         f"--cache-dir={cache}", str(path)], cwd=HERE, env={"PATH": ""}, text=True, capture_output=True)


def test_mypy(python: str, tmp_path: Path) -> None:
    result = mypy(USER, python, tmp_path / "cache")
    assert result.returncode == 0, result.stdout + result.stderr
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import tilewright as ct\nct.load(1, 2, 3, no_such_option=4)\nct.cdiv(3, 2).astype\n")
    said = mypy(wrong, python, tmp_path / "cache").stdout
    assert "no_such_option" in said and '"int" has no attribute "astype"' in said


def pyright_program(name: str) -> str:
    program = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if program is None:
        pytest.skip(f"{name} is not installed")
    return program


def test_pyright(python: str, tmp_path: Path) -> None:
    config = tmp_path / "pyrightconfig.json"
    config.write_text(f'{{"include": ["{USER}"]}}')
    result = subprocess.run([pyright_program("pyright"), "--pythonpath", python, "-p", str(config)], text=True,
                            capture_output=True)
    if "0 errors" not in result.stdout and "error:" not in result.stdout:
        pytest.skip(f"pyright does not start here: {result.stderr[-200:]}")
    assert result.returncode == 0, result.stdout


def test_an_editor_shows_docstrings_and_completions(python: str, tmp_path: Path) -> None:
    """What pylance and other editors ask of pyright's language server."""
    text = "import tilewright as tw\n@tw.tile_kernel\ndef k(x: tw.Array) -> None:\n    t = tw.load(x, 0, 4)\n" \
           "    t.reshape((2, 2))\n    tw.store(x, 0, t)\n    tw.\n"
    with Server([pyright_program("pyright-langserver"), "--stdio"], tmp_path, python) as server:
        server.open("kernel.py", text)
        hovers = {line: server.hover("kernel.py", line, column) for line, column in ((3, 11), (4, 7), (1, 5))}
        names = server.completions("kernel.py", 6, 7)
    assert "padding_mode" in hovers[3] and "-> Tile" in hovers[3] and "Example" in hovers[3]
    assert "The same elements under another shape" in hovers[4]
    assert "kernel" in hovers[1] and "num_ctas" in hovers[1]
    assert set(language.__all__) <= names and {"tile_kernel", "launch", "float16"} <= names


def test_every_stub_is_exported() -> None:
    own = {"Array", "Scalar", "Tile", "TiledView"}
    for module in pkgutil.iter_modules(language.__path__):
        loaded = importlib.import_module(f"tilewright.language.{module.name}")
        own |= set(getattr(loaded, "__all__", ()))
    assert set(language.__all__) == own, "add the name to __all__ of tilewright.language"
