"""The launch of one kernel: a key from the arguments finds a frozen plan; a miss goes the long way and makes one.

The short way runs per launch and is written for speed: no object is made but the key, no lock is taken, nothing is
looked up by name twice. It serves torch CUDA tensors, device arrays of ours, and Python scalars.
"""

from __future__ import annotations

import enum
import functools
import sys
import types
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tilewright.arguments.arrays import HOST, ArrayInfo, is_torch
from tilewright.arguments.bind import Argument, arrays
from tilewright.arguments.checks import common_device, note_outputs, outputs_of, real
from tilewright.arguments.constants import constant_key, is_typed_number
from tilewright.arguments.sharing import near
from tilewright.arguments.torch_tensors import note_writes
from tilewright.launching import ahead
from tilewright.launching.checking import Checking, from_environment
from tilewright.launching.current import current
from tilewright.launching.grid import Grid, check_hardware, make_grid
from tilewright.launching.held import HELD, STREAMED, hold
from tilewright.launching.specialise import Specialiser
from tilewright.launching.streams import (
    device_of_stream,
    stream_for,
    stream_handle,
    stream_of,
    stream_reader,
    torch_stream,
)
from tilewright.launching.tracing import keep_apart_from_dynamo, record
from tilewright.tileir.dtypes import DType
from tilewright.tileir.environment import switched_on

if TYPE_CHECKING:
    from tilewright.backend_ptx.targets import Target
    from tilewright.interp.checking.report import Report
    from tilewright.interp.options import ExecutionOptions

FORCE_INTERPRETER = switched_on("TILEWRIGHT_INTERPRET")
"""Whether TILEWRIGHT_INTERPRET asks for the interpreter everywhere; read when tilewright is imported."""

CHECKED = from_environment()
"""What to check in all launches that ask for no check themselves: what TILEWRIGHT_CHECK said when tilewright was
imported, until `check_launches` says something else."""

hold(checked=CHECKED is not None)

_INT_LOW, _INT_HIGH = -(1 << 31), (1 << 31) - 1
_MAX_PLANS = 4096  # as in tilewright.launching.gpu

# How the short way reads an argument of a type; types join when a launch with them succeeded.
TENSOR, DEVICE_ARRAY, INT, FLOAT, BOOL = range(5)
_reader_of: dict[type, int] = {int: INT, float: FLOAT, bool: BOOL}


# Constants that the key may hold as they are: equal ones mean the same.
_BY_VALUE = (str, enum.Enum, types.NoneType, types.FunctionType, DType)


def _read_other(arg: Any, key: list[Any], scalars: list[Any]) -> bool:
    """Read an argument of a rarer kind: None, a NumPy scalar, a member of an IntEnum; False for one that goes the long
    way."""
    if arg is None:
        key.append(None)
    elif isinstance(arg, float):
        scalars.append(float(arg))
        key.append(FLOAT)
    elif isinstance(arg, int):
        if not _INT_LOW <= arg <= _INT_HIGH:
            return False
        scalars.append(int(arg))
        key.append(INT)
    elif is_typed_number(arg) and (arg.dtype.kind in "biu" or arg.dtype.name in ("float32", "float64")):
        scalars.append(arg.item())
        key.append(type(arg))
    else:
        return False
    return True


def _read_composite(arg: Any, key: list[Any]) -> bool:
    """Read a constant that is a tuple or a frozen dataclass; False for one that goes the long way."""
    if not isinstance(arg, tuple) and not hasattr(type(arg), "__dataclass_fields__"):
        return False
    found = constant_key(arg)
    try:
        hash(found)
    except TypeError:  # no constant: the long way says so
        return False
    key.append(found)
    return True


def check_launches(wanted: Checking | None) -> None:
    """From now on all launches that ask for no check themselves are checked like this."""
    global CHECKED
    CHECKED = wanted
    hold(checked=wanted is not None)


@functools.cache
def _say_once(how: str) -> None:
    print(f"tilewright: launches are checked: kernels run in the interpreter{how}", file=sys.stderr)


