"""`tile_kernel`: the class whose instances wrap a Python function as a kernel."""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Callable, Collection
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Literal, Never, Self, TypeVar, overload

from tilewright.launching.bound import BoundKernel
from tilewright.launching.checking import checking
from tilewright.launching.fixed import BoundLaunch
from tilewright.launching.grid import block_place, make_grid
from tilewright.launching.launcher import Launcher
from tilewright.launching.log import start_if_wanted
from tilewright.launching.numerics import target_of
from tilewright.launching.sources import PythonSource, Source
from tilewright.launching.specialise import Specialiser
from tilewright.launching.tracing import UnboundLaunch, is_recording, not_traced, record
from tilewright.options import ByTarget, KernelOptions, LaunchRules
from tilewright.tracebacks import is_refusal, one_line, public

if TYPE_CHECKING:
    from tilewright.backend_ptx.compile import Compiled
    from tilewright.inspecting.stages import Stages
    from tilewright.interp.checking.report import Report

F = TypeVar("F", bound=Callable[..., Any])
K = TypeVar("K", bound="tile_kernel")

_MAX_GRIDS = 4096
_RULES = tuple(field.name for field in fields(LaunchRules))


class tile_kernel:
    """Make a kernel of a Python function: `@tile_kernel`, or `@tile_kernel(occupancy=2)`.

    The function is compiled at its first launch, once per kind of arguments; what it reads from around it (globals,
    closures) is read then. It takes arguments as Python functions do, and returns nothing.

    Options: each a value or a ByTarget, and each a hint: `num_ctas` (None or 1, 2, 4, 8, 16: CTAs per
        block), `occupancy` (None or 1 to 32: resident blocks per SM), `opt_level` (None or 0 to 3),
        `num_worker_warps` (None, 4 or 8). Two are no hints: `grid`, expressions of names of dimensions and parameters
        (`grid="cdiv(M, TM), cdiv(N, TN)"`), with which the kernel is called without a grid; `deterministic=True`, which
        refuses results that depend on the order of blocks.
    Errors: TypeError for what is no plain Python function, and for calling the kernel without a grid; ValueError for an
        option's value.

    Example:
        @ct.tile_kernel(occupancy=2)
        def scale(x, out, factor):
            i = ct.bid(0)
            ct.store(out, (i,), ct.load(x, (i,), (4,)) * factor)

        x = np.arange(6, dtype=np.float32)
        out = np.zeros_like(x)
        scale[(2,)](x, out, 3.0)
        print(out)  # [ 0.  3.  6.  9. 12. 15.]
        scale(x, out, 3.0)  # TypeError
    """

    __name__: str
    __qualname__: str
    __wrapped__: Any  # the undecorated function
    # For the modules of this package; `lower` shows a user what they make.
    specialiser: Specialiser
    launcher: Launcher
    _bound: dict[Any, BoundKernel]

    @overload
    def __new__(
        cls, function: Callable[..., Any], /, *, num_ctas: int | ByTarget | None = None,
        occupancy: int | ByTarget | None = None, opt_level: int | ByTarget | None = 3,
        num_worker_warps: int | ByTarget | None = None, grid: str | None = None, deterministic: bool = False,
    ) -> tile_kernel: ...
    @overload
    def __new__(  # type: ignore[misc]  # as a decorator with options it returns the decorator proper
        cls, function: None = None, /, *, num_ctas: int | ByTarget | None = None,
        occupancy: int | ByTarget | None = None, opt_level: int | ByTarget | None = 3,
        num_worker_warps: int | ByTarget | None = None, grid: str | None = None, deterministic: bool = False,
    ) -> Callable[[Callable[..., Any]], tile_kernel]: ...
    @public
    def __new__(cls, function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        rules = LaunchRules(**{name: options.pop(name) for name in _RULES if name in options})
        checked = _options(KernelOptions(), options, _RULES)
        if function is None:
            return public(lambda wrapped: _make(cls, wrapped, checked, rules))
        return _make(cls, function, checked, rules)

    @not_traced
    @one_line
    def __getitem__(self, grid: Any) -> BoundKernel:
        """The kernel bound to a grid: a tuple of up to three ints, or one int."""
        try:
            bound = self._bound.get(grid)
        except TypeError:  # a list is not hashable, and no grid either
            bound = None
        # 7.0 and True are found under 7 and 1.
        if bound is None or (type(grid) is not int and (type(grid) is not tuple or float in map(type, grid))):
            if is_recording():
                return UnboundLaunch(self.launcher, grid)  # type: ignore[return-value]  # it is called alike
            try:
                made = make_grid(grid if isinstance(grid, (tuple, list)) else (grid,))
            except Exception as error:
                __tracebackhide__ = True  # as `public` does, without a call more on each launch
                if not is_refusal(error):
                    raise
                raise error.with_traceback(None) from error.__cause__
            bound = BoundKernel(self, made, self.launcher)
            if len(self._bound) >= _MAX_GRIDS:
                self._bound.clear()
            self._bound[grid] = bound
        return bound

    @not_traced
    @public
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Launch over the grid that the decorator gives; TypeError where it gives none."""
        specialiser = self.specialiser
        if not specialiser.dimensions.has_grid:
            raise TypeError(f"kernel {self.__name__} cannot be called directly; launch it over a grid: "
                            f"{self.__name__}[grid](...)")
        stream = kwargs.pop("stream", None)
        args = specialiser.call.complete(args, kwargs)
        if record(self.launcher, None, args):
            return
        grid = specialiser.dimensions.grid(args, lambda: specialiser.bind(args))
        self.launcher.launch(self[grid].grid, args, stream)

    @not_traced
    @public
    def bind(self, grid: Any, *args: Any, **named: Any) -> BoundLaunch:
        """The launch of these arguments, checked, compiled and packed, for many calls: `bound = kernel.bind(grid, x,
        out)`, then `bound()`. Nothing runs yet.

        Arguments: `grid`, as in a launch, None for the one that the decorator gives; `args` as in a launch.
        Result: a BoundLaunch.
        Errors: those of a launch.

        Example:
            @ct.tile_kernel
            def add(x, y):
                i = ct.bid(0)
                ct.store(y, i, ct.load(x, i, 4) + ct.load(y, i, 4))

            x, y = np.ones(8, np.float32), np.zeros(8, np.float32)
            bound = add.bind(2, x, y)
            for _ in range(3):
                bound()
            print(y[0])  # 3.0
            add.bind(2, x)  # TypeError
        """
        specialiser = self.specialiser
        args = specialiser.call.complete(args, named)
        if grid is None and specialiser.dimensions.has_grid:
            grid = specialiser.dimensions.grid(args, lambda: specialiser.bind(args))
        made = make_grid(grid if isinstance(grid, (tuple, list)) else (grid,))
        return BoundLaunch(self, made, self.launcher, args)

    @public
    def interpret(
        self, grid: Any, *args: Any, mode: str = "chunked", order: str | int | None = None, poison: bool = False,
        check: bool | str | Collection[str] = False, on_report: str = "raise", numerics: str | None = None,
        **named: Any,
    ) -> list[Report] | None:
        """Run in the interpreter, wherever the arrays live (device arrays are copied to the host and back).

        Arguments: `grid` and `args` as in a launch.
        Options: `mode`, "chunked" (many blocks at once) or "single" (one block after the other); `order` of single
            blocks, "asc" (the default), "desc" or an int that seeds a random order: a kernel whose result depends on it
            has a race; `poison=True` fills UNDETERMINED padding with NaN (integers: bytes 0x5A) in place of zero, so
            that a result that depends on it shows. `check`: True, "all" or names of checks, which `docs/checking.md`
            explains; `on_report`, "raise", "warn" (errors are warnings too) or "collect". `numerics`, a target such as
            "sm_90a": the code that the backend makes for it is run, with matrix products bit for bit as its tensor
            cores compute them (`docs/numerics.md`).
        Result: None; of a checked run, a list of reports.
        Errors: those of a launch; ValueError for another mode or order, and for `check` with `numerics`; TileValueError
            for an unknown target; CheckError for what a check has found.

        Example:
            @ct.tile_kernel
            def total(x, out):
                print("block", ct.bid(0), end="; ")
                ct.store(out, 0, ct.sum(ct.load(x, 0, 4)))         # three elements, and what lies behind them

            x, out = np.ones(3, np.float32), np.zeros(1, np.float32)
            total.interpret((3,), x, out, mode="single", order="desc", poison=True)
            print(out)  # block 2; block 1; block 0; [nan]
            total.interpret((3,), x, out, order="sideways")  # ValueError
        """
        from tilewright.interp.options import ExecutionOptions

        made = make_grid(grid if isinstance(grid, tuple) else (grid,))
        options = ExecutionOptions(mode=mode, order=order, poison=poison)
        checks = checking(check, on_report)
        target = target_of(numerics, checks is not None)
        arguments = self.specialiser.bind(self.specialiser.call.complete(args, named))
        return self.launcher.interpret(made, arguments, options, checks, target)

    @public
    def debug(self, grid: Any, *args: Any, block: Any = None, **named: Any) -> None:
        """Run in the interpreter under pdb, or the debugger that `breakpoint()` calls: it stops at the kernel's first
        statement, and goes on line by line as in Python. Names stand for what they hold: tiles are NumPy arrays.

        Arguments: `grid` and `args` as in a launch.
        Options: `block`, the coordinates of the block in which to stop (an int, or up to three); None stops in each.
        Errors: those of a launch; ValueError for a block outside the grid. Leaving the debugger by `quit` ends the run.

        Example:
            @ct.tile_kernel
            def double(x):
                i = ct.bid(0)
                t = ct.load(x, i, 4)
                ct.store(x, i, t * 2.0)

            import sys

            x, stops = np.ones(8, np.float32), []
            sys.breakpointhook = lambda: stops.append(sys._getframe(1).f_code.co_name)  # in the place of pdb
            double.debug((2,), x, block=1)
            sys.breakpointhook = sys.__breakpointhook__
            assert stops == ["double"]
            double.debug((2,), x, block=2)  # ValueError
        """
        from bdb import BdbQuit

        made = make_grid(grid if isinstance(grid, tuple) else (grid,))
        place = None if block is None else block_place(block, made)
        with contextlib.suppress(BdbQuit):
            self.launcher.debug(made, self.specialiser.bind(self.specialiser.call.complete(args, named)), place)

    @public
    def simulate(
        self, grid: Any, *args: Any, target: str | None = None, schedule: Literal["inorder", "random"] = "inorder",
        seed: int = 0, **named: Any,
    ) -> None:
        """Run the code for a GPU on the CPU, instruction by instruction, with every access and synchronisation checked:
        races of threads, bounds, barriers, asynchronous copies and MMAs. It is slow: take small arrays and few blocks.

        Arguments: `grid` and `args` as in a launch, with NumPy arrays, which are written in place.
        Options: `target`, such as "sm_90a" (by default that of the GPU here, else the default target); `schedule`,
            "inorder" (all warps side by side) or "random" (one at a time, as `seed` chooses; copies land as late as
            they may), which finds more.
        Errors: TileSimulationError at the line of the source whose code is wrong; those of a launch.

        Example:
            @ct.tile_kernel
            def copy(x, out):
                i = ct.bid(0) * 128 + ct.arange(128, dtype=ct.int32)
                ct.scatter(out, i, ct.gather(x, i), check_bounds=False)

            x, out = np.ones(256, np.float32), np.zeros(256, np.float32)
            copy.simulate((2,), x, out, target="sm_80")
            assert out.all()
            copy.simulate((2,), x, out[:200], target="sm_80")  # TileSimulationError
        """
        from tilewright.inspecting.simulation import simulate

        made = make_grid(grid if isinstance(grid, tuple) else (grid,))
        simulate(self.lower(*args, target=target, lineinfo=True, **named), made, schedule, seed)

    @public
    def replace_hints(self, **options: Any) -> Self:
        """A new kernel of the same function with other options; the old one stays as it is.

        Options: those of `tile_kernel`.
        Errors: TypeError for an unknown option, ValueError for a value.

        Example:
            @ct.tile_kernel
            def kernel(x):
                ct.store(x, 0, ct.bid(0))

            wide = kernel.replace_hints(num_worker_warps=8)
            assert wide is not kernel
            kernel.replace_hints(color=3)  # TypeError
        """
        source = self.specialiser.source
        hinted = kernel_of(source, _options(self.hints, options), self.specialiser.rules, type(self))
        vars(hinted).update({name: value for name, value in vars(self).items() if name not in vars(hinted)})
        return hinted

    @public
    def ir(self, *args: Any, passes: bool = True, spans: bool = False, **named: Any) -> str:
        """The Tile IR for these arguments.

        Arguments: arrays, or specs in their place, scalars and constants, as in a launch, by position or name.
        Result: text. `tilewright run` executes it again.
        Options: `passes=False` shows it as the frontend makes it; `spans=True` ends each op with its place in the
            source, `@0:line:columns` in the function that a line `@0 = ...` at the top names.
        Errors: what a launch raises for the same arguments.

        Example:
            @ct.tile_kernel
            def double(x):
                i = ct.bid(0)
                ct.store(x, i, ct.load(x, i, 128) * 2.0)

            print(double.ir(ct.spec("f32[1024]")).splitlines()[0].startswith("func"))  # True
            assert " @0:" in double.ir(ct.spec("f32[1024]"), spans=True)
        """
        return self.lower(*args, **named).text(passes=passes, spans=spans)

    @public
    def llvm(self, *args: Any, target: str | None = None, lineinfo: bool = False, **named: Any) -> str:
        """The LLVM IR for these arguments; no GPU is needed.

        Arguments: as in `ir`; `target`, a name like "sm_90a", by default this machine's GPU's.
        Result: text.
        Options: `lineinfo=True` adds the places of the source, through calls of helpers.
        Errors: TileValueError for an unknown target, TileUnsupportedFeatureError for what the target cannot do.

        Example:
            @ct.tile_kernel
            def double(x):
                i = ct.bid(0)
                ct.store(x, i, ct.load(x, i, 128) * 2.0)

            assert "nvptx64" in double.llvm(ct.spec("f32[1024]"), target="sm_80")
            double.llvm(ct.spec("f32[1024]"), target="sm_10")  # TileValueError
        """
        return self.compiled(*args, target=target, lineinfo=lineinfo, **named).llvm_text

    @public
    def ptx(self, *args: Any, target: str | None = None, lineinfo: bool = False, **named: Any) -> str:
        """The PTX for these arguments; no GPU is needed.

        Arguments: as in `llvm`.
        Result: text.
        Options: `lineinfo=True` adds the lines of the source (`.loc`), and changes nothing else.
        Errors: as those of `llvm`.

        Example:
            @ct.tile_kernel
            def double(x):
                i = ct.bid(0)
                ct.store(x, i, ct.load(x, i, 128) * 2.0)

            ptx = double.ptx(ct.spec("f32[1024]"), target="sm_90a")
            assert ".target sm_90a" in ptx and ".loc" not in ptx
            assert ".loc" in double.ptx(ct.spec("f32[1024]"), target="sm_90a", lineinfo=True)
        """
        return self.compiled(*args, target=target, lineinfo=lineinfo, **named).ptx

    @public
    def cubin(self, *args: Any, target: str | None = None, lineinfo: bool = False, **named: Any) -> bytes:
        """The machine code for these arguments.

        Arguments: as in `llvm`.
        Result: bytes, an ELF file: made by the driver for this machine's GPU, by ptxas for another target.
        Options: `lineinfo=True` adds the table of source lines that profilers and debuggers read.
        Errors: as those of `llvm`; TileUnsupportedFeatureError where ptxas is needed and not installed.

        Example:
            @ct.tile_kernel
            def double(x):
                i = ct.bid(0)
                ct.store(x, i, ct.load(x, i, 128) * 2.0)

            if ct.gpu_available():
                assert double.cubin(ct.spec("f32[1024]")).startswith(b"\\x7fELF")
        """
        return self.lower(*args, target=target, lineinfo=lineinfo, **named).cubin()

    @public
    def sass(self, *args: Any, target: str | None = None, lines: bool = False, **named: Any) -> str:
        """The machine code as text.

        Arguments: as in `llvm`.
        Result: text, by nvdisasm or cuobjdump (`tilewright doctor` says whether there is one).
        Options: `lines=True` ends each instruction with its line of the source, `// kernel.py:12`; it needs nvdisasm.
        Errors: as those of `cubin`, and TileUnsupportedFeatureError without a disassembler.

        Example:
            @ct.tile_kernel
            def double(x):
                i = ct.bid(0)
                ct.store(x, i, ct.load(x, i, 128) * 2.0)

            if ct.gpu_available():
                print(double.sass(ct.spec("f32[1024]")))
        """
        from tilewright.inspecting.sass import disassemble, with_lines

        stages = self.lower(*args, target=target, lineinfo=lines, **named)
        return with_lines(stages.cubin(), stages.compiled.ptx) if lines else disassemble(stages.cubin())

    @public
    def arg_specs(self, *args: Any, **named: Any) -> tuple[Any, ...]:
        """What the compiler is told of these arguments: a type, a constant, or a tuple of those for each.

        Arguments: as in `ir`.
        Result: a tuple with one entry per parameter.
        Errors: what a launch raises for the same arguments.

        Example:
            @ct.tile_kernel
            def double(x):
                i = ct.bid(0)
                ct.store(x, i, ct.load(x, i, 128) * 2.0)

            print(len(double.arg_specs(np.zeros(1024, np.float32))))  # 1
        """
        return self.lower(*args, **named).specs

    @public
    def lower(self, *args: Any, target: str | None = None, lineinfo: bool = False, **named: Any) -> Stages:
        """The kernel at every stage of its compilation, as objects: for tools and tests that look at more than text.

        Arguments: as in `llvm`.
        Options: `lineinfo`, as in `llvm`, for all stages.
        Result: an object that makes a stage when it is asked for. `tile_ir()` is the typed Tile IR function with the
            hints of the target, `tile_ir(passes=False)` as the frontend makes it; `machine_ir(observer)` the function
            after the backend's passes, of which `observer(name, function)` sees each; `lowered` has the LLVM IR
            (`llvm_text`), the `abi`, `threads`, `shared_bytes` and `cluster`; `compiled` also the `ptx` and `timings`.
            `arguments`, `values` (those that exist at run time), `specs`, `hints` and `target` say what it is made for.
        Errors: what a launch raises for the same arguments; for `target`, those of `llvm`, when a stage needs it.

        Example:
            @ct.tile_kernel(occupancy=2)
            def double(x):
                i = ct.bid(0)
                ct.store(x, i, ct.load(x, i, 128) * 2.0)

            stages = double.lower(ct.spec("f32[1024]"), target="sm_90a")
            print(stages.target.name, stages.hints.occupancy)                # sm_90a 2
            print([op.opcode for op in stages.tile_ir().walk()][-2:])        # ['store', 'return']
            passes = []
            stages.machine_ir(lambda name, function: passes.append(name))
            assert "assign_layouts" in passes and stages.lowered.threads % 32 == 0
            double.lower()  # TypeError
        """
        from tilewright.inspecting.stages import Stages

        return Stages(self.specialiser, self.specialiser.call.complete(args, named), target, lineinfo)

    @public
    def compiled(self, *args: Any, target: str | None = None, lineinfo: bool = False, **named: Any) -> Compiled:
        """Everything that the compiler says of the kernel.

        Arguments: as in `llvm`.
        Options: `lineinfo`, as in `llvm`.
        Result: an object with `llvm_text`, `ptx`, `abi` (the parameters of the machine code), `threads` (per block),
            `shared_bytes`, `cluster` (CTAs that run each block) and `timings` (seconds by stage).
        Errors: as those of `llvm`.

        Example:
            @ct.tile_kernel
            def double(x):
                i = ct.bid(0)
                ct.store(x, i, ct.load(x, i, 128) * 2.0)

            made = double.compiled(ct.spec("f32[1024]"), target="sm_80")
            print(made.threads % 32, made.shared_bytes)  # 0 0
        """
        return self.lower(*args, target=target, lineinfo=lineinfo, **named).compiled

    @public
    def defvjp(self, *, wrt: str | tuple[str, ...], outputs: str | tuple[str, ...]) -> Callable[[K], K]:
        """Give the kernel a backward of your own: a decorator for a kernel, which `grad` gives for these names from
        then on in the place of a derived one.

        Arguments: `wrt` and `outputs`, as `grad` will be asked for them.
        Result: a decorator that takes a kernel and returns it. The kernel's parameters are those of the derived one:
            this kernel's own, `out_grad` for each output, `x_grad` for each array of `wrt`, to which it adds.
        Errors: those of `grad` for names; ValueError for other parameters.

        Example:
            @ct.tile_kernel
            def step(x, out):
                ct.store(out, ct.bid(0), ct.floor(ct.load(x, ct.bid(0), 4)))

            @step.defvjp(wrt="x", outputs="out")
            @ct.tile_kernel
            def straight_through(x, out, out_grad, x_grad):
                i = ct.bid(0)
                ct.store(x_grad, i, ct.load(x_grad, i, 4) + ct.load(out_grad, i, 4))

            x, x_grad = np.arange(8.0) / 3, np.zeros(8)
            ct.grad(step, wrt="x", outputs="out")[(2,)](x, np.zeros(8), np.ones(8), x_grad)
            print(x_grad)  # [1. 1. 1. 1. 1. 1. 1. 1.]
            step.defvjp(wrt="x", outputs="out")(step)  # ValueError
        """
        from tilewright.deriving.custom import registering

        return registering(self, wrt, outputs)

    @property
    def hints(self) -> KernelOptions:
        """The options that the kernel was made with, each a value or a ByTarget."""
        return self.specialiser.hints

    def __repr__(self) -> str:
        return f"<tile_kernel {self.__name__}>"

    def _repr_html_(self) -> str:
        """How a notebook displays the kernel: its source and options."""
        from tilewright.inspecting.notebook import of_kernel

        return of_kernel(self.__name__, self.hints, getattr(self, "__wrapped__", None))

    def __reduce__(self) -> str:
        """Copies are the kernel itself; a kernel of a module's top level is pickled by its name, as functions are."""
        return str(self.__qualname__)


def _make(cls: type[tile_kernel], function: Any, options: KernelOptions, rules: LaunchRules) -> tile_kernel:
    if isinstance(function, staticmethod):
        function = function.__func__
    if not isinstance(function, types.FunctionType):
        given = f"the class {function.__name__}" if isinstance(function, type) else type(function).__name__
        raise TypeError(f"tile_kernel takes a Python function, not {given}; write def or lambda")
    _refuse_method(function)
    start_if_wanted()
    kernel = kernel_of(PythonSource(function), options, rules, cls)
    functools.update_wrapper(kernel, function)
    return kernel


def kernel_of(source: Source, options: KernelOptions, rules: LaunchRules, cls: type[K]) -> K:
    """The kernel that a source describes, with hints and rules of its launches."""
    specialiser = Specialiser(source, options, rules)
    return kernel_around(specialiser, Launcher(specialiser), cls)


def kernel_around(specialiser: Specialiser, launcher: Launcher, cls: type[K]) -> K:
    """The kernel that has a specialiser and its launcher, with all that these have made."""
    kernel = object.__new__(cls)
    kernel.__name__ = kernel.__qualname__ = specialiser.name
    kernel.specialiser, kernel.launcher, kernel._bound = specialiser, launcher, {}
    return kernel


def _refuse_method(function: types.FunctionType) -> None:
    """A kernel has no self: nobody would pass it."""
    outside, dot, _ = function.__qualname__.rpartition(".")
    first = function.__code__.co_varnames[: function.__code__.co_argcount][:1]
    if dot and not outside.endswith("<locals>") and first in (("self",), ("cls",)):
        raise TypeError(f"the kernel {function.__qualname__} is a method: its first parameter is {first[0]}, which a "
                        "launch does not pass; write @staticmethod above it without that parameter, and pass what the "
                        f"kernel needs of {first[0]} as arguments")


def _options(base: KernelOptions, given: dict[str, Any], more: tuple[str, ...] = ()) -> KernelOptions:
    known = {f.name for f in fields(KernelOptions)}
    for name in given:
        if name not in known:
            raise TypeError(f"tile_kernel has no option {name!r}; there are {', '.join(sorted({*known, *more}))}")
    return replace(base, **given)


@overload
def function(func: F, /, *, host: bool = False, tile: bool = True) -> F: ...
@overload
def function(func: None = None, /, *, host: bool = False, tile: bool = True) -> Callable[[F], F]: ...
def function(func: Callable[..., Any] | None = None, /, *, host: bool = False, tile: bool = True) -> Any:
    """Mark a function as one that kernels call. Optional: kernels may call any plain Python function.

    Options: `host=True` lets the host call it too; `tile=False`, with `host=True`, keeps kernels from calling it.
    Errors: RuntimeError when the host calls a function marked without `host=True`, TileTypeError when a kernel calls
        one marked with `tile=False`; ValueError for a function that neither may call.

    Example:
        @ct.function
        def square(t):
            return t * t

        @ct.tile_kernel
        def kernel():
            print(square(ct.arange(4, dtype=ct.int32)))  # [0, 1, 4, 9]

        kernel[(1,)]()
        square(3)  # RuntimeError
    """
    if func is None:
        return lambda wrapped: function(wrapped, host=host, tile=tile)
    if not host and not tile:
        raise ValueError(f"function(host=False, tile=False): nobody could call {func.__name__}")
    if host:
        if not tile:
            func.__tilewright_host_only__ = True  # type: ignore[attr-defined]
        return func

    @functools.wraps(func)
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"{func.__name__} is a tile function; it can be called from a kernel only "
                           "(allow it on the host with function(host=True))")

    # Kernels call the function itself.
    refuse.__tilewright_function__ = func  # type: ignore[attr-defined]
    return refuse


