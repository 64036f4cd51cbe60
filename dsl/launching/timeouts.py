"""A limit on the time of one compilation: `compiler_timeout`, and TILEWRIGHT_COMPILER_TIMEOUT_SEC for all of them."""

from __future__ import annotations

import contextvars
import ctypes
import math
import os
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from tilewright.tileir.diagnostics import TileCompilerTimeoutError
from tilewright.tracebacks import public

T = TypeVar("T")

_limit: contextvars.ContextVar[float | None] = contextvars.ContextVar("tilewright_compiler_timeout", default=None)
_watched: contextvars.ContextVar[bool] = contextvars.ContextVar("tilewright_compilation_watched", default=False)


class compiler_timeout:
    """A limit, in seconds, on every compilation that this thread starts inside the `with` block.

    A launch (or `kernel.ptx`, `export_kernel`, ...) whose compilation takes longer raises TileCompilerTimeoutError;
    nothing has run then, and no array has changed. Kernels that are compiled already are not concerned. Blocks nest,
    and the innermost counts. Outside of all blocks TILEWRIGHT_COMPILER_TIMEOUT_SEC holds, where it is set.

    Errors: TypeError for what is no number, ValueError for one that is not above zero.

    Example:
        @ct.tile_kernel
        def kernel(x):
            ct.store(x, ct.bid(0), 1.0)

        x = np.zeros(2, np.float32)
        with ct.compiler_timeout(20):
            kernel[(2,)](x)
        print(x)  # [1. 1.]
        ct.compiler_timeout(0)  # ValueError
    """

    @public
    def __init__(self, seconds: float) -> None:
        self.seconds = _checked(seconds, "compiler_timeout")
        self._before: list[contextvars.Token[float | None]] = []

    def __enter__(self) -> compiler_timeout:
        self._before.append(_limit.set(self.seconds))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
                 ) -> None:
        _limit.reset(self._before.pop())

    def __repr__(self) -> str:
        return f"compiler_timeout({self.seconds:g})"


def _checked(seconds: Any, what: str) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"{what} takes a number of seconds, not {type(seconds).__name__}")
    if not 0 < seconds < math.inf:
        raise ValueError(f"{what} takes a number of seconds above zero, not {seconds}")
    return float(seconds)


def current_limit() -> float | None:
    """The limit for a compilation that starts now, in seconds; None without one.

    Raises ValueError where the environment variable holds something else than a number above zero.
    """
    inner = _limit.get()
    given = os.environ.get("TILEWRIGHT_COMPILER_TIMEOUT_SEC")
    if inner is not None or not given:
        return inner
    try:
        return _checked(float(given), "TILEWRIGHT_COMPILER_TIMEOUT_SEC")
    except ValueError:
        raise ValueError(f"TILEWRIGHT_COMPILER_TIMEOUT_SEC must be a number of seconds above zero, not {given!r}"
                         ) from None


def limited(kernel: str, make: Callable[[], T]) -> T:
    """The result of `make`, which compiles `kernel`; TileCompilerTimeoutError where it takes longer than the limit.

    Under a limit the work is done by a second thread, because LLVM and the driver cannot be interrupted: the caller
    gets its error on time, and the thread stops as soon as it is back in Python.
    """
    seconds = current_limit()
    if seconds is None or _watched.get():
        return make()
    job = _Job(make)
    thread = threading.Thread(target=contextvars.copy_context().run, args=(job.run,), daemon=True,
                              name=f"compiling {kernel}")
    thread.start()
    try:
        thread.join(seconds)
    finally:
        late = thread.is_alive()
        if late:  # it took too long, or the user pressed Ctrl-C
            _stop(thread)
    if late:
        raise TileCompilerTimeoutError(
            f"the compilation of kernel {kernel} took longer than {seconds:g} s and was given up",
            hints=["smaller tiles and fewer unrolled iterations compile faster; or raise the limit, which "
                   "compiler_timeout or TILEWRIGHT_COMPILER_TIMEOUT_SEC has set"])
    if job.error is not None:
        raise job.error
    return job.value  # type: ignore[no-any-return]


class _Job:
    """One call with its outcome."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self.value: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        _watched.set(True)
        try:
            self.value = self._make()
        except BaseException as error:
            self.error = error


def _stop(thread: threading.Thread) -> None:
    """Raise SystemExit in a thread: no handler for Exception holds it up, and the thread ends without a word."""
    if thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit))
