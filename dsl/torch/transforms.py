"""Operators under torch.func and in forward mode, and those that have no gradient."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch._library.autograd import make_autograd_impl
from torch.autograd import forward_ad

_NOTHING = contextlib.nullcontext()


def replace_autograd(operator: Any, kernel: Callable[..., Any]) -> None:
    """Let a kernel take the place of torch's under the key "Autograd": torch warns of the first one of a process."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Warning only once for all operators")
        operator._lib.impl(operator._name, kernel, "Autograd", with_keyset=True, allow_override=True)


def below_autograd(operator: Any, function: Callable[..., Any] | None) -> Callable[..., Any]:
    """A call of an operator from its kernel under the key "Autograd", given that kernel's keys. `function`: what runs
    in the end, if it may be called at once where no other kernel stands between: torch's way there compares the
    memory of results with that of arguments, and takes three times as long as the function."""
    overload, after = operator._opoverload, torch._C._after_autograd_keyset
    last = {torch._C.DispatchKeySet(key).raw_repr() for key in (torch._C.DispatchKey.CPU, torch._C.DispatchKey.CUDA)}

    def call(keyset: Any, *args: Any, **named: Any) -> Any:
        rest = keyset & after
        with torch._C._AutoDispatchBelowAutograd():
            # Users may register kernels for devices.
            if function is not None and rest.raw_repr() in last and len(operator._backend_fns) == 1:
                return function(*args, **named)
            return overload.redispatch(rest, *args, **named)

    return call


def at_this_level() -> Any:
    """Where a Function is applied: under torch.func it records for the level whose turn it is, the innermost. The
    dispatcher goes on to the levels around it from the Function's forward."""
    if not torch._C._are_functorch_transforms_active():
        return _NOTHING
    from torch._functorch.utils import enable_single_level_autograd_function

    return enable_single_level_autograd_function()


def at_outer_levels() -> Any:
    """In a Function's forward, which runs without gradients: the levels of torch.func around its own record, too."""
    return _outer_levels() if torch._C._are_functorch_transforms_active() else _NOTHING


@contextlib.contextmanager
def _outer_levels() -> Iterator[None]:
    with torch.enable_grad(), forward_ad._set_fwd_grad_enabled(True):
        yield


def refuse_tangents(label: str, tensors: Sequence[Any]) -> None:
    """RuntimeError in forward mode: torch drops the tangents of what an operator made in Python is given, and says
    nothing."""
    for tensor in tensors:
        if isinstance(tensor, torch.Tensor) and forward_ad.unpack_dual(tensor).tangent is not None:
            raise RuntimeError(f"operator {label} has no derivative in forward mode (torch.func.jvp, jacfwd, hessian, "
                               "forward_ad); take reverse mode: torch.func.grad, vjp or jacrev")


def all_tensors(values: Any) -> Iterator[Any]:
    """The tensors among values, also in lists."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from all_tensors(value)


def refuse_gradient(operator: Any, why: str, function: Callable[..., Any] | None = None) -> None:
    """Let an operator that has no gradient say so, and why, when one is asked of it. Users may register one.
    `function`: as of `below_autograd`."""
    overload, below = operator._opoverload, below_autograd(operator, function)
    rest = make_autograd_impl(overload, operator)
    several = any("List[" in str(each.type) for each in overload._schema.returns)

    class WithoutGradient(torch.autograd.Function):  # type: ignore[misc]  # torch is not there for mypy
        @staticmethod
        def forward(ctx: Any, call: Callable[[], Any], *tensors: Any) -> Any:
            with at_outer_levels():
                result = call()
            return tuple(result) if several else result

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            raise RuntimeError(f"operator {operator._qualname} has no gradient{why}")

    apply = super(torch.autograd.Function, WithoutGradient).apply

    def autograd(keyset: Any, *args: Any, **named: Any) -> Any:
        if operator._backward_fn is not None:
            return rest(keyset, *args, **named)

        if not torch.is_grad_enabled() and forward_ad._current_level < 0:
            return below(keyset, *args, **named)
        tensors = list(all_tensors((*args, *named.values())))
        if forward_ad._current_level >= 0:
            refuse_tangents(operator._qualname, tensors)
        if not (torch.is_grad_enabled() and torch._C._any_requires_grad(*tensors)):
            return below(keyset, *args, **named)
        with at_this_level():
            found = apply(lambda: below(keyset, *args, **named), *tensors)
        return list(found) if several else found

    replace_autograd(operator, autograd)
