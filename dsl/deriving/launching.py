"""Launches of gradient kernels: what a launch is not given, the workspace and partial gradients, is allocated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright.arguments.annotations import PLAIN_ARRAY
from tilewright.arguments.arrays import HOST, ArrayInfo, describe
from tilewright.arguments.bind import Argument, ArrayArgument, Scalar, leaves
from tilewright.arguments.checks import common_device, real
from tilewright.deriving.parts import add_parts
from tilewright.deriving.source import BlockSource, GradientSource
from tilewright.launching.current import current
from tilewright.launching.grid import Grid, make_grid
from tilewright.launching.launcher import FORCE_INTERPRETER, Launcher, own_stream
from tilewright.launching.specialise import Specialiser
from tilewright.options import KernelOptions, LaunchRules
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError
from tilewright.tileir.dtypes import DType, float32, int32, int64

if TYPE_CHECKING:
    from tilewright.backend_ptx.targets import Target
    from tilewright.interp.checking.report import Report
    from tilewright.interp.options import ExecutionOptions
    from tilewright.launching.checking import Checking
    from tilewright.tileir.derivatives import Need

SLOTS = 32
"""How many iterations' values a loop may keep: with up to 1024 iterations, each runs 16 others again on average."""
MOST_BYTES = 1 << 28


class Extra(NamedTuple):
    """Memory that is allocated for one launch: the parameter's position, the array, and for partial gradients the
    position and shape of the gradient."""

    position: int
    array: Any
    gradient: int = -1
    shape: tuple[int, ...] = ()


class GradientLauncher(Launcher):
    """Launches of kernels that may need memory of their own."""

    def launch(self, grid: Grid, args: tuple[Any, ...], stream: Any) -> Any:
        source = self._specialiser.source
        if not isinstance(source, GradientSource) or not source.roles.optional:
            return super().launch(grid, args, stream)
        args = self.call.complete(args, {})
        arguments = self._specialiser.bind(args)
        stream = _queue_for(arguments, stream)
        extras = _extras(source, arguments, grid, stream)
        filled = list(args)
        for extra in extras:
            filled[extra.position] = extra.array
        if source.roles.by_tiles and common_device(arguments) in (None, HOST):
            self.interpret(grid, arguments)
            return None
        self._run_before(source, arguments, lambda over: self.before.launch(over, tuple(filled), stream))
        super().launch(grid, tuple(filled), stream)
        for extra in extras:
            if extra.shape:
                add_parts(extra.array, args[extra.gradient], extra.shape, stream)
        return None

    @cached_property
    def before(self) -> Launcher:
        """Launches of the kernel that fills the workspace of gradients by tiles."""
        source = self._specialiser.source
        assert isinstance(source, GradientSource)
        return Launcher(Specialiser(BlockSource(source.forward, source.roles), KernelOptions(), LaunchRules()))

    def _run_before(
        self, source: GradientSource, arguments: Sequence[Argument], run: Callable[[Grid], None],
    ) -> None:
        """Run that kernel over the kernel's own grid, where there is something to keep."""
        if source.roles.by_tiles and source.needed(arguments).words:
            run(_grid_of_blocks(source, arguments))

    def bind(self, grid: Grid, args: tuple[Any, ...]) -> tuple[Any, Sequence[Argument], int | None]:
        """Memory that the launch needs is allocated here, and kept with it."""
        source = self._specialiser.source
        if not isinstance(source, GradientSource) or not source.roles.optional:
            return super().bind(grid, args)
        args = self.call.complete(args, {})
        extras, filled = _extras(source, self._specialiser.bind(args), grid), list(args)
        for extra in extras:
            filled[extra.position] = extra.array
        bound = super().bind(grid, tuple(filled))
        if bound[0] is not None and source.roles.by_tiles and source.needed(bound[1]).words:
            raise TileUnsupportedFeatureError(
                f"launches of {self.name} cannot be bound or captured: a kernel before fills their workspace",
                hints=["leave workspace out of grad: each tile then computes what that kernel does"])
        parts = [source.params[extra.position].name for extra in extras if extra.shape]
        if parts and bound[0] is not None:
            raise TileUnsupportedFeatureError(
                f"launches of {self.name} cannot be bound or captured: a second kernel adds up its partial gradients",
                hints=[f"give {parts[0]}, zeros with the blocks as their first axis, and add them up"])
        return bound

    def interpret(
        self, grid: Grid, arguments: Sequence[Argument], options: ExecutionOptions | None = None,
        check: Checking | None = None, target: Target | None = None,
    ) -> list[Report] | None:
        source = self._specialiser.source
        if not isinstance(source, GradientSource) or not source.roles.optional:
            return super().interpret(grid, arguments, options, check, target)
        extras, filled = _extras(source, arguments, grid), list(arguments)
        for extra in extras:
            info = describe(extra.array)
            assert info is not None
            filled[extra.position] = ArrayArgument(arguments[extra.position].name, info, PLAIN_ARRAY)
        found: list[Report] = []
        self._run_before(source, filled, lambda over: found.extend(
            self.before.interpret(over, filled, options, check, target) or ()))
        reports = super().interpret(grid, filled, options, check, target)
        reports = reports if reports is None else [*found, *reports]
        for extra in extras:
            if extra.shape:
                gradient = filled[extra.gradient]
                assert isinstance(gradient, ArrayArgument)
                add_parts(extra.array, real(gradient).array, extra.shape, None)
        return reports

    def interpret_devices(
        self, grid: Grid, devices: Sequence[Sequence[Argument]], options: ExecutionOptions, check: Checking | None,
    ) -> list[Report] | None:
        source = self._specialiser.source
        if isinstance(source, GradientSource) and source.roles.optional:
            raise TileUnsupportedFeatureError(
                f"{self.name} cannot be interpreted on several devices: a second kernel adds up its partial gradients",
                hints=["interpret it for one device after the other"])
        return super().interpret_devices(grid, devices, options, check)


