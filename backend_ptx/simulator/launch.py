"""Run a kernel's LLVM IR for a whole grid."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any, Literal, TypedDict, Unpack

import numpy as np

from tilewright.backend_ptx.map_records import MAP_BYTES
from tilewright.backend_ptx.simulator.errors import Unsupported
from tilewright.backend_ptx.simulator.machine.compile import ModuleCompiler, constant
from tilewright.backend_ptx.simulator.machine.scheduler import Scheduler
from tilewright.backend_ptx.simulator.machine.state import WARP, Machine
from tilewright.backend_ptx.simulator.memory.memory import CONSTANT, GLOBAL, SHARED, Memory
from tilewright.backend_ptx.simulator.memory.shared import SHARED_BASE, peer
from tilewright.backend_ptx.simulator.memory.tensor_map import (
    PlacedMap,
    TensorMapArgument,
    TensorMapTable,
    forget_fences,
)
from tilewright.backend_ptx.simulator.operations import OPERATIONS
from tilewright.backend_ptx.simulator.text.ir import Bits, GlobalVariable, LlvmModule
from tilewright.backend_ptx.simulator.text.modules import parse_module
from tilewright.backend_ptx.simulator.text.types import Array as ArrayType
from tilewright.backend_ptx.simulator.text.types import Ptr, Type, numpy_type, size_of
from tilewright.backend_ptx.targets import DEFAULT
from tilewright.tileir.tensor_cores import TensorCores

Array = np.ndarray[Any, Any]
Grid = int | Sequence[int]
_MAX_STEPS = 1_000_000
_parse = lru_cache(maxsize=32)(parse_module)


@dataclass(frozen=True)
class AddressTable:
    """An argument that is a table in global memory: per array its address, extents and strides (in elements)."""

    arrays: Sequence[Array]

    def records(self, addresses: Sequence[int]) -> Array:
        rows = [
            [address, *a.shape, *(s // a.itemsize for s in a.strides)]
            for a, address in zip(self.arrays, addresses, strict=True)
        ]
        return np.array(rows, np.int64)


class Options(TypedDict, total=False):
    """How a kernel is simulated. All keys may be left out.

    `schedule`: "inorder" (the default) runs all warps side by side; "random" one at a time, as `seed` chooses (0), and
    lets asynchronous copies land at random moments. Races are found in both, missing waits in more runs of the second.
    `races` False does not look for races, which takes less time. `max_steps` (1,000,000) bounds the basic blocks that
    the threads of a block run: more is taken for a deadlock. `dependent`: the launch may start while others run that
    access the same arrays, until it waits for them; by default, whether the code is made for such launches.
    """

    schedule: Literal["inorder", "random"]
    seed: int
    races: bool
    max_steps: int
    dependent: bool


def simulate_text(
    llvm_text: str, kernel_name: str, grid: Grid, threads: int, args: Sequence[Any], shared_bytes: int = 0, *,
    cluster: int = 1, strict: bool = True, tensor_cores: TensorCores = DEFAULT.tensor_cores, **options: Unpack[Options],
) -> None:
    """Execute a kernel's LLVM IR on the CPU; arrays among `args` are read and written in place.

    Arguments: `grid` is 1 to 3 numbers of blocks, `threads` the threads of a block, `shared_bytes` the dynamic shared
        memory. `args` match the LLVM parameters one by one: a NumPy array for a pointer (its address is that of
        element [0, ...]; strides may be any), a Python or NumPy number for the rest, an int for a pointer that stays
        an address (null), an AddressTable for a list, a TensorMapArgument for a tensor map passed by value, a
        TensorMapTable for such maps in global memory. `cluster` neighbours along the grid's first axis, a multiple of
        it, run together and reach each other's shared memory; then threads are numbered through all of them in reports.
        `strict` False is for text that LLVM has changed, which may hold poison that nobody uses. `tensor_cores` are
        those of the GPU.
    Errors: SimError, which names the instruction, the line and the threads. KeyError without such a kernel; ValueError
        for another number of arguments, for clusters that do not divide the grid and for an unknown schedule.
    """
    module = _parse(llvm_text)
    if kernel_name not in module.functions:
        raise KeyError(f"no function {kernel_name!r}; there are {sorted(module.functions)}")
    schedule = options.get("schedule", "inorder")
    if schedule not in ("inorder", "random"):
        raise ValueError(f"schedule is 'inorder' or 'random', not {schedule!r}")
    blocks = three(grid)
    if cluster > 1 and (blocks[0] % cluster or threads % WARP):
        raise ValueError(f"no clusters of {cluster} blocks in {blocks[0]} along the first axis, {threads} threads each")
    memory = Memory(-(-threads // WARP) * cluster, options.get("races", True), cluster)
    if options.get("dependent", False):
        memory.follow_grids()
    symbols, shared_size, shared_valid = _place_globals(module, memory, shared_bytes)
    compiler = ModuleCompiler(module, _seen_by_threads(module, symbols, threads, cluster), OPERATIONS, strict)
    asked = re.search(r'"nvvm.minctasm"="(\d+)"', llvm_text)
    machine = Machine(
        memory, threads, blocks, options.get("seed", 0), cluster, tensor_cores, int(asked[1]) if asked else 1)
    with np.errstate(all="ignore"):
        kernel = compiler.function(kernel_name)
        arguments = _arguments(module.functions[kernel_name].params, args, memory)
        if compiler.local_size:
            memory.add_local(threads * cluster, compiler.local_size)
        scheduler = Scheduler(
            kernel, machine, split=schedule == "random", max_steps=options.get("max_steps", _MAX_STEPS))
        first_blocks = product(range(blocks[2]), range(blocks[1]), range(0, blocks[0], cluster))
        for number, (z, y, x) in enumerate(first_blocks):
            memory.new_block(number, shared_size, shared_valid)
            forget_fences(memory)
            scheduler.run_block((x, y, z), arguments)


def _seen_by_threads(module: LlvmModule, symbols: dict[str, int], threads: int, cluster: int) -> dict[str, Array]:
    """The address of each global as every thread sees it: each CTA has its own shared memory."""
    ranks = range(cluster)
    own = {name for name, variable in module.globals.items() if variable.space == SHARED} if cluster > 1 else ()
    return {
        name: np.repeat(np.array([peer(address, r) for r in ranks], np.uint64), threads) if name in own
        else np.array([address], np.uint64)
        for name, address in symbols.items()
    }


def three(grid: Grid) -> tuple[int, int, int]:
    """The grid with all three axes."""
    x, y, z = (*([grid] if isinstance(grid, int) else grid), 1, 1)[:3]
    return x, y, z


def _arguments(params: Sequence[tuple[Type, str]], args: Sequence[Any], memory: Memory) -> list[Array]:
    if len(params) != len(args):
        names = ", ".join(name for _, name in params)
        raise ValueError(f"the kernel has {len(params)} parameters ({names}), {len(args)} are given")
    known = _place_arrays(params, args, memory)
    values = []
    for (t, name), given in zip(params, args, strict=True):
        if isinstance(given, AddressTable):
            given = given.records([known[id(a)] for a in given.arrays])
            memory.keep.append(given)
            [known[id(given)]] = memory.add_arrays(name, [given])
        if isinstance(given, TensorMapArgument):
            given = _place_map(name, given, known[id(given.array)], memory)
        if isinstance(given, TensorMapTable):
            given = _place_table(name, given, known, memory)
        if isinstance(t, Ptr) and isinstance(given, np.ndarray):
            given = known[id(given)]
        values.append(_scalar(t, given))
    return values


def _place_arrays(params: Sequence[tuple[Type, str]], args: Sequence[Any], memory: Memory) -> dict[int, int]:
    """The address of each array among the arguments, by its identity. Those that share memory are one segment."""
    groups: list[tuple[str, list[Array]]] = []
    found = [f for (_, name), given in zip(params, args, strict=True) for f in _arrays_of(name, given)]
    for name, array in found:
        joined = name, [array]
        for group in [g for g in groups if any(_share(array, other) for other in g[1])]:
            groups = [g for g in groups if g is not group]
            joined = group[0], [*group[1], *joined[1]]
        groups.append(joined)
    known: dict[int, int] = {}
    for name, arrays in groups:
        known |= zip(map(id, arrays), memory.add_arrays(name, arrays), strict=True)
    return known


def _share(one: Array, other: Array) -> bool:
    return one is other or (np.may_share_memory(one, other) and np.shares_memory(one, other))


def _arrays_of(name: str, given: Any) -> list[tuple[str, Array]]:
    if isinstance(given, AddressTable):
        return [(f"{name}[{k}]", a) for k, a in enumerate(given.arrays)]
    if isinstance(given, TensorMapArgument):
        return [(name, given.array)]
    if isinstance(given, TensorMapTable):
        return [(f"{name}[{k}]", one.array) for k, one in enumerate(given.maps)]
    return [(name, given)] if isinstance(given, np.ndarray) else []


def _place_map(name: str, given: TensorMapArgument, base: int, memory: Memory) -> int:
    """The address of the parameter's 128 bytes, which hold nothing that a thread may read."""
    place = memory.add_global(name, np.empty(0, np.uint8), True)
    memory.tensor_maps[place] = PlacedMap(name, given, base)
    return place


