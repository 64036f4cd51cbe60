"""The driver refuses a plan at run time: the ladder, and the disk cache that knows where it ended."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.fake_cuda import FakeCuda, install, uninstall

import tilewright as tw
from tilewright.backend_ptx.runtime import build
from tilewright.cli.cachelog import entries
from tilewright.tileir.cache import open_cache
from tilewright.tileir.diagnostics import TileCompilerExecutionError

FATAL = ("ptxas fatal : (C7602) Insufficient registers (80) to compile instruction at line 1 in function double. "
         "Try to compile with register target of 94 or higher.")


def assembler(text: str) -> tuple[int, str, str]:
    """Takes one CTA per SM, spills for two, refuses more."""
    found = re.search(r"\.minnctapersm (\d+)", text)
    wanted = int(found[1]) if found else 0
    if wanted > 2:
        return 218, FATAL, ""
    return 0, "", "8 bytes spill stores, 8 bytes spill loads" if wanted == 2 else "0 bytes spill stores"


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCuda]:
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    yield install(monkeypatch, assembler=assembler)
    uninstall()


def make(**hints: int) -> tw.tile_kernel:
    @tw.tile_kernel(**hints)
    def double(x):
        i = tw.bid(0)
        tw.store(x, i, tw.load(x, i, 128) * 2.0)

    return double


def resident(cuda: FakeCuda) -> list[int]:
    return [int(n) for text in cuda.linked for n in re.findall(r"\.minnctapersm (\d+)", text)]


def test_down_the_ladder_once_for_all_processes(cuda: FakeCuda) -> None:
    x = tw.to_device(np.ones(1024, np.float32))
    make(occupancy=8)[(8,)](x)
    tried = resident(cuda)
    assert tried == [8, 8, 7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1], "each with the plan's warps, then with twice as many"
    spilled = [".minnctapersm 2" in text for text in cuda.unloaded]
    assert spilled == [True, True], "the code that spills was loaded, and is no more"
    cache = open_cache()
    assert cache is not None
    [stored] = entries(cache)
    assert stored.entry is not None and stored.entry.meta["limits"] == {"max_occupancy": 1}
    assert "occupancy=8 lowered to 1" in str(stored.entry.meta["rungs"])
    cuda.linked.clear()
    make(occupancy=8)[(8,)](x)
    assert resident(cuda) == [1], "the next process starts at the accepted rung"


def test_the_driver_has_not_seen_the_code_before(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its own cache gives machine code without a word of what was spilled."""
    seen: set[str] = set()

    def remembers(text: str) -> tuple[int, str, str]:
        status, error, said = assembler(text)
        known = text in seen
        seen.add(text)
        return status, error, "" if known else said

    ends = []
    for number in range(2):
        monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / f"cache{number}"))
        cuda = install(monkeypatch, assembler=remembers)
        make(occupancy=8)[(8,)](tw.to_device(np.ones(1024, np.float32)))
        ends.append(resident(cuda)[-1])
        uninstall()
    assert ends == [1, 1]


def test_the_driver_is_asked_once_about_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rungs that change nothing of a kernel do not let it assemble the same for minutes."""
    texts: list[str] = []

    def load(text: str, name: str, level: int) -> tuple[None, str]:
        texts.append(text)
        return None, "1000 bytes spill stores, 0 bytes spill loads"

    monkeypatch.setattr(build, "load_ptx", load)
    judge, plans = build.DriverJudge(3), [types.SimpleNamespace(compiled=types.SimpleNamespace(ptx=text, name="k"))
                                          for text in ("one", "one", "another", "one")]
    found: list[Any] = [judge(plan) for plan in plans]  # type: ignore[arg-type]
    assert len(texts) == 2 and {refused.amount for refused in found} == {1000}


def test_a_dump_starts_at_the_accepted_rung_too(
    cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:
    x = tw.to_device(np.ones(1024, np.float32))
    make(occupancy=8)[(8,)](x)
    cuda.linked.clear()
    monkeypatch.setenv("TILEWRIGHT_DUMP_DIR", str(tmp_path / "dumps"))
    make(occupancy=8)[(8,)](x)
    assert resident(cuda) == [1]
    assert len(list((tmp_path / "dumps").rglob("*kernel.ptx"))) == 1


def test_spills_are_accepted_without_optimisation(cuda: FakeCuda) -> None:
    x = tw.to_device(np.ones(1024, np.float32))
    make(occupancy=2, opt_level=0)[(8,)](x)
    assert resident(cuda) == [2]


def test_another_refusal_is_a_defect(cuda: FakeCuda) -> None:
    cuda.assembler = lambda text: (218, "ptxas fatal : syntax error", "")
    with pytest.raises(TileCompilerExecutionError, match="syntax error"):
        make()[(8,)](tw.to_device(np.ones(1024, np.float32)))
    assert len(cuda.linked) == 1