class Launcher:
    """Runs one kernel function wherever its arguments live."""

    def __init__(self, specialiser: Specialiser) -> None:
        self._specialiser = specialiser
        self.name = specialiser.name
        self._host: Any = None
        self._gpu: Any = None
        self._plans: dict[Any, Any] = {}
        self._direct: dict[tuple[int, int, int], Callable[..., bool | None]] = {}
        self._host_plans: Any = None
        self._list_plans: Any = None
        # Parameters that the short way takes by value; all others it reads by the type of the argument alone.
        self._constant = [p.fixed for p in specialiser.params]
        self._count = len(specialiser.params)
        self.call = specialiser.call
        self.has_grid = specialiser.dimensions.has_grid

    def launch(self, grid: Grid, args: tuple[Any, ...], stream: Any) -> Any:
        """Run the kernel over the grid; the short way where a plan is known. Result: the KnownLaunch that machine code
        has made, None where Python did."""
        if len(args) != self._count:
            args = self.call.complete(args, {})
        if stream is None and HELD[STREAMED]:
            stream = current()
        direct = self._direct.get(grid.size)
        if direct is not None and CHECKED is None:
            known = direct(*args) if stream is None else direct(*args, stream=stream)
            if known is not False:
                return known
        short = self._read(grid, args) if self._plans and CHECKED is None else None
        if short is None:
            plans = self._host_plans if stream is None and CHECKED is None and not grid.empty else None
            if plans is not None and plans.launch(grid.size, args):
                return None
            return self._launch_slowly(grid, args, stream, None, ())
        key, pointers, scalars, device = short
        found: Any = self._plans.get(key)
        plan = None if found is None else found.at(pointers)
        if plan is None:
            return self._launch_slowly(grid, args, stream, key, pointers)
        if grid.empty:
            return None
        handle = stream if type(stream) is int else found.handle(stream, device)
        if plan.is_open(grid, handle):
            return self._launch_slowly(grid, args, stream, key, pointers)
        if found.tensors:
            note_writes([args[i] for i in found.tensors])
        plan.launch(grid, pointers, scalars, handle)
        return None

    def launch_over(self, grid: Grid, args: tuple[Any, ...], stream: Any) -> Any:
        """The same over a grid of the caller's; ValueError where the decorator gives another one for the arguments."""
        if self.has_grid:
            args = self.call.complete(args, {})
            if record(self, grid.size, args):
                return None
            self._check_grid(grid, args)
        return self.launch(grid, args, stream)

    def _check_grid(self, grid: Grid, args: tuple[Any, ...]) -> None:
        dimensions, name = self._specialiser.dimensions, self._specialiser.name
        wanted = make_grid(dimensions.grid(args, lambda: self._specialiser.bind(args)))
        if wanted.size != grid.size:
            self._specialiser.bind(args)  # other errors of the arguments come first
            raise ValueError(f"the grid is {grid.size}, but the decorator of kernel {name} gives {wanted.size} for "
                             f"these arguments; leave it out: {name}(...)")

    def taught(self, grid: Grid) -> Callable[[Any], None]:
        """Takes the function that makes known launches over a grid. Who asks learns them anew."""
        self._direct.pop(grid.size, None)
        return partial(self._direct.__setitem__, grid.size)

    def words(self, grid: Grid, args: tuple[Any, ...]) -> Any:
        """The launch as machine code knows it; None for one whose arrays share memory or that is not known yet. Raises
        Unknown for one that it cannot know."""
        short = self._read(grid, args) if len(args) == self._count and not grid.empty else None
        if short is None:
            return None
        known = self._plans.get(short[0])
        if known is None or known.apart is None or known.distances(short[1]):
            return None
        return known.apart.words(grid, args, self._constant, known)

    def _read(self, grid: Grid, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[int], list[Any], int] | None:
        """The launch's key, its addresses, its scalars and the device; None for arguments that go the long way."""
        key: list[Any] = [grid.linear]
        pointers: list[int] = []
        scalars: list[Any] = []
        device = HOST
        for arg, constant in zip(args, self._constant, strict=True):
            reader = _reader_of.get(type(arg))
            if constant:
                if (reader is None or reader < INT) and not isinstance(arg, _BY_VALUE):
                    if not _read_composite(arg, key):
                        return None
                    continue
                key.append(type(arg))
                key.append(arg.hex() if reader == FLOAT else arg)
            elif reader == TENSOR:
                if arg.is_neg():  # a view of what is negated when it is read: the long way says so
                    return None
                pointer = arg.data_ptr()
                pointers.append(pointer)
                device = arg.get_device()
                key += (arg.dtype, arg.shape, arg.stride(), pointer & 15, device)
            elif reader == DEVICE_ARRAY:
                pointer = arg.pointer
                pointers.append(pointer)
                device = arg.device
                key += (arg.dtype, arg.shape, arg.strides, pointer & 15, device)
            elif reader is None or (reader == INT and not _INT_LOW <= arg <= _INT_HIGH):
                if not _read_other(arg, key, scalars):
                    return None
            else:
                scalars.append(arg)
                key.append(reader)
        return tuple(key), pointers, scalars, device

    def _launch_slowly(
        self, grid: Grid, args: tuple[Any, ...], stream: Any, key: Any, pointers: Sequence[int]
    ) -> None:
        keep_apart_from_dynamo()
        if self._list_plans is not None and CHECKED is None and self._list_plans.launch(grid, args, stream):
            return
        arguments = self._specialiser.bind(args)
        device = common_device(arguments)
        if stream is not None:
            handle = stream_for(stream, device)
            if handle is None:
                stream = None
        if CHECKED is not None:
            self.interpret(grid, arguments)
            return
        if device is None and stream is not None and not FORCE_INTERPRETER:
            device = device_of_stream(stream)
        if FORCE_INTERPRETER or device is None or device == HOST:
            self.interpret(grid, arguments)
            if device == HOST:
                self._remember_on_host(args, arguments)
            return
        check_hardware(grid)
        plan = self.gpu.prepare(arguments, grid.linear, device)
        if not grid.empty:
            note_outputs(arguments, plan.written)
            plan.launch_bound(grid, arguments, handle if stream is not None else own_stream(arguments))
        if plan.cacheable:
            self._remember(args, arguments, key, pointers, plan)
        else:
            self._remember_lists(grid, args, arguments, plan)

    def _remember(
        self, args: tuple[Any, ...], arguments: Sequence[Argument], key: Any, pointers: Sequence[int], plan: Any
    ) -> None:
        """Let the next launch of the same key go the short way."""
        for arg in args:
            if is_torch(type(arg)):
                _reader_of[type(arg)] = TENSOR
            elif type(arg) is ArrayInfo or type(arg).__module__ == "tilewright.arguments.device_array":
                _reader_of[type(arg)] = DEVICE_ARRAY
        if key is None:
            # Without plans the short way made no key. Keep a plan that no key finds, so that it does next time.
            self._plans.setdefault(None, None)
            return
        if len(self._plans) >= _MAX_PLANS:
            self._plans.clear()
        known = self._plans.get(key)
        if known is None:
            torch = [is_torch(type(arg)) for arg in args]
            outputs = outputs_of(arguments, plan.written)
            # The short way takes no tuple of arrays: an array argument stands where its parameter does.
            written = [k for k, argument in enumerate(arguments) if torch[k] and any(argument is o for o in outputs)]
            known = self._plans[key] = _Known(plan.pairs, any(torch), written)
        known.remember(pointers, plan)

    def _remember_lists(self, grid: Grid, args: tuple[Any, ...], arguments: Sequence[Argument], plan: Any) -> None:
        """The same for a launch with lists."""
        if self._list_plans is None:
            from tilewright.launching.list_plans import ListPlans

            self._list_plans = ListPlans(self._constant)
        self._list_plans.remember(grid, args, arguments, plan)

    def _remember_on_host(self, args: tuple[Any, ...], arguments: Sequence[Argument]) -> None:
        """The same for host arrays."""
        if near(arguments):
            return
        if self._host_plans is None:
            from tilewright.launching.host_plans import HostPlans

            self._host_plans = HostPlans(self._constant)
        self._host_plans.remember(args, arguments, self.host.program(arguments))

    def debug(self, grid: Grid, arguments: Sequence[Argument], block: tuple[int, int, int] | None) -> None:
        """Run in the interpreter under a debugger that stops in a block (None: in each)."""
        common_device(arguments)
        self.host.debug(grid, arguments, block)

    def trace(self, grid: Grid, arguments: Sequence[Argument], blocks: set[tuple[int, int, int]] | None) -> Any:
        """Run in the interpreter; what the ops of some blocks (None: of all) compute."""
        common_device(arguments)
        return self.host.trace(grid, arguments, blocks)

    def interpret(
        self, grid: Grid, arguments: Sequence[Argument], options: ExecutionOptions | None = None,
        check: Checking | None = None, target: Target | None = None,
    ) -> list[Report] | None:
        """Run in the interpreter, wherever the arrays live; the reports of a checked run."""
        device = common_device(arguments)
        if check is None and target is None and CHECKED is not None:
            check = CHECKED
            if device is not None and device != HOST:
                _say_once(", on copies of the GPU's arrays")
            elif check.listener is None:  # a command or a plugin that listens tells what it found itself
                _say_once("")
        reports: list[Report] | None = self.host.run(grid, arguments, options, check, target)
        return reports

    def interpret_devices(
        self, grid: Grid, devices: Sequence[Sequence[Argument]], options: ExecutionOptions, check: Checking | None,
    ) -> list[Report] | None:
        """The same on several devices at once, whose arrays lie on the host."""
        reports: list[Report] | None = self.host.run_devices(grid, devices, options, check or CHECKED)
        return reports

    def bind(self, grid: Grid, args: tuple[Any, ...]) -> tuple[Any, Sequence[Argument], int | None]:
        """What a launch checks and compiles, done: the launch as a GPU takes it (None: the interpreter runs it), the
        arguments, and their device."""
        if self.has_grid:
            self._check_grid(grid, args)
        arguments = self._specialiser.bind(args)
        device = common_device(arguments)
        if FORCE_INTERPRETER or CHECKED is not None or device is None or device == HOST:
            self.host.prepare(arguments)
            return None, arguments, device
        check_hardware(grid)
        plan = self.gpu.prepare(arguments, grid.linear, device)
        return plan.fixed(grid, arguments, own_stream(arguments)), arguments, device

    @property
    def host(self) -> Any:
        if self._host is None:
            from tilewright.launching.host import HostRunner

            self._host = HostRunner(self._specialiser)
        return self._host

    @property
    def gpu(self) -> Any:
        if self._gpu is None:
            from tilewright.launching.gpu import GpuRunner

            self._gpu = GpuRunner(self._specialiser)
        return self._gpu


