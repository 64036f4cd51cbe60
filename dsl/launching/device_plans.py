"""Launches on a GPU with arguments of known shapes; the same with their lists' tables, or packed for good."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

from tilewright.arguments.bind import Argument, ArrayArgument, ArrayList, Leaf, Scalar, arrays, leaves
from tilewright.arguments.checks import real
from tilewright.arguments.sharing import output_pairs
from tilewright.launching.grid import Grid, check_hardware, make_grid
from tilewright.launching.processors import MOST_SHARING, fills, processors_of, resident, taken, walking

Ctas = int | tuple[int, ...]
"""How many CTAs compute each block; or how many blocks of each axis one CTA."""
OutputRange = tuple[int, int, int, int, int, int]


class DevicePlan:
    """What a launch with arguments of known shapes needs: only addresses, scalars and lists are still open.

    Where the CTAs of clusters may share the iterations of a block, `sharing` makes the plan of so many, for launches of
    so few blocks that most SMs would have none. The first launch of each number makes it, by its arguments.
    So it does with blocks that may be joined, for launches of so many that no SM has none. `joins`: of each axis of a
    launch's grid, so many are one of this kernel's.
    """

    __slots__ = ("kernel", "written", "pairs", "_plan", "_tables", "_resident", "_walking", "_sharing", "_shared",
                 "_processors", "_joins")

    def __init__(
        self, kernel: Any, arguments: Sequence[Argument], written: frozenset[int],
        sharing: Callable[[Ctas, Sequence[Argument]], DevicePlan] | None = None, joins: tuple[int, ...] = (),
    ) -> None:
        from tilewright.backend_ptx.runtime.plan import LaunchPlan

        self.kernel = kernel
        self.written = written
        self._resident = resident(kernel) if kernel.looped else 0
        flat = list(leaves(arguments))
        template, pointers, scalars = _template(kernel.abi, flat)
        self._walking = walking(kernel, flat) if kernel.walked else (0, 0)
        self._plan = LaunchPlan(kernel, template, pointers, scalars, _tensor_maps(kernel, flat, pointers))
        self._tables = _kept_tables(kernel) if any(isinstance(leaf, ArrayList) for leaf in flat) else None
        self.pairs = output_ranges(flat, written)
        self._joins = joins
        self._sharing = sharing if (kernel.shares or kernel.joins) and self._tables is None and not joins else None
        self._shared: dict[Ctas, DevicePlan] = {}
        self._processors = taken(processors_of(kernel)) if self._sharing else 0

    @property
    def cacheable(self) -> bool:
        """Whether a plan found by the launch's key alone can run: that of a list has no addresses."""
        return self._tables is None

    def launch(self, grid: Grid, pointers: Sequence[int], scalars: Sequence[Any], stream: int) -> None:
        """Set the grid's parameters, queue the kernel. The caller has seen which arrays share memory."""
        if self._shared and (plan := self._shared.get(self._ctas(grid))) is not None:
            plan.launch(grid, pointers, scalars, stream)
            return
        hardware, more = self._on_hardware(grid)
        self._plan.launch(hardware, pointers, (*scalars, *more) if more else scalars, stream)

    def _ctas(self, grid: Grid) -> Ctas:
        """How many CTAs compute each block: as many as leave none without an SM. Or how many blocks are one."""
        blocks, ctas = grid.size[0] * grid.size[1] * grid.size[2], MOST_SHARING
        if joins := self.kernel.joins:
            return joins if grid.joins(joins) and fills(blocks // prod(joins), self._processors) else 1
        while ctas > 1 and blocks * ctas > self._processors:
            ctas //= 2
        return ctas

    def is_open(self, grid: Grid, stream: int | None) -> bool:
        """Whether a launch over a grid has to know its arguments: to make the plan of blocks that several CTAs
        compute, for which the time is not while the stream is captured."""
        if self._sharing is None or (ctas := self._ctas(grid)) == 1 or ctas in self._shared:
            return False
        from tilewright.backend_ptx.runtime.tables import is_capturing

        return stream is None or not is_capturing(stream)

    def over(self, grid: Grid, arguments: Sequence[Argument], stream: int | None = None) -> DevicePlan:
        """The plan of a launch over a grid on a stream (None: of no launch now), which is made if it does not exist."""
        if self._sharing is None or (ctas := self._ctas(grid)) == 1:
            return self
        if self.is_open(grid, stream):
            self._shared[ctas] = self._sharing(ctas, arguments)
        return self._shared.get(ctas, self)

    def _on_hardware(self, grid: Grid) -> tuple[tuple[int, int, int], tuple[int, ...]]:
        """The grid as the driver takes it, and the scalars that it adds to a kernel's."""
        if self._joins:
            grid = grid.joined(self._joins)
        if self._resident:
            return grid.looped(self._resident), grid.size
        if self.kernel.packed > 1:
            return grid.packed(self.kernel.packed), grid.size
        least, most = self._walking
        if grid.size[1:] == (1, 1) and least <= grid.size[0] < most:
            grid = make_grid((most,))
        grid = grid.in_clusters(self.kernel.cluster)
        if not grid.linear:
            return grid.hardware, ()
        check_hardware(grid)
        return grid.hardware, grid.size

    def words(self, grid: Grid, args: Sequence[Any], constant: Sequence[bool], known: Any) -> Any:
        """The launch as machine code knows it; raises Unknown where it cannot."""
        from tilewright.launching.words import of_launch

        if self._shared and (plan := self._shared.get(self._ctas(grid))) is not None:
            return plan.words(grid, args, constant, known)
        hardware, more = self._on_hardware(grid)
        return of_launch(self._plan, hardware, args, constant, known, more)

    def launch_bound(self, grid: Grid, arguments: Sequence[Argument], stream: int) -> None:
        """The same from bound arguments, with their lists' tables."""
        if self._tables is None:
            self.over(grid, arguments, stream).launch(grid, _pointers(arguments), _scalars(arguments), stream)
        else:
            self.listed(arguments).launch(grid, _scalars(arguments), stream)

    def fixed(self, grid: Grid, arguments: Sequence[Argument], stream: int) -> FixedLaunch:
        """The launch with these very arguments; a graph may be capturing the stream."""
        if (plan := self.over(grid, arguments, stream)) is not self:
            return plan.fixed(grid, arguments, stream)
        pointers, scalars, tables = _pointers(arguments), _scalars(arguments), None
        if self._tables is not None:
            pointers, tables = self.listed(arguments).addresses(stream)
        hardware, more = self._on_hardware(grid)
        return FixedLaunch(self._plan, self.written, hardware, self._plan.packed(pointers, [*scalars, *more]), tables)

    def listed(self, arguments: Sequence[Argument]) -> ListedLaunch:
        """Launches with these very arrays and lists of them."""
        assert self._tables is not None, f"kernel {self.kernel.name} has no lists"
        return ListedLaunch(self, self._tables, arguments)


Place = tuple[int, tuple[int, ...], tuple[int, ...]]
"""Address, extents and strides (elements) of an array."""


class ListedLaunch:
    """A plan with the addresses of its arrays, and what its lists' tables hold: their records, in order, then their
    tensor maps. Nothing here keeps an array alive."""

    __slots__ = ("_plan", "_tables", "_pointers", "_lists", "_names", "_key")

    def __init__(self, plan: DevicePlan, tables: Any, arguments: Sequence[Argument]) -> None:
        self._plan = plan
        self._tables = tables
        self._pointers: list[int | None] = []
        self._lists: dict[int, list[Place]] = {}
        self._names: dict[int, str] = {}
        for number, leaf in enumerate(leaves(arguments)):
            if isinstance(leaf, ArrayArgument):
                self._pointers.append(real(leaf).pointer)
            elif isinstance(leaf, ArrayList):
                self._pointers.append(None)
                self._lists[number] = [(i.pointer, i.shape, i.strides) for i in map(real, leaf.items)]
                self._names[number] = leaf.name
        # The plan knows how long each list is, and what tensor maps there are; all else follows from the records.
        self._key = b"".join(map(_records, self._lists.values()))

    def launch(self, grid: Grid, scalars: Sequence[Any], stream: int) -> None:
        """Queue the kernel; `scalars` have the lengths of lists among them."""
        self._plan.launch(grid, self.addresses(stream)[0], scalars, stream)

    def addresses(self, stream: int) -> tuple[list[int], Any]:
        """Those of the parameters, in their order, and the tables, which are among them."""
        tables = self._tables.at(self._key, self._contents, stream)
        left = iter(tables.addresses)
        pointers = [next(left) if pointer is None else pointer for pointer in self._pointers]
        return [*pointers, *left], tables

    def _contents(self) -> list[bytes]:
        maps = (param for param in self._plan.kernel.abi.params if param.kind == "map_table")
        return [*map(_records, self._lists.values()), *map(self._maps, maps)]

    def _maps(self, param: Any) -> bytes:
        """The tensor maps of a list's arrays."""
        from tilewright.backend_ptx.runtime.tensor_map import encoded

        name, device = self._names[param.argument], self._plan.kernel.device
        return b"".join(
            encoded(device, param.tensor_map, f"array {number} of argument {name!r}", shape, strides, pointer).data
            for number, (pointer, shape, strides) in enumerate(self._lists[param.argument]))


class FixedLaunch:
    """A launch whose parameters are packed. It keeps its tables; its arrays are the caller's to keep."""

    __slots__ = ("plan", "written", "grid", "frame", "tables")

    def __init__(
        self, plan: Any, written: frozenset[int], grid: tuple[int, int, int], frame: Any, tables: Any
    ) -> None:
        self.plan = plan
        self.written = written
        self.grid = grid
        self.frame = frame
        self.tables = tables

    def launch(self, stream: int) -> None:
        """Queue the kernel."""
        if self.tables is not None:
            self.tables.outlive_captured(stream)
        self.plan.queue(self.grid, self.frame, stream)


def _pointers(arguments: Sequence[Argument]) -> list[int]:
    return [real(array).pointer for array in arrays(arguments)]


def _scalars(arguments: Sequence[Argument]) -> list[Any]:
    """The values of scalars, and the lengths of lists."""
    found = (leaf for leaf in leaves(arguments) if not isinstance(leaf, ArrayArgument))
    return [scalar_value(leaf) if isinstance(leaf, Scalar) else len(leaf.items) for leaf in found]


def _kept_tables(kernel: Any) -> Any:
    from tilewright.backend_ptx.runtime.tables import KeptTables

    return KeptTables(kernel.device)


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
    from tilewright.backend_ptx.runtime.tensor_map import MapHole, encoded

    holes = []
    for slot, param in enumerate(kernel.abi.params):
        if param.kind == "tensor_map":
            leaf = flat[param.argument]
            assert isinstance(leaf, ArrayArgument)
            info, place = real(leaf), pointers.index(kernel.abi.position("pointer", param.argument))
            name = f"argument {leaf.name!r}"
            make = partial(encoded, kernel.device, param.tensor_map, name, info.shape, info.strides)
            holes.append(MapHole(slot, place, make))
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


def _records(places: Sequence[Place]) -> bytes:
    """The records of a list: per array one int64 pointer, its extents, its strides."""
    words = [word for pointer, shape, strides in places for word in (pointer, *shape, *strides)]
    # Addresses are below 2^63, so one signed format serves all.
    return struct.pack(f"<{len(words)}q", *words)
