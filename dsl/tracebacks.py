"""Tracebacks of a user's mistakes: the user's frames and the message, not the frames of the compiler between them.

A public call catches what it raises and cuts the traceback there. TILEWRIGHT_TRACEBACK=full leaves all frames, and so
does an error that may be a defect of ours. No hook of the interpreter is changed, so that scripts, pytest and IPython
show the same.
"""

from __future__ import annotations

import functools
import linecache
import os
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from tilewright.tileir.diagnostics import TileError, TileInternalError

F = TypeVar("F", bound=Callable[..., Any])

_REFUSALS = (TypeError, ValueError, RuntimeError, OverflowError)


def is_refusal(error: BaseException) -> bool:
    """Whether an error says what is wrong with a kernel or a call: one of our family, or raised by us on purpose."""
    if os.environ.get("TILEWRIGHT_TRACEBACK") == "full" or isinstance(error, TileInternalError):
        return False
    return isinstance(error, TileError) or (isinstance(error, _REFUSALS) and _raised_on_purpose(error.__traceback__))


def _raised_on_purpose(traceback: TracebackType | None) -> bool:
    """Whether the innermost frame is ours and stands at a `raise`."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None:
        return False
    frame = traceback.tb_frame
    line = linecache.getline(frame.f_code.co_filename, traceback.tb_lineno).strip()
    return frame.f_globals.get("__name__", "").startswith("tilewright.") and line.startswith("raise ")


def public(function: F) -> F:
    """A public call: the errors that users make begin here."""

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        try:
            return function(*args, **named)
        except Exception as error:
            __tracebackhide__ = True  # pytest and IPython leave this frame out
            if not is_refusal(error):
                raise
            raise error.with_traceback(None) from error.__cause__

    return call  # type: ignore[return-value]
