"""The reference of docs/language.md, made from signatures, docstrings, enums, dtypes and the command line's parser."""

from __future__ import annotations

import argparse
import enum
import inspect
import re
from dataclasses import fields
from pathlib import Path
from textwrap import dedent
from typing import Any

import language_table

import tilewright as ct
import tilewright.cli
from tilewright.kernel import BoundKernel
from tilewright.language import Array, Tile, TiledView
from tilewright.language.raw import RawArrayMemory
from tilewright.options import KernelOptions
from tilewright.tileir import diagnostics, dtypes

START = "<!-- generated from the docstrings: run the tests with --update-golden -->\n"
ARCHITECTURE = Path(__file__).parent.parent / "docs" / "architecture.md"
OWNERS = {c.__name__: c for c in (Tile, Array, TiledView, RawArrayMemory, BoundKernel)}
LANGUAGE = ("operators", "functions of one tile", "index space", "memory", "atomics", "factories", "matrix products",
            "shapes and conversions", "reductions and scans", "compile time", "output", "dependent launch", "methods")
HOST = {
    "kernels and launch": "tile_kernel BoundKernel launch function ByTarget tile_kernel.replace_hints compiler_timeout",
    "annotations": "ArrayAnnotation ListAnnotation ScalarAnnotation ConstantAnnotation",
    "looking inside": "tile_kernel.ir tile_kernel.llvm tile_kernel.ptx tile_kernel.cubin tile_kernel.sass "
                      "tile_kernel.compiled tile_kernel.arg_specs tile_kernel.interpret spec",
    "arrays on a GPU": "to_device DeviceArray DeviceArray.to_host gpu_available",
}
"""What runs on the host, by part. Modules (`tune`, `compilation`) follow with all that they export."""

MODULES = ("tune", "compilation")
LABEL = re.compile(r"^(Operands|Arguments|Array|Result|Options[^:`]*|Errors|Attributes|Fields|Members): ")
EXAMPLE = re.compile(r"^Examples?:\n+", re.MULTILINE)


def find(name: str) -> Any:
    """The object that a name of the reference stands for, None if there is none."""
    owner, _, member = name.partition(".")
    found: Any = OWNERS.get(owner) or getattr(ct, owner, None)
    for part in member.split(".") if member else []:
        found = getattr(found, part, None)
    return found


def signature(name: str, thing: Any) -> str:
    """The call without types: `load(array, /, index, shape, *, order='C', ...)`."""
    if thing is ct.tile_kernel:
        options = ", ".join(f"{f.name}={f.default}" for f in fields(KernelOptions))
        return f"tile_kernel(function=None, /, *, {options})"
    if thing is BoundKernel:
        return "kernel[grid](*args, stream=None)"
    if isinstance(thing, type) and thing.__init__ is object.__init__:
        return name
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return name
    if not isinstance(thing, type) and not hasattr(thing, "__tilewright_builtin__"):
        parameters = [p for p in parameters if p.name != "self"]  # type: ignore[assignment]
    text = str(inspect.Signature([p.replace(annotation=p.empty) for p in parameters]))
    text = re.sub(r"<(\w+\.\w+): [^>]*>", r"\1", text)
    text = re.sub(r"<DType '(\w+)'>", r"\1", text)
    return name + re.sub(r"<object object[^>]*>|<factory>", "...", text)


def split(docstring: str) -> tuple[str, str]:
    """Text and example of a docstring."""
    text, _, example = docstring.partition(found[0]) if (found := EXAMPLE.search(docstring)) else (docstring, "", "")
    return text.strip(), dedent(example).strip("\n")


def prose(text: str) -> str:
    """Labelled paragraphs of a docstring (`Errors: ...`) as a list."""
    out: list[str] = []
    for line in text.splitlines():
        found = LABEL.match(line)
        if found:
            out.append(f"- **{found[1]}**: {line[found.end():]}")
        elif out and out[-1].startswith(("- ", "  ")) and line.startswith("    "):
            out.append("  " + line.strip())
        else:
            out.append(line)
    return "\n".join(out)


def entry(name: str) -> str:
    thing = find(name)
    text, example = split(inspect.getdoc(thing) or "")
    parts = [f"#### {title(name)}", f"`{signature(title(name), thing)}`", prose(text)]
    if example:
        parts.append(f"```python\n{example}\n```")
    return "\n\n".join(parts) + "\n"


def parts() -> dict[str, list[str]]:
    """The names of the reference by part, in the order of the page."""
    out = {part: names.split() for part, names in HOST.items()}
    for module in MODULES:
        found = getattr(ct, module, None)
        if found is not None and getattr(found, "__all__", ()):
            out[f"module ct.{module}"] = [n for name in found.__all__ for n in _members(f"{module}.{name}")]
    for part in LANGUAGE:
        out[part] = [n for n in language_table.CONTRACT[part].split() if find(n) is not None]
    listed = {name for names in out.values() for name in names}
    stubs = [n for n in ct.language.__all__ if hasattr(find(n), "__tilewright_builtin__")]
    out["additions"] = [n for n in stubs if n not in listed]
    return out


