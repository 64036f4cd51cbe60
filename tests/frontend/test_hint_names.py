"""Hints call the package by the name under which the kernel's file imported it."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright.frontend.source import _note_name
from tilewright.tileir.diagnostics import in_words_of


@tw.tile_kernel
def clipped(x):
    tw.store(x, 0, tw.clip(tw.load(x, 0, 8), 0.0, 1.0))  # type: ignore[attr-defined]


def test_a_file_that_says_tw() -> None:
    with pytest.raises(tw.TileError) as error:
        clipped[(1,)](np.zeros(8, np.float32))
    assert any("tw.clamp" in hint for hint in error.value.hints) and "ct." not in str(error.value)


@pytest.mark.parametrize("namespace, name", [({"tw": tw}, "tw"), ({"ct": tw}, "ct"), ({"tw": tw, "ct": tw}, "ct"),
                                             ({"tilewright": tw}, "tilewright"), ({}, "tw")])
def test_names(namespace: dict[str, object], name: str) -> None:
    file = f"a file that has {' and '.join(namespace) or 'nothing'}"
    _note_name(file, namespace)
    assert in_words_of(file, "write ct.clamp(x, low, high)") == f"write {name}.clamp(x, low, high)"
    assert in_words_of(file, "leave exact.x and ct.5 alone") == "leave exact.x and ct.5 alone"


@tw.tile_kernel
def past_the_end(x, out):
    tw.store(out, 0, tw.load(x, 0, 16))


@tw.tile_kernel
def before_the_start(x):
    tw.store(x, 0, tw.load(x, -1, 8))


def test_reports_of_checked_launches() -> None:
    [report] = past_the_end.interpret(1, np.zeros(8, np.float32), np.zeros(16, np.float32), check=True,
                                      on_report="collect")
    assert "padding_mode=tw.PaddingMode.ZERO" in report.hint and "ct." not in str(report)


def test_errors_after_the_frontend() -> None:
    with pytest.raises(tw.TileValueError, match=r"tw\.num_tiles") as error:
        before_the_start[1](np.zeros(8, np.float32))
    assert "ct." not in str(error.value)


def test_types_in_messages() -> None:
    @tw.tile_kernel
    def kernel(x):
        tw.store(x, 0, tw.zeros(8, 3))

    with pytest.raises(tw.TileTypeError, match=r"tw\.float32"):
        kernel[1](np.zeros(8, np.float32))
