"""What users call: a kernel, a Tile IR function or lowered code, simulated on NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Unpack

import numpy as np

from tilewright.backend_ptx.abi import AbiParam, Lowered
from tilewright.backend_ptx.lower import emit_function
from tilewright.backend_ptx.map_records import TensorMapSpec
from tilewright.backend_ptx.simulator.launch import AddressTable, Grid, Options, simulate_text, three
from tilewright.backend_ptx.simulator.memory.tensor_map import TensorMapArgument, TensorMapTable
from tilewright.backend_ptx.targets import Target, get_target
from tilewright.tileir.core import Function, clone_function

Args = Sequence[Any]
# CTAs that loop over the blocks of a launch: the fewest that differ, and some have several blocks.
LOOPING = 2


class Specialised(Protocol):
    """A kernel and its arguments on the way to machine code."""

    @property
    def values(self) -> Sequence[Any]:
        """The arguments that exist at run time, one per parameter of the lowered function."""

    @property
    def lowered(self) -> Lowered:
        """The code."""

    @property
    def target(self) -> Target:
        """What it is made for."""


class Kernel(Protocol):
    """What `@tile_kernel` makes of a function."""

    def lower(self, *args: Any, target: str | None = None) -> Specialised:
        """The kernel's code for these arguments."""


def simulate(
    kernel: Kernel, grid: Grid, args: Args, target: str | None = None, *, optimised: bool = False,
    **options: Unpack[Options],
) -> Lowered:
    """Run a decorated kernel as a GPU would, on the CPU, and check every access to memory and every synchronisation.

    The kernel is specialised on `args` and lowered by the backend as for a launch; then its LLVM IR is executed,
    instruction by instruction, by all threads of each block. This is slow: take small arrays and few blocks.

    Arguments: `grid` and `args` as in a launch, with NumPy arrays, which are written in place; `target` such as
        "sm_90a", by default that of the GPU here, else "sm_90a". `optimised` takes the code through LLVM's passes
        first: what the code leaves undefined, they exploit. `options` are those of `Options`.
    Result: the code that ran: `llvm_text`, to which the line numbers of errors refer, `abi`, `threads`, `shared_bytes`,
        `cluster`.
    Errors: a subclass of SimError for what is wrong with the code: a race, an access out of range or to bytes that
        nobody has written, a missing fence, a deadlock ...; the message names the instruction and the threads.
        Unsupported, one of them, for what the simulator does not model. TypeError for arrays that are not NumPy's.
        Before that, what a launch raises for the same arguments.

    Example:
        @tw.tile_kernel
        def double(x):
            i = tw.bid(0)
            tw.store(x, i, tw.load(x, i, 128) * 2.0)

        x = np.ones(300, np.float32)
        simulate(double, (3,), (x,), "sm_90a", schedule="random", seed=1)
        assert (x == 2).all()
    """
    code = kernel.lower(*args, target=target)
    if optimised:
        simulate_optimised(code.lowered, grid, code.values, code.target.name, **options)
    else:
        simulate_lowered(code.lowered, grid, code.values, **options)
    return code.lowered


def lower_function(function: Function, target: Target) -> Lowered:
    """Run the backend's passes on a copy of `function` and emit LLVM text for `target`.

    Raises TileUnsupportedFeatureError for what the target cannot do.
    """
    from tilewright.backend_ptx.pipeline import run_passes

    function = clone_function(function)
    run_passes(function, target)
    return emit_function(function, target)


def simulate_function(
    function: Function, grid: Grid, args: Args, target: str, **options: Unpack[Options]
) -> Lowered:
    """As `simulate`, for a Tile IR function; `args` has one entry per parameter: an array, a list of arrays, a number.
    """
    lowered = lower_function(function, get_target(target))
    simulate_lowered(lowered, grid, args, **options)
    return lowered


def simulate_lowered(lowered: Lowered, grid: Grid, args: Args, **options: Unpack[Options]) -> None:
    """As `simulate_function`, for code that `kernel.lower` or the backend has made."""
    _simulate(lowered, lowered.llvm_text, grid, args, options, strict=True)


def simulate_optimised(lowered: Lowered, grid: Grid, args: Args, target: str, **options: Unpack[Options]) -> None:
    """As `simulate_lowered`, for what LLVM's passes make of the code."""
    from tilewright.backend_ptx.llvm.compile import LOCK, llvm_binding, machine_of, run_passes

    binding = llvm_binding()
    with LOCK:
        machine = machine_of(binding, get_target(target))
        with binding.parse_assembly(lowered.llvm_text) as module:
            run_passes(binding, machine, module)
            text = str(module)
    _simulate(lowered, text, grid, args, options, strict=False)


def _simulate(lowered: Lowered, text: str, grid: Grid, args: Args, options: Options, strict: bool) -> None:
    _require_numpy(args)
    x, y, z = three(grid)
    blocks = x * lowered.cluster, y, z
    values = [_parameter(param, args, blocks) for param in lowered.abi.params]
    hardware = (blocks[0] * y * z,) if lowered.abi.linear_grid else blocks
    if lowered.looped:
        hardware = (min(hardware[0], LOOPING),)
    hardware = (-(-hardware[0] // lowered.packed), *hardware[1:])
    options = {"dependent": lowered.dependent, **options}
    simulate_text(
        text, lowered.name, hardware, lowered.threads, values, lowered.shared_bytes, cluster=lowered.cluster,
        strict=strict, tensor_cores=lowered.target.tensor_cores, **options)


def _require_numpy(args: Args) -> None:
    for number, given in enumerate(args):
        for one in given if isinstance(given, list | tuple) else (given,):
            if hasattr(one, "shape") and not isinstance(one, np.ndarray | np.generic):
                kind = f"{type(one).__module__}.{type(one).__qualname__}"
                raise TypeError(f"argument {number} is a {kind}; the simulator takes NumPy arrays")


def _parameter(param: AbiParam, args: Args, blocks: Sequence[int]) -> Any:
    """The value of one parameter of the ABI."""
    if param.kind == "grid":
        return blocks[param.axis]
    given = args[param.argument]
    if param.kind == "extent":
        return given.shape[param.axis]
    if param.kind == "stride":
        return given.strides[param.axis] // given.itemsize
    if param.kind == "length":
        return len(given)
    if param.kind == "table":
        return AddressTable([np.asarray(a) for a in given])
    if param.tensor_map is not None:
        spec = param.tensor_map
        return TensorMapTable([_tensor_map(spec, np.asarray(a)) for a in given]) if spec.table else _tensor_map(
            spec, given)
    return given


def _tensor_map(spec: TensorMapSpec, array: Any) -> TensorMapArgument:
    if array.size == 0:  # as the launcher does: no map has an extent 0
        array = np.zeros((1,) * array.ndim, array.dtype)
    return TensorMapArgument(array, spec.axes, spec.box, spec.swizzle, spec.dtype.name == "tfloat32", spec.clips)