@not_traced
@public
def launch(
    stream: Any, grid: Any, kernel: Any, kernel_args: Any, /, *, programmatic_dependent_launch: bool = False,
    check: bool | str | Collection[str] = False, on_report: str = "raise", numerics: str | None = None,
    **unknown: Never,
) -> list[Report] | None:
    """Run a kernel over a grid, with everything in one call; `kernel[grid](*args)` does the same.

    Arguments: `stream`, a torch, CuPy or numba stream or an int handle (0: the default stream), None for the arrays'
        own; `grid`, a tuple of up to three ints; `kernel`; `kernel_args`, a tuple with one entry per parameter.
    Options: `programmatic_dependent_launch=True` allows the kernel to start before the one queued ahead of it has
        ended: a hint, of which no use is made. `check` and `on_report` run it checked, as `interpret` does, `numerics`
        in the interpreter too, with a GPU's arithmetic.
    Result: None; of a checked launch, a list of reports.
    Errors: as those of `kernel[grid]`, and TypeError for a grid or arguments that are no tuple; RuntimeError for a
        keyword that a launch does not have.

    Example:
        @ct.tile_kernel
        def kernel(out, value):
            ct.store(out, ct.bid(0), value)

        out = np.zeros(3, np.int32)
        ct.launch(None, (3,), kernel, (out, 7))
        print(out)  # [7 7 7]
        ct.launch(None, 3, kernel, (out, 7))  # TypeError
    """
    if unknown:
        raise RuntimeError(f"launch: there is no keyword {next(iter(unknown))!r}; the kernel's own arguments go into "
                           "the tuple, by position, and hints into @tile_kernel(...) or kernel.replace_hints(...)")
    if not isinstance(kernel, tile_kernel):
        raise TypeError(f"launch: the kernel must be made with @tile_kernel, not {type(kernel).__name__}")
    if not isinstance(kernel_args, tuple):
        raise TypeError(f"launch: the kernel's arguments must be a tuple, not {type(kernel_args).__name__}")
    kernel.specialiser.call.check_count(kernel_args)
    if not isinstance(programmatic_dependent_launch, bool):
        raise TypeError("launch: programmatic_dependent_launch must be True or False, "
                        f"not {programmatic_dependent_launch!r}")
    checks = checking(check, on_report)
    target = target_of(numerics, checks is not None)
    if checks is None and target is None:
        if record(kernel.launcher, grid, kernel_args):
            return None
        kernel.launcher.launch_over(make_grid(grid), kernel_args, stream)
        return None
    arguments = kernel.specialiser.bind(kernel_args)
    return kernel.launcher.interpret(make_grid(grid), arguments, check=checks, target=target)
