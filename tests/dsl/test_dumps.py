"""What the environment shows of a compilation: TILEWRIGHT_LOGS and crash dumps (the dump folder: test_inspection)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw

SPECS = tw.spec("f32[64]"), tw.spec("f32[64]")


def make_add() -> Any:
    @tw.tile_kernel
    def add(x, y):
        tw.store(y, (tw.bid(0),), tw.load(x, (tw.bid(0),), (16,)) + 1)

    return add


def test_logs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    make_add().ptx(*SPECS)
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("TILEWRIGHT_LOGS", "ptx, TILEIR")
    make_add().ptx(*SPECS)
    err = capsys.readouterr().err
    assert err.index("---- Tile IR of kernel add\nfunc @add(") < err.index("---- PTX of kernel add")
    assert ".visible .entry add(" in err and "LLVM IR of" not in err
    monkeypatch.setenv("TILEWRIGHT_LOGS", "LLVM")
    make_add().ptx(*SPECS)
    assert "define ptx_kernel void @add(" in capsys.readouterr().err


def test_logs_of_the_interpreter(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TILEWRIGHT_LOGS", "TILEIR,PTX")
    add = make_add()
    for _ in range(2):
        add[(1,)](np.ones(16, np.float32), np.ones(16, np.float32))
    assert capsys.readouterr().err.count("----\n") == 1, "once per specialisation"


def test_unknown_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_LOGS", "TILEIR,CUBIN")
    with pytest.raises(RuntimeError, match="TILEWRIGHT_LOGS lists CUBIN.*TILEIR, LLVM, PTX"):
        make_add().ptx(*SPECS)


def test_crash_dump(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import tilewright.backend_ptx.lower as lower

    def broken(*args: Any, **named: Any) -> Any:
        raise KeyError("register")

    monkeypatch.setattr(lower, "emit_function", broken)
    monkeypatch.setenv("TILEWRIGHT_TEMP_DIR", str(tmp_path))
    with pytest.raises(tw.TileInternalError, match="KeyError"):
        make_add().ptx(*SPECS)
    assert not list(tmp_path.iterdir()), "not asked for"
    monkeypatch.setenv("TILEWRIGHT_ENABLE_CRASH_DUMP", "1")
    with pytest.raises(tw.TileInternalError, match="every stage of this compilation was written to") as caught:
        make_add().ptx(*SPECS)
    [folder] = tmp_path.iterdir()
    assert str(folder) in str(caught.value)
    names = sorted(path.name for path in folder.iterdir())
    assert names[0] == "00-frontend.tile" and names[-1] == "error.txt" and len(names) > 5
    assert "KeyError" in (folder / "error.txt").read_text()


def test_no_crash_dump_for_a_users_mistake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    @tw.tile_kernel
    def wrong(x):
        tw.load(x, (0, 0), (4,))

    monkeypatch.setenv("TILEWRIGHT_TEMP_DIR", str(tmp_path))
    monkeypatch.setenv("TILEWRIGHT_ENABLE_CRASH_DUMP", "1")
    with pytest.raises(tw.TileTypeError):
        wrong.ptx(tw.spec("f32[64]"))
    assert not list(tmp_path.iterdir())
