"""Autograd by a second operator: a function that gets what its parameters are named after."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch

COTANGENTS = ("grad", "grads")
OUTPUTS = ("output", "outputs")


def register_backward(operator: Any, backward: Any, params: Sequence[str]) -> None:
    """Let `backward` give the gradients of an operator. ValueError for parameters that name nothing."""
    wanted = tuple(inspect.signature(getattr(backward, "_init_fn", backward)).parameters)
    for name in wanted:
        if name not in (*params, *COTANGENTS, *OUTPUTS):
            raise ValueError(f"tw.torch.op: backward has a parameter {name!r}; its parameters must have names of "
                             f"{operator._qualname}'s ({', '.join(params)}), or be grad, grads, output or outputs")
    schema = operator._opoverload._schema
    tensors = ["Tensor" in str(argument.type) for argument in schema.arguments]
    label = operator._qualname

    def setup(ctx: Any, inputs: Any, output: Any, keyword_only_inputs: Any = None) -> None:
        values = dict(zip(params, inputs, strict=False)) | dict(keyword_only_inputs or {})
        values |= {"output": output, "outputs": output}
        save(ctx, [values[name] for name in wanted if name in values])

    def gradient(ctx: Any, *grads: Any) -> Any:
        saved = iter(saved_values(ctx))
        values = {"grad": grads[0] if len(grads) == 1 else grads, "grads": grads}
        found = backward(*[values[name] if name in COTANGENTS and name not in params else next(saved)
                           for name in wanted])
        given = list(found) if isinstance(found, (tuple, list)) else [found]
        if len(given) != sum(tensors):
            raise RuntimeError(f"operator {label}: backward gives {len(given)} gradients; there must be one, or None, "
                               f"for each of the {sum(tensors)} tensors among the parameters")
        out = iter(given)
        return tuple(next(out) if is_tensor else None for is_tensor in tensors)

    operator.register_autograd(gradient, setup_context=setup)


class _Hole:
    """Stands for a tensor that autograd keeps."""


def save(ctx: Any, values: Sequence[Any]) -> None:
    """Keep values for backward: tensors by autograd, which sees that they have not changed; the rest as it is."""
    kept: list[Any] = []
    ctx.tilewright_values = [_without_tensors(value, kept) for value in values]
    ctx.save_for_backward(*kept)


def saved_values(ctx: Any) -> list[Any]:
    """What `save` kept."""
    kept = iter(ctx.saved_tensors)
    return [_with_tensors(value, kept) for value in ctx.tilewright_values]


def _without_tensors(value: Any, kept: list[Any]) -> Any:
    if isinstance(value, (list, tuple)):
        return [_without_tensors(item, kept) for item in value]
    if not isinstance(value, torch.Tensor):
        return value
    kept.append(value)
    return _Hole


def _with_tensors(value: Any, kept: Any) -> Any:
    if isinstance(value, list):
        return [_with_tensors(item, kept) for item in value]
    return next(kept) if value is _Hole else value
