"""Calls: dispatch on the callee's kind."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import enum
import functools
import math
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tilewright.frontend import folding
from tilewright.frontend.advice import on_builtin, on_function
from tilewright.frontend.calls.foreign import rule_of
from tilewright.frontend.calls.registry import BY_VALUE, RULES, CallRule
from tilewright.frontend.dispatch import expression
from tilewright.frontend.flow import CHANGING
from tilewright.frontend.hostvalues import NATIVE_FUNCTIONS, frontend_value
from tilewright.frontend.inline import inline_closure, inline_function
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import BoundMethod, Changed, Closure, Keywords, Struct, Val, is_loose, listed, named
from tilewright.tileir.diagnostics import (
    NO_SPAN,
    Subject,
    TileError,
    TileSyntaxError,
    TileTypeError,
    UnsupportedCallError,
)
from tilewright.tileir.dtypes import DType
from tilewright.tileir.foreign import is_declared

# All functions that contextlib.contextmanager makes share this code.
_MANAGER_CODE = contextlib.contextmanager(lambda: iter(())).__code__

ArgumentNodes = tuple[Sequence[ast.expr], Sequence[ast.keyword]]

# Functions that receive the call's AST: name -> handler(translator, node).
SYNTAX_FORMS: dict[str, Callable[[Translator, Any], Val]] = {}


def syntax_form(name: str) -> Callable[[Any], Any]:
    """Register the handler of a function whose arguments are not evaluated as a kernel's."""

    def register(handler: Any) -> Any:
        SYNTAX_FORMS[name] = handler
        return handler

    return register


@expression(ast.Call)
def call(t: Translator, node: ast.Call) -> Val:
    if _changes(node.func):  # x.append(x.pop()): what x is once the arguments are there
        args, kwargs = elements(t, node.args), keyword_arguments(t, node.keywords)
        return _called(t, node, t.expr(node.func), args, kwargs)
    function = t.expr(node.func)
    form = SYNTAX_FORMS.get(rule_name(function))
    if form is not None:
        _check_written_out(t, node.func, rule_name(function))
        return form(t, node)
    return _called(t, node, function, elements(t, node.args), keyword_arguments(t, node.keywords))


def _changes(function: ast.expr) -> bool:
    """Whether it is a method of a variable that changes lists or dicts."""
    return isinstance(function, ast.Attribute) and function.attr in CHANGING and isinstance(function.value, ast.Name)


def _called(t: Translator, node: ast.Call, function: Val, args: Sequence[Val], kwargs: Mapping[str, Val]) -> Val:
    try:
        value = call_value(t, function, args, kwargs, (node.args, node.keywords))
        return SYNTHETIC["changed"](t, node.func, value) if type(value) is Changed else value
    except TileError as error:
        name = error.subject.keyword
        if error.span is NO_SPAN and name:
            error.span = next((t.span(k) for k in node.keywords if k.arg == name), NO_SPAN)
        raise


def _check_written_out(t: Translator, node: ast.expr, name: str) -> None:
    """What takes Python source must stand there under its own name, not in a variable."""
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name) or root.id in t.scope.source.locals:
        raise _not_a_value(name)


def _not_a_value(name: str) -> TileSyntaxError:
    return TileSyntaxError(f"{name} cannot be passed around: it takes the source text of its argument",
                           hints=[f"write ct.{name}(...) where it is needed"])


def elements(t: Translator, nodes: Sequence[ast.expr]) -> list[Val]:
    """The values of a tuple display or of positional arguments, starred ones spread."""
    out: list[Val] = []
    for node in nodes:
        if not isinstance(node, ast.Starred):
            out.append(t.expr(node))
            continue
        value = listed("*", t.expr(node.value))
        if not isinstance(value, tuple):
            raise TileTypeError(f"*: expected a tuple or a list, got {named(value)}", t.span(node),
                                hints=["only tuples are spread: *(a, b)"])
        out.extend(value)
    return out


