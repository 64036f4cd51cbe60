"""`tile_kernel`: the class whose instances wrap a Python function as a kernel."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Hashable
from dataclasses import fields, replace
from typing import Any, overload

from tilewright.annotations import Param, read_params
from tilewright.bind import bind
from tilewright.grid import Grid, make_grid
from tilewright.launcher import Launcher
from tilewright.options import ByTarget, KernelOptions

_MAX_GRIDS = 4096


class tile_kernel:
    """Make a kernel of a Python function: `@tile_kernel`, or `@tile_kernel(occupancy=2)`.

    Launch it with `kernel[grid](*args, stream=None)` or `launch(stream, grid, kernel, args)`. Where the array
    arguments live decides where it runs: host arrays in the interpreter, device arrays on their GPU.

    Options, each a value or a ByTarget: `num_ctas` (None or 1, 2, 4, 8, 16: blocks per cluster), `occupancy` (None or
    1 to 32: resident blocks per multiprocessor), `opt_level` (None or 0 to 3), `num_worker_warps` (None, 4 or 8).
    All are hints. Raises TypeError for what is no plain function, ValueError for an option's value.
    """

    __name__: str
    __qualname__: str
    _pyfunc: Any  # the undecorated function
    _params: tuple[Param, ...]
    _options: KernelOptions
    _bound: dict[Any, BoundKernel]
    _launcher: Launcher

    @overload
    def __new__(
        cls, function: Callable[..., Any], /, *, num_ctas: int | None | ByTarget = None,
        occupancy: int | None | ByTarget = None, opt_level: int | None | ByTarget = 3,
        num_worker_warps: int | None | ByTarget = None,
    ) -> tile_kernel: ...
    @overload
    def __new__(  # type: ignore[misc]  # as a decorator with options it returns the decorator proper
        cls, function: None = None, /, *, num_ctas: int | None | ByTarget = None,
        occupancy: int | None | ByTarget = None, opt_level: int | None | ByTarget = 3,
        num_worker_warps: int | None | ByTarget = None,
    ) -> Callable[[Callable[..., Any]], tile_kernel]: ...
    def __new__(cls, function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        checked = _options(KernelOptions(), options)
        if function is None:
            return lambda wrapped: _make(cls, wrapped, checked)
        return _make(cls, function, checked)

    def __getitem__(self, grid: Any) -> BoundKernel:
        """The kernel bound to a grid: a tuple of up to three ints, or one int."""
        bound = self._bound.get(grid) if isinstance(grid, Hashable) else None
        if bound is None:
            bound = BoundKernel(self, make_grid(grid if isinstance(grid, tuple) else (grid,)))
            if len(self._bound) >= _MAX_GRIDS:
                self._bound.clear()
            self._bound[grid] = bound
        return bound

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"kernel {self.__name__} cannot be called directly; launch it over a grid: "
                        f"{self.__name__}[grid](...)")

    def interpret(self, grid: Any, *args: Any, mode: str = "chunked") -> None:
        """Run in the interpreter, wherever the arrays live (device arrays are copied to the host and back).

        `mode` is "chunked" (many blocks at once) or "single" (one block after the other).
        """
        made = make_grid(grid if isinstance(grid, tuple) else (grid,))
        self._launcher.interpret(made, bind(self._params, args, self.__name__), mode)

    def replace_hints(self, **options: Any) -> tile_kernel:
        """A new kernel of the same function with other options; TypeError for an unknown one."""
        return _make(type(self), self._pyfunc, _options(self._options, options))

    def ir(self, *args: Any, passes: bool = True) -> str:
        """The Tile IR for these arguments (arrays, specs, scalars), after or before the passes."""
        from tilewright.inspection import tile_ir

        return tile_ir(self, args, passes=passes)

    def llvm(self, *args: Any, target: str | None = None) -> str:
        """The LLVM IR for these arguments. `target` is a name like "sm_90a"; by default this machine's GPU's."""
        from tilewright.inspection import compiled

        return compiled(self, args, target).llvm_text

    def ptx(self, *args: Any, target: str | None = None) -> str:
        """The PTX for these arguments; no GPU is needed."""
        from tilewright.inspection import compiled

        return compiled(self, args, target).ptx

    def cubin(self, *args: Any, target: str | None = None) -> bytes:
        """The machine code: by the driver for this machine's GPU, by ptxas (which must be installed) otherwise."""
        from tilewright.inspection import cubin

        return cubin(self, args, target)

    def sass(self, *args: Any, target: str | None = None) -> str:
        """The machine code as text, where nvdisasm or cuobjdump is installed (see `tilewright doctor`)."""
        from tilewright.backend_ptx.runtime.disassemble import sass
        from tilewright.inspection import cubin

        return sass(cubin(self, args, target))

    def arg_specs(self, *args: Any) -> tuple[Any, ...]:
        """What the frontend is given for these arguments: a type, a ConstArg or a tuple of those per parameter."""
        from tilewright.inspection import arg_specs

        return arg_specs(self, args)

    def compiled(self, *args: Any, target: str | None = None) -> Any:
        """Everything that the compiler says of the kernel: .llvm_text .ptx .abi .threads .shared_bytes .timings."""
        from tilewright.inspection import compiled

        return compiled(self, args, target)

    def __repr__(self) -> str:
        return f"<tile_kernel {self.__name__}>"

    def __reduce__(self) -> str:
        """Copies are the kernel itself; a kernel of a module's top level is pickled by its name, as functions are."""
        return str(self.__qualname__)


