"""`tw.settings`: how all kernels of the process compute, and whether launches wait."""

from __future__ import annotations

import functools
import os
from types import TracebackType
from typing import Self

from tilewright.options import check_math
from tilewright.tracebacks import public

_OFF = ("", "0", "off", "false")


class _State:
    math = "default"
    synchronize = False


_STATE = _State()


class Settings:
    """What `settings` gives: `math` and `synchronize` as they are now, and as a context what puts back those before."""

    __slots__ = ("math", "synchronize", "_before")

    def __init__(self, before: tuple[str, bool]) -> None:
        self.math = _STATE.math
        self.synchronize = _STATE.synchronize
        self._before = before

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _set(*self._before)

    def __repr__(self) -> str:
        return f"Settings(math={self.math!r}, synchronize={self.synchronize})"


@public
def settings(*, math: str | None = None, synchronize: bool | None = None) -> Settings:
    """Settings of the process, of all its threads. What is not named stays as it is.

    Options: `math`, the mode of the kernels that are made from now on without one of their own: `"exact"`, `"default"`
        or `"fast"` (`docs/runtime.md`); at first what TILEWRIGHT_MATH says. `synchronize=True` lets
        each launch on a GPU wait until its kernel has ended, so that a fault is raised by the launch whose it is; at
        first what TILEWRIGHT_SYNC says.
    Result: the settings as they are now; as a context (`with`), its end puts back those before.
    Errors: ValueError for another mode; TypeError for a `synchronize` that is neither True nor False.

    Example:
        with ct.settings(math="exact", synchronize=True):
            print(ct.settings())  # Settings(math='exact', synchronize=True)

            @ct.tile_kernel
            def axpy(x, y, a: float):
                i = ct.bid(0)
                ct.store(y, i, a * ct.load(x, i, 4) + ct.load(y, i, 4))

        x, y = np.full(4, 1 / 3, np.float32), np.ones(4, np.float32)
        axpy[1](x, y, 0.1)
        print(y[0] == np.float32(0.1) * np.float32(1 / 3) + np.float32(1))  # True
        print(ct.settings())  # Settings(math='default', synchronize=False)
        ct.settings(math="quick")  # ValueError
        ct.settings(synchronize="yes")  # TypeError
    """
    math_mode()
    before = _STATE.math, _STATE.synchronize
    if math is not None:
        check_math("settings", math)
    if synchronize is not None and not isinstance(synchronize, bool):
        raise TypeError(f"settings: synchronize must be True or False, not {synchronize!r}")
    _set(before[0] if math is None else math, before[1] if synchronize is None else synchronize)
    return Settings(before)


def _set(math: str, synchronize: bool) -> None:
    _STATE.math = math
    if synchronize != _STATE.synchronize:
        from tilewright.launching.waiting import wait_for_launches

        wait_for_launches(synchronize)
        _STATE.synchronize = synchronize


def math_mode() -> str:
    """The mode of kernels that are made now without one. ValueError for what TILEWRIGHT_MATH cannot say."""
    _read_environment()
    return _STATE.math


@functools.cache
def _read_environment() -> None:
    mode = os.environ.get("TILEWRIGHT_MATH", "").lower()
    if mode:
        check_math("TILEWRIGHT_MATH", mode)
        _STATE.math = mode


@functools.cache
def synchronise_if_wanted() -> None:
    """Let launches wait where the environment asks for it. Decided once, when the first kernel is made."""
    if os.environ.get("TILEWRIGHT_SYNC", "").lower() not in _OFF:
        settings(synchronize=True)
