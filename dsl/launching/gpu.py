"""Running a kernel on a GPU: frozen plans by the exact shapes, kernels by the facts, checks before each launch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from tilewright.arguments.bind import Argument, ArrayArgument, ArrayList, Leaf, Scalar, Tuple, leaves
from tilewright.arguments.checks import check_outputs, real
from tilewright.arguments.sharing import output_pairs
from tilewright.inspecting.dumps import Dump, observed
from tilewright.launching.grid import Grid, check_hardware
from tilewright.launching.specialise import Once, Specialiser
from tilewright.launching.timeouts import limited
from tilewright.tileir.analysis.effects import written_arrays
from tilewright.tileir.plan import NO_ALIASES, Aliases, Switches

OutputRange = tuple[int, int, int, int, int, int]
MAX_PLANS = 4096  # plans are per exact shape; a kernel with ever new shapes must not grow without bound


class GpuRunner:
    """Compiled kernels of one kernel function by specialisation and device."""

    def __init__(self, specialiser: Specialiser) -> None:
        self._specialiser = specialiser
        self._kernels = Once()
        self._plans: dict[Any, DevicePlan] = {}

    def prepare(self, arguments: Sequence[Argument], linear: bool, ordinal: int) -> DevicePlan:
        """The plan for arguments of exactly these shapes, strides and alignments; compiles on the first use."""
        from tilewright.backend_ptx.runtime.driver import get_device

        aliases = self._specialiser.aliases(arguments, facts=True)
        exact = ordinal, linear, aliases, tuple(_exact_key(argument) for argument in arguments)
        plan = self._plans.get(exact)
        if plan is None:
            device = get_device(ordinal)
            key = ordinal, linear, aliases, tuple(argument.key(True) for argument in arguments)
            kernel, written = self._kernels.get(key, lambda: self._build_in_time(arguments, linear, device, aliases))
            plan = DevicePlan(kernel, arguments, written)
            if len(self._plans) >= MAX_PLANS:
                self._plans.clear()
            self._plans[exact] = plan
        check_outputs(arguments, plan.written)
        return plan

    def _build_in_time(
        self, arguments: Sequence[Argument], linear: bool, device: Any, aliases: Aliases
    ) -> tuple[Any, frozenset[int]]:
        built = limited(self._specialiser.name, lambda: self.build(arguments, linear, device, aliases))
        if not device.is_current():  # under a limit another thread has built it
            device.make_current()
        return built

    def build(
        self, arguments: Sequence[Argument], linear: bool, device: Any, aliases: Aliases = NO_ALIASES
    ) -> tuple[Any, frozenset[int]]:
        """Compile and load for one device: a DeviceKernel, and the parameters that it writes by their own name."""
        from tilewright.backend_ptx.runtime.kernel import build_kernel

        hints = self._specialiser.hints.resolve(device.target.name)
        switches = Switches(linear_grid=linear, line_info=wants_lines())

        def make(dump: Dump | None) -> tuple[Any, frozenset[int]]:
            if dump is None:
                function = self._specialiser.tile_ir(arguments, facts=True, aliases=aliases)
                return build_kernel(function, device, hints, switches), written_arrays(function)
            function = self._specialiser.make_tile_ir(arguments, facts=True, aliases=aliases, dump=dump)
            return build_kernel(function, device, hints, switches, dump), written_arrays(function)

        kernel, written = observed(self._specialiser.name, make)
        return kernel, written if aliases is NO_ALIASES else self._specialiser.outputs(arguments, facts=True)


class DevicePlan:
    """What a launch with arguments of known shapes needs: only addresses, scalars and lists are still open."""

    __slots__ = ("kernel", "written", "pairs", "_plan", "_lists")

    def __init__(self, kernel: Any, arguments: Sequence[Argument], written: frozenset[int]) -> None:
        from tilewright.backend_ptx.runtime.plan import LaunchPlan

        self.kernel = kernel
        self.written = written
        flat = list(leaves(arguments))
        template, pointers, scalars = _template(kernel.abi, flat)
        self._plan = LaunchPlan(kernel, template, pointers, scalars, _tensor_maps(kernel, flat, pointers))
        self._lists = _ListTables(kernel) if any(isinstance(leaf, ArrayList) for leaf in flat) else None
        self.pairs = output_ranges(flat, written)

    @property
    def cacheable(self) -> bool:
        """Whether a plan found by the launch's key alone can run: that of a list has no addresses."""
        return self._lists is None

    def launch(self, grid: Grid, pointers: Sequence[int], scalars: Sequence[Any], stream: int) -> None:
        """Set the grid's parameters, queue the kernel. The caller has seen which arrays share memory."""
        grid = grid.in_clusters(self.kernel.cluster)
        if grid.linear:
            check_hardware(grid)
            scalars = (*scalars, *grid.size)
        self._plan.launch(grid.hardware, pointers, scalars, stream)

    def launch_bound(self, grid: Grid, arguments: Sequence[Argument], stream: int) -> None:
        """The same from bound arguments, with their lists' tables."""
        flat = list(leaves(arguments))
        tables = iter(self._lists.at(flat, stream) if self._lists else ())
        pointers: list[int] = []
        scalars: list[Any] = []
        for leaf in flat:
            if isinstance(leaf, ArrayArgument):
                pointers.append(real(leaf).pointer)
            elif isinstance(leaf, Scalar):
                scalars.append(scalar_value(leaf))
            else:
                pointers.append(next(tables))
                scalars.append(len(leaf.items))
        self.launch(grid, [*pointers, *tables], scalars, stream)


