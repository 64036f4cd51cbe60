"""Hints call the package by the name under which the kernel's file imported it."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright.frontend.translate import in_words_of


@tw.tile_kernel
def clipped(x):
    tw.store(x, 0, tw.clip(tw.load(x, 0, 8), 0.0, 1.0))  # type: ignore[attr-defined]


def test_a_file_that_says_tw() -> None:
    with pytest.raises(tw.TileError) as error:
        clipped[(1,)](np.zeros(8, np.float32))
    assert any("tw.clamp" in hint for hint in error.value.hints) and "ct." not in str(error.value)


@pytest.mark.parametrize("namespace, name", [({"tw": tw}, "tw"), ({"ct": tw}, "ct"), ({"tw": tw, "ct": tw}, "ct"),
                                             ({"tilewright": tw}, "tilewright"), ({}, "ct")])
def test_names(namespace: dict[str, object], name: str) -> None:
    assert in_words_of(["write ct.clamp(x, low, high)", "leave exact.x and ct.5 alone"], namespace) == [
        f"write {name}.clamp(x, low, high)", "leave exact.x and ct.5 alone"]
