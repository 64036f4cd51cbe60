"""A kernel's source: the parsed functions, and the globals and closure values captured at the first compilation."""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import linecache
import sys
import types
import weakref
from dataclasses import replace
from typing import Any

from tilewright.frontend.desugar import desugared
from tilewright.frontend.flow import Flow, local_names
from tilewright.tileir.captured import captured_by
from tilewright.tileir.diagnostics import NO_SPAN, Span, TileSyntaxError, note_name

FunctionNode = ast.FunctionDef | ast.Lambda

_PARSED: weakref.WeakKeyDictionary[types.CodeType, FunctionNode] = weakref.WeakKeyDictionary()
_SOURCE = "__tilewright_source__"


class FunctionSource:
    """One function: its AST, its local names, what it captured from outside, and its data flow."""

    def __init__(
        self, node: FunctionNode, file: str, captured: dict[str, Any], kernel: KernelSource, namespace: dict[str, Any]
    ) -> None:
        self.namespace = namespace  # its module's globals, for hints
        _note_name(file, namespace)
        self.node = node
        self.file = file
        self.captured = captured
        self.kernel = kernel
        self.name = node.name if isinstance(node, ast.FunctionDef) else "<lambda>"
        self.locals = local_names(node)
        self.flow = Flow(node)
        a = node.args
        self.parameters = [*a.posonlyargs, *a.args, *filter(None, [a.vararg]), *a.kwonlyargs, *filter(None, [a.kwarg])]
        self._lambda_body: list[ast.stmt] = []
        if isinstance(node, ast.Lambda):
            self._lambda_body = [ast.copy_location(ast.Return(value=node.body), node.body)]
        self._nested: dict[FunctionNode, FunctionSource] = {}

    def nested(self, node: FunctionNode) -> FunctionSource:
        """The source of a function or lambda inside this one."""
        if node not in self._nested:
            self._nested[node] = FunctionSource(node, self.file, self.captured, self.kernel, self.namespace)
        return self._nested[node]

    @property
    def span(self) -> Span:
        """The `def` line."""
        return span_of(self.node, self.file, self.name, None)

    @property
    def body(self) -> list[ast.stmt]:
        """Its statements; a lambda is one `return`."""
        if isinstance(self.node, ast.FunctionDef):
            return self.node.body
        return self._lambda_body


def _note_name(file: str, namespace: dict[str, Any]) -> None:
    """Under which name a file's globals have the package."""
    package = sys.modules.get("tilewright")
    names = [name for name, value in namespace.items() if package is not None and value is package]
    if names:
        note_name(file, "ct" if "ct" in names else names[0])


class KernelSource:
    """Everything that one kernel reads from Python, taken once and shared by all its specialisations."""

    def __init__(self, pyfunc: types.FunctionType) -> None:
        self.functions: dict[types.FunctionType, FunctionSource] = {}
        self._kernel = pyfunc
        self.root = self.function(pyfunc)

    def function(self, pyfunc: types.FunctionType, call_site: Span | None = None) -> FunctionSource:
        """The source of a function that the kernel calls, at `call_site`."""
        source = self.functions.get(pyfunc)
        if source is None:
            try:
                node = parse(pyfunc)
            except TileSyntaxError as error:
                if error.span is not NO_SPAN:
                    error.span = replace(error.span, call_site=call_site)
                raise
            captured = captured_by(self._kernel, pyfunc)
            source = FunctionSource(node, pyfunc.__code__.co_filename, captured, self, pyfunc.__globals__)
            self.functions[pyfunc] = source
        return source


def kernel_source(pyfunc: types.FunctionType) -> KernelSource:
    """The one KernelSource of a kernel function.

    The function itself holds it: what it captures often leads back to the function, so a table, even one with weak
    keys, would keep every kernel that a factory makes. (functools.wraps copies what a function holds to another.)
    """
    source = vars(pyfunc).get(_SOURCE)
    if source is None or pyfunc not in source.functions:
        source = vars(pyfunc)[_SOURCE] = KernelSource(pyfunc)
    return source


def parse(pyfunc: types.FunctionType) -> FunctionNode:
    """The AST of a function, with the line and column numbers of its file."""
    code = pyfunc.__code__
    node = _PARSED.get(code)
    if node is None:
        node = _PARSED[code] = _parse(code, pyfunc)
    return node


def _lines_of(code: types.CodeType, pyfunc: types.FunctionType) -> list[str]:
    """The text that a function was compiled from: of its file, of a notebook's cell, of a prompt that keeps it
    (IPython; Python's own from 3.13 on), or of `python -c`."""
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, pyfunc.__globals__)
    if len(lines) < code.co_firstlineno:
        of_code = getattr(linecache, "_getlines_from_code", None)  # Python 3.13, for code that has no file
        lines = (of_code(code) if of_code is not None else None) or _command_line(code)
    if code.co_filename == "<tilewright>":  # code of ours that tracebacks leave out
        raise TileSyntaxError(f"{pyfunc.__name__} is for the host: a kernel cannot call it",
                              hints=["call it where the kernel is launched"])
    if len(lines) < code.co_firstlineno:
        raise TileSyntaxError(
            f"the source text of {pyfunc.__name__} cannot be read from {code.co_filename}", hints=[_how_to_keep(code)])
    return lines


