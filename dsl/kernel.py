"""`tile_kernel`: the class whose instances wrap a Python function as a kernel."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, Self, TypeVar, overload

from tilewright.launching.bound import BoundKernel
from tilewright.launching.fixed import BoundLaunch
from tilewright.launching.grid import make_grid
from tilewright.launching.host_runs import HostRuns
from tilewright.launching.launcher import Launcher
from tilewright.launching.log import start_if_wanted
from tilewright.launching.settings import math_mode, synchronise_if_wanted
from tilewright.launching.sources import PythonSource, Source
from tilewright.launching.specialise import Specialiser
from tilewright.launching.tracing import UnboundLaunch, is_recording, not_traced, record
from tilewright.options import ByTarget, KernelOptions, LaunchRules
from tilewright.tracebacks import is_refusal, one_line, public

F = TypeVar("F", bound=Callable[..., Any])
K = TypeVar("K", bound="tile_kernel")

_MAX_GRIDS = 4096
_NO_GRID = object(), None
_INT = {int}
_RULES = tuple(field.name for field in fields(LaunchRules))


class tile_kernel(HostRuns):
    """Make a kernel of a Python function: `@tile_kernel`, or `@tile_kernel(occupancy=2)`.

    The function is compiled at its first launch, once per kind of arguments; what it reads from around it (globals,
    closures) is read then. It takes arguments as Python functions do, and returns nothing.

    Options: each a value or a ByTarget, and each a hint: `num_ctas` (None or 1, 2, 4, 8, 16: CTAs per
        block), `occupancy` (None or 1 to 32: resident blocks per SM), `opt_level` (None or 0 to 3),
        `num_worker_warps` (None, 4 or 8), `programmatic_dependent_launch` (True: a launch may start while the kernel
        before it on its stream runs; it waits for that one before it first accesses memory). Three are no hints:
        `grid`, expressions of names of dimensions and parameters (`grid="cdiv(M, TM), cdiv(N, TN)"`), with which the
        kernel is called without a grid; `deterministic=True`, which refuses results that depend on the order of blocks;
        `math`, `"exact"`, `"default"` or `"fast"` (`docs/runtime.md`), by default that of `settings`.
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
    _bound: dict[Any, BoundKernel]
    _latest: tuple[Any, BoundKernel | None]  # the grid that was asked for last, and what was given for it

    __slots__ = ("_latest",)  # read by each launch; all else stands in the dict

    @overload
    def __new__(
        cls, function: Callable[..., Any], /, *, num_ctas: int | ByTarget | None = None,
        occupancy: int | ByTarget | None = None, opt_level: int | ByTarget | None = 3,
        num_worker_warps: int | ByTarget | None = None, programmatic_dependent_launch: bool | ByTarget | None = False,
        grid: str | None = None, deterministic: bool = False, math: str | None = None,
    ) -> tile_kernel: ...
    @overload
    def __new__(  # type: ignore[misc]  # as a decorator with options it returns the decorator proper
        cls, function: None = None, /, *, num_ctas: int | ByTarget | None = None,
        occupancy: int | ByTarget | None = None, opt_level: int | ByTarget | None = 3,
        num_worker_warps: int | ByTarget | None = None, programmatic_dependent_launch: bool | ByTarget | None = False,
        grid: str | None = None, deterministic: bool = False, math: str | None = None,
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
        given, bound = self._latest
        if given is grid:  # a literal is the same object each time
            return bound  # type: ignore[return-value]
        fixed = type(grid) is int or (type(grid) is tuple and _INT.issuperset(map(type, grid)))
        bound = self._bound.get(grid) if fixed else None
        if bound is None:
            if is_recording():
                return UnboundLaunch(self.launcher, grid)  # type: ignore[return-value]  # it is called alike
            try:
                made = make_grid(grid if isinstance(grid, (tuple, list)) else (grid,))
            except Exception as error:
                __tracebackhide__ = True  # as `public` does, without a call more on each launch
                if not is_refusal(error):
                    raise
                raise error.with_traceback(None) from error.__cause__
            if not fixed:  # other numbers may change, and be the same object all the while
                return self[made.size]
            if len(self._bound) >= _MAX_GRIDS:
                self._bound.clear()
            # One for all ways to write a grid: launches that one of them has learnt Python never makes for another.
            bound = self._bound.get(made.size) or BoundKernel(self, made, self.launcher)
            self._bound[grid] = self._bound[made.size] = bound
        self._latest = grid, bound
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
    synchronise_if_wanted()
    rules = replace(rules, math=rules.math or math_mode())
    kernel = kernel_of(PythonSource(function, str(rules.math)), options, rules, cls)
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
    kernel.specialiser, kernel.launcher, kernel._bound, kernel._latest = specialiser, launcher, {}, _NO_GRID
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
