"""The launcher in machine code: it reads a launch's arguments, finds them known, and calls the driver, without making a
Python object; whatever it does not know it leaves to Python.

LLVM makes it on a thread of its own, once for each version of it and of LLVM: it is kept beside the cache of kernels,
and other processes load it in a millisecond. What it compares and what it passes on stands in words of memory that
`words.py` fills. The GIL is released while the driver works, which may block until the GPU's queue has room, and what
would make room may be waiting for the GIL.
"""

from __future__ import annotations

import ctypes
import platform
import sys
import sysconfig
import threading
from typing import Any

from tilewright.launching.machine import code
from tilewright.launching.machine.layout import FUNCTIONS, HEAD, OBJECTS, addresses
from tilewright.launching.machine.text import ENTRIES, module, template
from tilewright.tileir.environment import switched_on

_FAST_WITH_KEYWORDS = 0x80 | 0x02  # METH_FASTCALL | METH_KEYWORDS


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p))


_methods: dict[str, _Method] = {}  # all, once they are made; builtins refer to them, so they stay
_building = threading.RLock()
_looked = False  # whether this process has looked for what another one made
_thread: threading.Thread | None = None


def possible() -> bool:
    """Whether this interpreter is CPython with a GIL, of 64 bits, and TILEWRIGHT_LAUNCHER does not forbid it."""
    wanted = switched_on("TILEWRIGHT_LAUNCHER", unset=True)
    return (wanted and platform.python_implementation() == "CPython"
            and not sysconfig.get_config_var("Py_GIL_DISABLED") and sys.maxsize > 1 << 32)


def ready() -> bool:
    return bool(_methods)


def find() -> bool:
    """Load the functions that a process before this one has made; whether they are there. It waits for no thread that
    makes them."""
    global _looked
    if _building.acquire(blocking=False):
        try:
            if not _methods and not _looked and possible():
                _looked = True
                _load_stored()
        finally:
            _building.release()
    return bool(_methods)


def _key() -> str:
    from tilewright.backend_ptx.runtime.versions import llvm_build
    from tilewright.launching.notes import key_of

    return key_of("launcher", template(), ENTRIES, platform.machine(), sys.platform, llvm_build())


def _load_stored() -> None:
    from tilewright.launching import notes

    try:
        stored = notes.load(_key())
        found = {name: code.Code.from_data(stored[name]) for name in ENTRIES}
        here = addresses()
        _use({name: code.loaded(each, here) for name, each in found.items()})
    except (KeyError, TypeError, ValueError, OSError, AttributeError):  # there is none, or it is odd: it is made anew
        return


def build() -> None:
    """Make the functions; a failure leaves launches to Python."""
    with _building:
        if find() or _methods or not possible():
            return
        try:
            _use(_made())
        except Exception:  # no LLVM for this host, say: Python launches, as ever
            return


def _made() -> dict[str, int]:
    """The addresses of functions that are compiled now, and kept where that is possible."""
    from tilewright.launching import notes

    names, here = (*FUNCTIONS, *OBJECTS), addresses()
    made = {name: code.compiled(lambda values, name=name: module(name, values), names)  # type: ignore[misc]
            for name in ENTRIES}
    whole = {name: each for name, each in made.items() if each is not None}
    if len(whole) == len(ENTRIES):
        found = {name: code.loaded(each, here) for name, each in whole.items()}
        notes.store(_key(), {name: each.as_data() for name, each in whole.items()})
        return found
    from tilewright.interp.jit.engine import compile_functions

    # A function of its own name each: they share the process's symbols.
    texts = {name: module(name, here).replace("@entry(", f"@tilewright_{name}(") for name in ENTRIES}
    return {name: compile_functions(text, (f"tilewright_{name}",))[0] for name, text in texts.items()}


def _use(found: dict[str, int]) -> None:
    for name, address in found.items():  # never others in their place: builtins refer to these
        _methods.setdefault(name, _Method(name.encode(), address, _FAST_WITH_KEYWORDS, None))


def build_soon() -> None:
    """The same on a thread of its own; the process waits for it before it ends."""
    global _thread
    if _thread is None and possible():
        _thread = threading.Thread(target=build, name="tilewright-launcher", daemon=False)
        try:
            _thread.start()
        except RuntimeError:  # the interpreter ends
            return


def builtin(name: str, address: int, kept: Any) -> Any:
    """The function `launch`, `replay`, `record` or `create` over the words at an address (HEAD); it keeps `kept`, where
    they are, and each call keeps it until it ends."""
    ctypes.c_int64.from_address(address + 8 * HEAD.index("kept")).value = id(kept)
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)(
        ("PyCFunction_NewEx", ctypes.pythonapi))
    return make(ctypes.addressof(_methods[name]), address, kept)
