"""`tilewright cache`: the list of what the disk cache holds, and its removal."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import fake_cuda

import tilewright as ct
from tilewright.cli.cachelog import describe, entries
from tilewright.cli.main import main
from tilewright.tileir.cache import open_cache


def make(name: str) -> Any:
    def body(x: Any) -> None:
        ct.store(x, ct.bid(0), ct.load(x, ct.bid(0), 16) * 3)

    body.__name__ = name
    return ct.tile_kernel(body)


@pytest.fixture
def filled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A cache with two kernels, `later` used last."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    fake_cuda.install(monkeypatch)
    x = ct.to_device(np.ones(16, np.float32))
    for age, name in ((100, "earlier"), (0, "later")):
        before = set(tmp_path.rglob("*.twk"))
        make(name)[(1,)](x)
        [made] = set(tmp_path.rglob("*.twk")) - before
        os.utime(made, (made.stat().st_mtime - age,) * 2)
    yield tmp_path
    fake_cuda.uninstall()


def test_log(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    times = {p: p.stat().st_mtime for p in filled.rglob("*.twk")}
    assert main(["cache", "log"]) == 0
    lines = capsys.readouterr().out.splitlines()
    head, first, second = (line.split("\t") for line in lines[:3])
    assert head[:3] == ["last used", "kernel", "target"]
    assert first[1:4] == ["later", "sm_90a", "32"] and second[1] == "earlier" and first[-1] != second[-1]
    assert lines[3].startswith(f"{filled}: 2 kernels")
    assert times == {p: p.stat().st_mtime for p in filled.rglob("*.twk")}, "a look is no use"


def test_describe(filled: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE_SIZE", str(1 << 20))
    assert describe() == f"{filled}: 2 kernels, 0.0 of 1 MiB"
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", "off")
    assert describe() == "switched off"
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(OSError):
        describe()


def test_log_of_a_damaged_entry(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    next(filled.rglob("*.twk")).write_bytes(b"rubbish")
    assert main(["cache", "log"]) == 0
    assert "(damaged; it will be made anew)" in capsys.readouterr().out


def test_log_on_a_terminal(filled: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr("pydoc.pager", print)
    assert main(["cache", "log"]) == 0
    out = capsys.readouterr().out
    assert "last used" in out and "later" in out and "│" in out


def test_clear(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert list(filled.rglob("*.twn"))
    assert main(["cache", "clear"]) == 0
    assert not list(filled.rglob("*.twn")), "notes go too"
    assert capsys.readouterr().out == f"2 kernels removed from {filled}\n"
    assert not list(filled.rglob("*.twk"))
    cache = open_cache()
    assert cache is not None and not list(entries(cache))
    assert main(["cache", "log"]) == 0
    assert "0 kernels" in capsys.readouterr().out


@pytest.mark.parametrize("action", ["log", "clear"])
def test_switched_off(action: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", "off")
    assert main(["cache", action]) == 0
    assert "switched off" in capsys.readouterr().out
