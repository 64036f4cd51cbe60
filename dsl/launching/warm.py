"""The first launch of a process that finds its kernel by its source alone: neither frontend nor passes run.

A note says which entry of the cache a kernel's source led to, with arguments of some kind on some device: under a key
of all that the Tile IR and the code depend on. Where the key cannot be told, the kernel is translated, as ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tilewright.arguments.bind import Argument, Const, Scalar, Tuple
from tilewright.launching import ahead, notes
from tilewright.launching.fingerprint import Fingerprint, Unclear
from tilewright.launching.sources import PythonSource
from tilewright.launching.specialise import Specialiser
from tilewright.tileir.events import timed
from tilewright.tileir.plan import Switches

Found = tuple[Any, frozenset[int]]
"""A DeviceKernel, and the parameters that it writes."""


def key_of(specialiser: Specialiser, arguments: Sequence[Argument], switches: Switches, device: Any) -> str | None:
    """The key of a launch's kernel, whose arrays share no memory; None where it has none."""
    from tilewright.backend_ptx.runtime.versions import versions

    source = specialiser.source
    if type(source) is not PythonSource or switches.line_info or notes.open_notes() is None:
        return None
    read = Fingerprint(source.function)
    try:
        kernel = read.text(source.function)
        given = [_argument(read, argument) for argument in arguments]
    except Exception:  # Unclear, and whatever an object raises that is asked what it is: translating it says more
        return None
    ahead.finish()
    return notes.key_of("kernel", specialiser.name, kernel, read.parts, given, specialiser.hints, specialiser.rules,
                        specialiser.joins, switches, versions(device), notes.program())


def _argument(read: Fingerprint, argument: Argument) -> str:
    """What the Tile IR depends on of an argument, as its `key` says."""
    if isinstance(argument, Const):
        return f"constant {read.text(argument.value)}"
    if isinstance(argument, Scalar):
        return f"scalar {argument.dtype.name}"
    if isinstance(argument, Tuple):
        if argument.kind is not tuple:
            raise Unclear(argument.kind.__qualname__)
        return f"({', '.join(_argument(read, item) for item in argument.items)},)"
    return repr(argument.type(True))


def find(key: str, name: str, device: Any) -> Found | None:
    """The kernel that a note leads to, loaded; None where there is none that is whole."""
    from tilewright.backend_ptx.runtime.kernel import load_entry
    from tilewright.tileir.cache import open_cache

    note, cache = notes.load(key), open_cache()
    entry, written = note.get("entry"), note.get("written")
    if cache is None or not isinstance(entry, str) or not isinstance(written, list):
        return None
    stored = cache.load(entry)
    if stored is None:
        return None
    device.ensure_current()
    with timed("compile", name, executor=str(device.target), cache="hit"):
        kernel = load_entry(stored, device)
    if kernel is None:
        return None
    joins = note.get("joins")
    found = replace(kernel, joins=tuple(map(int, joins))) if isinstance(joins, list) and joins else kernel
    return found, frozenset(map(int, written))


def remember(key: str, entry: str, written: frozenset[int], joins: tuple[int, ...]) -> None:
    """Let the next process find the entry that was made for this key."""
    notes.store(key, {"entry": entry, "written": sorted(written), "joins": list(joins)})
