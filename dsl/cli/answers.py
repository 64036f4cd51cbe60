"""What a command answers: text for people, or with `--json` one JSON object on the standard output.

An error is an object, too, and in the same place: the standard error also carries what the user's file prints.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tilewright.tileir.diagnostics import NO_SPAN, Span, TileError

_PLACE = "`{file, line, column}`, both numbers from 1, or null"

SCHEMAS: dict[str, dict[str, str]] = {
    "ir": {"kernel": "its name", "text": "the Tile IR"},
    "llvm, ptx, sass": {"kernel": "its name", "target": "its name", "text": "what the command prints"},
    "decisions": {
        "kernel": "its name", "target": "its name",
        "decisions": f"a list of `{{name, value, reason, place}}`; `place`: {_PLACE}"},
    "explore": {"kernel": "its name", "file": "the page", "bytes": "its size"},
    "simulate": {"kernel": "its name", "target": "its name", "grid": "three numbers", "schedule": "as asked for",
                 "seed": "as asked for; what is wrong comes as an error, whose `type` is TileSimulationError"},
    "estimate": {
        "kernel": "its name", "grid": "three numbers", "device": "the GPU's name", "target": "its target's name",
        "arrays": "a list of `{name, dtype, shape, bytes, read, written}`; `read`, `written`: `{unique, most, "
                  "requested}` in bytes: each one once, at most so many, and as often as they are asked for",
        "operations": "how many, by kind", "flops": "those on floats", "intensity": "operations for each byte",
        "dram_bytes": "what memory moves, at least and at most", "exact": "whether nothing is accessed twice",
        "seconds": "the least time", "limit": "bandwidth or compute",
        "shares": "how busy memory and each kind of unit are then, 0 to 1", "notes": "a list of sentences",
        "machine": "what the machine code asks for: `{arrays, threads, registers, assembled, shared, resident, limits, "
                   "ctas, waves, last_wave, banks}`; `arrays`: a list of `{name, read, written, atomic, dram_read, "
                   "dram_written}`, the first three `{requests, asked, fetched}` in sectors, the others bytes of "
                   "memory at least and at most; `banks`: a list of `{what, line, wavefronts, least}`",
        "sweep": "with `--sweep`, in the place of all others: `{name, points}`; `points`: a list of objects with these "
                 "fields, and the number under the name", "plot": "with `--plot`: the file"},
    "profile": {
        "file": "as asked for", "seconds": "how long it ran; all times are in seconds",
        "broken": "whether a kernel failed on the GPU",
        "kernels": "a list of `{kernel, grid, arguments, executor, limits, launches, failed, host_seconds, "
                   "device_seconds, estimate, reached}`; `limits`: the GPU; `estimate`: as `estimate` answers, or "
                   "null; `reached`: the share of its limit, or null",
        "launches": "a list of `{kernel, start, end, thread, stream, failed, device}`; `device`: when it began and "
                    "ended on the GPU, or null",
        "events": "compilations, memory operations and waits: a list of `{kind, name, start, end, thread, facts}`",
        "stopped": "as for check"},
    "build": {
        "bundle": "the folder", "kernels": "a list of their names", "bytes": "those of all code",
        "binaries": "a list of `{kernel, symbol, target, code, bytes}`; `code`: cubin or ptx"},
    "build --record": {"spec": "the file", "launches": "how many kinds of launches it has", "stopped": "as for check"},
    "check": {
        "file": "as asked for", "launches": "how many were checked",
        "reports": "a list of the reports as docs/checking.md describes them, each with `kernel`, its name; an error "
                   "among them makes the exit status 1",
        "stopped": f"what ended the script early, `{{type, message, place}}`, or null; `place`: {_PLACE}"},
    "compare": {
        "kernel": "its name", "a": "the side's name", "b": "the side's name",
        "equal": "whether both give the same, within what ops may; where not, the exit status is 1",
        "exact": "whether to the bit",
        "outputs": "of each array that differs `{name, elements, index, a, b}`: how many elements, and the first",
        "first": "the op that is wrong, or null: `{op, text, place, side, block, iterations, element, a, b, want, "
                 f"operands, sure}}`; `operands`: a list of `{{name, a, b}}`; `place`: {_PLACE}",
        "made_by": "the pass that makes the difference, `lowering`, or empty where it was not looked for",
        "notes": "a list of sentences", "error": "what stopped a side, or null",
        "folder": "where it was saved, or null"},
    "check --prove": {
        "kernel": "its name", "assumptions": "a list of texts", "race_free": "whether no two blocks can race",
        "verdicts": "a list of `{kind, status, what, place, other_place, reason, assuming, example, block, "
                    "other_block}`; `kind`: bounds or race; `status`: proved, refuted or not decided; one that is "
                    f"refuted makes the exit status 1; `place`: {_PLACE}"},
    "check --certify": {
        "kernel": "its name", "assumptions": "a list of texts",
        "outputs": "a list of `{name, block_order, grid, batch, trees}`; the first three are `{holds, reason, place, "
                   "assuming}`; `batch` has `axes`, `along`, `rows` and `shared` by axis, and `tile_size`, too; "
                   f"`trees`: a list of `{{text, place, fixed}}`; `place`: {_PLACE}"},
    "doctor": {"ok": "whether there is no advice", "findings": "a list of `{what, state, advice}`"},
    "run": {
        "function": "its name", "grid": "three numbers",
        "arrays": "of each array that the function may write, by name: `{dtype, shape, values, file}`; `values`, "
                  'nested lists, with "nan", "inf" and "-inf", or null above 4096 elements; `file`, where `--out` '
                  "wrote it, or null"},
    "cache log": {
        "folder": "where it is, null where it is switched off", "limit": "in bytes, null where it is switched off",
        "kernels": "a list of `{key, bytes, used, whole, kernel, target, threads, shared_bytes, registers}`, last used "
                   "first; `used` in seconds since 1970; what is not known is null"},
    "cache clear": {"folder": "as in `cache log`", "removed": "how many kernels"},
    "an error": {
        "error": "`{type, message, status, place, notes, hints, text}`; `type`: the exception's name, UsageError for "
                 "the command line itself; `status`: the exit status; `place`: "
                 f"{_PLACE}; `text`: what the command prints without `--json`"},
}
"""The fields of each command's object, apart from `command`, the command's name. docs/language.md shows this table."""

MAX_VALUES = 4096


@dataclass(frozen=True)
class Answer:
    """`data`: the fields of the command's schema; `show` prints them for people; `status`, the exit status; `command`:
    the command's name where an option makes another of it."""

    data: dict[str, Any]
    show: Callable[[], None]
    status: int = 0
    command: str = ""

    def as_json(self, command: str) -> str:
        return _dumped({"command": self.command or command, **self.data})


