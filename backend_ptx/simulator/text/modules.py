"""Parse a module of LLVM's text: named types, globals, functions and their blocks. Errors name the line."""

from __future__ import annotations

import re

from tilewright.backend_ptx.simulator.text.instructions import parse_instruction
from tilewright.backend_ptx.simulator.text.ir import (
    Bits,
    Block,
    Function,
    GlobalVariable,
    LlvmModule,
)
from tilewright.backend_ptx.simulator.text.line import Line, ParseError, unquote
from tilewright.backend_ptx.simulator.text.registers import in_own_types
from tilewright.backend_ptx.simulator.text.types import Type

_LABEL = re.compile(r'^("[^"]*"|[-\w$.]+):')
_LINKAGE = frozenset(
    "internal private external global constant unnamed_addr local_unnamed_addr weak linkonce dso_local hidden".split()
)


def parse_module(text: str) -> LlvmModule:
    """A whole module. Declarations, metadata and target lines are skipped."""
    module = LlvmModule()
    lines = text.split("\n")
    number = 0
    while number < len(lines):
        line = _strip(lines[number])
        number += 1
        if line.startswith("define"):
            number = _function(module, lines, number)
        elif line.startswith("%"):
            c = Line(line, number, module.types)
            name = c.next()
            c.expect("=")
            c.expect("type")
            module.types[name] = c.type()
        elif line.startswith("@"):
            _global(module, line, number)
        elif line.startswith("attributes #"):
            name, _, body = line[len("attributes "):].partition("=")
            module.attributes[name.strip()] = body
    return module


def _strip(line: str) -> str:
    """The line without its comment."""
    if ";" not in line:
        return line
    quoted = False
    for i, ch in enumerate(line):
        if ch == '"':
            quoted = not quoted
        elif ch == ";" and not quoted:
            return line[:i]
    return line


def _function(module: LlvmModule, lines: list[str], number: int) -> int:
    """Parse the function whose `define` is line `number`; returns the number of its last line."""
    c = Line(_strip(lines[number - 1]), number)
    c.expect("define")
    while not c.starts_type():
        c.next()
        c.skip_parens()
    returns = c.type()
    name = unquote(c.next()[1:])
    params: list[tuple[Type, str]] = []
    c.expect("(")
    while not c.accept(")"):
        t = c.type()
        while c.peek()[0] != "%":
            c.next()
            c.skip_parens()
        params.append((t, unquote(c.next()[1:])))
        c.accept(",")
    tail = " ".join(c.tokens[c.at:])
    function = Function(name, returns, params, tail)
    module.functions[name] = function
    while number < len(lines):
        line = _strip(lines[number])
        number += 1
        bare = line.strip()
        if bare == "}":
            in_own_types(function)
            return number
        if not bare:
            continue
        label = _LABEL.match(bare)
        if label:
            function.blocks.append(Block(unquote(label.group(1))))
            continue
        if not function.blocks:
            function.blocks.append(Block("0"))
        start = number
        while bare.startswith("switch ") and "]" not in bare:
            bare += " " + _strip(lines[number]).strip()
            number += 1
        function.blocks[-1].instructions.append(parse_instruction(bare, start, module.types))
    raise ParseError(f"function {name} does not end")


def _global(module: LlvmModule, line: str, number: int) -> None:
    c = Line(line, number)
    name = unquote(c.next()[1:])
    c.expect("=")
    space, external, constant = 0, False, False
    while not c.starts_type():
        token = c.peek()
        if token == "addrspace":
            space = c.space()
            continue
        if token not in _LINKAGE:
            raise c.fail(f"unknown word {token!r}")
        external |= token == "external"
        constant |= token == "constant"
        c.next()
    t = c.type()
    initial: Bits = None
    if c.peek() not in ("", ","):
        initial = c.constant(t)
    align = 1
    while c.peek():
        if c.next() == "align":
            align = c.integer()
    module.globals[name] = GlobalVariable(name, space, t, align, initial, external, constant)
