"""The C loader on a driver that prints launches: built by the C compiler that is here, fed with lines of text."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tilewright
from tilewright.arguments.arrays import describe

COMPILER = shutil.which("cc") or shutil.which("gcc")
STUB = Path(__file__).parent / "cuda"
SOURCES = Path(tilewright.__path__[0]) / "compilation" / "c"
FLAGS = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"]


def build(table: Path, out: Path, major: int = 9, *flags: str) -> Path:
    """The probe for the tables of a header; warnings are errors."""
    assert COMPILER is not None
    command = [COMPILER, *FLAGS, *flags, f"-I{SOURCES}", f"-I{STUB}", f"-I{table.parent}", f'-DTABLE="{table.name}"',
               f"-DNAME={table.stem}", f"-DMAJOR={major}", "-D_ISOC11_SOURCE", str(STUB / "probe.c"),
               str(SOURCES / "tilewright.c"), "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out


def run(probe: Path, folder: Path, launches: Sequence[str]) -> list[str]:
    """What it prints for each launch: one line, and a line for each table of a list."""
    done = subprocess.run([probe, folder], input="\n".join(f"{launch} ;" for launch in launches), capture_output=True,
                          text=True, check=True)
    return [line for line in done.stdout.splitlines() if not line.startswith("attribute")]


def spelled(value: Any) -> str:
    """A run-time value as the probe reads it."""
    if isinstance(value, list):
        return f"l {len(value)} {' '.join(spelled(item).removeprefix('a ') for item in value)}"
    if isinstance(value, float):
        return f"f {value!r}"
    if isinstance(value, int):
        return f"i {int(value)}"
    info = describe(value)
    assert info is not None
    return f"a {info.pointer} {len(info.shape)} {' '.join(map(str, (*info.shape, *info.strides)))}"


def as_printed(launch: Any, sizes: Sequence[int]) -> str:
    """A launch that the stand-in for Python's driver has recorded, as the probe prints one."""
    def told(value: Any, size: int) -> str:
        if isinstance(value, bytes):
            return value.hex()
        if isinstance(value, float):
            return struct.pack("<f" if size == 4 else "<d", value).hex()
        return (value % (1 << 8 * size)).to_bytes(size, "little").hex()

    values = " ".join(told(value, size) for value, size in zip(launch.params, sizes, strict=True))
    return f"{launch.name} {' '.join(map(str, launch.grid))} {launch.threads} {launch.shared} {values}"
