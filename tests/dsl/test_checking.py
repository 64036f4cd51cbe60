"""Asking for a checked launch, and what becomes of its reports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support import fake_cuda
from support.fake_cuda import FakeCuda

import tilewright as tw
from tilewright.launching import launcher
from tilewright.launching.checking import from_words


@tw.tile_kernel
def far(x, out):
    tw.store(out, tw.bid(0), tw.gather(x, tw.arange(4, dtype=tw.int32) + 16 * tw.bid(0), check_bounds=False))


LINE = far.__wrapped__.__code__.co_firstlineno + 2


def arrays():
    return np.ones(16, np.float32), np.zeros(16, np.float32)


def test_an_error_has_reports_and_a_place():
    with pytest.raises(tw.CheckError) as caught:
        far.interpret((4,), *arrays(), check=True)
    error = caught.value
    [report] = error.reports
    assert isinstance(error, tw.TileError) and error.loc.line == LINE
    assert (report.kind, report.array, report.index, report.block) == ("bounds", "x", (16,), (1, 0, 0))
    assert report.count == 12
    assert error.message.startswith("far: error (bounds): gather accesses x[16]")
    assert "^^^^" in str(error) and "in block (1, 0, 0) at x[16], where " in str(error)


def test_reports_become_json():
    [report] = far.interpret((2,), *arrays(), check=True, on_report="collect")
    data = json.loads(json.dumps(report.as_json()))
    assert data["kind"] == "bounds" and data["index"] == [16] and data["count"] == 4
    assert data["places"][0]["calls"][-1]["line"] == LINE


def test_launch_takes_the_same_options():
    with pytest.raises(tw.CheckError):
        tw.launch(None, (2,), far, arrays(), check=True)
    found = tw.launch(None, (2,), far, arrays(), check=["bounds"], on_report="collect")
    assert found is not None and len(found) == 1
    assert tw.launch(None, (2,), far, arrays(), check=["races"]) == []
    assert tw.launch(None, (2,), far, arrays()) is None


def test_errors_may_be_warnings():
    with pytest.warns(tw.CheckWarning, match="far: error .bounds.: gather accesses") as caught:
        found = far.interpret((2,), *arrays(), check=True, on_report="warn")
    assert found is not None and len(found) == 1
    assert caught[0].filename == __file__


def test_nothing_found_is_an_empty_list():
    assert far.interpret((1,), *arrays(), check="all") == []
    assert far.interpret((0,), *arrays(), check=True) == []
    assert far.interpret((1,), *arrays()) is None


@pytest.mark.parametrize("check, on_report, words", [
    ("bound", "raise", "'bound' cannot be checked; there are bounds, races"),
    (True, "print", 'on_report must be "raise", "warn" or "collect"'),
    ([], "raise", "nothing cannot be checked"),
])
def test_wrong_options_are_refused(check, on_report, words):
    with pytest.raises(ValueError, match=words):
        far.interpret((1,), *arrays(), check=check, on_report=on_report)


SCRIPT = f"""
import sys
sys.path[:0] = [{str(Path(__file__).parent)!r}, {str(Path(__file__).parents[1])!r}]
from test_checking import far, arrays
far[(2,)](*arrays())
"""


@pytest.mark.parametrize("value, fails", [("1", True), ("bounds", True), ("races", False), ("0", False)])
def test_the_environment_checks_every_launch(tmp_path: Path, value: str, fails: bool) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True,
                         env={**os.environ, "TILEWRIGHT_CHECK": value})
    assert (ran.returncode != 0) == fails, ran.stderr
    if fails:
        assert "CheckError: far: error (bounds)" in ran.stderr and f"TILEWRIGHT_CHECK={value} python" in ran.stderr


def test_unchecked_launches_see_nothing_of_it():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        far[(4,)](*arrays())


@tw.tile_kernel
def halve(x, out):
    tw.store(out, tw.bid(0), tw.load(x, tw.bid(0), 4) * 0.5)


def test_declared_arrays_must_be_written_before_they_are_read():
    out = tw.uninitialized(np.empty(16, np.float32))
    other = np.zeros(16, np.float32)
    [report] = halve.interpret((4,), out, other, check=True, on_report="collect")
    assert (report.kind, report.array, report.index) == ("undefined", "out", (0,))
    assert "memory that nothing has written" in report.reason
    [report] = halve.interpret((3,), other, out, check=True, on_report="collect")
    assert (report.kind, report.array, report.index) == ("unwritten", "out", (12,))
    assert report.values == {"unwritten": 4, "elements": 16}


def test_a_declared_array_is_forgotten_once_it_is_written():
    out, other = tw.uninitialized(np.empty(16, np.float32)), np.zeros(16, np.float32)
    assert halve.interpret((4,), other, out, check=True, on_report="collect") == []
    assert halve.interpret((4,), out, other, check=True, on_report="collect") == []
    half = tw.uninitialized(np.empty((2, 8), np.float32))
    assert halve.interpret((2,), other, half[1], check=True, on_report="collect") == []
    with pytest.raises(TypeError, match="NumPy array, not list"):
        tw.uninitialized([1.0])


def test_a_grid_that_was_rounded_down_is_a_warning():
    x, out = np.zeros(30, np.float32), np.zeros(30, np.float32)
    with pytest.warns(tw.CheckWarning, match="the last 2 of 30 elements of out along axis 0 are never") as caught:
        [report] = halve.interpret((7,), x, out, check=True) or []
    assert (report.severity, report.index, report.hint) == ("warning", (28,), "use cdiv(30, 4), which rounds up")
    assert len(caught) == 1
    assert halve.interpret((8,), x, out, check=True) == []
    assert halve.interpret((6,), x, out, check=True) == [], "a part of an array, on purpose"
    assert [r.severity for r in halve.interpret((7,), x, tw.uninitialized(out), check=True, on_report="collect") or []
            ] == ["error"]


def test_atomic_operations_need_memory_that_holds_something():
    @tw.tile_kernel
    def add(out):
        tw.atomic_add(out, tw.bid(0), 1)

    @tw.tile_kernel
    def exchange(out):
        tw.atomic_xchg(out, tw.bid(0), 1)

    def array():
        return tw.uninitialized(np.empty(3, np.int32))

    [report] = add.interpret((3,), array(), check=True, on_report="collect")
    assert report.message == "atomic_add updates out[0], which is undefined" and report.count == 3
    assert exchange.interpret((3,), array(), check=True, on_report="collect") == []
    [report] = exchange.interpret((2,), array(), check=True, on_report="collect")
    assert report.kind == "unwritten" and report.index == (2,)


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCuda]:
    yield fake_cuda.install(monkeypatch)
    fake_cuda.uninstall()


def test_arrays_on_a_gpu_are_checked_in_copies_and_it_is_said_once(
    cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(launcher, "CHECKED", from_words("1"))
    launcher._say_once.cache_clear()
    x, out = map(tw.to_device, arrays())
    far[(1,)](x, out)
    assert out.to_host().tolist() == [1.0] * 4 + [0.0] * 12, "what the kernel has written was copied back"
    halve[(4,)](x, out)
    assert (out.to_host() == 0.5).all() and not cuda.launches
    with pytest.raises(tw.CheckError) as caught:
        far[(2,)](x, out)
    assert caught.value.reports[0].array == "x" and caught.value.reports[0].block == (1, 0, 0)
    assert out.to_host().tolist() == [1.0] * 4 + [0.0] * 4 + [0.5] * 8, "of a wrong launch, too"
    assert not cuda.launches
    words = "launches are checked: kernels run in the interpreter, on copies of the GPU's arrays"
    assert capsys.readouterr().err == f"tilewright: {words}\n"


def test_a_clean_run_says_once_that_it_was_checked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(launcher, "CHECKED", from_words("1"))
    launcher._say_once.cache_clear()
    for _ in range(2):
        halve[(4,)](*arrays())
    assert capsys.readouterr().err == "tilewright: launches are checked: kernels run in the interpreter\n"


def test_a_check_of_one_launch_needs_no_notice(cuda: FakeCuda, capsys: pytest.CaptureFixture[str]) -> None:
    x, out = map(tw.to_device, arrays())
    assert halve.interpret((4,), x, out, check=True) == []
    assert (out.to_host() == 0.5).all() and not cuda.launches and not capsys.readouterr().err
