"""`tilewright check` and the plugin for pytest: scripts, kernels and tests whose launches run checked."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tilewright.cli.main import main

KERNELS = '''
import sys
import numpy as np
import tilewright as tw

@tw.tile_kernel
def far(x, out):
    tw.store(out, tw.bid(0), tw.gather(x, tw.arange(4, dtype=tw.int32) + 16 * tw.bid(0), check_bounds=False))

@tw.tile_kernel(grid="cdiv(N, 4)")
def fine(x: tw.Array["N"]):
    i = tw.bid(0)
    tw.store(x, i, tw.load(x, i, 4) + 1.0)

@tw.tile_kernel
def waits(flags):
    while tw.load(flags, 0, (), memory_order=tw.MemoryOrder.ACQUIRE, memory_scope=tw.MemoryScope.DEVICE) == 0:
        pass

def arrays():
    return np.ones(16, np.float32), np.zeros(16, np.float32)

if __name__ == "__main__":
    print("words", sys.argv[1:])
    for _ in range(3):
        far[(2,)](*arrays())
    fine.interpret((4,), arrays()[0])
    if sys.argv[1:] == ["fails"]:
        far[(2,)](np.ones(16, np.float32))
    sys.exit(len(sys.argv[1:]))
'''
LINE = KERNELS.split("\n").index("def far(x, out):") + 2
TESTS = '''
import kernels
import numpy as np
import pytest

@pytest.fixture
def prepared():
    kernels.far[(2,)](*kernels.arrays())

def test_wrong():
    kernels.far[(2,)](*kernels.arrays())

def test_right():
    kernels.fine(kernels.arrays()[0])

def test_in_a_fixture(prepared):
    pass

def test_fails_by_itself():
    kernels.far[(2,)](*kernels.arrays())
    raise ValueError("by itself")

def test_that_checks():
    assert len(kernels.far.interpret((2,), *kernels.arrays(), check=True, on_report="collect")) == 1
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "kernels.py").write_text(KERNELS)
    return tmp_path


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    status = main(["check", *words, "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_a_script_runs_to_its_end_and_one_place_is_one_report(folder: Path, capsys: Any) -> None:
    status, answer = ask(capsys, "kernels.py")
    assert (status, answer["launches"], answer["stopped"]) == (1, 4, None)
    [report] = answer["reports"]
    assert (report["kernel"], report["kind"], report["count"]) == ("far", "bounds", 12)
    assert report["places"][0]["calls"][0]["line"] == LINE and report["command"] == "tilewright check kernels.py"
    assert main(["check", "kernels.py"]) == 1
    printed = capsys.readouterr()
    assert printed.err == "words []\n" and "^^^^" in printed.out
    assert printed.out.endswith("\nkernels.py: 4 launches checked: 1 error, 0 warnings, 0 notes\n")


def test_other_checks_see_nothing(folder: Path, capsys: Any) -> None:
    status, answer = ask(capsys, "kernels.py", "--checks", "races,progress")
    assert (status, answer["reports"], answer["launches"]) == (0, [], 4)


@pytest.mark.parametrize("words, kind", [("one", "SystemExit"), ("fails", "TypeError")])
def test_a_script_that_stops_early(words: str, kind: str, folder: Path, capsys: Any) -> None:
    status, answer = ask(capsys, "kernels.py", "--checks=races", f"--args={words}")
    assert status == 1 and answer["stopped"]["type"] == kind
    assert answer["stopped"]["place"]["line"] == KERNELS.split("\n").index(
        "    sys.exit(len(sys.argv[1:]))" if words == "one" else "        far[(2,)](np.ones(16, np.float32))") + 1
    assert main(["check", "kernels.py", "--args", words]) == 1
    told = capsys.readouterr().err
    assert 'kernels.py stopped early:\nTraceback (most recent call last):\n  File "kernels.py"' in told


def test_one_kernel_on_generated_arrays(folder: Path, capsys: Any) -> None:
    words = ["kernels.py:far", "--grid=2", "--args=f32[16]:ones, f32[16]:zeros"]
    status, answer = ask(capsys, *words)
    assert status == 1 and answer["launches"] == 1 and answer["reports"][0]["index"] == [16]
    assert main(["check", "kernels.py:fine", "--args=f32[16]"]) == 0
    assert capsys.readouterr().out == "kernels.py:fine: 1 launch checked: 0 errors, 0 warnings, 0 notes\n"


def test_a_launch_that_is_stopped_has_its_reports(folder: Path, capsys: Any) -> None:
    status, answer = ask(capsys, "kernels.py:waits", "--grid=1", "--args=i32[1]:zeros")
    assert (status, answer["reports"][0]["kind"], answer["stopped"]["type"]) == (1, "progress", "Stopped")
    assert answer["stopped"]["place"]["line"] == KERNELS.split("\n").index("def waits(flags):") + 2
    assert main(["check", "kernels.py:far", "--grid=1", "--args=f32[4]"]) == 1, "an error that no report explains"
    assert "takes 2 arguments" in capsys.readouterr().err


@pytest.mark.parametrize("words, message", [
    (["kernels.py:far"], "needs --grid"), (["kernels.py", "--checks=odd"], "--checks: 'odd' cannot be checked"),
    (["kernels.py", "--checks=0"], "nothing to check"), (["kernels.py", "--grid=3"], "--grid goes with a kernel"),
    (["none.py"], "no file none.py"), (["kernels.py:nobody", "--grid=1"], "no kernel 'nobody'"),
])
def test_wrong_words(words: list[str], message: str, folder: Path, capsys: Any) -> None:
    assert main(["check", *words]) == 2
    assert message in capsys.readouterr().err


def test_the_plugin_fails_the_tests_whose_launches_are_wrong(folder: Path) -> None:
    (folder / "test_kernels.py").write_text(TESTS)
    ran = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p",
                          "tilewright.pytest_plugin", "--tilewright-check", "test_kernels.py"],
                         capture_output=True, text=True)
    out = ran.stdout
    assert "2 failed, 2 passed, 1 error" in out, out + ran.stderr
    assert "FAILED test_kernels.py::test_wrong - Failed: far: error (bounds): gather" in out
    assert "ERROR test_kernels.py::test_in_a_fixture - Failed: far: error (bounds)" in out
    assert "FAILED test_kernels.py::test_fails_by_itself - ValueError: by itself" in out
    # Only the part before the summary is counted: pytest clips the summary's lines, but not where CI is set.
    failures, _, _ = out.partition("short test summary info")
    assert failures.count(f"line {LINE}") == 3 and "Captured tilewright call" in failures
    assert "python -m pytest --tilewright-check 'test_kernels.py::test_wrong'" in out


def test_the_plugin_loads_nothing_heavy() -> None:
    config = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    [(name, module)] = config["project"]["entry-points"]["pytest11"].items()
    assert name == module == "tilewright.pytest_plugin"
    heavy = {"numpy", "llvmlite", "cuda", "tilewright.interp"}
    code = f"import sys, {module}; print(sorted({heavy} & sys.modules.keys()))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.stdout == "[]\n", ran.stdout + ran.stderr
