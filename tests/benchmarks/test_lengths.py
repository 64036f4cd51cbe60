"""The benchmark of kernels of several lengths runs: each kernel compiles, and its row has both figures."""

from __future__ import annotations

import pytest
from benchmarks import lengths


def test_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lengths, "LENGTHS", (20,))
    monkeypatch.setattr(lengths, "PART", 10)
    rows = list(lengths.rows())
    assert [row.split("  ")[0] for row in rows] == list(lengths.KERNELS)
    assert all("ms each, LLVM" in row for row in rows)
