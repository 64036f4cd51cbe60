"""Helpers and closures: every call is translated in place."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence

from tilewright.frontend.branches import run
from tilewright.frontend.calls.binding import Signature
from tilewright.frontend.flow import FALL, RETURN
from tilewright.frontend.hostvalues import frontend_value
from tilewright.frontend.names import usable
from tilewright.frontend.scopes import RETURN_VALUE, Conflict, Scope
from tilewright.frontend.source import FunctionSource, span_of
from tilewright.frontend.structure import known_elsewhere, parts
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Closure, Keywords, Val, describe, named
from tilewright.tileir.diagnostics import Related, TileError, TileRecursionError, TileSyntaxError, TileTypeError

MAX_DEPTH = 1000


def inline_function(t: Translator, function: types.FunctionType, args: Sequence[Val], kwargs: Mapping[str, Val]) -> Val:
    """Call a module-level function (or a method of a captured object)."""
    if getattr(function, "__tilewright_host_only__", False):
        raise TileTypeError(f"{function.__name__} is marked with function(tile=False): only the host may call it",
                            hints=["take tile=False away, or compute its result outside the kernel"])
    source = t.scope.source.kernel.function(function, t.span())
    return _inline(t, source, args, kwargs, host_defaults(t, function), None)


def inline_closure(t: Translator, closure: Closure, args: Sequence[Val], kwargs: Mapping[str, Val]) -> Val:
    """Call a function or lambda that was defined in the kernel."""
    return _inline(t, closure.source, args, kwargs, closure.defaults, closure.scope)


def host_defaults(t: Translator, function: types.FunctionType) -> dict[str, Val]:
    """The default values of a module-level function."""
    given = function.__defaults__ or ()
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    defaults = {**dict(zip(names[len(names) - len(given):], given, strict=True)), **(function.__kwdefaults__ or {})}
    return {name: frontend_value(t, value, name) for name, value in defaults.items()}


def _inline(
    t: Translator, source: FunctionSource, args: Sequence[Val], kwargs: Mapping[str, Val], defaults: dict[str, Val],
    outer: Scope | None,
) -> Val:
    caller, node = t.scope, t.node
    scope = activation(t, source, args, kwargs, defaults, outer)
    t.scope, t.node = scope, source.node
    try:
        run(t, source.body)
        value = returned(t, scope)
        # A function of this activation that is given back shares its lists and dicts.
        return known_elsewhere(value) if scope.source.flow.captured and _holds_function(value) else value
    except TileError as error:
        t.locate(error)
        raise
    finally:
        t.scope, t.node = caller, node


def _holds_function(value: Val) -> bool:
    return isinstance(value, Closure) or any(map(_holds_function, parts(value)))


def activation(
    t: Translator, source: FunctionSource, args: Sequence[Val], kwargs: Mapping[str, Val], defaults: dict[str, Val],
    outer: Scope | None,
) -> Scope:
    """The scope of one call, its parameters bound."""
    if t.scope.depth >= MAX_DEPTH:
        raise TileRecursionError(
            f"{source.name}: calls are nested more than {MAX_DEPTH} deep",
            hints=["recursion must end while compiling: test a constant argument; or write a loop"],
        )
    signature = signature_of(source, defaults)
    bound = signature.bind(source.name, args, kwargs)
    scope = Scope(source, outer, t.span(), t.scope.depth + 1)
    for parameter in source.parameters:
        name = parameter.arg
        if name == signature.var_keyword:
            scope.bind(name, Keywords({key: known_elsewhere(v) for key, v in bound[name].items()}), parameter)
        else:
            scope.bind(name, known_elsewhere(bound[name]), parameter)
    return scope


def signature_of(source: FunctionSource, defaults: dict[str, Val]) -> Signature:
    """The parameters of a function, with defaults that were evaluated where it was defined."""
    a = source.node.args
    return Signature(
        tuple(p.arg for p in a.posonlyargs), tuple(p.arg for p in a.args), tuple(p.arg for p in a.kwonlyargs),
        a.vararg.arg if a.vararg else None, a.kwarg.arg if a.kwarg else None, defaults,
    )


def returned(t: Translator, scope: Scope) -> Val:
    """What a function gives back, merged from all its returns."""
    ways = scope.exit.ways
    binding = scope.vars.get(RETURN_VALUE)
    if not ways & RETURN or binding is None:
        return None
    value = binding.value
    if isinstance(value, Conflict):
        first, second = scope.span(value.first_node), scope.span(value.second_node)
        raise TileTypeError(
            f"{scope.source.name} returns {named(value.first)} in line {first.line} and "
            f"{named(value.second)} in line {second.line}", second,
            related=[Related(first, describe(value.first))], hints=["return the same type and shape on every way"],
        )
    value = usable(scope, "the returned value", binding)
    if ways & FALL and value is not None:
        raise TileTypeError(
            f"{scope.source.name} returns {named(value)} on some ways and nothing where its end is reached",
            scope.span(binding.node), hints=["end the function with a return of the same type"],
        )
    return value


def check_kernel_parameters(source: FunctionSource) -> None:
    """A kernel has neither *args nor **kwargs."""
    a = source.node.args
    for stars, parameter in (("*", a.vararg), ("**", a.kwarg)):
        if parameter is not None:
            raise TileSyntaxError(f"a kernel cannot have the parameter {stars}{parameter.arg}",
                                  span_of(parameter, source.file, source.name, None),
                                  hints=["list the parameters, or pass a tuple"])