class BoundKernel:
    """A kernel and a grid: call it with the kernel's arguments."""

    __slots__ = ("kernel", "grid", "_launch")

    def __init__(self, kernel: tile_kernel, grid: Grid) -> None:
        self.kernel = kernel
        self.grid = grid
        self._launch = kernel._launcher.launch

    def __call__(self, *args: Any, stream: Any = None, **named: Any) -> None:
        """Launch. Device arrays: on `stream`, by default their library's current one, without waiting for the end."""
        if named:
            raise TypeError(f"kernel {self.kernel.__name__} takes its arguments by position, so give "
                            f"{next(iter(named))} without a name; the only named argument of a launch is stream")
        self._launch(self.grid, args, stream)

    def __repr__(self) -> str:
        return f"<tile_kernel {self.kernel.__name__}[{', '.join(map(str, self.grid.size))}]>"


def _make(cls: type[tile_kernel], function: Any, options: KernelOptions) -> tile_kernel:
    if not isinstance(function, types.FunctionType):
        raise TypeError(f"tile_kernel takes a Python function, not {type(function).__name__}")
    kernel = object.__new__(cls)
    functools.update_wrapper(kernel, function)
    kernel._pyfunc = function
    kernel._params = read_params(function)
    kernel._options = options
    kernel._bound = {}
    kernel._launcher = Launcher(function, function.__name__, kernel._params, options)
    return kernel


def _options(base: KernelOptions, given: dict[str, Any]) -> KernelOptions:
    known = {f.name for f in fields(KernelOptions)}
    for name in given:
        if name not in known:
            raise TypeError(f"tile_kernel has no option {name!r}; there are {', '.join(sorted(known))}")
    return replace(base, **given)


def function(func: Callable[..., Any] | None = None, /, *, host: bool = False, tile: bool = True) -> Any:
    """Mark a function as one that kernels call. Optional: kernels may call any plain Python function.

    With `host=False` calling it outside a kernel is a RuntimeError; with `host=True` it is returned unchanged.
    """
    if func is None:
        return lambda wrapped: function(wrapped, host=host, tile=tile)
    if host:
        return func

    @functools.wraps(func)
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"{func.__name__} is a tile function; it can be called from a kernel only "
                           "(allow it on the host with function(host=True))")

    # Kernels call the function itself.
    refuse.__tilewright_function__ = func  # type: ignore[attr-defined]
    return refuse


def launch(
    stream: Any, grid: Any, kernel: Any, kernel_args: Any, /, *, programmatic_dependent_launch: bool = False
) -> None:
    """Run `kernel` over `grid` with the tuple `kernel_args`.

    `stream`: a torch, CuPy or numba stream or an int handle; None for the arrays' own. Host arrays need none.
    """
    if not isinstance(kernel, tile_kernel):
        raise TypeError(f"launch: the kernel must be made with @tile_kernel, not {type(kernel).__name__}")
    if not isinstance(kernel_args, tuple):
        raise TypeError(f"launch: the kernel's arguments must be a tuple, not {type(kernel_args).__name__}")
    kernel._launcher.launch(make_grid(grid), kernel_args, stream)
