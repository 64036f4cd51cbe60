"""The frontend's entry: a Python function and the kinds of its arguments become Tile IR."""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

from tilewright.frontend.branches import run
from tilewright.frontend.debug import mark
from tilewright.frontend.hostvalues import frontend_value
from tilewright.frontend.inline import check_kernel_parameters, returned
from tilewright.frontend.math_modes import DEFAULT, EXACT, decision
from tilewright.frontend.scopes import Scope
from tilewright.frontend.source import kernel_source
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import ConstArg, Val, like, named
from tilewright.tileir.contract import contract_fma, drop_unused
from tilewright.tileir.core import Block, Function
from tilewright.tileir.diagnostics import (
    TileError,
    TileInternalError,
    TileRecursionError,
    TileTypeError,
    in_words_of,
)
from tilewright.tileir.ops.control import Return
from tilewright.tileir.plan import NO_ALIASES, Aliases, Hints
from tilewright.tileir.process import Restore, WhileInside, uncollected
from tilewright.tileir.types import TupleType

_DEEP = 60_000  # Python frames: a thousand inlined calls, each with the handlers of its statements and expressions


def translate(
    pyfunc: types.FunctionType, arg_specs: tuple[Any, ...], *, name: str | None = None,
    hints: Hints | None = None, aliases: Aliases = NO_ALIASES, debug: bool = False, math: str = DEFAULT,
) -> Function:
    """Tile IR of a kernel for arguments of the given kinds.

    A spec is a Tile IR type (array, list of arrays, scalar), a ConstArg, or a tuple of specs for a tuple argument.
    ConstArgs have no parameter in the result; the parts of a tuple `x` are the parameters `x.0`, `x.1.0`, ...
    `aliases` says which parameters share memory: one that is the same as another is read and written as that one.
    With `debug`, each statement is marked with what the user's names stand for (`tileir/ops/debug.py`). `math`: one of
    MODES (`frontend/math_modes.py`).
    The function's source, globals and closure values are read at its first translation and kept.
    Raises TileError for whatever is wrong with the kernel.
    """
    source = kernel_source(pyfunc).root
    check_kernel_parameters(source)
    if len(source.parameters) != len(arg_specs):
        counts = f"takes {len(source.parameters)} arguments, got {len(arg_specs)}"
        raise TileTypeError(f"{source.name}: {counts}", source.span)
    scope = Scope(source, None, None, 0)
    body = Block()
    same = {later: earlier for later, earlier in aliases.same}
    t = Translator(scope, body, *[mark] if debug else [])
    t.math = math
    with _errors(t), _deep_recursion, uncollected:
        for parameter, spec in zip(source.parameters, arg_specs, strict=True):
            scope.bind(parameter.arg, _argument(t, body, spec, parameter.arg, same), parameter)
        run(t, source.body)
        value = returned(t, scope)
        if debug:
            mark(t, source.body[-1])
        if value is not None:
            binding = scope.vars["return"]
            raise TileTypeError(
                f"a kernel returns nothing, but {source.name} returns {named(value)}", scope.span(binding.node),
                hints=["store results in an array argument"],
            )
        t.emit_op(Return)
        function = Function(name or source.name, body, hints or Hints(), source.span)
        function.aliases = aliases
        function.decisions += decision(math)
        if math != EXACT:
            contract_fma(function)
        drop_unused(function)
    return function


def _argument(t: Translator, body: Block, spec: Any, name: str, same: Mapping[int, int]) -> Val:
    """The value of a parameter; run-time parts become parameters of the function. `same` gives, by position, the
    earlier parameter that stands for one with the same elements."""
    if isinstance(spec, ConstArg):
        return frontend_value(t, spec.value, name)
    if isinstance(spec, TupleType):
        spec = spec.items
    if isinstance(spec, tuple):
        return like(spec, (_argument(t, body, item, f"{name}.{i}", same) for i, item in enumerate(spec)))
    value = body.add_param(spec, name)
    position = len(body.params) - 1
    return body.params[same[position]] if position in same else value


@contextlib.contextmanager
def _errors(t: Translator) -> Iterator[None]:
    """Give user errors a place; anything else is ours."""
    try:
        yield
    except TileError as error:
        t.locate(error)
        error.message = in_words_of(error.span.file, error.message)
        error.hints = [in_words_of(error.span.file, hint) for hint in error.hints]
        raise
    except RecursionError:
        raise TileRecursionError("calls are nested too deep", t.span()) from None
    except Exception as error:
        raise TileInternalError(
            f"the frontend failed here: {type(error).__name__}: {error}", t.span(),
            hints=["this is a defect of Tilewright; please report it with the kernel"],
        ) from error


def _raise_limit() -> Restore:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _DEEP))
    return lambda: sys.setrecursionlimit(limit)


_deep_recursion = WhileInside(_raise_limit)