def keyword_arguments(t: Translator, nodes: Sequence[ast.keyword]) -> dict[str, Val]:
    """The keyword arguments of a call, those of `**dict` spread."""
    out: dict[str, Val] = {}
    for node in nodes:
        value = t.expr(node.value)
        if node.arg is not None:
            new = {node.arg: value}
        elif isinstance(value, Keywords):
            new = _named_by_strings(t, node, value)
        else:
            raise TileTypeError(f"**: expected keyword arguments, got {named(value)}", t.span(node.value),
                                hints=["only the **kwargs of a function can be spread"])
        for name in new.keys() & out.keys():
            raise TileTypeError(f'argument "{name}" is given twice', t.span(node.value),
                                hints=["leave one of them out"])
        out.update(new)
    return out


def _named_by_strings(t: Translator, node: ast.keyword, value: Keywords) -> dict[str, Val]:
    for key in value.items:
        if not isinstance(key, str):
            raise TileTypeError(f"**: the keys must be strings, one is {key!r}", t.span(node.value))
    return value.items


def rule_name(function: Val) -> str:
    """The name of the rule that a function has, "" if it has none."""
    name = getattr(function, "__tilewright_builtin__", None)
    if isinstance(name, str):
        return name
    try:
        return BY_VALUE.get(function, "")
    except TypeError:  # not hashable
        return ""


def call_rule_by_name(t: Translator, name: str, args: Sequence[Val], **kwargs: Val) -> Val:
    """Call one of the language's functions."""
    return _call_rule(t, RULES[name], args, kwargs, None)


def call_value(
    t: Translator, function: Val, args: Sequence[Val], kwargs: Mapping[str, Val], nodes: ArgumentNodes | None = None,
    receivers: int = 0,
) -> Val:
    """Call a frontend value; the first `receivers` arguments stood before the dot."""
    name = rule_name(function)
    if name:
        if name in SYNTAX_FORMS:
            raise _not_a_value(name)
        return _call_rule(t, RULES[name], args, kwargs, nodes, receivers)
    if is_declared(function):
        return _call_rule(t, rule_of(function), args, kwargs, nodes, receivers)
    if isinstance(function, types.FunctionType):
        if function.__code__ is _MANAGER_CODE:
            return SYNTHETIC["manager"](t, function, args, kwargs)
        return inline_function(t, function, args, kwargs)
    if isinstance(function, Closure):
        return inline_closure(t, function, args, kwargs)
    if isinstance(function, BoundMethod | types.MethodType | functools.partial):
        return _call_holder(t, function, args, kwargs, nodes)
    if isinstance(function, DType):
        return _call_rule(t, RULES["dtype"], [function, *args], kwargs, _shifted(nodes), 1)
    if isinstance(function, Struct) and callable(function.type):
        return _call_method(t, function, "__call__", args, kwargs)
    if isinstance(function, type):
        return _call_type(t, function, args, kwargs)
    return _call_native(function, args, kwargs)


def _call_holder(t: Translator, function: Val, args: Sequence[Val], kwargs: Mapping[str, Val],
                 nodes: ArgumentNodes | None) -> Val:
    """What holds its first arguments: a method its receiver, functools.partial any."""
    if isinstance(function, BoundMethod):
        return call_value(t, function.function, [function.receiver, *args], kwargs, _shifted(nodes), 1)
    if isinstance(function, types.MethodType):
        if not isinstance(function.__func__, types.FunctionType):
            raise _not_callable(function)
        receiver = frontend_value(t, function.__self__, function.__name__)
        return call_value(t, function.__func__, [receiver, *args], kwargs)
    what = "what functools.partial holds"
    held = [frontend_value(t, value, what) for value in function.args]
    named = {name: frontend_value(t, value, what) for name, value in function.keywords.items()}
    for _ in held:
        nodes = _shifted(nodes)
    return call_value(t, frontend_value(t, function.func, what), [*held, *args], {**named, **kwargs}, nodes, len(held))


def _call_native(function: Val, args: Sequence[Val], kwargs: Mapping[str, Val]) -> Val:
    """Functions of Python's `math`, and methods of constants, work on constants."""
    owner = getattr(function, "__self__", None) if isinstance(function, types.BuiltinFunctionType) else None
    if not (owner is math or isinstance(owner, int | float | str)) or not _constants([*args, *kwargs.values()]):
        raise _not_callable(function)
    what = function.__name__ if owner is not math else f"math.{function.__name__}"
    return folding.run(what, functools.partial(function, **kwargs), *args)


def _constants(values: Sequence[Val]) -> bool:
    """Whether Python itself can compute with the arguments."""
    return all(_constants(v) if isinstance(v, tuple) else is_loose(v) or isinstance(v, str) for v in values)


