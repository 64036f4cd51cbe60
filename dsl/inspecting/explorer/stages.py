"""The texts of a kernel's stages, each line with its place in the source."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from tilewright.inspecting.explorer.places import Chain, chain_of
from tilewright.inspecting.places import Places
from tilewright.inspecting.sass import ptx_places, sass_lines
from tilewright.tileir.core import Function
from tilewright.tileir.diagnostics import TileError
from tilewright.tileir.printer import to_text

if TYPE_CHECKING:
    from tilewright.inspecting.stages import Stages

_SOURCE = re.compile(r'@\d+ = ("(?:[^"\\]|\\.)*").*?(?: from @(\d+):(\d+):\S+)?$')
_DEBUG = re.compile(r"(, !llvm\.loop !\d+)?,? !dbg !\d+")
_SPACES = re.compile(r"\s{2,}")
_LABEL = re.compile(r"\((\.L\w+)\)")
# Lines of PTX that say where others come from, and marks around inline assembly.
_HIDDEN = re.compile(r"\s*(\.loc\t|\$L__(tmp|func_begin|func_end)\d+:|// (begin|end) inline asm)")
_PLACE = re.compile(r" @(\d+):(\d+):\d+-(?:\d+:)?\d+(?= \.\w| \{$|$)")


@dataclass
class Text:
    """A stage: `kind` is the pane that shows it, `missing` says why there is no text."""

    kind: str
    name: str
    lines: list[str] = field(default_factory=list)
    chains: list[Chain] = field(default_factory=list)
    changes: list[tuple[str, int, int, int, int]] = field(default_factory=list)  # from the Tile IR stage before
    missing: str = ""


def texts(stages: Stages) -> Iterator[Text]:
    """All stages, in the order of the compilation. `stages` are made with lines."""
    yield from _tile_ir(stages)
    made = stages.compiled
    places = Places(made.llvm_text)
    known = [(line, chain_of(places.at(number))) for number, line in enumerate(made.llvm_text.splitlines(), 1)
             if not line.startswith("!")]
    llvm = Text("llvm", "LLVM IR", [_DEBUG.sub("", line) for line, _ in known], [chain for _, chain in known])
    yield llvm
    longer = _longer(llvm.chains)
    ptx = Text("ptx", "PTX", made.ptx.splitlines())
    lines = ptx_places(made.ptx)
    ptx.chains = [longer((place.file, place.line) if (place := lines.get(number)) else None)
                  for number in range(1, len(ptx.lines) + 1)]
    shown = [number for number, line in enumerate(ptx.lines) if not _HIDDEN.match(line)]
    ptx.lines, ptx.chains = [ptx.lines[n] for n in shown], [ptx.chains[n] for n in shown]
    yield ptx
    yield _sass(stages, longer)


def _tile_ir(stages: Stages) -> list[Text]:
    """After each pass that changed something: those on Tile IR, then the backend's of the plan that was accepted."""
    found: list[Text] = []
    start = 0

    def look(name: str, function: Function) -> None:
        text = located(f"after {name}", to_text(function, spans=True))
        if any(other.name == text.name for other in found[start:]):
            text.name += " again"
        if not found or text.lines != found[-1].lines:
            found.append(text)

    stages.tile_ir(observer=look)
    start = len(found)
    first = ""

    def backend(name: str, function: Function) -> None:
        nonlocal first
        first = first or name
        if name == first:  # another attempt begins, with a smaller plan
            del found[start:]
        look(name, function)

    stages.machine_ir(backend)
    found[0].name = "from the frontend"
    for before, after in pairwise(found):
        matcher = difflib.SequenceMatcher(None, before.lines, after.lines, autojunk=False)
        after.changes = [tuple(change) for change in matcher.get_opcodes()]  # type: ignore[misc]
    return found


def located(name: str, text: str) -> Text:
    """Tile IR that was printed with spans; they become the places of its lines."""
    out = Text("tile", name)
    sources: list[tuple[str, Chain]] = []
    for line in text.splitlines():
        if source := _SOURCE.match(line):
            caller = _chain(sources, source[2], source[3]) if source[2] is not None else ()
            sources.append((json.loads(source[1]), caller))
            continue
        place = _PLACE.search(line)
        out.lines.append(line if place is None else line[: place.start()] + line[place.end() :])
        out.chains.append(_chain(sources, place[1], place[2]) if place is not None else ())
    return out


def _chain(sources: Sequence[tuple[str, Chain]], alias: str, line: str) -> Chain:
    file, caller = sources[int(alias)]
    return ((file, int(line)), *caller)


def _longer(chains: Sequence[Chain]) -> Callable[[tuple[str, int] | None], Chain]:
    """Gives a line its calls, where it was called from one place."""
    known: dict[tuple[str, int], set[Chain]] = {}
    for chain in chains:
        if chain:
            known.setdefault(chain[0], set()).add(chain)

    def longer(place: tuple[str, int] | None) -> Chain:
        if place is None:
            return ()
        found = known.get(place, set())
        return next(iter(found)) if len(found) == 1 else (place,)

    return longer


def _sass(stages: Stages, longer: Callable[[tuple[str, int] | None], Chain]) -> Text:
    """The machine code, or why there is none."""
    try:
        lines = sass_lines(stages.cubin(), stages.compiled.ptx)
    except (TileError, FileNotFoundError) as error:
        why = error.message if isinstance(error, TileError) else str(error)
        return Text("sass", "SASS", missing=f"{why}. Machine code needs ptxas and nvdisasm: "
                                            "pip install 'tilewright[explore]'")
    targets = {label for line in lines if line.opcode for label in _LABEL.findall(line.text)}
    shown = [line for line in lines if line.opcode or line.text.rstrip(":") in targets]
    return Text("sass", "SASS", [_SPACES.sub("  ", line.text.strip()) for line in shown],
                [longer((line.place.file, line.place.line) if line.place is not None else None) for line in shown])
