"""The text of the launcher in LLVM IR: the files of this folder as one module, with numbers for names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tilewright.backend_ptx.map_records import MAP_ALIGN
from tilewright.launching.held import HELD, RECORDED, WATCHED
from tilewright.launching.machine.layout import (
    ARGUMENT,
    BLOCK,
    CELL,
    CELLS,
    FUNCTIONS,
    HEAD,
    LAUNCH,
    MOST_ARRAYS,
    MOST_BYTES,
    RECORD,
    RECORDS,
    TORCH,
    Expected,
    Noted,
)

FILES = "entries", "parts", "arrays", "arguments", "records", "driver"
# What a module's function `entry` does: a kernel over a grid, a launch with its arguments, an event's record, events.
ENTRIES = {"launch": "launched", "replay": "replayed", "record": "recorded", "create": "created"}

_WORDS = {"H": HEAD, "L": LAUNCH, "A": ARGUMENT, "C": CELL, "R": RECORDS, "B": BLOCK, "E": RECORD, "T": TORCH,
          "K": CELLS}
_HOLE = re.compile(rf"\$object\.(?P<object>\w+)|@(?P<function>{'|'.join(FUNCTIONS)})\(")


@cache
def template() -> str:
    """The module, in which objects and functions of Python and the entry still have names."""
    text = "".join((Path(__file__).parent / f"{name}.ll").read_text() for name in FILES)
    words = {f"{letter}.{name}": 8 * number for letter, names in _WORDS.items()
             for number, name in enumerate(names)}
    kinds = {f"kind.{kind.name.lower()}": int(kind) for kind in Expected}
    recorded = RECORDED << 8 * HELD.itemsize * WATCHED  # all of HELD as one number
    notes = {f"noted.{note.name.lower()}": int(note) for note in Noted}
    known = {**words, **kinds, **notes, "argument_bytes": 8 * len(ARGUMENT), "cell_bytes": 8 * len(CELL),
             "record_bytes": 8 * len(RECORD), "recorded": recorded, "others": ~recorded,
             "packed_bytes": MOST_BYTES + MAP_ALIGN + 16,  # 16: the last int is compared as a whole word
             "arrays": MOST_ARRAYS}
    names = r"\$((?:[HLACRBETK]|kind|noted)\.\w+|\w+_bytes|recorded|others|arrays)\b"
    return re.sub(names, lambda found: str(known[found[1]]), text)


def module(entry: str, addresses: Mapping[str, int]) -> str:
    """The text of the module whose function `entry` is one of ENTRIES, with these addresses of what it uses."""
    def number(found: re.Match[str]) -> str:
        value = f"inttoptr (i64 {addresses[found['object'] or found['function']]} to ptr)"
        return value if found["object"] else f"{value}("

    return _HOLE.sub(number, template().replace("@$entry(", f"@{ENTRIES[entry]}("))
