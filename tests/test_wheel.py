"""The wheel: built without network from the sources, installed into an environment of its own, run and type-checked."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOLDERS = sorted(set(CONFIG["tool"]["setuptools"]["package-dir"].values()))
BUILDS = find_spec("setuptools") is not None and int(version("setuptools").split(".")[0]) >= 77

PROGRAM = '''
import numpy as np
import tilewright as tw

@tw.kernel
def double(x):
    tw.store(x, 0, tw.load(x, 0, 8) * 2)

x = np.arange(8, dtype=np.float32)
double[(1,)](x)
print(tw.__file__, x.sum(), double.ptx(x, target="sm_80").count(".entry"))
'''


def run(*command: str | Path, cwd: Path) -> str:
    # Neither the checkout nor the editable installation may answer for what the wheel lacks.
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, env=clean)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(not BUILDS, reason="needs setuptools 77 or later (the extra `test` names it)")
def test_wheel(tmp_path: Path) -> None:
    sources = tmp_path / "sources"
    for name in FOLDERS:
        shutil.copytree(ROOT / name, sources / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(ROOT / name, sources)
    pip = (sys.executable, "-m", "pip")
    run(*pip, "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", tmp_path, sources, cwd=tmp_path)
    (wheel,) = tmp_path.glob("*.whl")

    home = tmp_path / "home"
    run(sys.executable, "-m", "venv", "--without-pip", home, cwd=tmp_path)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)}))
    run(*pip, "install", "--no-deps", "--no-index", "--target", site, wheel, cwd=tmp_path)
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))  # its own .pth files are not read there
    python = home / "bin" / "python"

    (tmp_path / "program.py").write_text(PROGRAM)
    assert run(python, "program.py", cwd=tmp_path).split() == [str(site / "tilewright" / "__init__.py"), "56.0", "1"]
    assert run(python, "-m", "tilewright.cli.main", "--version", cwd=tmp_path).startswith("tilewright ")
    (tmp_path / "kernel.py").write_text(PROGRAM)
    run(python, "-m", "tilewright", "explore", "kernel.py", "--args", "f32[8]", "-o", "page.html", cwd=tmp_path)
    assert "</html>" in (tmp_path / "page.html").read_text()
    assert {path.name for path in (site / "tilewright" / "compilation" / "c").iterdir()} == {
        "tilewright.c", "tilewright.h"}
    if find_spec("mypy") is not None:
        (tmp_path / "typed.py").write_text("import tilewright as tw\nreveal_type(tw.gpu_available())\n")
        said = run(sys.executable, "-m", "mypy", "--python-executable", python, "--cache-dir", tmp_path / "cache",
                   "typed.py", cwd=tmp_path)
        assert "Success" in said and 'Revealed type is "bool"' in said, said  # without py.typed: Any
