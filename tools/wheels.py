"""Install the wheel, with all that it depends on, into a clean environment of every Python found, and run the README's
kernel there.

Prints sizes: of the wheel, at most 5 MiB, and of the environment with its dependencies and without pip, at most 330
MiB. The exit code is 0 if every Python that is here installed it, ran it, and neither was larger.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from test_all import NEWEST, declared, interpreter

ROOT = Path(__file__).resolve().parent.parent
MIB = 1 << 20
WHEEL_BOUND, ALL_BOUND = 5.0, 330.0  # MiB
# The program and its options, for a Python of the new environment.
QUICK_START = (("quick_start.py",), ("-m", "tilewright", "ptx", "quick_start.py:matmul", "--args",
                                     "f16[300,200], f16[200,250], f16[300,250], 128, 128, 64", "--target", "sm_90a"))


def main() -> int:
    outcomes: dict[int, str] = {}
    wanted = declared()
    with tempfile.TemporaryDirectory(prefix="tilewright-") as name:
        folder = Path(name)
        (folder / "quick_start.py").write_text(quick_start((ROOT / "README.md").read_text()))
        wheel = build(folder)
        size = wheel.stat().st_size / MIB
        print(f"{wheel.name}: {size:.1f} MiB (at most {WHEEL_BOUND:.0f})", flush=True)
        for minor in range(min(wanted), NEWEST):
            if (program := interpreter(minor)) is not None:
                outcomes[minor] = tried(program, wheel, folder / f"3.{minor}")
            elif minor in wanted:
                outcomes[minor] = "not run: there is no such Python on this machine"
    print("\n".join(f"Python 3.{minor}: {outcome}" for minor, outcome in outcomes.items()))
    return int(size > WHEEL_BOUND or any(outcome.startswith("FAILED") for outcome in outcomes.values()))


def quick_start(readme: str) -> str:
    """The README's first program in Python."""
    return readme.split("```python\n", 1)[1].split("```", 1)[0]


def build(folder: Path) -> Path:
    sources = folder / "sources"  # a build leaves folders behind
    left_out = shutil.ignore_patterns("build", "dist", ".*", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT, sources, ignore=left_out)
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, sources, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


def tried(program: str, wheel: Path, home: Path) -> str:
    """How an installation into a new environment went."""
    try:
        run(program, "-m", "venv", home, cwd=wheel.parent)
        python = home / "bin" / "python"
        run(python, "-m", "pip", "install", "--quiet", "--no-compile", wheel, cwd=wheel.parent)
        run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "setuptools", "pip", cwd=wheel.parent)
        for words in QUICK_START:
            run(python, "-B", *words, cwd=wheel.parent)
    except subprocess.CalledProcessError as error:
        return f"FAILED: {error}\n{error.stdout}"
    size = sum(path.stat().st_size for path in home.rglob("*") if path.is_file() and not path.is_symlink()) / MIB
    told = f"{size:.0f} MiB with dependencies (at most {ALL_BOUND:.0f})"
    return f"passed, {told}" if size <= ALL_BOUND else f"FAILED: {told}"


def run(*command: str | Path, cwd: Path) -> None:
    """Without the paths of the checkout, which would answer for what the wheel lacks."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(list(map(str, command)), cwd=cwd, env=clean, check=True, text=True, stdout=subprocess.PIPE,
                   stderr=subprocess.STDOUT)


if __name__ == "__main__":
    sys.exit(main())
