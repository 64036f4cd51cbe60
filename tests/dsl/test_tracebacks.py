"""A mistake shows the user's frames and our message: in a script, and in pytest; never our frames between them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tilewright as tw

KERNEL = '''
import numpy as np, tilewright as tw

def helper(t):
    return t + "a"

@tw.tile_kernel
def kernel(x, n: tw.Constant[int]):
    t = tw.load(x, tw.bid(0), (n,))
    tw.store(x, tw.bid(0), helper(t))

x = np.zeros(16, np.float32)
'''
MISTAKES = {
    "kernel[(1,)](x, 16)": "expected a tile or a number",
    "kernel[(1.5,)](x, 16)": "grid axis 0 must be an int",
    "kernel[(1,)](x, 15)": "hint: take 16",
    "tw.launch(None, (1,), kernel, (x, 16))": "expected a tile or a number",
    "kernel.ptx(tw.spec('f32[16]'), 16, target='sm_90a')": "expected a tile or a number",
    "kernel.replace_hints(color=3)": "has no option",
}


def run(folder: Path, *command: str, **environment: str) -> str:
    done = subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, **environment}, check=False)
    return done.stdout + done.stderr


@pytest.mark.parametrize("call", MISTAKES)
def test_in_a_script(call: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(KERNEL + call + "\n")
    printed = run(tmp_path, "script.py")
    assert MISTAKES[call] in printed
    assert len(printed.splitlines()) <= 15, printed
    ours = [line for line in printed.splitlines() if line.startswith("  File") and "script.py" not in line]
    assert len(ours) <= 1, printed


def test_all_frames_on_request(tmp_path: Path) -> None:
    for call, frame in (("kernel[(1,)](x, 16)", "frontend"), ("kernel[(1.5,)]", "grid.py")):
        (tmp_path / "script.py").write_text(KERNEL + call + "\n")
        assert frame in run(tmp_path, "script.py", TILEWRIGHT_TRACEBACK="full")


def test_in_pytest(tmp_path: Path) -> None:
    lines = KERNEL + "def test():\n    kernel[(1,)](x, 16)\n"
    (tmp_path / "test_mistake.py").write_text(lines)
    printed = run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mistake.py")
    shown = printed[printed.index("___ test ___") : printed.index("short test summary")].splitlines()
    shown = [line for line in shown if line.strip()]
    assert "expected a tile or a number" in printed and len(shown) <= 15, printed
    assert "bound.py" not in printed


def test_defects_of_ours_keep_their_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody raised on purpose shows where it happened."""
    from tilewright.launching.launcher import Launcher
    from tilewright.tracebacks import is_refusal

    def broken(*args: object) -> None:
        empty: dict[str, int] = {}
        empty["missing"]

    def odd(*args: object) -> int:
        return len(3)  # type: ignore[arg-type]

    for wrong, kind in ((broken, KeyError), (odd, TypeError)):
        monkeypatch.setattr(Launcher, "launch", wrong)
        kernel = tw.tile_kernel(lambda x: None)
        with pytest.raises(kind) as caught:
            kernel[(1,)](3)
        assert wrong.__name__ in [entry.name for entry in caught.traceback] and not is_refusal(caught.value)


def test_the_public_names_are_what_dir_shows() -> None:
    assert {"tile_kernel", "load", "TileCompilerTimeoutError", "UnsupportedCallError"} <= set(dir(tw))
    assert not {"kernel_module", "launching", "inspecting", "frontend", "tileir"} & set(dir(tw))
    assert not issubclass(tw.TileCompilerTimeoutError, tw.TileInternalError)
