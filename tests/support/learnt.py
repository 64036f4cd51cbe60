"""Launches that machine code learns: which of them it makes."""

from __future__ import annotations

from typing import Any

from support.fake_cuda import FakeCuda


def by_code(cuda: FakeCuda, launch: Any, *args: Any) -> bool:
    """Whether machine code made a launch; it is made in any case, once."""
    before, launches = cuda.called, len(cuda.launches)
    launch(*args)
    assert len(cuda.launches) == launches + 1
    return cuda.called > before


def taught(launch: Any, *args: Any) -> None:
    for _ in range(4):
        launch(*args)