def _queue_for(arguments: Sequence[Argument], stream: Any) -> Any:
    """The stream of all that a launch queues, in whose order its memory goes again."""
    if stream is None and common_device(arguments) not in (None, HOST) and not FORCE_INTERPRETER:
        entered = current()
        return own_stream(arguments) if entered is None else entered
    return stream


def _extras(
    source: GradientSource, arguments: Sequence[Argument], grid: Grid, stream: Any = None,
) -> list[Extra]:
    """What must be allocated, in the order of a stream; without one it is there for every stream. ValueError for a
    workspace that was given and is too small."""
    roles, first = source.roles, len(source.roles.parameters)
    need, device = source.needed(arguments), common_device(arguments)
    blocks = prod((_grid_of_blocks(source, arguments) if roles.by_tiles else grid).size)
    names = [argument.name for argument in arguments]
    values = [leaf.name for leaf in leaves(arguments[: len(roles.arguments)])]
    extras = []
    for position, argument in enumerate(arguments[first:], first):
        if isinstance(argument, ArrayArgument):
            _check_room(argument, need, blocks)
        elif argument.name == "workspace":
            dtype = int64 if need.bits == 64 else int32
            extras.append(Extra(position, _allocated(_shape(need, blocks), dtype, device, stream)))
        elif values.index(roles.of(argument.name)) in need.parts:
            at = names.index(argument.name.removesuffix("_parts"))
            gradient = arguments[at]
            assert isinstance(gradient, ArrayArgument)
            info = real(gradient)
            dtype = float32 if info.dtype.bitwidth < 32 else info.dtype
            shape = tuple(info.shape)
            parts = _allocated((blocks, *shape), dtype, device, stream)
            extras.append(Extra(position, parts, at, shape))
    return extras


def _grid_of_blocks(source: GradientSource, arguments: Sequence[Argument]) -> Grid:
    """The grid of the kernel, which launches by tiles are given."""
    given = arguments[source.roles.parameters.index("blocks")]
    return make_grid(tuple(leaf.value for leaf in leaves([given]) if isinstance(leaf, Scalar)))


def _check_room(argument: ArrayArgument, need: Need, blocks: int) -> None:
    info = argument.info
    least = blocks, 1, need.words
    if argument.name != "workspace" or not need.words or not isinstance(info, ArrayInfo):
        return
    if any(n < m for n, m in zip(info.shape, least, strict=True)):
        raise ValueError(f"argument 'workspace' has the shape {tuple(info.shape)}, but this launch needs {blocks} "
                         f"blocks, a slot or more, and {need.words} words: {least}")


def _shape(need: Need, blocks: int) -> tuple[int, int, int]:
    """So many slots as loops have iterations, if that is known, and as memory allows."""
    slots = SLOTS if need.trips is None else min(SLOTS, need.trips)
    room = MOST_BYTES // max(1, blocks * need.words * need.bits // 8)
    return (blocks, max(1, min(slots, room)), need.words) if need.words else (1, 1, 1)


def _allocated(shape: tuple[int, ...], dtype: DType, device: int | None, stream: Any) -> Any:
    """An array of zeros where the other arguments are; words, which a kernel writes before it reads them, may be
    anything."""
    import numpy

    if device is None or device == HOST:
        return numpy.zeros(shape, dtype.name)
    from tilewright.streams.arrays import empty, zeros
    from tilewright.streams.copies import wait
    from tilewright.streams.queues import Queue

    make = empty if dtype.is_int else zeros
    made = make(shape, dtype, device=device, stream=0 if stream is None else stream)
    if stream is None:
        wait(Queue(device, 0))
    return made
