"""Text to Tile IR: the inverse of `printer.py`. Every mistake in the text is an error that points at it."""

from __future__ import annotations

import functools
import json
import linecache
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from tilewright.tileir.core import OPS, Block, Function, Op, Value
from tilewright.tileir.diagnostics import NO_SPAN, Span, TileError, TileSyntaxError, TileTypeError, at
from tilewright.tileir.dtypes import BY_IR
from tilewright.tileir.layout import Layout
from tilewright.tileir.parse_types import TypeReader, children, integer, word
from tilewright.tileir.plan import RECORDS, Decision, complaint, read
from tilewright.tileir.types import Type
from tilewright.tileir.wellformed import aliases_complaint, attribute_complaint, type_complaint

Tree = Any  # lark is imported at the first use, so its types have no names here

_WORDS = {"true": True, "false": False, "none": None, "inf": float("inf"), "nan": float("nan")}

# Lark's names of what may follow, in a reader's words.
_EXPECTED = {
    "VALUE": "a value (%name)", "NAME": "a name", "INT": "an integer", "FLOAT": "a float (0x1.8p+0)",
    "MINUS_INF": "-inf", "STRING": "a string", "LAYOUT": "a layout (#0)", "DIMS": "a shape with a dtype (64x64xf32)",
    "EXTENTS": "a shape", "LPAR": "(", "RPAR": ")", "LBRACE": "{", "RBRACE": "}", "LSQB": "[", "RSQB": "]",
    "LESSTHAN": "<", "MORETHAN": ">", "EQUAL": "=", "COMMA": ",", "COLON": ":", "AT": "@", "DOT": ".", "FUNC": "func",
    "LINEAR": "linear", "DECISION": "decision", "SOURCE": "a source (@0)", "PLACE": "a place (@0:12:5-20)",
    "$END": "the end of the text",
}


def parse(text: str, file: str = "<text>") -> Function:
    """The function that the text describes. Errors: TileSyntaxError, TileTypeError, with a span into the text.

    The ops of a backend can be read once its op modules are imported.
    """
    import tilewright.tileir.ops  # noqa: F401  (registers the ops)

    try:
        return _Reader(file).function(_tree(text, file))
    except RecursionError:
        error: TileError = TileSyntaxError("the text is nested too deeply", Span(file, 1, 0, 1, 1))
    except TileError as found:
        error = found
    if file.startswith("<"):  # no file on the disk: let the renderer find the lines
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    raise error from None


@functools.cache
def _lark() -> Any:
    from lark import Lark

    grammar = Path(__file__).with_name("grammar.lark").read_text()
    return Lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=False)


def _tree(text: str, file: str) -> Tree:
    from lark import UnexpectedInput, UnexpectedToken

    try:
        return _lark().parse(text)
    except UnexpectedInput as error:
        if isinstance(error, UnexpectedToken):
            names: set[str] = set(error.accepts or error.expected)
            found = str(error.token) or "the end of the text"
        else:
            names = set(getattr(error, "allowed", None) or ())
            found = text[error.pos_in_stream or 0 :][:1]
        line, column = _position(error, text)
        expected = ", ".join(sorted({_EXPECTED.get(n, n.lower()) for n in names} - {""}))
        span = Span(file, line, column - 1, line, column - 1 + len(found))
    raise TileSyntaxError(f"unexpected {found!r}", span, notes=[f"expected {expected}"] if expected else [])


def _position(error: Any, text: str) -> tuple[int, int]:
    if isinstance(error.line, int) and error.line > 0:
        return error.line, error.column
    lines = text.splitlines() or [""]
    return len(lines), len(lines[-1]) + 1


