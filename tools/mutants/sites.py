"""Where mutants can stand in a file, each with its edit, in the order of the text; and the draw."""

from __future__ import annotations

import ast
import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from mutants import operators, probes, tokens, tree

# Calls that speak to people, and methods that do: what they say decides nothing.
SPOKEN_CALLS = {"decide", "warn", "Decision", "hint", "RefusalError", "print", "note", "at"}
SPOKEN_FIELDS = {"span", "hint", "hints", "notes", "spans"}  # where a message points to, and names in dumps
# Arguments that are words of a report, and `strict=` of zip, an assertion that lengths agree.
SPOKEN_ARGUMENTS = SPOKEN_FIELDS | {"reason", "message", "label", "related_label", "strict"}
SPOKEN = {"__repr__", "__str__", "words", "texts", "describe"}
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Mutant:
    """A defect: the text from offset `start` to `end` of a file becomes `after`. `line`, `column`: of the node."""

    path: str
    line: int
    column: int
    kind: str
    start: int
    end: int
    before: str
    after: str

    @cached_property
    def name(self) -> str:
        """What it is called in logs: the place, and a few digits for the edit."""
        digits = hashlib.sha256(f"{self.column} {self.kind} {self.before} {self.after}".encode()).hexdigest()[:6]
        return f"{self.path}:{self.line}:{digits}"

    def applied(self, text: str) -> str:
        assert text[self.start:self.end] == self.before, f"{self.name}: the file is another one"
        return text[:self.start] + self.after + text[self.end:]


class Finder(ast.NodeVisitor):
    """Collects the places of a file: for each node that can change, its mutants."""

    def __init__(self, path: str, text: str, without: tuple[str, ...]) -> None:
        self.path, self.text, self.without = path, text, without
        self.found: list[list[Mutant]] = []
        self._scope: list[str] = []
        self._lines = [0]
        for line in text.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self._line_texts = text.splitlines()
        self.visit(ast.parse(text))

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, (ast.Raise, ast.Assert, ast.Import, ast.ImportFrom)) or self._is_left_out(node):
            return
        if isinstance(node, ast.JoinedStr):
            if not tokens.is_prose(_words(node)):
                self._add(node, _inside_text(node))
            return
        self._add(node, [(change.kind, node, change.node) for change in operators.changes(node)])
        scoped = isinstance(node, SCOPES)
        if isinstance(node, SCOPES):
            self._scope.append(node.name)
            _mark_early_returns(node)
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list", "type_comment", "ctx"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    self.visit(child)
        if scoped:
            self._scope.pop()

    def _is_left_out(self, node: ast.AST) -> bool:
        if isinstance(node, ast.stmt) and probes.is_docstring(node):
            return True
        if isinstance(node, ast.Call) and operators.called(node) in SPOKEN_CALLS:
            return True
        if isinstance(node, ast.keyword) and node.arg in SPOKEN_ARGUMENTS:
            return True
        if isinstance(node, ast.BoolOp) and any(_last_name(value) in SPOKEN_FIELDS for value in node.values):
            return True
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            return True
        if isinstance(node, SCOPES):
            return node.name in SPOKEN or ".".join([*self._scope, node.name]) in self.without
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
            spoken = {"__all__", "__slots__"} | SPOKEN_FIELDS
            return any(".".join([*self._scope, n]) in self.without or n in spoken for n in names)
        return False

    def _add(self, node: ast.AST, changed: list[tuple[str, ast.AST, ast.AST]]) -> None:
        out = []
        for kind, old, new in changed:
            span = self._span(old)
            if span is None:
                continue
            start, end, after = span[0], span[1], _written(old, new)
            before = self.text[start:end]
            if after != before:
                line, column = _place(old)
                out.append(Mutant(self.path, line, column, kind, start, end, before, after))
        if out:
            self.found.append(out)

    def _span(self, node: ast.AST) -> tuple[int, int] | None:
        """Offsets of what is replaced: of statements with a body and of comprehensions, their condition alone."""
        if isinstance(node, (ast.If, ast.While)):
            node = node.test
        if isinstance(node, ast.comprehension):
            first, last = node.target, node.ifs[-1] if node.ifs else node.iter
            end = self._offset(last.end_lineno or last.lineno, last.end_col_offset or 0)
            return self._offset(first.lineno, first.col_offset), end
        if not isinstance(node, (ast.stmt, ast.expr)):
            return None
        return (self._offset(node.lineno, node.col_offset),
                self._offset(node.end_lineno or node.lineno, node.end_col_offset or 0))

    def _offset(self, line: int, column: int) -> int:
        """Columns of the syntax tree count bytes."""
        text = self._line_texts[line - 1]
        return self._lines[line - 1] + (column if text.isascii() else len(text.encode()[:column].decode()))


