"""tools/gpu_report.py: lanes, GPUs, time limits and the table. The steps here need no GPU."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from gpu_report import STEPS, Step, main, run_all, timetable

ROOT = Path(__file__).parents[1]


def step(name: str, lane: str, code: str, seconds: float = 60.0) -> Step:
    return Step(name, lane, seconds, f'-c "{code}"')


def test_lanes_have_a_gpu_of_their_own_where_there_are_two() -> None:
    steps = [step("a", "times", "0"), step("b", "checks", "0"), step("c", "host", "0"), step("d", "times", "0")]
    rows = [(device, [s.name for s in row]) for device, row in timetable(steps, ["0", "1"])]
    assert rows == [("0", ["a", "d"]), ("1", ["b"]), ("", ["c"])]
    rows = [(device, [s.name for s in row]) for device, row in timetable(steps, ["3"])]
    assert rows == [("3", ["a", "d", "b"]), ("", ["c"])], "checks would disturb times on one GPU"


def test_outcomes(tmp_path: Path) -> None:
    steps = [step("right", "times", "import os; print('on', os.environ['CUDA_VISIBLE_DEVICES'])"),
             step("wrong", "checks", "raise SystemExit(3)"),
             step("slow", "host", "import time; print('begun', flush=True); time.sleep(60)", seconds=1.5)]
    done = {o.step.name: o for o in run_all(steps, ["0", "1"], tmp_path, 2, 60.0)}
    assert (done["right"].status, done["right"].said) == (0, "on 0")
    assert done["wrong"].status == 3 and "failed (3)" in done["wrong"].text()
    assert (done["slow"].status, done["slow"].said) == (None, "begun") and "out of time" in done["slow"].text()
    assert (tmp_path / "slow.log").read_text() == "begun\n"


def test_what_a_step_leaves_behind_is_ended(tmp_path: Path) -> None:
    code = "import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']).pid)"
    [outcome] = run_all([step("leaves", "host", code)], [], tmp_path, 1, 60.0)
    until = time.monotonic() + 10.0
    while alive(int(outcome.said)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not alive(int(outcome.said))


def alive(process: int) -> bool:
    """Whether it runs: one that was ended may still wait for its parent to take note."""
    state = subprocess.run(["ps", "-o", "state=", "-p", str(process)], capture_output=True, text=True).stdout.strip()
    return state[:1] not in ("", "Z")


def test_no_step_begins_when_the_time_is_over(tmp_path: Path) -> None:
    [outcome] = run_all([step("late", "host", "print(1)")], [], tmp_path, 1, 0.0)
    assert outcome.status is None and outcome.said.startswith("not begun")


def test_steps_name_files_and_groups_that_exist() -> None:
    from benchmarks.__main__ import GROUPS

    for s in STEPS:
        words = s.words.split()
        files = [w for w in words if w.startswith(("tests/", "tools/"))]
        assert all((ROOT / f).exists() for f in files), s
        if words[:2] == ["-m", "benchmarks"]:
            assert set(words[2:]) <= set(GROUPS), s


def test_no_gpu_is_an_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(os.environ, "CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(SystemExit):
        main(["tests"])
    assert "there is no GPU here" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["tets"])
    assert "no step tets" in capsys.readouterr().err
