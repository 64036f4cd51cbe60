"""Machine code as text, by a disassembler of CUDA, and which line of the source each instruction comes from."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tilewright.backend_ptx.runtime.ptxas import find_tool
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError

_TOOLS = {"nvdisasm": ("--print-code",), "cuobjdump": ("--dump-sass",)}
_MARK = re.compile(r'\s*//## File "\.nv_debug_ptx_txt(?:\.\d+)?", line (\d+)')
_CODE = re.compile(r"\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)")
_CALL = re.compile(r"\bCALL\b.*`\((\$__internal\S+?)\)")
_SUBROUTINE = re.compile(r"(\$__internal\S+):$")
_LOC = re.compile(r"\s*\.loc\s+(\d+) (\d+) (\d+)")
_FILE = re.compile(r'\s*\.file\s+(\d+) "(.*)"')


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of the user's source."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{Path(self.file).name}:{self.line}"


@dataclass(frozen=True, slots=True)
class SassLine:
    """A line of a disassembly. `opcode` without its modifiers, "" for labels and directives; `ptx`, the line of the PTX
    that the instruction was made from (from 1; 0: unknown); `place`, the source line of that."""

    text: str
    opcode: str = ""
    ptx: int = 0
    place: SourceLine | None = None


@functools.cache
def find_disassembler() -> tuple[str, tuple[str, ...]]:
    """(path, options before the cubin's name). TileUnsupportedFeatureError where there is none."""
    for name, options in _TOOLS.items():
        found = find_tool(name) or shutil.which(name, path="/usr/local/cuda/bin")
        if found is not None:
            return found, options
    raise TileUnsupportedFeatureError(
        "SASS needs a disassembler, and neither nvdisasm nor cuobjdump was found",
        hints=["pip install nvidia-cuda-nvdisasm, or put a CUDA toolkit's bin folder on PATH"])


def disassemble(cubin: bytes, *options: str) -> str:
    """The machine code of a cubin as text."""
    tool, own = find_disassembler()
    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
        file = Path(folder, "kernel.cubin")
        file.write_bytes(cubin)
        done = subprocess.run([tool, *own, *options, str(file)], capture_output=True, text=True)
    if done.returncode:
        raise TileUnsupportedFeatureError(f"{Path(tool).name} failed: {done.stderr.strip()}")
    return done.stdout


def with_lines(cubin: bytes, ptx: str) -> str:
    """The machine code as text; each instruction ends with a comment that names its line of the source."""
    lines = sass_lines(cubin, ptx)
    width = max((len(line.text) for line in lines if line.place is not None), default=0)
    return "".join(f"{line.text:<{width}}  // {line.place}\n" if line.place is not None else f"{line.text}\n"
                   for line in lines)


def sass_lines(cubin: bytes, ptx: str) -> list[SassLine]:
    """The lines of the disassembly with their places. The cubin must have been assembled with line information, from
    this PTX; TileUnsupportedFeatureError where no nvdisasm is installed, which alone shows it."""
    if Path(find_disassembler()[0]).stem != "nvdisasm":
        raise TileUnsupportedFeatureError("the lines of SASS need nvdisasm, which was not found",
                                          hints=["pip install nvidia-cuda-nvdisasm"])
    places = ptx_places(ptx)
    located = _with_multiplies(list(_marked(disassemble(cubin, "--print-line-info-ptx"))), ptx.splitlines())
    return [replace(line, place=places.get(line.ptx)) for line in _with_subroutines(located, places)]


def ptx_places(ptx: str) -> dict[int, SourceLine]:
    """The place of each line of the PTX (from 1) that has one: that of the last `.loc` above."""
    lines = ptx.splitlines()
    files = {found[1]: found[2] for line in lines if (found := _FILE.match(line))}
    out: dict[int, SourceLine] = {}
    place = None
    for number, line in enumerate(lines, 1):
        if found := _LOC.match(line):
            place = SourceLine(files[found[1]], int(found[2])) if int(found[2]) else place
        elif line.lstrip().startswith((".func", ".entry", ".visible", ".section")):
            place = None
        elif place is not None:
            out[number] = place
    return out


def _marked(text: str) -> Iterator[SassLine]:
    """The lines of a disassembly, with what its marks say of the PTX in place of the marks."""
    ptx = 0
    for line in text.splitlines():
        if mark := _MARK.match(line):
            ptx = int(mark[1])
        elif code := _CODE.match(line):
            yield SassLine(line, code[1], ptx)
        else:
            if ".section" in line:
                ptx = 0
            yield SassLine(line)


def _with_subroutines(lines: Sequence[SassLine], places: dict[int, SourceLine]) -> list[SassLine]:
    """ptxas gives no line to a subroutine that it adds, such as the slow path of a division, so that it shows the last
    one of the kernel. It is made for the calls: their line, or none where they have several."""
    calls: dict[str, list[int]] = {}
    for line in lines:
        if call := _CALL.search(line.text):
            calls.setdefault(call[1], []).append(line.ptx)
    out: list[SassLine] = []
    inside = ""
    for line in lines:
        if found := _SUBROUTINE.match(line.text):
            inside = found[1]
        elif ".section" in line.text:
            inside = ""
        if inside and line.opcode:
            callers = calls.get(inside, [])
            line = replace(line, ptx=callers[0] if len({places.get(ptx) for ptx in callers}) == 1 else 0)
        out.append(line)
    return _without_padding(out)


def _without_padding(lines: Sequence[SassLine]) -> list[SassLine]:
    """What fills a section up behind its last instruction, a jump to itself and NOPs, comes from no line."""
    out: list[SassLine] = []
    padding = True
    for line in reversed(lines):
        if ".section" in line.text:
            padding = True
        elif line.opcode and padding:
            padding = line.opcode == "NOP"
            line = replace(line, ptx=0) if line.opcode in ("NOP", "BRA") else line
        out.append(line)
    return out[::-1]


def _with_multiplies(lines: Sequence[SassLine], ptx: Sequence[str]) -> list[SassLine]:
    """ptxas gives HGMMA no line, so that it shows the one of whatever was scheduled above it. The MMAs after a
    WARPGROUP.ARRIVE are those behind its wgmma.fence in the PTX, or in one text with it, in the same order."""
    multiplies = [number for number, line in enumerate(ptx, 1) for _ in range(line.count("wgmma.mma_async"))]
    out: list[SassLine] = []
    coming: list[int] = []
    for line in lines:
        if line.opcode == "WARPGROUP" and "ARRIVE" in line.text:
            coming = [number for number in multiplies if number >= line.ptx]
        if line.opcode in ("HGMMA", "IGMMA", "QGMMA", "BGMMA") and coming:
            line = replace(line, ptx=coming.pop(0))
        out.append(line)
    return out