def _shifted(nodes: ArgumentNodes | None) -> ArgumentNodes | None:
    """The nodes of a call whose first argument, the receiver, has none."""
    return ((ast.Constant(None), *nodes[0]), nodes[1]) if nodes else None


def _call_rule(
    t: Translator, rule: CallRule, args: Sequence[Val], kwargs: Mapping[str, Val], nodes: ArgumentNodes | None,
    receivers: int = 0,
) -> Val:
    what = rule.what or (str(args[0]) if rule.name == "dtype" else rule.name.rpartition(".")[2])
    bound = rule.signature.bind(what, args, kwargs, receivers)
    signature = rule.signature
    positional = [bound[n] for n in (*signature.positional_only, *signature.positional)]
    if signature.var_positional:
        positional += bound[signature.var_positional]
    named = {n: bound[n] for n in signature.keyword_only}
    if signature.var_keyword:
        named.update(bound[signature.var_keyword])
    try:
        return rule.function(t, *positional, **named)
    except TileError as error:
        subject = error.subject
        if subject.argument and nodes and error.span is NO_SPAN:
            node = _argument_node(rule, subject, nodes)
            if node is not None:
                error.span = t.span(_part(node, subject.item))
        raise


def _argument_node(rule: CallRule, subject: Subject, nodes: ArgumentNodes) -> ast.expr | None:
    """Where the argument that an error is about stands in the call."""
    name = subject.argument
    args, keywords = nodes
    for keyword in keywords:
        if keyword.arg == name:
            return keyword.value
    if any(isinstance(a, ast.Starred) for a in args):
        return None
    positions = rule.signature.positions(len(args))
    node = args[positions.index(name) + subject.number] if name in positions else None
    return node if node is not None and hasattr(node, "lineno") else None


def _part(node: ast.expr, item: int | None) -> ast.expr:
    """An entry of an argument that was written as a tuple."""
    whole = item is None or not isinstance(node, ast.Tuple) or any(isinstance(e, ast.Starred) for e in node.elts)
    return node if whole or item >= len(node.elts) else node.elts[item]  # type: ignore[operator, attr-defined]


def _call_method(t: Translator, struct: Struct, name: str, args: Sequence[Val], kwargs: Mapping[str, Val]) -> Val:
    method = getattr(struct.type, name, None)
    if not isinstance(method, types.FunctionType):
        raise _not_callable(struct)
    return inline_function(t, method, [struct, *args], kwargs)


def _call_type(t: Translator, kind: type, args: Sequence[Val], kwargs: Mapping[str, Val]) -> Val:
    if dataclasses.is_dataclass(kind):
        return SYNTHETIC["dataclass"](t, kind, args, kwargs)
    if issubclass(kind, enum.Enum):
        return SYNTHETIC["enum"](t, kind, args, kwargs)
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return SYNTHETIC["named tuple"](t, kind, args, kwargs)
    raise _not_callable(kind)


# Constructors of user types (registered by frontend/structs.py) and of context managers (frontend/contexts.py), and
# what binds names to changed lists (frontend/containers.py).
SYNTHETIC: dict[str, Callable[..., Val]] = {}


def _not_callable(function: Val) -> TileError:
    name = getattr(function, "__name__", "")
    if isinstance(function, type) and function.__module__ != "builtins":
        return UnsupportedCallError(f"the class {name} cannot be called in a kernel",
                                    hints=["kernels make objects of frozen dataclasses and named tuples only"])
    native = (types.BuiltinFunctionType, types.MethodType, type)
    if isinstance(function, native) or type(function).__name__ in NATIVE_FUNCTIONS:
        module = (getattr(function, "__module__", "") or "").partition(".")[0]
        hints = on_builtin(name) if module in ("", "builtins", "io") else on_function(name)
        if module in ("math", "numpy", "torch") and name in RULES:
            hints = [f"write {RULES[name].signature.brief(f'ct.{name}')}"]
        shown = f"{module}.{name}" if module not in ("", "builtins", "io") else name
        return UnsupportedCallError(f"{shown} cannot be called in a kernel", hints=hints)
    hints = ["write * to multiply"] if is_loose(function) else []
    return TileTypeError(f"{named(function)} cannot be called in a kernel", hints=hints)