def _first_needs() -> None:
    """Load what the first launch on a GPU uses, and read which program this is."""
    from tilewright.backend_ptx.runtime import kernel, plan, tensor_map, versions  # noqa: F401
    from tilewright.launching import gpu, notes  # noqa: F401

    notes.program()
    versions.llvm_build()


ahead.work.append(_first_needs)


class _Known:
    """The plans that the short way may run for one key; `on_torch`: the stream is torch's current one; `tensors`: which
    arguments are tensors of torch that the kernel writes.

    Which arrays share memory follows, with the shapes and strides of the key, from how far they lie apart. `pairs` are
    the ranges of those arrays that matter. `apart` is the plan where no ranges meet, `near` has those of launches in
    which some do, by `distances`.
    """

    __slots__ = ("pairs", "apart", "near", "on_torch", "tensors")

    def __init__(
        self, pairs: Sequence[tuple[int, int, int, int, int, int]], on_torch: bool, tensors: Sequence[int]
    ) -> None:
        self.pairs = pairs
        self.apart: Any = None
        self.near: dict[tuple[int, ...], Any] = {}
        self.on_torch = on_torch
        self.tensors = tensors

    def handle(self, stream: Any, device: int) -> int:
        """The queue of a launch for which this stream was asked for; None: that of the arrays' library."""
        if stream is not None:
            return stream_handle(stream)
        return torch_stream(device) if self.on_torch else 0

    def at(self, pointers: Sequence[int]) -> Any:
        """The plan for arrays at these addresses, if it is known."""
        for i, i_low, i_high, j, j_low, j_high in self.pairs:
            if pointers[i] + i_low < pointers[j] + j_high and pointers[j] + j_low < pointers[i] + i_high:
                return self.near.get(self.distances(pointers))
        return self.apart

    def distances(self, pointers: Sequence[int]) -> tuple[int, ...]:
        """Of each pair whose ranges meet, its number and the bytes from one base to the other; () where none meet."""
        return tuple(
            number for n, (i, i_low, i_high, j, j_low, j_high) in enumerate(self.pairs)
            if pointers[i] + i_low < pointers[j] + j_high and pointers[j] + j_low < pointers[i] + i_high
            for number in (n, pointers[j] - pointers[i]))

    def remember(self, pointers: Sequence[int], plan: Any) -> None:
        distances = self.distances(pointers)
        if not distances:
            self.apart = plan
            return
        if len(self.near) >= _MAX_PLANS:
            self.near.clear()
        self.near[distances] = plan


def own_stream(arguments: Sequence[Argument]) -> int:
    """The stream that the arrays' libraries work on; what others have queued elsewhere is waited for."""
    streams = list(dict.fromkeys(stream_of(real(array)) for array in arrays(arguments)))
    for other in streams[1:]:
        from tilewright.backend_ptx.runtime.memory import synchronise_stream

        synchronise_stream(other)
    return streams[0] if streams else 0


def own_stream_of(arguments: Sequence[Argument], device: int | None) -> Callable[[], int]:
    """What tells the same at each launch with these arguments."""
    return stream_reader([real(array).owner for array in arrays(arguments)], device) or (lambda: own_stream(arguments))


watched_launch: Any = None
"""What a launch goes through while launches are watched: watching.py."""


def _watched(self: Launcher, grid: Grid, args: tuple[Any, ...], stream: Any) -> Any:
    return watched_launch(self, grid, args, current() if stream is None else stream)


WATCHED = _watched.__code__
"""The code that `Launcher.launch` has while launches are watched."""