def _command_line(code: types.CodeType) -> list[str]:
    """The text of `python -c`, if the function was compiled from it: exec() gives its code the same file name."""
    for text in sys.orig_argv[1:] if code.co_filename == "<string>" else ():
        with contextlib.suppress(SyntaxError, ValueError):
            codes = [compile(text, code.co_filename, "exec", dont_inherit=True)]
            while codes:
                found = codes.pop()
                if found == code:
                    return text.splitlines(keepends=True)
                codes += [c for c in found.co_consts if isinstance(c, types.CodeType)]
    return []


def _how_to_keep(code: types.CodeType) -> str:
    if code.co_filename == "<stdin>":
        return ("Python keeps no text of what it reads from standard input, or before 3.13 at its prompt: write the "
                "kernel in a file, in a notebook, or at IPython's prompt")
    return ("before exec(), keep the text where Python looks for it: "
            "linecache.cache[name] = (len(text), None, text.splitlines(True), name), and exec(compile(text, name, "
            "'exec')) with a name of your own; or write the kernel in a file")


def _parse(code: types.CodeType, pyfunc: types.FunctionType) -> FunctionNode:
    lines = _lines_of(code, pyfunc)
    if code.co_name == "<lambda>":
        return _find_lambda(code, _lambdas("".join(lines)).get(code.co_firstlineno, []))
    first = code.co_firstlineno - 1
    block = inspect.getblock(lines[first:])
    # Dedenting the text would change multi-line strings, so an indented function is parsed inside an `if`.
    indented = block[0][:1] in " \t"
    tree = ast.parse("if 1:\n" + "".join(block) if indented else "".join(block))
    ast.increment_lineno(tree, first - indented)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            return desugared(node)
        if isinstance(node, ast.AsyncFunctionDef) and node.name == code.co_name:
            raise TileSyntaxError(f"{node.name}: async functions cannot be kernels or helpers",
                                  span_of(node, code.co_filename, node.name, None), hints=["write def"])
    raise TileSyntaxError(f"the source text of {pyfunc.__name__} was not found in {code.co_filename}")


@functools.lru_cache(maxsize=8)
def _lambdas(text: str) -> dict[int, list[ast.Lambda]]:
    """The lambdas of a file by their line, outer ones before those inside them."""
    found: dict[int, list[ast.Lambda]] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Lambda):
            found.setdefault(node.lineno, []).append(node)
    return found


def _find_lambda(code: types.CodeType, found: list[ast.Lambda]) -> ast.Lambda:
    """The innermost lambda whose body holds every instruction of the code that has a position.

    Python 3.12 gives none to a lambda that returns a constant: such ones are told by that constant.
    """
    inside = [
        ((line, col), (end_line, end_col)) for line, end_line, col, end_col in code.co_positions()
        if line is not None and end_line is not None and col is not None and end_col
    ]
    if inside:
        matching = [node for node in found if all(_holds(node.body, *p) for p in inside)]
    else:
        matching = [node for node in found if repr(_returned(node)) == repr(code.co_consts)]  # 1 is not True
    if matching or len(found) == 1:
        return [*found, *matching][-1]
    raise TileSyntaxError("a lambda's source text could not be told from others on its line", hints=["use def"])


def _returned(node: ast.Lambda) -> tuple[object, ...] | None:
    """The constants of a lambda's code, None if it does more than return one."""
    made = compile(ast.Expression(node), "<lambda>", "eval")
    [code] = [c for c in made.co_consts if isinstance(c, types.CodeType)]
    return None if any(end for _, _, _, end in code.co_positions()) else code.co_consts


def _holds(node: ast.expr, start: tuple[int, int], end: tuple[int, int]) -> bool:
    last = node.end_lineno or node.lineno, node.end_col_offset or 0
    return (node.lineno, node.col_offset) <= start and end <= last


def column_of(file: str, line: int, byte: int) -> int:
    """The column of a place that `ast` counts in bytes of UTF-8."""
    text = linecache.getline(file, line)
    return byte if text.isascii() else len(text.encode()[:byte].decode(errors="ignore"))


def span_of(node: ast.AST, file: str, function: str, call_site: Span | None) -> Span:
    """The place of an AST node; of a function, its first line."""
    line, col = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
    end_line, end_col = getattr(node, "end_lineno", line), getattr(node, "end_col_offset", col)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        keyword = "def " if isinstance(node, ast.FunctionDef) else "async def "
        end_line, end_col = line, col + len(keyword) + len(node.name.encode())
    elif isinstance(node, (ast.If, ast.While, ast.For, ast.With)):
        head = node.items[-1].context_expr if isinstance(node, ast.With) else getattr(node, "test", None) or node.iter  # type: ignore[union-attr]
        end_line, end_col = head.end_lineno, head.end_col_offset
    end_line = end_line or line
    start, end = column_of(file, line, col), column_of(file, end_line, end_col or col)
    return Span(file, line, start, end_line, end, function, call_site)
