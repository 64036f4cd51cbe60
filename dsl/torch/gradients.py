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
    # Where each value is that backward gets besides cotangents: among the arguments, or, as -1, the result.
    places = [-1 if name in OUTPUTS else params.index(name) for name in wanted if name in (*params, *OUTPUTS)]

    def setup(ctx: Any, inputs: Any, output: Any, keyword_only_inputs: Any = None) -> None:
        if keyword_only_inputs:
            inputs = (*inputs, *(keyword_only_inputs[name] for name in params[len(inputs):]))
        save(ctx, [output if place < 0 else inputs[place] for place in places])

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
    if all(isinstance(value, torch.Tensor) for value in values):  # most often; every call pays for this
        ctx.tilewright_values = None
        ctx.save_for_backward(*values)
        return
    kept: list[Any] = []
    ctx.tilewright_values = [_without_tensors(value, kept) for value in values]
    ctx.save_for_backward(*kept)


def saved_values(ctx: Any) -> list[Any]:
    """What `save` kept."""
    if ctx.tilewright_values is None:
        return list(ctx.saved_tensors)
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
