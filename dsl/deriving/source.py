"""The source of a gradient kernel: the kernel's own Tile IR, derived."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tilewright.arguments.annotations import Param
from tilewright.arguments.bind import Argument, ArrayArgument, ArrayList, Const, Scalar, leaves
from tilewright.arguments.spec import Spec
from tilewright.deriving.roles import Roles
from tilewright.launching.sources import Source, no_statements
from tilewright.tileir.core import Function
from tilewright.tileir.diagnostics import TileValueError
from tilewright.tileir.dtypes import int32, int64
from tilewright.tileir.plan import NO_ALIASES, Aliases, Hints
from tilewright.tileir.types import ArrayType, ListType, Type

if TYPE_CHECKING:
    from tilewright.tileir.derivatives import Need, Wishes


class GradientSource:
    """The gradient of the kernel that another source describes."""

    def __init__(self, forward: Source, roles: Roles) -> None:
        self.forward = forward
        self.roles = roles
        self.name = f"{forward.name}_grad"
        own = {p.name: p for p in forward.params}
        more = (*roles.cotangents, *roles.gradients)
        self.params: Sequence[Param] = (
            *forward.params, *(replace(own[roles.of(name)], name=name) for name in more))
        last = ("blocks",) if roles.by_tiles else ()
        self.params = (*self.params, *(Param(name) for name in (*last, *roles.optional)))
        named = any(p.kind is inspect.Parameter.KEYWORD_ONLY for p in forward.parameters)
        kind = inspect.Parameter.KEYWORD_ONLY if named else inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.parameters: Sequence[inspect.Parameter] = (
            *forward.parameters, *(inspect.Parameter(name, kind) for name in (*more, *last)),
            *(inspect.Parameter(name, kind, default=None) for name in roles.optional))
        self._needs: dict[Any, Need] = {}

    @property
    def namespace(self) -> Mapping[str, Any]:
        return self.forward.namespace

    def check(self, arguments: Sequence[Argument]) -> None:
        """Cotangents and gradients are float arrays of the shapes of what they belong to."""
        by_name = {argument.name: argument for argument in arguments}
        self.forward.check(arguments[: len(self.roles.arguments)])
        for name in (*self.roles.outputs, *self.roles.wrt):
            _check_pair(by_name[name], by_name[f"{name}_grad"])
        if self.roles.workspace:
            _check_workspace(by_name["workspace"])
        if self.roles.by_tiles:
            _check_blocks(by_name["blocks"])

    def translate(
        self, arguments: Sequence[Argument], *, facts: bool, hints: Hints, aliases: Aliases, debug: bool
    ) -> Function:
        if debug:
            raise no_statements(self.name)
        self._check_apart(arguments, aliases)
        extra = {a.name: _type(a, facts) for a in arguments[len(self.roles.parameters) :] if not isinstance(a, Const)}
        return self._made(*self._derived(arguments, facts, hints), extra, arguments)

    def _made(
        self, function: Function, outputs: dict[int, Type], wrt: dict[int, Type], wishes: Wishes,
        extra: dict[str, Type], arguments: Sequence[Argument],
    ) -> Function:
        """The function, of what `_derived` gives and the types of what a launch may allocate."""
        from tilewright.tileir.derivatives import gradient

        at = {leaf.name: k for k, leaf in enumerate(leaves(arguments[: len(self.roles.arguments)]))}
        return gradient(
            function, outputs, wrt, wishes, name=self.name, workspace=extra.pop("workspace", None),
            parts={at[self.roles.of(name)]: type_ for name, type_ in extra.items()})

    def needed(self, arguments: Sequence[Argument]) -> Need:
        """The memory that a launch with these arguments makes use of."""
        from tilewright.tileir.derivatives import needed

        key = tuple(argument.key(False) for argument in arguments[: len(self.roles.parameters)])
        if key not in self._needs:
            self._needs[key] = needed(*self._derived(arguments, False, Hints()))
        return self._needs[key]

    def _derived(
        self, arguments: Sequence[Argument], facts: bool, hints: Hints
    ) -> tuple[Function, dict[int, Type], dict[int, Type], Wishes]:
        """The kernel's Tile IR; by position the types of cotangents and gradients; what else was asked for."""
        from tilewright.tileir.derivatives import Wishes
        from tilewright.tileir.passes import run_pipeline

        own = arguments[: len(self.roles.arguments)]
        function = self.forward.translate(own, facts=facts, hints=hints, aliases=NO_ALIASES, debug=False)
        run_pipeline(function)
        by_name = {argument.name: argument for argument in arguments}
        at = {leaf.name: k for k, leaf in enumerate(leaves(own))}

        def types(names: Sequence[str]) -> dict[int, Type]:
            return {at[name]: _type(by_name[f"{name}_grad"], facts) for name in names}

        def positions(names: Sequence[str]) -> frozenset[int]:
            return frozenset(at[name] for name in names)

        roles = self.roles
        blocks = len(list(leaves([by_name["blocks"]]))) if roles.by_tiles else None
        wishes = Wishes(positions(roles.stored_once), positions(roles.residuals), positions(roles.overwrite), blocks,
                        fuse=not any((d.name, d.value) == ("math", "exact") for d in function.decisions))
        return function, types(roles.outputs), types(roles.wrt), wishes

    def _check_apart(self, arguments: Sequence[Argument], aliases: Aliases) -> None:
        """A gradient shares memory with nothing: what is added to it would change what is read."""
        shared = next(iter((*aliases.same, *aliases.groups)), None)
        if shared is not None:
            names = [leaf.name for leaf in leaves(arguments)]
            raise TileValueError(f"arguments {' and '.join(repr(names[k]) for k in shared)} share memory; the "
                                 "gradients of a kernel need arrays of their own")


