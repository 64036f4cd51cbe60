"""Checks of array arguments before anything runs: one place, no read-only outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.arguments import torch_tensors
from tilewright.arguments.arrays import ArrayInfo, is_jax, is_torch, place
from tilewright.arguments.bind import Argument, ArrayArgument, arrays, leaves
from tilewright.arguments.spec import Spec


def real(array: ArrayArgument) -> ArrayInfo:
    """The array's memory; TypeError for an abstract argument, which cannot be launched with."""
    if isinstance(array.info, Spec):
        raise TypeError(f"argument {array.name!r} is a specification ({array.info}); a launch needs an array")
    return array.info


def common_device(arguments: Sequence[Argument]) -> int | None:
    """The place of all array arguments (`arrays.HOST` or a CUDA ordinal), None without any.

    ValueError where they are in different places.
    """
    first: ArrayArgument | None = None
    for array in arrays(arguments):
        info = real(array)
        if first is None:
            first = array
        elif info.device != real(first).device:
            raise ValueError(
                f"argument {first.name!r} is {place(real(first))}, but {array.name!r} is {place(info)}; move them to "
                "one place first")
    return real(first).device if first is not None else None


def check_outputs(arguments: Sequence[Argument], written: frozenset[int]) -> None:
    """ValueError for an output that is read-only."""
    for array in outputs_of(arguments, written):
        info = real(array)
        if info.readonly:
            raise ValueError(f"argument {array.name!r} is read-only, but the kernel writes to it{_advice(info.owner)}")


def outputs_of(arguments: Sequence[Argument], written: frozenset[int]) -> list[ArrayArgument]:
    """The arrays at the positions of the parameters that a kernel writes."""
    return [array for i, leaf in enumerate(leaves(arguments)) if i in written for array in arrays([leaf])]


def note_outputs(arguments: Sequence[Argument], written: frozenset[int]) -> None:
    """Tell torch which of its tensors a launch changes; RuntimeError for one that autograd does not let change."""
    owners = [real(array).owner for array in outputs_of(arguments, written)]
    torch_tensors.note_writes([owner for owner in owners if is_torch(type(owner))])


def _advice(owner: Any) -> str:
    # An array that came through DLPack is owned by the exporter and its capsule.
    if is_jax(type(owner[0] if isinstance(owner, tuple) else owner)):
        return ("; arrays of JAX never change: pass an array of NumPy, CuPy, torch or to_device as the output, which "
                "jax.numpy.from_dlpack takes back")
    return ""