class UsageError(Exception):
    """The command line is wrong; the message says how. `file` and `line`: where the user's file fails."""

    def __init__(self, message: str, file: str = "", line: int = 0) -> None:
        super().__init__(message)
        self.file = file
        self.line = line


def place_of(span: Span) -> dict[str, Any] | None:
    """A place in the user's file as an object."""
    return None if span is NO_SPAN else {"file": span.file, "line": span.line, "column": span.col + 1}


def of_error(command: str | None, error: BaseException, status: int, text: str) -> str:
    """The object of an error."""
    told: dict[str, Any] = {"type": type(error).__name__, "message": str(error), "status": status, "place": None,
                            "notes": [], "hints": [], "text": text}
    if isinstance(error, TileError):
        told |= {"message": error.message, "place": place_of(error.span), "notes": error.notes, "hints": error.hints}
    elif isinstance(error, UsageError):
        place = {"file": error.file, "line": error.line, "column": 1} if error.file else None
        told |= {"type": "UsageError", "place": place}
    return _dumped({"command": command, "error": told})


def values_of(array: Any) -> Any:
    """An array as nested lists, None where it is too large to print."""
    if array.size > MAX_VALUES:
        return None
    return _finite((array if array.dtype.kind in "iub" else array.astype(float)).tolist())


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinity."""
    if isinstance(value, list):
        return [_finite(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _dumped(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=2, allow_nan=False)
