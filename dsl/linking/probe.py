"""Bitcode as LLVM's text, made in a process of its own: LLVM ends the process that gives it what it cannot read."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

_PROGRAM = """
import sys
import llvmlite.binding as binding

whole = None
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        data = file.read()
    is_bitcode = data[:4] in (b"BC\\xc0\\xde", b"\\xde\\xc0\\x17\\x0b")
    module = binding.parse_bitcode(data) if is_bitcode else binding.parse_assembly(data.decode())
    module.verify()
    if whole is None:
        whole = module
    else:
        whole.link_in(module)
whole.verify()
sys.stdout.buffer.write(str(whole).encode())
"""
# What would keep code from being inlined: other tuning than the kernel's, and what -O0 says.
_ATTRIBUTES = re.compile(r'"(target-cpu|target-features|tune-cpu|no-builtins)"="[^"]*"|\b(noinline|optnone)\b')
_TIMEOUT = 60.0


@lru_cache(maxsize=64)
def as_text(codes: tuple[bytes, ...], what: str) -> str:
    """One module of all these, as text. ValueError, with LLVM's words, for what cannot be read or linked."""
    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
        paths = [Path(folder, f"{number}.bc") for number in range(len(codes))]
        for path, code in zip(paths, codes, strict=True):
            path.write_bytes(code)
        try:
            done = subprocess.run([sys.executable, "-c", _PROGRAM, *map(str, paths)], capture_output=True,
                                  timeout=_TIMEOUT)
        except subprocess.TimeoutExpired:
            raise ValueError(f"{what}: LLVM has not read it within {_TIMEOUT:g} s") from None
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        told = next((word for word in words if " error: " in word), words[-1] if words else "")
        why = told.removeprefix("RuntimeError: ") or f"it ended the process ({done.returncode})"
        raise ValueError(f"{what}: LLVM cannot read it: {why}; compile it by a clang of "
                         "the same version or an older one, for nvptx64-nvidia-cuda")
    return re.sub(r"(?m)^(attributes #\d+ = )\{\s*\}", r"\1{ nounwind }", _ATTRIBUTES.sub("", done.stdout.decode()))


def defined(text: str) -> Sequence[str]:
    """The names of the functions that a text defines."""
    return re.findall(r"^define [^@\n]*@\"?([\w.$]+)\"?\(", text, re.MULTILINE)


def renamed(text: str, name: str, new: str) -> str:
    """The text with a function under another name."""
    return re.sub(rf"@{re.escape(name)}(?=\()", f"@{new}", text)


def types_of(text: str, name: str) -> tuple[str, list[str]]:
    """The type of a function's result, and those of its parameters, as LLVM calls them."""
    found = re.search(rf"^define ([^@\n]*)@\"?{re.escape(name)}\"?\(([^\n]*?)\)[^()\n]*\{{?$", text, re.MULTILINE)
    assert found is not None, f"{name} is not defined"
    parameters = [part.split()[0] for part in found[2].split(",") if part.strip()]
    return found[1].split()[-1], parameters