def _words(node: ast.JoinedStr) -> str:
    """The text of an f-string, with numbers in place of what is computed."""
    return "0".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))


def _last_name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


def _inside_text(node: ast.JoinedStr) -> list[tuple[str, ast.AST, ast.AST]]:
    """The changes of an f-string: of its words, and of the expressions in it. The whole string is written anew, because
    before Python 3.12 what is in it has no place of its own."""
    out: list[tuple[str, ast.AST, ast.AST]] = [(c.kind, node, c.node) for c in operators.changes(node)]
    for inner in ast.walk(node):
        if inner is node or isinstance(inner, (ast.JoinedStr, ast.FormattedValue)) or _is_format(inner):
            continue
        for change in operators.changes(inner):
            if not (isinstance(inner, ast.Constant) and isinstance(inner.value, str)):
                out.append((change.kind, node, _replaced(node, inner, change.node)))
    return out


def _is_format(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _replaced(whole: ast.AST, old: ast.AST, new: ast.AST) -> ast.AST:
    """A copy of a tree with one node in place of another."""
    if whole is old:
        return new
    fields = {}
    for name, value in ast.iter_fields(whole):
        if isinstance(value, list):
            fields[name] = [_replaced(v, old, new) if isinstance(v, ast.AST) else v for v in value]
        else:
            fields[name] = _replaced(value, old, new) if isinstance(value, ast.AST) else value
    return type(whole)(**fields)


def _mark_early_returns(scope: ast.AST) -> None:
    """A return in a branch behind which the function goes on."""
    body = getattr(scope, "body", [])
    for i, statement in enumerate(body):
        for inner in ast.walk(statement) if i + 1 < len(body) else ():
            if isinstance(inner, ast.Return) and inner is not statement:
                inner.early = True  # type: ignore[attr-defined]


def _written(old: ast.AST, new: ast.AST) -> str:
    if isinstance(new, (ast.If, ast.While)):
        new = new.test
    if isinstance(new, ast.comprehension):
        return ast.unparse(new).strip().removeprefix("for ").strip()
    text = ast.unparse(ast.fix_missing_locations(new))
    plain = isinstance(new, (ast.stmt, ast.Constant, ast.Name, ast.Call, ast.Attribute, ast.Subscript, ast.JoinedStr,
                             ast.Slice))
    return text if plain else f"({text})"


def _place(node: ast.AST) -> tuple[int, int]:
    node = node.target if isinstance(node, ast.comprehension) else node
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def in_file(path: str) -> list[list[Mutant]]:
    """For each place of a file where something can change, its mutants."""
    exclusion = tree.exclusions().get(path)
    return Finder(path, (tree.ROOT / path).read_text(), exclusion.names if exclusion else ()).found


def everywhere() -> Iterator[list[Mutant]]:
    for path in tree.files():
        yield from in_file(path)


def drawn(seed: int) -> Iterator[Mutant]:
    """All places in a random order, and of each place one of its mutants."""
    places = list(everywhere())
    order = random.Random(seed)
    order.shuffle(places)
    for place in places:
        mutant = order.choice(place)
        if _compiles(mutant.applied((tree.ROOT / mutant.path).read_text())):
            yield mutant


def _compiles(text: str) -> bool:
    try:
        compile(text, "mutant", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True