def _members(name: str) -> list[str]:
    """A name of a module and, of a class, its documented methods; nothing for a name of a type."""
    thing = find(name)
    if not isinstance(thing, type):
        return [name] if inspect.isfunction(thing) else []
    methods = [key for key, value in vars(thing).items() if not key.startswith("_") and _is_method(value)]
    return [name, *(f"{name}.{key}" for key in methods if EXAMPLE.search(inspect.getdoc(getattr(thing, key)) or ""))]


def _is_method(value: Any) -> bool:
    return inspect.isfunction(value) or isinstance(value, staticmethod)


def reference() -> str:
    """The generated part of the page, with its own list of contents."""
    made = parts()
    contents = [f"- **{part.capitalize()}**: " + ", ".join(_link(n) for n in names) for part, names in made.items()]
    sections = [f"### {part.capitalize()}\n\n" + "\n".join(map(entry, names)) for part, names in made.items()]
    tables = [dtype_table(), enum_tables(), error_table(), command_line(), environment()]
    return START + "\n" + "\n".join(contents) + "\n\n" + "\n".join([*sections, *tables])


def title(name: str) -> str:
    """The heading of an entry: methods are those of a kernel, not of its class."""
    return "kernel[grid]" if name == "BoundKernel" else name.replace("tile_kernel.", "kernel.")


def _link(name: str) -> str:
    anchor = re.sub(r"[^a-z0-9_-]", "", title(name).lower())
    return f"[`{title(name)}`](#{anchor})"


def dtype_table() -> str:
    """Every dtype with its format; from the objects themselves."""
    lines = ["### Dtypes", "", "Each is a `ct.DType`.", "", prose(split(inspect.getdoc(ct.DType) or "")[0]), "",
             "| dtype | in dumps and specs | bits | kind | range or largest value | computed with |",
             "|---|---|---|---|---|---|"]
    for d in dtypes.ALL:
        kind = {"int": "signed integer", "uint": "unsigned integer", "bool": "bool, one byte in memory"}.get(
            d.kind, f"float: {d.exponent} exponent, {d.mantissa} mantissa bits" + ("" if d.has_sign else ", no sign"))
        lines.append(f"| `{d.name}` | `{d.ir}` | {d.bitwidth} | {kind} | {_range(d)} | "
                     f"{'yes' if d.arithmetic else 'no: restricted'} |")
    return "\n".join(lines) + "\n"


LARGEST = {
    "float16": "65504", "bfloat16": "3.39e38", "float32": "3.40e38", "float64": "1.80e308", "tfloat32": "3.40e38",
    "float8_e4m3fn": "448, no infinity", "float8_e5m2": "57344", "float8_e8m0fnu": "2^127, powers of two only",
    "float8_e5m3fnu": "114688, no infinity", "float4_e2m1fn": "6, neither infinity nor NaN",
}


def _range(d: ct.DType) -> str:
    if d.is_bool:
        return "False, True"
    if d.is_float:
        return LARGEST[d.name]
    if d.is_signed:
        return f"-2^{d.bitwidth - 1} to 2^{d.bitwidth - 1} - 1"
    return f"0 to 2^{d.bitwidth} - 1"


def enum_tables() -> str:
    """The options that are enums: the `Members:` of their docstrings, which name each member once."""
    out = []
    for kind in (ct.RoundingMode, ct.PaddingMode, ct.MemoryOrder, ct.MemoryScope):
        assert issubclass(kind, enum.Enum)
        out.append(f"#### {kind.__name__}\n\n{inspect.getdoc(kind)}\n")
    return "### Enums\n\n" + "\n".join(out)


def error_table() -> str:
    classes = [getattr(ct, n) for n in ct.__all__ if n.startswith("Tile") and n.endswith("Error")]
    lines = ["### Errors", "", prose(inspect.getdoc(diagnostics.TileError) or ""), "",
             "| class | a kind of | raised for |", "|---|---|---|"]
    for c in classes:
        if c is not ct.TileError:
            text = " ".join((inspect.getdoc(c) or "").split())
            lines.append(f"| `{c.__name__}` | `{c.__mro__[1].__name__}` | {text} |")
    return "\n".join(lines) + "\n"


def command_line() -> str:
    """The commands and their arguments, from the parser that reads them."""
    parser = tilewright.cli._parser()
    verbs = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    summaries = {choice.dest: choice.help for choice in verbs._choices_actions}
    lines = ["### Command line", ""]
    for name, verb in verbs.choices.items():
        lines += [f"#### tilewright {name}", "", f"{(summaries.get(name) or '').capitalize()}.", ""]
        for action in verb._actions:
            if action.dest != "help":
                called = ", ".join(action.option_strings) or str(action.metavar)
                lines.append(f"- `{called}`: {action.help or str(action.metavar or '')}")
        lines.append("")
    return "\n".join(lines)


def environment() -> str:
    """The table of docs/architecture.md, which a test holds against the sources."""
    rows = re.findall(r"^\| `TILEWRIGHT_\w+` \|.*$", ARCHITECTURE.read_text(), re.MULTILINE)
    return "\n".join(["### Environment variables", "", "| variable | meaning |", "|---|---|", *rows]) + "\n"
