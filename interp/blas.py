"""One thread of BLAS while blocks run: products of tiles are small, and threads that wait for each other on a busy
machine take many times longer than one.

NumPy has no way to say so; the OpenBLAS of its wheels does. With another BLAS nothing happens.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np

_lock = threading.Lock()
_inside = 0  # launches that run now, in all Python threads
_before = 1  # the threads to which the last of them returns


@contextmanager
def one_thread() -> Iterator[None]:
    """No more than one thread of BLAS in here."""
    global _inside, _before
    controls = _controls()
    if controls is None:
        yield
        return
    get, put = controls
    with _lock:
        if not _inside:
            _before = get()
            if _before > 1:
                put(1)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside and _before > 1:
                put(_before)


@cache
def _controls() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """OpenBLAS's functions that tell and set its threads."""
    for path in sorted((Path(np.__file__).parent.parent / "numpy.libs").glob("libscipy_openblas*")):
        library = ctypes.CDLL(str(path))  # NumPy has loaded it: this is the same one
        for suffix in ("64_", ""):
            get = getattr(library, f"scipy_openblas_get_num_threads{suffix}", None)
            put = getattr(library, f"scipy_openblas_set_num_threads{suffix}", None)
            if get is not None and put is not None:
                return get, put
    return None
