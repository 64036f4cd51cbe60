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


HIDDEN = "<tilewright>"


def one_line(function: F) -> F:
    """A function whose frame is the only one of ours in a traceback: it takes one line there, without source.

    Its code names no file that could be opened. Scripts and IPython print source for every other frame.
    """
    if os.environ.get("TILEWRIGHT_TRACEBACK") != "full":
        function.__code__ = function.__code__.replace(co_filename=HIDDEN)
    return function


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
    file = frame.f_code.co_filename
    line = linecache.getline(frame.f_globals["__file__"] if file == HIDDEN else file, traceback.tb_lineno).strip()
    return frame.f_globals.get("__name__", "").startswith("tilewright.") and line.startswith("raise ")


def public(function: F) -> F:
    """A public call: the errors that users make begin here."""

    @functools.wraps(function)
    @one_line
    def call(*args: Any, **named: Any) -> Any:
        try:
            return function(*args, **named)
        except Exception as error:
            __tracebackhide__ = True  # pytest leaves this frame out
            if not is_refusal(error):
                raise
            raise error.with_traceback(None) from error.__cause__

    return call  # type: ignore[return-value]
