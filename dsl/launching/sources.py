"""Where the Tile IR of a kernel comes from: what a kernel's specialisations ask, whatever the kernel was made of."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, Protocol

from tilewright.arguments.annotations import Param, read_params
from tilewright.arguments.bind import Argument, Const, Tuple
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError
from tilewright.tileir.plan import Aliases, Hints

if TYPE_CHECKING:
    from tilewright.tileir.core import Function


class Source(Protocol):
    """A kernel before it is specialised.

    `name` is the kernel's, `parameters` are those of its call, `params` says how the argument of each is read, and
    `namespace` holds the global names that its lines may use, for a debugger.
    """

    name: str

    @property
    def parameters(self) -> Sequence[inspect.Parameter]: ...

    @property
    def params(self) -> Sequence[Param]: ...

    @property
    def namespace(self) -> Mapping[str, Any]: ...

    def check(self, arguments: Sequence[Argument]) -> None:
        """Raise TypeError or ValueError for arguments that are of the right kind, and do not fit all the same."""

    def translate(
        self, arguments: Sequence[Argument], *, facts: bool, hints: Hints, aliases: Aliases, debug: bool
    ) -> Function:
        """The Tile IR for these arguments, before any pass; with `debug`, marked for a debugger."""


class PythonSource:
    """A kernel that is a Python function. `math` is its math mode. Raises what reading its annotations raises."""

    def __init__(self, function: FunctionType, math: str = "default") -> None:
        self.function = function
        self.math = math
        self.name = function.__name__
        self.parameters = tuple(inspect.signature(function).parameters.values())
        self.params = read_params(function)

    @property
    def namespace(self) -> Mapping[str, Any]:
        return self.function.__globals__

    def check(self, arguments: Sequence[Argument]) -> None:
        """Nothing but their kinds matters."""

    def translate(
        self, arguments: Sequence[Argument], *, facts: bool, hints: Hints, aliases: Aliases, debug: bool
    ) -> Function:
        from tilewright.frontend import translate

        specs = tuple(frontend_spec(argument, facts=facts) for argument in arguments)
        return translate(self.function, specs, name=self.name, hints=hints, aliases=aliases, debug=debug,
                         math=self.math)


def frontend_spec(argument: Argument, *, facts: bool) -> Any:
    """The argument as the frontend wants it: a type, a ConstArg, or a tuple of those."""
    from tilewright.frontend import ConstArg

    if isinstance(argument, Const):
        return ConstArg(argument.value)
    if isinstance(argument, Tuple):
        items = tuple(frontend_spec(item, facts=facts) for item in argument.items)
        return items if argument.kind is tuple else argument.kind(*items)
    return argument.type(facts)


def no_statements(kernel: str) -> TileUnsupportedFeatureError:
    """The error for a debugger that is asked for where no Python function is."""
    return TileUnsupportedFeatureError(
        f"kernel {kernel} is no Python function, so that a debugger has no statements to stop at",
        hints=["tw.trace shows what each op computes"])
