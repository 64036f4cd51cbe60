"""tools/sanitize.py reads what compute-sanitizer prints, and counts it for the case that ran."""

from __future__ import annotations

import pytest
from sanitize import PLAIN, Outcome, find_sanitizer, read, table, together

OUTPUT = """\
========= COMPUTE-SANITIZER
@total 3
@case copy-float32
@ok
@case transpose
========= Invalid __global__ write of size 4 bytes
=========     at transpose+0x160
=========     by thread (3,0,0) in block (1,0,0)
=========     Access at 0x7f5a is out of bounds
=========
@wrong AssertionError: transpose: the GPU differs
@case softmax
========= Error: Race reported between Write access at softmax+0x100
=========     and Read access at softmax+0x180 [16 hazards]
=========
@ok
========= ERROR SUMMARY: 2 errors
"""


def test_reports_belong_to_the_case_that_ran() -> None:
    out = read("memcheck", OUTPUT.splitlines(keepends=True))
    assert (out.ran, out.total) == (3, 3)
    assert [case for case, _ in out.reports] == ["transpose", "softmax"]
    assert out.reports[0][1] == "Invalid __global__ write of size 4 bytes (in transpose)"
    assert out.reports[1][1].startswith("Error: Race reported between Write access at softmax+0x100")
    assert out.wrong == ["transpose: AssertionError: transpose: the GPU differs"]
    assert not out.clean


def test_a_clean_run() -> None:
    text = "========= COMPUTE-SANITIZER\n@total 1\n@case copy\n@ok\n========= RACECHECK SUMMARY: 0 hazards displayed\n"
    assert read("racecheck", text.splitlines()).clean
    assert not read("racecheck", text.replace("@ok\n", "").splitlines()).clean, "a case that did not end"
    assert not read("racecheck", []).clean, "no output at all"


def test_processes_share_the_cases_of_a_tool() -> None:
    parts = [read("memcheck", OUTPUT.splitlines()), read("memcheck", ["@total 2", "@case copy", "@ok", "lost"])]
    whole = together(parts)
    assert (whole.ran, whole.total, len(whole.reports), len(whole.wrong)) == (4, 5, 2, 1)
    assert whole.tail[-1] == "lost" and not whole.clean
    assert not together([parts[0], read("memcheck", [])]).total, "a process without output"


def test_the_table() -> None:
    lines = list(table([Outcome(PLAIN, ran=3, total=3), read("memcheck", OUTPUT.splitlines())]))
    assert lines[1].split() == ["no", "tool", "3", "of", "3", "0", "0", "0"]
    assert lines[2].split() == ["memcheck", "3", "of", "3", "2", "1", "0"]
    assert "memcheck: transpose: Invalid __global__ write of size 4 bytes (in transpose)" in lines


def test_cases_that_did_not_run_show_the_end_of_the_output() -> None:
    lines = list(table([read("synccheck", ["@total 2", "@case copy", "Segmentation fault"])]))
    assert "    Segmentation fault" in lines


def test_a_missing_sanitizer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPUTE_SANITIZER", "")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sanitize.Path.exists", lambda self: False)
    with pytest.raises(SystemExit, match="CUDA toolkit"):
        find_sanitizer()
