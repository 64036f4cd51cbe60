"""The reference of docs/language.md, made from signatures, docstrings, enums, dtypes and the command line's parser."""

from __future__ import annotations

import argparse
import enum
import inspect
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from textwrap import dedent
from typing import Any

import language_table

import tilewright as ct
import tilewright.cli.main
from tilewright.cli.answers import SCHEMAS
from tilewright.frontend.calls.convert import rounding_modes
from tilewright.language import Array, Tile, TiledView
from tilewright.language.raw import RawArrayMemory
from tilewright.launching.bound import BoundKernel
from tilewright.launching.fixed import BoundLaunch
from tilewright.options import KernelOptions
from tilewright.tileir import diagnostics, dtypes

START = "<!-- generated from the docstrings: run the tests with --update-golden -->\n"
ARCHITECTURE = Path(__file__).parent.parent / "docs" / "architecture.md"
OWNERS = {c.__name__: c for c in (Tile, Array, TiledView, RawArrayMemory, BoundKernel, BoundLaunch)}
LANGUAGE = ("operators", "functions of one tile", "index space", "memory", "atomics", "factories", "matrix products",
            "shapes and conversions", "reductions and scans", "order and places in a tile", "random numbers",
            "compile time", "output", "dependent launch", "methods")
HOST = {
    "kernels and launch": "tile_kernel BoundKernel tile_kernel.bind BoundLaunch launch graph LaunchGraph "
                          "LaunchGraph.update function ByTarget tile_kernel.replace_hints compiler_timeout settings",
    "annotations": "ArrayAnnotation ListAnnotation ScalarAnnotation ConstantAnnotation",
    "looking inside": "tile_kernel.ir tile_kernel.llvm tile_kernel.ptx tile_kernel.cubin tile_kernel.sass "
                      "tile_kernel.lower tile_kernel.compiled tile_kernel.arg_specs tile_kernel.interpret "
                      "tile_kernel.debug trace tile_kernel.simulate compare Side Comparison profile Profile "
                      "spec uninitialized",
    "kernels made of kernels": "grad kernel_from_ir infer vmap fuse Fusion",
    "kernels compiled ahead": "load_bundle",
    "device code of others": "inline_ptx device_function",
    "streams and events": "Stream Event",
    "arrays on a GPU": "to_device empty from_dlpack to_host copy DeviceArray DeviceArray.to_host gpu_available",
}
"""What runs on the host, by part. Modules (`tune`, `compilation`) follow with all that they export."""

TABLES = ("Dtypes", "Rounding modes of conversions", "Enums", "Errors", "Command line", "Environment variables")
MODULES = ("tune", "compilation", "bundles")
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
    if thing is BoundLaunch:
        return "bound(*, stream=None)"
    if isinstance(thing, type) and thing.__init__ is object.__init__:
        return name
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return name
    if not isinstance(thing, type) and not hasattr(thing, "__tilewright_builtin__"):
        parameters = [p for p in parameters if p.name != "self"]
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
        if found is not None and found.__all__:
            out[f"module ct.{module}"] = [n for name in found.__all__ for n in _members(f"{module}.{name}")]
    for part in LANGUAGE:
        out[part] = [n for n in language_table.CONTRACT[part].split() if find(n) is not None]
    listed = {name for names in out.values() for name in names}
    stubs = [n for n in ct.language.__all__ if hasattr(find(n), "__tilewright_builtin__")]
    additions = [n for n in stubs if n not in listed]
    return {**out, "additions": additions} if additions else out


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
    contents = [f"- **{_capital(part)}**: " + ", ".join(_link(n) for n in names) for part, names in made.items()]
    sections = [f"### {_capital(part)}\n\n" + "\n".join(map(entry, names)) for part, names in made.items()]
    tables = [dtype_table(), rounding_table(), enum_tables(), error_table(), command_line(), environment()]
    contents.append("- **Tables**: " + ", ".join(f"[{t}](#{t.lower().replace(' ', '-')})" for t in TABLES))
    return START + "\n" + "\n".join(contents) + "\n\n" + "\n".join([*sections, *tables])


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


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
    classes = [getattr(ct, n) for n in ct.__all__ if n.endswith(("Error", "Warning"))]
    lines = ["### Errors", "", prose(inspect.getdoc(diagnostics.TileError) or ""), "",
             "| class | a kind of | raised for |", "|---|---|---|"]
    for c in classes:
        if c is not ct.TileError:
            text = " ".join((inspect.getdoc(c) or "").split())
            lines.append(f"| `{c.__name__}` | `{c.__mro__[1].__name__}` | {text} |")
    return "\n".join(lines) + "\n"


def rounding_table() -> str:
    """Which rounding modes `astype` takes between float formats; asked of the rule itself."""
    floats = [d for d in dtypes.ALL if d.is_float]
    lines = ["### Rounding modes of conversions", "",
             "What `rounding_mode` of `astype` may be, of floats. The default is RN; without RN, one must be given.",
             "", "| to | modes | from |", "|---|---|---|"]
    for target in floats:
        modes: dict[str, list[str]] = {}
        for source in floats:
            if source is not target:
                modes.setdefault(" ".join(m.name for m in rounding_modes(source, target)), []).append(f"`{source}`")
        for names, sources in sorted(modes.items(), key=lambda item: -len(item[1])):
            said = "all others" if len(modes) == 1 else ", ".join(sources)
            lines.append(f"| `{target}` | {names} | {said} |")
    return "\n".join(lines) + "\n"


def command_line() -> str:
    """The commands and their arguments, from the parser that reads them."""
    lines = ["### Command line", ""]
    said: set[str] = set()
    for name, help_, verb in _verbs(tilewright.cli.main.make_parser(), "tilewright"):
        actions = [a for a in verb._actions if a.dest != "help"]
        if any(isinstance(a, argparse._SubParsersAction) for a in actions):
            lines += [f"`{name} ...`: {help_}", ""]
            continue
        usage = " ".join([name, *(str(a.metavar or a.dest) if not a.option_strings else
                                  f"{a.option_strings[0]} {_value(a)}".strip() if a.required else
                                  f"[{a.option_strings[0]}{' ' * bool(_value(a))}{_value(a)}]" for a in actions)])
        lines += [f"`{usage}`: {help_}", ""]
        news = [a for a in actions if a.help and a.help not in said]
        said |= {a.help for a in news if a.help}
        lines += [f"- `{a.option_strings[0] if a.option_strings else a.metavar}`: {a.help}" for a in news]
        lines += [""] if news else []
    lines += ["The fields of the object that `--json` prints, apart from `command`, the command's name:", "",
              "| command | field | value |", "|---|---|---|"]
    lines += [f"| {command} | `{field}` | {meaning} |" for command, fields in SCHEMAS.items()
              for field, meaning in fields.items()]
    return "\n".join([*lines, ""])


def _value(action: argparse.Action) -> str:
    return "" if action.nargs == 0 else str(action.metavar or action.dest.upper())


def _verbs(parser: argparse.ArgumentParser, prefix: str) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """Every command: its name, what it does, its parser."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            summaries = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, verb in action.choices.items():
                yield f"{prefix} {name}", summaries.get(name, ""), verb
                yield from _verbs(verb, f"{prefix} {name}")


def environment() -> str:
    """The table of docs/architecture.md, which a test holds against the sources."""
    rows = re.findall(r"^\| `TILEWRIGHT_\w+` \|.*$", ARCHITECTURE.read_text(), re.MULTILINE)
    return "\n".join(["### Environment variables", "", "| variable | meaning |", "|---|---|", *rows]) + "\n"
