"""The rule for torch.vmap: a loop over the batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch


def loop_over_batch(operator: Any, name: str, params: Sequence[str], mutated: Sequence[str]) -> Callable[..., Any]:
    """A vmap rule that calls the operator for each item of the batch and stacks the results."""
    in_place = [(k, param) for k, param in enumerate(params) if param in mutated]

    def rule(info: Any, in_dims: Sequence[Any], *args: Any, **named: Any) -> Any:
        for k, param in in_place:
            if k < len(args) and in_dims[k] is None:
                raise RuntimeError(f"vmap: operator {name} writes to {param!r}, which has no batch axis, for each item "
                                   "of the batch; give it one, or call the operator outside of vmap")
        if info.batch_size == 0:
            raise RuntimeError(f"vmap: operator {name} cannot be called on an empty batch")
        results = [operator(*[_item(arg, dim, i) for arg, dim in zip(args, in_dims, strict=True)], **named)
                   for i in range(info.batch_size)]
        if results[0] is None:
            return None, None
        if isinstance(results[0], torch.Tensor):
            return torch.stack(results), 0
        stacked = [torch.stack(items) for items in zip(*results, strict=True)]
        kind = type(results[0])
        return kind(stacked), kind([0] * len(stacked))

    return rule


def _item(arg: Any, dim: Any, i: int) -> Any:
    """The i-th item of an argument along its batch axis."""
    if isinstance(arg, (list, tuple)) and isinstance(dim, (list, tuple)):
        return [_item(a, d, i) for a, d in zip(arg, dim, strict=True)]
    return arg if dim is None or not isinstance(arg, torch.Tensor) else arg.select(dim, i)