class _Reader:
    """Walks the tree once, top down, with a table of the values that are in scope."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.values: dict[str, Value] = {}
        self.every_name: set[str] = set()
        self.types = TypeReader(self.span)
        self.sources: dict[str, Span] = {}

    def span(self, node: Tree) -> Span:
        """The place of a tree or token."""
        meta: Any = getattr(node, "meta", node)
        if getattr(meta, "line", None) is None:
            return NO_SPAN
        return Span(self.file, meta.line, meta.column - 1, meta.end_line, meta.end_column - 1)

    def function(self, tree: Tree) -> Function:
        for layout in children(tree, "layout"):
            self.types.define_layout(layout)
        for source in children(tree, "source"):
            self.define_source(source)
        [function] = children(tree, "function")
        # Before the parameters: what these hold cannot be a value.
        records: dict[str, Any] = {}
        for given in children(function, "record"):
            self.record(given, records)
        decisions = list(map(self.decision, children(function, "decision")))
        block = Block()
        for params in children(function, "params"):
            self.declare_params(params, block)
        self.fill(block, children(function, "op"))
        name = word(function)
        if not block.ops or block.terminator.opcode != "return":
            raise TileTypeError("the function must end with return()", self.span(name))
        made = Function(str(name), block, span=self.place(function) or self.span(name))
        for kind, record in records.items():
            setattr(made, kind, record)
        made.decisions = decisions
        if wrong := aliases_complaint(made):
            raise TileTypeError(f"aliases: {wrong}", self.span(name))
        return made

    def record(self, tree: Tree, records: dict[str, Any]) -> None:
        """What stands behind the parameters: `hints(...)`, `plan(...)` and the like."""
        name = word(tree)
        given: dict[str, Any] = {}
        kind = RECORDS.get(str(name))
        if kind is None:
            raise TileSyntaxError(f"a function has no {name}(...)", self.span(name), hints=_similar(name, RECORDS))
        if str(name) in records:
            raise TileSyntaxError(f"{name}(...) is given twice", self.span(name))
        for arg in children(tree, "arg"):
            key, value = str(arg.children[0]), self.value(arg.children[1])
            wrong = complaint(kind, key, value)
            if wrong is not None:
                raise TileTypeError(f"{name}: {wrong}", self.span(arg))
            given[key] = value
        records[str(name)] = read(kind, given)

    def decision(self, tree: Tree) -> Decision:
        value = self.value(tree.children[1])
        if not isinstance(value, (int, str)):
            raise TileTypeError("a decision is a number or a string", self.span(tree))
        reason = "".join(self.string(token, tree) for token in tree.children[2:] if token.type == "STRING")
        return Decision(str(word(tree)), value, reason, self.place(tree) or NO_SPAN)

    def define_source(self, tree: Tree) -> None:
        """A function of the user's source, to whose lines places refer."""
        alias, *texts = [token for token in tree.children if token.type != "PLACE"]
        if str(alias) in self.sources:
            raise TileSyntaxError(f"{alias} is defined twice", self.span(alias))
        file, function = [*(self.string(text, tree) for text in texts), ""][:2]
        self.sources[str(alias)] = Span(file, function=function, call_site=self.place(tree))

    def place(self, tree: Tree) -> Span | None:
        """The place in the user's source that a tree ends with; None where it names none."""
        token = next((child for child in tree.children if getattr(child, "type", None) == "PLACE"), None)
        if token is None:
            return None
        alias, *numbers = re.split("[:-]", str(token))
        if alias not in self.sources:
            raise TileSyntaxError(f"{alias} is not defined above", self.span(token))
        line, column, *last, end = (integer(number, self.span(token)) for number in numbers)
        return replace(self.sources[alias], line=line, col=max(column - 1, 0), end_line=(*last, line)[0], end_col=end)

    def declare_params(self, params: Tree, block: Block) -> None:
        for param in params.children:
            name, type_ = param.children
            self.declare(name, block.add_param(self.type_of(type_)))

    def declare(self, name: Any, value: Value) -> None:
        text = str(name)[1:]
        if text in self.values:
            raise TileSyntaxError(f"{name} is defined twice", self.span(name))
        self.every_name.add(text)
        self.values[text] = value
        value.hint = "" if text[0].isdigit() else text

    def type_of(self, tree: Tree) -> Type:
        with at(self.span(tree)):
            type_ = self.types.type(tree)
            complaint = type_complaint(type_)
            if complaint:
                raise TileTypeError(complaint)
        return type_

    def fill(self, block: Block, ops: list[Tree]) -> None:
        for tree in ops:
            if block.ops and block.ops[-1].terminator:
                raise TileTypeError(f"nothing may follow {block.ops[-1].opcode}(...)", self.span(tree))
            block.ops.append(self.op(tree))

    def body(self, tree: Tree) -> Block:
        outside = dict(self.values)
        block = Block()
        for params in children(tree, "params"):
            self.declare_params(params, block)
        self.fill(block, children(tree, "op"))
        if not block.ops or not block.terminator.terminator:
            message = f"the body {word(tree)} must end with a terminator such as yield(...)"
            raise TileTypeError(message, self.span(word(tree)))
        self.values = outside
        return block

    def op(self, tree: Tree) -> Op:
        name = word(tree)
        cls = OPS.get(str(name))
        if cls is None:
            raise TileSyntaxError(f"there is no operation {name}", self.span(name), hints=_similar(str(name), OPS))
        given = self.fields(cls, tree, name)
        span = self.span(tree)
        with at(span):
            op = self.build(cls, given, self.place(tree) or span)
        self.declare_results(op, tree, name)
        return op

    def build(self, cls: type[Op], given: dict[str, Any], span: Span) -> Op:
        try:
            return cls(span=span, **given)
        except TileError:
            raise
        except (AttributeError, TypeError, ValueError, LookupError, ArithmeticError) as error:
            # A type rule reads the fields as what they ought to be; here the text gave it something else.
            raise TileTypeError(f"{cls.opcode}: the operands or attributes do not fit", notes=[str(error)]) from None

    def declare_results(self, op: Op, tree: Tree, name: Any) -> None:
        params = [param for results in children(tree, "results") for param in results.children]
        if len(params) != len(op.results):
            raise TileTypeError(f"{op.opcode} has {len(op.results)} results, not {len(params)}", self.span(name))
        for param, result in zip(params, op.results, strict=True):
            value, type_ = param.children
            written = self.type_of(type_)
            if written.erased() != result.type.erased():
                message = f"{value} is written as {written}, but {op.opcode} gives {result.type}"
                raise TileTypeError(message, self.span(type_))
            result.retype(written)
            self.declare(value, result)

    def fields(self, cls: type[Op], tree: Tree, name: Any) -> dict[str, Any]:
        given: dict[str, Any] = {}
        for arg in children(tree, "arg"):
            key = str(arg.children[0])
            self.check_key(cls, key, given, arg.children[0], "body" not in self.kind(cls, key))
            given[key] = self.argument(cls, key, arg.children[1])
        for body in children(tree, "body"):
            self.check_key(cls, str(word(body)), given, word(body), self.kind(cls, str(word(body))) == "body")
            given[str(word(body))] = self.body(body)
        missing = [n for n, field in cls.fields.items() if field.required and n not in given]
        if missing:
            raise TileSyntaxError(f"{cls.opcode}: {', '.join(missing)} is missing", self.span(name))
        return given

    def kind(self, cls: type[Op], key: str) -> str:
        return cls.fields[key].kind if key in cls.fields else ""

    def check_key(self, cls: type[Op], key: str, given: dict[str, Any], node: Any, right_kind: bool) -> None:
        if key not in cls.fields or not right_kind:
            message = f"{cls.opcode} has no field {key} here"
            raise TileSyntaxError(message, self.span(node), hints=_similar(key, cls.fields))
        if key in given:
            raise TileSyntaxError(f"{cls.opcode}: {key} is given twice", self.span(node))

    def argument(self, cls: type[Op], key: str, node: Tree) -> Any:
        kind, value = cls.fields[key].kind, self.value(node)
        wanted = {"attribute": "a constant", "operands": "a tuple of values"}.get(kind, "a value (%name)")
        if kind == "operands":
            fits = isinstance(value, tuple) and all(isinstance(v, Value) for v in value)
        else:
            fits = _holds_a_value(value) == (kind != "attribute") or (kind == "optional" and value is None)
            fits = fits and not (_holds_a_value(value) and isinstance(value, tuple))
        if not fits:
            raise TileTypeError(f"{cls.opcode}: {key} must be {wanted}", self.span(node))
        return self.attribute(cls, key, value, node) if kind == "attribute" else value

    def attribute(self, cls: type[Op], key: str, value: Any, node: Tree) -> Any:
        enum = cls.fields[key].enum
        if enum is not None and isinstance(value, str):
            value = next((member for member in enum if member.value == value), value)
        complaint = attribute_complaint(cls, key, value)
        if complaint:
            raise TileTypeError(f"{cls.opcode}: {key}: {complaint}", self.span(node))
        return value

    def value(self, node: Tree) -> Any:
        """A value of an argument: what `printer.attribute` wrote, or an operand."""
        match node.data:
            case "value":
                return self.operand(node.children[0])
            case "tuple":
                return tuple(map(self.value, node.children))
            case "int":
                return integer(node.children[0], self.span(node))
            case "float":
                return self.float(node)
            case "minus_inf":
                return -float("inf")
            case "string":
                return self.string(node.children[0], node)
            case "layout_name":
                return self.layout(node)
            case "word":
                return self.word(node)
            case _:
                return self.type_of(node)

    def operand(self, token: Any) -> Value:
        value = self.values.get(str(token)[1:])
        if value is None:
            elsewhere = str(token)[1:] in self.every_name
            message = f"{token} is out of scope here" if elsewhere else f"{token} is not defined before this place"
            raise TileSyntaxError(message, self.span(token))
        return value

    def float(self, node: Tree) -> float:
        try:
            return float.fromhex(str(node.children[0]))
        except OverflowError:
            raise TileTypeError("the number is too large for a float", self.span(node)) from None

    def string(self, token: Any, node: Tree) -> str:
        try:
            text: str = json.loads(str(token))
            return text
        except ValueError as error:
            raise TileSyntaxError(f"the string cannot be read: {error}", self.span(node)) from None

    def layout(self, node: Tree) -> Layout:
        with at(self.span(node)):
            return self.types.layout(node)

    def word(self, node: Tree) -> Any:
        text = str(node.children[0])
        if text in _WORDS:
            return _WORDS[text]
        if text in BY_IR:
            return BY_IR[text]
        raise TileSyntaxError(f"{text} is neither a constant nor a dtype", self.span(node), hints=_similar(text, BY_IR))


def _holds_a_value(value: Any) -> bool:
    return isinstance(value, Value) or (isinstance(value, tuple) and any(map(_holds_a_value, value)))


def _similar(name: str, known: Any) -> list[str]:
    import difflib

    close = difflib.get_close_matches(name, list(known), 3)
    return [f"did you mean {' or '.join(close)}?"] if close else []