class _ListTables:
    """The tables of a plan's lists: their records, in order, then their tensor maps."""

    __slots__ = ("_kernel", "_maps", "_kept")

    def __init__(self, kernel: Any) -> None:
        from tilewright.backend_ptx.runtime.tables import KeptTables

        self._kernel = kernel
        self._maps = [param for param in kernel.abi.params if param.kind == "map_table"]
        self._kept = KeptTables(kernel.device)

    def at(self, flat: Sequence[Leaf], stream: int) -> tuple[int, ...]:
        """Their addresses. What a table holds follows from its list's records."""
        records = [list_table(leaf) for leaf in flat if isinstance(leaf, ArrayList)]
        # The plan knows how long each is.
        found: tuple[int, ...] = self._kept.at(
            b"".join(records), lambda: [*records, *(self._encode(param, flat) for param in self._maps)], stream)
        return found

    def _encode(self, param: Any, flat: Sequence[Leaf]) -> bytes:
        from tilewright.backend_ptx.runtime.tensor_map import encoded

        leaf = flat[param.argument]
        assert isinstance(leaf, ArrayList)
        infos = [real(item) for item in leaf.items]
        return b"".join(
            encoded(self._kernel.device, param.tensor_map, info.pointer, info.shape, info.strides,
                    f"array {number} of argument {leaf.name!r}").data
            for number, info in enumerate(infos))


def wants_lines() -> bool:
    """Whether TILEWRIGHT_LINEINFO asks for machine code that names the lines of the source."""
    return os.environ.get("TILEWRIGHT_LINEINFO", "0").lower() not in ("", "0", "off", "false")


def _exact_key(argument: Argument) -> Any:
    """All numbers of an argument that a plan has filled in."""
    if isinstance(argument, Tuple):
        return tuple(_exact_key(item) for item in argument.items)
    if isinstance(argument, ArrayArgument):
        info = real(argument)
        return info.dtype, info.shape, info.strides, info.pointer & 15
    if isinstance(argument, ArrayList):
        return tuple(_exact_key(item) for item in argument.items)
    return argument.key(True)


def _template(abi: Any, flat: Sequence[Leaf]) -> tuple[list[int], list[int], list[int]]:
    """Slot contents with extents and strides filled in, and the slots of addresses and of scalars, in order."""
    from tilewright.backend_ptx.abi import ADDRESSES
    from tilewright.backend_ptx.runtime.plan import slot_bits

    template = [0] * len(abi.params)
    pointers: list[int] = []
    scalars: list[int] = []
    for slot, param in enumerate(abi.params):
        if param.kind in ADDRESSES:
            pointers.append(slot)
        elif param.kind in ("scalar", "length", "grid"):
            scalars.append(slot)
        elif param.kind != "tensor_map":
            leaf = flat[param.argument]
            assert isinstance(leaf, ArrayArgument)
            info = real(leaf)
            values = info.shape if param.kind == "extent" else info.strides
            template[slot] = slot_bits(param, values[param.axis])
    return template, pointers, scalars


def _tensor_maps(kernel: Any, flat: Sequence[Leaf], pointers: Sequence[int]) -> list[Any]:
    """The tensor maps among the parameters; `pointers` are the slots of addresses."""
    from tilewright.backend_ptx.runtime.tensor_map import MapHole

    holes = []
    for slot, param in enumerate(kernel.abi.params):
        if param.kind == "tensor_map":
            leaf = flat[param.argument]
            assert isinstance(leaf, ArrayArgument)
            info, place = real(leaf), pointers.index(kernel.abi.position("pointer", param.argument))
            holes.append(MapHole(slot, place, param.tensor_map, info.shape, info.strides, kernel.device,
                                 f"argument {leaf.name!r}"))
    return holes


def output_ranges(flat: Sequence[Leaf], written: frozenset[int]) -> tuple[OutputRange, ...]:
    """Per pair of arrays with an output in it: position and byte range relative to the base, of both."""
    position: dict[int, int] = {}
    for index, leaf in enumerate(flat):
        if isinstance(leaf, ArrayArgument):
            position[index] = len(position)
    out: list[OutputRange] = []
    for i, j in output_pairs(len(flat), written):
        if i not in position or j not in position:
            continue
        a, b = real(flat[i]), real(flat[j])  # type: ignore[arg-type]
        if 0 in a.shape or 0 in b.shape:
            continue
        spans = [s - info.pointer for info in (a, b) for s in info.span]
        out.append((position[i], spans[0], spans[1], position[j], spans[2], spans[3]))
    return tuple(out)


def scalar_value(leaf: Scalar) -> Any:
    if leaf.value is None:
        raise TypeError(f"argument {leaf.name!r} is a specification; a launch needs a value")
    if not hasattr(leaf.value, "dtype"):
        return leaf.value
    plain = not leaf.dtype.is_float or leaf.dtype.bitwidth >= 32
    # ctypes knows no narrow floats: a slot takes their bits.
    return leaf.value.item() if plain else int.from_bytes(leaf.value.tobytes(), "little")


def list_table(leaf: ArrayList) -> bytes:
    """The records of a list: per array one int64 pointer, its extents, its strides."""
    import struct

    words: list[int] = []
    for item in leaf.items:
        info = real(item)
        words += [info.pointer, *info.shape, *info.strides]
    # Addresses are below 2^63, so one signed format serves all.
    return struct.pack(f"<{len(words)}q", *words)
