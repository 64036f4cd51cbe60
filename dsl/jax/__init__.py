"""`tw.jax`: kernels inside programs of JAX, which is imported when the first one is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.jax.entries import InputOutput, OutputPlaceholder
from tilewright.kernel import tile_kernel
from tilewright.tracebacks import public

__all__ = ["call", "cutile_call", "OutputPlaceholder", "InputOutput"]


@public
def call(
    kernel: tile_kernel, grid: Any, out_shapes: Any, /, *, wrt: str | tuple[str, ...] | None = None,
    stored_once: str | tuple[str, ...] = (),
) -> Callable[..., Any]:
    """A function of JAX arrays that launches a kernel: `tw.jax.call(kernel, grid, out_shapes)(*arrays)`.

    It stands in `jax.jit`, `jax.vmap` (a launch for each item of the batch) and `jax.grad`, whose gradient is that of
    `ct.grad`. On CPU the kernel runs in the interpreter, on CUDA on the stream of XLA. Its inputs do not change.

    Arguments: `kernel`; `grid`, as of a launch, or None where the decorator gives it; `out_shapes`, a
        jax.ShapeDtypeStruct (anything with `shape` and `dtype`), or a tuple or list of them, for the parameters behind
        the arrays that the function is called with, or a dict of them by the names of the parameters.
    Options: `wrt`, the arrays that have gradients, by default all inputs of floats; `stored_once`, as of `ct.grad`.
    Result: a function. It takes the kernel's other arguments by position: arrays, and numbers and constants, which are
        static. It returns an array, or a tuple or dict of arrays as `out_shapes` is one. What a kernel does not store
        into its outputs is undefined.
    Errors: ImportError without JAX; when it is traced, what a launch raises for the same arguments, and ValueError for
        an input that the kernel writes, for an output that it does not, and for names that are no parameters.
    """
    _need_jax()
    from tilewright.jax.calling import Rules, call_with_shapes

    rules = Rules(wrt, stored_once)
    return public(lambda *args: call_with_shapes(kernel, grid, out_shapes, args, rules))


@public
def cutile_call(grid: Any, kernel: tile_kernel, args: tuple[Any, ...]) -> Any:
    """Launch a kernel inside `jax.jit`, as cuTile's function of this name: `args` are all of the kernel's arguments.

    Arguments: `grid` and `kernel`, as of a launch; `args`, a tuple of arrays of JAX, which do not change, numbers and
        constants, which are static, `OutputPlaceholder(shape, dtype)` for an output, and `InputOutput(array)` for one
        that starts as a copy of an array.
    Result: the outputs in the order of `args`: one array, or a tuple of several.
    Errors: as those of `call`.
    """
    _need_jax()
    from tilewright.jax.calling import Rules, launch

    outputs = launch(kernel, grid, tuple(args), Rules(None, ()))
    return outputs[0] if len(outputs) == 1 else outputs


def _need_jax() -> None:
    try:
        import jax  # noqa: F401
    except ImportError as error:
        raise ImportError("tw.jax needs JAX; install it with: pip install jax", name="jax") from error