class BlockSource(GradientSource):
    """The kernel that runs before a gradient by tiles: over the grid of the kernel, it fills the workspace."""

    def __init__(self, forward: Source, roles: Roles) -> None:
        super().__init__(forward, roles)
        self.name = f"{forward.name}_blocks"

    def _made(
        self, function: Function, outputs: dict[int, Type], wrt: dict[int, Type], wishes: Wishes,
        extra: dict[str, Type], arguments: Sequence[Argument],
    ) -> Function:
        from tilewright.tileir.derivatives import before_gradient

        return before_gradient(function, outputs, wrt, wishes, name=self.name, workspace=extra["workspace"])


def _type(argument: Argument, facts: bool) -> Type:
    assert isinstance(argument, (ArrayArgument, ArrayList))
    made: ArrayType | ListType = argument.type(facts)
    return made


def _check_workspace(argument: Argument) -> None:
    """A workspace is left out, or an array of words with three axes."""
    if isinstance(argument, Const):
        return
    words = isinstance(argument, ArrayArgument) and argument.info.dtype in (int32, int64)
    if not isinstance(argument, ArrayArgument) or not words or len(_shape(argument)) != 3:
        raise TypeError("argument 'workspace' must be an array of int32 or int64 with three axes, or None")


def _check_blocks(argument: Argument) -> None:
    """The grid of the kernel is an integer, or one to three of them."""
    given = list(leaves([argument]))
    if not 1 <= len(given) <= 3 or not all(isinstance(one, Scalar) and one.dtype is int32 for one in given):
        raise TypeError("argument 'blocks' must be the grid of the kernel: an integer, or a tuple of one to three")


def _check_pair(of: Argument, other: Argument) -> None:
    """An array and the array for its cotangent or gradient."""
    if not isinstance(of, (ArrayArgument, ArrayList)):
        raise TypeError(f"argument {of.name!r} is no array, and only arrays have gradients")
    if type(other) is not type(of):
        raise TypeError(f"argument {other.name!r} must be {'an array' if isinstance(of, ArrayArgument) else 'a list'}, "
                        f"as {of.name!r} is")
    ours, theirs = ([v] if isinstance(v, ArrayArgument) else v.items for v in (of, other))
    if len(ours) != len(theirs):
        raise ValueError(f"argument {other.name!r} must hold {len(ours)} arrays, as {of.name!r} does, not "
                         f"{len(theirs)}")
    for one, two in zip(ours, theirs, strict=True):
        dtype = one.info.dtype
        if not dtype.is_float:
            raise TypeError(f"argument {one.name!r} is an array of {dtype}, and only floats have gradients")
        if not two.info.dtype.is_float or not two.info.dtype.arithmetic:
            raise TypeError(f"argument {two.name!r} must be an array of floats that can be added, not of "
                            f"{two.info.dtype}")
        shape, given = _shape(one), _shape(two)
        if not _agree(shape, given):
            raise ValueError(f"argument {two.name!r} must have the shape of {one.name!r}, {_words(shape)}, but has "
                             f"{_words(given)}")


def _shape(array: ArrayArgument) -> tuple[int | None, ...]:
    info = array.info
    return (info.extents or ()) if isinstance(info, Spec) else tuple(info.shape)


def _agree(shape: tuple[int | None, ...], given: tuple[int | None, ...]) -> bool:
    """Whether shapes are equal, as far as they are known."""
    return len(shape) == len(given) and all(
        a is None or b is None or a == b for a, b in zip(shape, given, strict=True))


def _words(shape: tuple[int | None, ...]) -> str:
    return f"({', '.join('?' if n is None else str(n) for n in shape)}{',' if len(shape) == 1 else ''})"
