"""What an operator's kernels write: found by the IR from an example, and compared with the declaration at each call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from tilewright.torch.faking import example_value, run_on_fakes, storage, tensors_of, written_names


def mutated_by_example(
    function: Callable[..., Any], params: Sequence[str], tensors: Sequence[bool], example: Sequence[Any]
) -> tuple[str, ...]:
    """The parameters whose memory the kernels write when the function runs on the example. `tensors`: which parameters
    are tensors or lists of them."""
    if len(example) > len(params):
        raise ValueError(f"example has {len(example)} arguments, but the function takes {len(params)}")
    made = run_on_fakes(function, [example_value(given, tensors[k]) for k, given in enumerate(example)])
    written = {storage(tensor) for launch in made.launches for names in [written_names(launch)]
               for name, tensor in tensors_of(launch) if name in names}
    return tuple(name for name, arg in zip(params, made.args, strict=False)
                 if any(storage(tensor) in written for tensor in tensors_in(arg)))


def tensors_in(arg: Any) -> list[Any]:
    """The tensors of an argument, which may be a list."""
    if isinstance(arg, torch.Tensor):
        return [arg]
    items = arg if isinstance(arg, (list, tuple)) else []
    return [item for item in items if isinstance(item, torch.Tensor)]


def checked(
    function: Callable[..., Any], name: str, params: Sequence[str], tensors: Sequence[bool], mutated: Sequence[str]
) -> Callable[..., Any]:
    """The function, which raises RuntimeError when its kernels have written to an argument that is not declared so.
    `tensors`: which parameters are tensors or lists of them.

    A launch counts up the version of what it writes, as torch's own operations do, and that is looked at.
    """
    watched = [(k, param) for k, param in enumerate(params) if tensors[k] and param not in mutated]

    @functools.wraps(function)
    def run(*args: Any, **named: Any) -> Any:
        before = [(param, tensor, tensor._version) for k, param in watched if k < len(args)
                  for tensor in tensors_in(args[k]) if not tensor.is_inference()]
        result = function(*args, **named)
        for param, tensor, version in before:
            if tensor._version != version:
                wanted = ", ".join(repr(p) for p in params if p in (*mutated, param))
                raise RuntimeError(f"operator {name}: a kernel has written to {param!r}, which the operator does not "
                                   f"declare; write mutates=({wanted},)")
        return result

    return run