def _place_table(name: str, given: TensorMapTable, known: Mapping[int, int], memory: Memory) -> int:
    """The address of a table of tensor maps. A thread that reads their bytes sees nothing that it may count on."""
    place = memory.add_global(name, np.zeros(MAP_BYTES * len(given.maps), np.uint8), True)
    for k, one in enumerate(given.maps):
        memory.tensor_maps[place + MAP_BYTES * k] = PlacedMap(f"{name}[{k}]", one, known[id(one.array)], set())
    return place


def _scalar(t: Type, given: Any) -> Array:
    kind = numpy_type(t)
    if kind.kind == "u" and not isinstance(given, np.generic):
        return np.array([int(given) & ((1 << (kind.itemsize * 8)) - 1)], kind)
    value = np.array([given])
    return value.view(kind) if value.dtype.itemsize == kind.itemsize and kind.kind == "u" else value.astype(kind)


def _place_globals(module: LlvmModule, memory: Memory, dynamic: int) -> tuple[dict[str, int], int, Array | None]:
    """Addresses of the module's globals, the size of shared memory, and which of its bytes belong to something."""
    symbols: dict[str, int] = {}
    pieces: list[tuple[int, int]] = []
    end = 0
    shared = [g for g in module.globals.values() if g.space == SHARED]
    for variable in sorted(shared, key=lambda g: _is_dynamic(g)):
        size = dynamic if _is_dynamic(variable) else size_of(variable.type)
        start = -(-end // max(variable.align, 1)) * max(variable.align, 1)
        symbols[variable.name] = SHARED_BASE + start
        pieces.append((start, size))
        end = max(end, start + size)
    for variable in module.globals.values():
        if variable.space in (0, GLOBAL, CONSTANT):
            symbols[variable.name] = memory.add_global(
                "@" + variable.name, _initial_bytes(variable), variable.constant)
        elif variable.space != SHARED:
            raise Unsupported(f"global @{variable.name} in address space {variable.space}")
    valid = np.zeros(end, bool)
    for start, size in pieces:
        valid[start : start + size] = True
    return symbols, end, None if valid.all() else valid


def _is_dynamic(variable: GlobalVariable) -> bool:
    return variable.external and size_of(variable.type) == 0


def _initial_bytes(variable: GlobalVariable) -> Array:
    return _bytes(variable.type, variable.initial)


def _bytes(t: Type, bits: Bits) -> Array:
    if isinstance(t, ArrayType):
        members = bits if isinstance(bits, tuple) else (None,) * t.count
        return np.concatenate([_bytes(t.elem, b) for b in members]) if members else np.empty(0, np.uint8)
    return np.ascontiguousarray(constant(t, bits)).view(np.uint8).reshape(-1)
