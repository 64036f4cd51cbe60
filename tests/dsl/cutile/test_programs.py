"""Programs written for cuTile, in several styles of host code, run unchanged without a GPU."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
PRINTS = {
    "cupy_add": "add True", "cupy_softmax": "softmax True ()", "torch_matmul": "matmul 32 True",
    "torch_in_place": "in place True True", "torch_tuned": "gelu True None None",
    "torch_precision": "precision True True", "triton_times": "double True",
    "host_hints": "triple True 4 True", "no_arrays": "block 0 of 2\nblock 1 of 2",
    "host_numpy": "cumulative [1, 3, 6, 10, 15, 21, 28, 36] cuda.bindings.driver [] __main__ host_numpy.py",
}
REAL_TORCH = importlib.util.find_spec("torch") is not None


def run(*words: str, stubs: bool = True, **variables: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(([str(HERE / "stubs")] if stubs else []) + [os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "tilewright.cutile", "--cpu", *words]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path} | variables)


def test_every_program_is_run() -> None:
    assert {path.stem for path in PROGRAMS.glob("*.py")} == PRINTS.keys() | {"beside", "wrong"}


@pytest.mark.parametrize("program", PRINTS)
def test_program(program: str) -> None:
    done = run(str(PROGRAMS / f"{program}.py"))
    assert (done.stdout.strip(), done.returncode) == (PRINTS[program], 0), done.stderr
    said = done.stderr.splitlines()
    assert "tilewright.cutile: import cuda.tile -> tilewright" in said
    assert all(line.startswith("tilewright.cutile: ") for line in said) and len(said) == len(set(said))


@pytest.mark.skipif(not REAL_TORCH, reason="torch is not installed")
@pytest.mark.parametrize("program", [name for name in PRINTS if name.startswith(("torch", "no_"))])
def test_program_with_torch_itself(program: str) -> None:
    done = run(str(PROGRAMS / f"{program}.py"), stubs=False)
    assert (done.stdout.strip(), done.returncode) == (PRINTS[program], 0), done.stderr


def test_arguments_and_modules() -> None:
    assert run(str(PROGRAMS / "torch_matmul.py"), "--size", "20").stdout == "matmul 20 True\n"
    done = run("-m", "beside", PYTHONPATH=os.pathsep.join([str(PROGRAMS), os.environ.get("PYTHONPATH", "")]))
    assert done.returncode == 0, done.stderr
    done = run("no_such_file.py")
    assert done.returncode == 2 and "there is no file no_such_file.py" in done.stderr


@pytest.mark.parametrize("words", [(str(PROGRAMS / "wrong.py"),), ("-m", "wrong")])
def test_a_mistake_shows_the_program_alone(words: tuple[str, ...]) -> None:
    done = run(*words, PYTHONPATH=os.pathsep.join([str(PROGRAMS), os.environ.get("PYTHONPATH", "")]))
    assert done.returncode == 1 and "the name no_such_name is not defined" in done.stderr
    files = [line.split('"')[1] for line in done.stderr.splitlines() if line.startswith("  File ")]
    assert "runpy" not in done.stderr and files[:2] == [str(PROGRAMS / "wrong.py")] * 2 and len(files) <= 3
