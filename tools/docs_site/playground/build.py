"""Builds the playground into build/site/playground: its page, Pyodide from npm, and the wheels that it unpacks.

Pure wheels come from PyPI, Tilewright from this checkout. NumPy and ml_dtypes must be built for Pyodide: they come from
the folder `--wheels` (Pyodide's own release has them), else from PyPI where there are such wheels. Without them the
page still compiles and explains kernels, and says that it cannot run them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SITE = ROOT / "build" / "site" / "playground"
NPM = ROOT / "build" / "npm"
PYODIDE = "314.0.7"
PURE = ("lark==1.3.1",)
BINARY = ("numpy", "ml-dtypes")
FILES = ("index.html", "style.css", "page.js", "worker.mjs", "pyodide.mjs")
RUNTIME = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
DOWNLOAD = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:")


def run(*words: str | Path) -> None:
    subprocess.run([str(word) for word in words], check=True)


def fetch_pyodide() -> dict[str, Any]:
    """Pyodide's files into the site; what its lock file says."""
    run("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", NPM, f"pyodide@{PYODIDE}")
    folder = NPM / "node_modules" / "pyodide"
    (SITE / "pyodide").mkdir(parents=True)
    for name in RUNTIME:
        shutil.copy(folder / name, SITE / "pyodide")
    lock: dict[str, Any] = json.loads((folder / "pyodide-lock.json").read_text())
    return lock


def fetch_pure(wheels: Path) -> None:
    run(*DOWNLOAD, "-d", wheels, *PURE)


def fetch_binary(lock: dict[str, Any], given: Path | None, wheels: Path) -> tuple[list[str], list[str]]:
    """The wheels of BINARY that are to be had, and the names of the others."""
    found, missing = [], []
    for name in BINARY:
        record = lock["packages"][name]
        wheel = (from_folder(record, given) if given else None) or from_pypi(name, record["version"], lock["info"])
        if wheel is None:
            missing.append(name)
            continue
        shutil.copy(wheel, wheels)
        found.append(wheel.name)
    return found, missing


def from_folder(record: dict[str, Any], folder: Path) -> Path | None:
    """The wheel that the lock file names; SystemExit if it is another one than that."""
    wheel = folder / record["file_name"]
    if not wheel.is_file():
        return None
    if hashlib.sha256(wheel.read_bytes()).hexdigest() != record["sha256"]:
        raise SystemExit(f"{wheel} is not the file that Pyodide {PYODIDE} names")
    return wheel


def from_pypi(name: str, version: str, info: dict[str, str]) -> Path | None:
    """The same version from PyPI, if its project builds wheels for Pyodide's platform."""
    folder = NPM / "wheels"
    for_pyodide = ["--python-version", info["python"], "--platform", f"pyemscripten_{info['abi_version']}_wasm32"]
    words = [*DOWNLOAD, *for_pyodide, "-d", str(folder), f"{name}=={version}"]
    if subprocess.run(words, capture_output=True).returncode:
        return None
    return next(folder.glob(f"{name.replace('-', '_')}-{version}-*.whl"), None)


def pack_sources(wheel: Path) -> None:
    """Tilewright as an archive in the shape of the installed package, and the session."""
    tree = ROOT / "build" / "typing"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(tree.joinpath("tilewright").rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                archive.write(path, path.relative_to(tree))
        archive.write(HERE / "session.py", "session.py")


def build(given: Path | None) -> dict[str, Any]:
    """The whole folder; what manifest.json says of it."""
    shutil.rmtree(SITE, ignore_errors=True)
    lock = fetch_pyodide()
    wheels = SITE / "wheels"
    wheels.mkdir()
    fetch_pure(wheels)
    pack_sources(wheels / "tilewright.zip")
    pure = sorted(path.name for path in wheels.iterdir())
    binary, missing = fetch_binary(lock, given, wheels)
    for name in FILES:
        shutil.copy(HERE / name, SITE)
    shutil.copytree(HERE / "samples", SITE / "samples", ignore=shutil.ignore_patterns("__pycache__"))
    manifest = {"pyodide": PYODIDE, "pure": pure, "binary": binary, "missing": missing}
    (SITE / "manifest.json").write_text(json.dumps(manifest, indent=1))
    return manifest


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the playground.")
    parser.add_argument("--wheels", type=Path, help="a folder with NumPy and ml_dtypes of Pyodide's release")
    missing = build(parser.parse_args().wheels)["missing"]
    run("node", HERE / "check.mjs", SITE)
    if missing:
        print(f"There is no {' and no '.join(missing)} for Pyodide here: the page says that programs cannot run.")
    print("serve it: python -m http.server -d build/site, then open /playground/index.html")


if __name__ == "__main__":
    main()
