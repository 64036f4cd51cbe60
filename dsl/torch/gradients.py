"""Autograd by a second operator: a function that gets what its parameters are named after."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad

from tilewright.torch.transforms import (
    at_outer_levels,
    at_this_level,
    below_autograd,
    refuse_tangents,
    replace_autograd,
)

COTANGENTS = ("grad", "grads")
_ONE, _ALL = -1, -2  # among the sources of values: the cotangent, as a tuple only where there are several; all of them
_COTANGENTS = {"grad": _ONE, "grads": _ALL}
OUTPUTS = ("output", "outputs")


def register_backward(
    operator: Any, backward: Any, params: Sequence[str], function: Callable[..., Any] | None = None,
) -> None:
    """Let `backward` give the gradients of an operator. ValueError for parameters that name nothing. `function`: as of
    `below_autograd`."""
    wanted = tuple(inspect.signature(getattr(backward, "_init_fn", backward)).parameters)
    for name in wanted:
        if name not in (*params, *COTANGENTS, *OUTPUTS):
            raise ValueError(f"tw.torch.op: backward has a parameter {name!r}; its parameters must have names of "
                             f"{operator._qualname}'s ({', '.join(params)}), or be grad, grads, output or outputs")
    schema = operator._opoverload._schema
    tensors = ["Tensor" in str(argument.type) for argument in schema.arguments]
    label, count = operator._qualname, sum(tensors)
    # Where each value is that backward gets besides cotangents: among the arguments, or, as -1, the result.
    places = [-1 if name in OUTPUTS else params.index(name) for name in wanted if name in (*params, *OUTPUTS)]
    kept = itertools.count()
    sources = [_COTANGENTS[name] if name in COTANGENTS and name not in params else next(kept) for name in wanted]
    kinds = [str(each.type) for each in schema.arguments] + [",".join(str(each.type) for each in schema.returns)]
    # Where all that is kept are tensors, autograd has it as it is: it need not be looked at in each call.
    only_tensors = all(kinds[place] == "Tensor" for place in places)

    def setup(ctx: Any, inputs: Any, output: Any, keyword_only_inputs: Any = None) -> None:
        if keyword_only_inputs:
            inputs = (*inputs, *(keyword_only_inputs[name] for name in params[len(inputs):]))
        values = [output if place < 0 else inputs[place] for place in places]
        ctx.save_for_backward(*values) if only_tensors else save(ctx, values)

    def gradient(ctx: Any, *grads: Any) -> Any:
        saved = ctx.saved_tensors if only_tensors else saved_values(ctx)
        one = grads[0] if len(grads) == 1 else grads
        found = backward(*[saved[k] if k >= 0 else one if k == _ONE else grads for k in sources])
        given = found if isinstance(found, (tuple, list)) else (found,)
        if len(given) != count:
            raise RuntimeError(f"operator {label}: backward gives {len(given)} gradients; there must be one, or None, "
                               f"for each of the {count} tensors among the parameters")
        if count == len(tensors):
            return tuple(given)
        out = iter(given)
        return tuple([next(out) if is_tensor else None for is_tensor in tensors])

    register_gradient(operator, gradient, setup, asks=False, function=function)


def register_gradient(
    operator: Any, gradient: Callable[..., Any], setup: Callable[..., Any], *, asks: bool = True,
    function: Callable[..., Any] | None = None,
) -> None:
    """As `operator.register_autograd`, by a way that asks the schema once for what calls leave out: torch does so at
    each call, which takes longer than all else. Lists of tensors, and arguments by name alone, go torch's way.
    `asks`: whether the gradient looks at `ctx.needs_input_grad`; one that does not gives a tuple.
    `function`: as of `below_autograd`."""
    operator.register_autograd(gradient, setup_context=setup)
    schema = operator._opoverload._schema
    listed = [str(each.type) for each in (*schema.arguments, *schema.returns) if "List[" in str(each.type)]
    if not any("Tensor" in kind for kind in listed) and not any(a.kwarg_only for a in schema.arguments):
        replace_autograd(operator, _recording(
            operator, [a.default_value for a in schema.arguments], None if asks else gradient,
            below_autograd(operator, function)))


def _recording(
    operator: Any, defaults: Sequence[Any], direct: Any, below: Callable[..., Any],
) -> Callable[..., Any]:
    """The kernel under the key "Autograd" of an operator whose parameters have these defaults (None where there is
    none). `direct`: a gradient that does not look at `ctx.needs_input_grad`. `below`: of `below_autograd`."""
    left_out = tuple(defaults)

    class WithGradient(torch.autograd.Function):  # type: ignore[misc]  # torch is not there for mypy
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            *given, keyset = args
            with torch._C._AutoDispatchBelowAutograd():
                with at_outer_levels():
                    result = below(keyset, *given)
                setup = operator._setup_context_fn
                if setup is not None:
                    setup(ctx=ctx, inputs=(*given, *left_out[len(given):]), output=result)
            return result

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            gradient = operator._backward_fn  # users may register another
            if gradient is direct:
                return (*gradient(ctx, *grads), None)
            needed = ctx.needs_input_grad
            ctx.needs_input_grad = needed[:-1]
            try:
                found = gradient(ctx, *grads)
            finally:
                ctx.needs_input_grad = needed
            return (*found, None) if isinstance(found, tuple) else (found, None)

    # What Function.apply calls in the end, after it has looked for functorch's wrappers: the dispatcher takes off those
    # that are dead, and of torch.func.grad and its kin those of the level that records, before it comes here.
    apply = super(torch.autograd.Function, WithGradient).apply

    def autograd(keyset: Any, *args: Any) -> Any:
        if forward_ad._current_level >= 0:
            refuse_tangents(operator._qualname, args)
        if torch.is_grad_enabled() and torch._C._any_requires_grad(*args):
            with at_this_level():
                return apply(*args, keyset)
        return below(keyset, *args)

    return autograd


_NUMBERS = (type(None), int, float, bool, str)


class _Hole:
    """Stands for a tensor that autograd keeps."""


def save(ctx: Any, values: Sequence[Any]) -> None:
    """Keep values for backward: tensors by autograd, which sees that they have not changed; the rest as it is."""
    if all(type(value) not in _NUMBERS and isinstance(value, torch.Tensor) for value in values):
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
    if type(value) in _NUMBERS:  # torch looks long at what is no tensor
        return value
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
