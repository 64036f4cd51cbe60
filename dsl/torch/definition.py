"""An operator of torch from a function that launches kernels: schema, fake, autograd, vmap, autocast."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch._library.autograd import make_autograd_impl

from tilewright.arguments.torch_tensors import check_output
from tilewright.deriving.grad import grad
from tilewright.launching.recording import recorded
from tilewright.torch.autocasting import register_autocast
from tilewright.torch.batching import loop_over_batch
from tilewright.torch.derived import derive
from tilewright.torch.effects import checked, mutated_by_example, tensors_in
from tilewright.torch.gradients import register_backward
from tilewright.torch.transforms import refuse_gradient, replace_autograd


@dataclass(frozen=True)
class Options:
    """What `op` was given."""

    mutates: str | tuple[str, ...] | None
    example: tuple[Any, ...] | None
    backward: Any
    autocast: Any
    # Of the library: allocates what it returns, and writes to nothing else; kernels need not look at memory then.
    trusted: Callable[..., Any] | None = None


def define(name: str, function: Callable[..., Any], options: Options) -> Any:
    """Register an operator; torch's CustomOpDef of it."""
    if not isinstance(name, str) or name.count("::") != 1:
        raise ValueError(f'tw.torch.op: the name must be "namespace::name", not {name!r}')
    params, tensors = _parameters(torch.library.infer_schema(function, mutates_args=()))
    mutated = _mutated(function, params, tensors, options)
    schema = torch.library.infer_schema(function, mutates_args=mutated)
    run = checked(function, name, params, tensors, mutated)
    operator = torch.library.custom_op(name, run, mutates_args=mutated, schema=schema)
    functools.update_wrapper(operator, function)
    operator.register_fake(_fake(function))
    operator.register_vmap(loop_over_batch(operator, name, params, mutated))
    if options.autocast is not None:
        register_autocast(operator, options.autocast)
    if mutated:
        _refuse_leaves(operator, [k for k, param in enumerate(params) if param in mutated])
    if options.backward is not None:
        _register_gradient(operator, function, options, params)
    elif not mutated:
        refuse_gradient(operator, "; give tw.torch.op one as backward=, or call register_autograd of the operator",
                        options.trusted)
    return operator


def _fake(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function without its launches: what it allocates is what the operator returns."""

    def fake(*args: Any, **named: Any) -> Any:
        with recorded():
            return function(*args, **named)

    return fake


def _parameters(schema: str) -> tuple[list[str], list[bool]]:
    """The names of an operator's parameters, and which are tensors or lists of tensors."""
    arguments = torch._C.parse_schema(f"tilewright::any{schema}").arguments
    return [a.name for a in arguments], ["Tensor" in str(a.type) for a in arguments]


def _mutated(
    function: Callable[..., Any], params: Sequence[str], tensors: Sequence[bool], options: Options
) -> tuple[str, ...]:
    given = options.mutates
    if given is None:
        return () if options.example is None else mutated_by_example(function, params, tensors, options.example)
    names = (given,) if isinstance(given, str) else tuple(given)
    known = [name for name, is_tensor in zip(params, tensors, strict=True) if is_tensor]
    for name in names:
        if name not in known:
            raise ValueError(f"tw.torch.op: mutates names {name!r}, which is no tensor among the parameters; these are "
                             f"{', '.join(known) or 'none'}")
    return names


def _refuse_leaves(operator: Any, positions: Sequence[int]) -> None:
    """As torch's own operations in place do: a leaf that requires grad does not change, and neither does what autograd
    would have to know of."""
    rest = make_autograd_impl(operator._opoverload, operator)

    def autograd(keyset: Any, *args: Any, **named: Any) -> Any:
        if torch.is_grad_enabled():
            for tensor in [tensor for k in positions for tensor in tensors_in(args[k])]:
                if tensor.requires_grad:
                    check_output(tensor)
                    raise RuntimeError(
                        f"operator {operator._qualname} changes a tensor in place that requires grad, and has no "
                        "gradient; call it under torch.no_grad(), or write one that returns a new tensor")
        return rest(keyset, *args, **named)

    replace_autograd(operator, autograd)


def _register_gradient(operator: Any, function: Callable[..., Any], options: Options, params: Sequence[str]) -> None:
    backward = options.backward
    if operator._opoverload._schema.is_mutable:
        raise ValueError(f"tw.torch.op: operator {operator._qualname} changes its arguments, and torch knows no "
                         "gradient of such operators; write one that returns a new tensor")
    if backward is grad or (isinstance(backward, functools.partial) and backward.func is grad):
        derive(operator, function, backward)
    else:
        register_backward(operator, backward, params, options.trusted)
