"""Launches inside programs of JAX: checked when they are traced, run by a handler of XLA, with gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy

from tilewright.arguments.bind import leaves
from tilewright.deriving.grad import grad, gradient_kernel
from tilewright.jax.entries import (
    RETURNED,
    InputOutput,
    OutputPlaceholder,
    Scratch,
    Zeros,
    as_spec,
    given_array,
    is_array,
    shape_of,
)
from tilewright.jax.ffi import TARGET
from tilewright.jax.registry import number_of
from tilewright.kernel import tile_kernel


class Rules(NamedTuple):
    """How the gradient of a launch is made."""

    wrt: str | tuple[str, ...] | None
    stored_once: str | tuple[str, ...]


def call_with_shapes(kernel: tile_kernel, grid: Any, out_shapes: Any, args: Sequence[Any], rules: Rules) -> Any:
    """Launch a kernel whose outputs have these shapes; the outputs, arranged as `out_shapes` is."""
    _check_kernel(kernel)
    if isinstance(out_shapes, dict):
        outputs = launch(kernel, grid, _by_name(kernel, out_shapes, args), rules)
        names = [name for name in _names(kernel) if name in out_shapes]
        return dict(zip(names, outputs, strict=True))
    several = isinstance(out_shapes, (tuple, list))
    shapes = list(out_shapes) if several else [out_shapes]
    first = next((k for k, arg in enumerate(args) if not is_array(arg)), len(args))
    entries = (*args[:first], *map(_output, shapes), *args[first:])
    outputs = launch(kernel, grid, entries, rules)
    return type(out_shapes)(outputs) if several else outputs[0]


def _by_name(kernel: tile_kernel, out_shapes: dict[str, Any], args: Sequence[Any]) -> tuple[Any, ...]:
    names = _names(kernel)
    unknown = next((name for name in out_shapes if name not in names), None)
    if unknown is not None:
        raise ValueError(f"tw.jax.call: out_shapes names {unknown!r}, which is no parameter of kernel "
                         f"{kernel.__name__}; it has {', '.join(names)}")
    given = iter(args)
    entries: list[Any] = []
    for name in names:
        if name in out_shapes:
            entries.append(_output(out_shapes[name]))
        else:
            entries += [value for value in [next(given, _MISSING)] if value is not _MISSING]
    return (*entries, *given)


_MISSING = object()


def _output(shape: Any) -> OutputPlaceholder:
    if not hasattr(shape, "shape") or not hasattr(shape, "dtype"):
        raise TypeError(f"tw.jax.call: an output is given by something with shape and dtype, such as "
                        f"jax.ShapeDtypeStruct, not {type(shape).__name__}")
    return OutputPlaceholder(tuple(shape.shape), shape.dtype)


def _names(kernel: tile_kernel) -> list[str]:
    return [p.name for p in kernel.specialiser.params]


def _check_kernel(kernel: Any) -> None:
    if not isinstance(kernel, tile_kernel):
        raise TypeError(f"tw.jax: the kernel must be made with @tile_kernel, not {type(kernel).__name__}")


def launch(kernel: tile_kernel, grid: Any, entries: Sequence[Any], rules: Rules) -> tuple[Any, ...]:
    """Launch a kernel with one entry per parameter; its outputs."""
    _check_kernel(kernel)
    entries = kernel.specialiser.call.complete(entries, {})
    _check_effects(kernel, entries)
    held = [array for array in map(given_array, entries) if array is not None]

    def primal(*arrays: Any) -> tuple[Any, ...]:
        return _call(kernel, grid, entries, arrays)

    def forward(*arrays: Any) -> tuple[Any, Any]:
        return primal(*arrays), arrays

    def backward(arrays: Any, cotangents: Any) -> tuple[Any, ...]:
        return _gradients(kernel, grid, entries, arrays, cotangents, rules)

    function = jax.custom_vjp(primal)
    function.defvjp(forward, backward)
    outputs: tuple[Any, ...] = function(*map(jnp.asarray, held))
    return outputs


def _check_effects(kernel: tile_kernel, entries: Sequence[Any]) -> None:
    """Compile for these arguments; ValueError where the kernel writes an input, or does not write an output."""
    arguments = kernel.specialiser.bind([as_spec(entry) for entry in entries])
    written = kernel.specialiser.outputs(arguments, facts=False)
    names = {leaf.name for k, leaf in enumerate(leaves(arguments)) if k in written}
    for name, entry in zip(_names(kernel), entries, strict=True):
        if is_array(entry) and name in names:
            raise ValueError(f"argument {name!r} is an input, but kernel {kernel.__name__} writes to it; arrays of JAX "
                             "never change: make it an output, or InputOutput(array) of cutile_call")
        if isinstance(entry, (OutputPlaceholder, InputOutput)) and name not in names:
            raise ValueError(f"argument {name!r} is an output, but kernel {kernel.__name__} does not write to it")


def _call(kernel: tile_kernel, grid: Any, entries: Sequence[Any], arrays: Sequence[Any]) -> tuple[Any, ...]:
    """The call of the handler; `arrays` stand for those that the entries bring. An output that starts as an array is
    that array to XLA, which copies what lives on."""
    given = iter(arrays)
    inputs: list[Any] = []
    results: list[Any] = []
    aliases: dict[int, int] = {}
    for entry in entries:
        if isinstance(entry, (InputOutput, Zeros)):
            aliases[len(inputs)] = len(results)
        if given_array(entry) is not None:
            inputs.append(next(given))
        elif isinstance(entry, Zeros):
            inputs.append(jnp.zeros(entry.shape, entry.dtype))
        if not is_array(entry) and shape_of(entry) is not None:
            results.append(jax.ShapeDtypeStruct(shape_of(entry).shape, shape_of(entry).dtype))
    call = jax.ffi.ffi_call(TARGET, tuple(results), vmap_method="sequential", input_output_aliases=aliases)
    found = call(*inputs, launch=numpy.int64(number_of(kernel, grid, entries)))
    kinds = [entry for entry in entries if not is_array(entry) and shape_of(entry) is not None]
    return tuple(out for out, entry in zip(found, kinds, strict=True) if isinstance(entry, RETURNED))


def _gradients(
    kernel: tile_kernel, grid: Any, entries: Sequence[Any], arrays: Sequence[Any], cotangents: Sequence[Any],
    rules: Rules,
) -> tuple[Any, ...]:
    """The cotangent of each array that the launch was given, by the gradient kernel; None for those without one."""
    names = _names(kernel)
    by_name = dict(zip(names, entries, strict=True))
    held = dict(zip((n for n, e in by_name.items() if given_array(e) is not None), arrays, strict=True))
    outputs = zip((n for n, e in by_name.items() if isinstance(e, RETURNED)), cotangents, strict=True)
    returned = {name: cotangent for name, cotangent in outputs if _is_float(cotangent)}
    floats = tuple(name for name, array in held.items() if _is_float(array))
    wrt = floats if rules.wrt is None else (rules.wrt,) if isinstance(rules.wrt, str) else tuple(rules.wrt)
    if not wrt or not returned:
        return (None,) * len(arrays)
    derived = grad(kernel, wrt=wrt, outputs=tuple(returned), stored_once=rules.stored_once)
    found = _launch_gradient(derived, grid, by_name, held, returned)
    return tuple(found.get(name) for name in held)


def _launch_gradient(
    derived: gradient_kernel, grid: Any, entries: dict[str, Any], held: dict[str, Any], returned: dict[str, Any]
) -> dict[str, Any]:
    roles = derived.roles
    values: dict[str, Any] = {
        name: held.get(name, Scratch(entry.shape, entry.dtype) if isinstance(entry, OutputPlaceholder) else entry)
        for name, entry in entries.items()}
    values |= {f"{name}_grad": returned[name] for name in roles.outputs}
    values |= {f"{name}_grad": Zeros(tuple(held[name].shape), _wide(held[name].dtype)) for name in roles.wrt}
    ordered = [values[name] for name in roles.parameters]
    arrays = [array for array in map(given_array, ordered) if array is not None]
    outputs = _call(derived, grid, ordered, arrays)
    return {name: out.astype(held[name].dtype) for name, out in zip(roles.wrt, outputs, strict=True)}


def _wide(dtype: Any) -> Any:
    """Narrow floats are added up in float32."""
    return numpy.dtype(numpy.float32) if numpy.dtype(dtype).itemsize < 4 else dtype


def _is_float(array: Any) -> bool:
    return bool(jnp.issubdtype(array.dtype, jnp.floating))
