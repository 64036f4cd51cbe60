"""Which test enters which block: each block of a function gets a probe, a byte that the block sets.

A probe is one assignment to an array, where a trace function would be called for every line: recording costs a few per
cent of the tests' time. A block is what runs as one: statements up to the end of the next compound statement, or the
body of a lambda. What stands outside of functions runs at import and has no probe.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

NAME = "_mutants_hits"  # the array of bytes, among the builtins
COMPOUND = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.TryStar, ast.Match)
Place = tuple[int, int]


@dataclass(frozen=True)
class Span:
    """Source text from `start` to `end` (line, column), and the probe that is set when it runs."""

    start: Place
    end: Place
    probe: int

    def covers(self, place: Place) -> bool:
        return self.start <= place < self.end


class Probes(ast.NodeTransformer):
    """Puts probes into a module, numbered from `first`; `spans` says where each stands, inner ones after outer ones."""

    def __init__(self, first: int) -> None:
        self.next = first
        self.spans: list[Span] = []
        self._inside = False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        probe = self._probe(node.body, node.body)
        self.generic_visit(node)
        note = ast.Call(ast.Attribute(ast.Name(NAME, ast.Load()), "__setitem__", ast.Load()),
                        [ast.Constant(probe), ast.Constant(1)], [])
        node.body = ast.BoolOp(ast.Or(), [note, node.body])  # a note is None
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field, value in ast.iter_fields(node):
            if not isinstance(value, list):
                setattr(node, field, self.visit(value) if isinstance(value, ast.AST) else value)
            elif self._inside and value and isinstance(value[0], ast.stmt) and not isinstance(node, ast.ClassDef):
                setattr(node, field, self._block(value))
            else:
                setattr(node, field, [self.visit(v) if isinstance(v, ast.AST) else v for v in value])
        return node

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        inside, self._inside = self._inside, True
        self.generic_visit(node)
        self._inside = inside
        return node

    def _block(self, block: list[ast.stmt]) -> list[ast.stmt]:
        start = 1 if is_docstring(block[0]) else 0
        out, pending = block[:start], True
        for i in range(start, len(block)):
            if pending:
                end = next((s for s in block[i:] if isinstance(s, COMPOUND)), block[-1])
                out.append(_note(self._probe(block[i], end), block[i]))
            out.append(self.visit(block[i]))
            pending = isinstance(block[i], COMPOUND)
        return out

    def _probe(self, first: ast.stmt | ast.expr, last: ast.stmt | ast.expr) -> int:
        assert last.end_lineno is not None and last.end_col_offset is not None
        end = (last.end_lineno, last.end_col_offset)
        self.spans.append(Span((first.lineno, first.col_offset), end, self.next))
        self.next += 1
        return self.next - 1


def is_docstring(statement: ast.stmt) -> bool:
    return (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            and isinstance(statement.value.value, str))


def _note(probe: int, before: ast.stmt) -> ast.stmt:
    target = ast.Subscript(ast.Name(NAME, ast.Load()), ast.Constant(probe), ast.Store())
    return ast.copy_location(ast.Assign([target], ast.Constant(1)), before)


@dataclass(frozen=True)
class Map:
    """The probes of all files that mutants are drawn from."""

    spans: dict[str, list[Span]]
    count: int

    def at(self, path: str, place: Place) -> int | None:
        """The probe of the innermost block around a place; None outside of functions."""
        found = [span for span in self.spans[path] if span.covers(place)]
        return max(found, key=lambda span: (span.start, (-span.end[0], -span.end[1]))).probe if found else None

    def of_file(self, path: str) -> range:
        spans = self.spans[path]
        return range(spans[0].probe, spans[-1].probe + 1) if spans else range(0)


def with_probes(path: Path, first: int) -> tuple[ast.Module, Probes]:
    probes = Probes(first)
    tree = probes.visit(ast.parse(path.read_text(), str(path)))
    return ast.fix_missing_locations(tree), probes


def survey(root: Path, paths: list[str]) -> Map:
    """Where the probes of these files stand (paths from `root`), in their order."""
    spans, count = {}, 0
    for path in paths:
        probes = with_probes(root / path, count)[1]
        spans[path] = probes.spans
        count = probes.next
    return Map(spans, count)
