"""Autograd by the derivative of the kernel, for operators that launch one: an operator NAME_backward, made here.

The function is run on tensors without memory to see which arrays of its launch are views of its inputs and of what it
returns. The gradient kernel gets the same views of the inputs, of the cotangents, and of zeros to add gradients to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch

from tilewright.kernel import kernel_of, tile_kernel
from tilewright.launching.grid import make_grid
from tilewright.launching.tracing import RecordedLaunch
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError
from tilewright.torch.batching import loop_over_batch
from tilewright.torch.faking import run_on_fakes, storage, written_names
from tilewright.torch.gradients import register_gradient, save, saved_values
from tilewright.torch.transforms import all_tensors, refuse_gradient


class View(NamedTuple):
    """A tensor as a view of memory: which input ("input") or result ("output") of the operator, or its own ("own")."""

    kind: str
    place: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    dtype: Any
    elements: int  # of the memory that it is a view of

    def of(self, memory: Any) -> Any:
        return memory.as_strided(self.shape, self.strides, self.offset)


class BackwardPlan(NamedTuple):
    """What the backward of calls of one kind launches. `values` are the arguments, Views for tensors."""

    kernel: Any
    grid: Any
    values: tuple[Any, ...]
    wrt: tuple[int, ...]  # positions of the arguments whose gradients are asked for
    outputs: tuple[int, ...]  # positions of those that have cotangents
    inputs: tuple[View, ...]
    results: tuple[View, ...]


def derive(operator: Any, function: Callable[..., Any], grad: Callable[..., Any]) -> None:
    """Register the gradient of an operator that launches one kernel, as `grad` derives it."""
    name = f"{operator._qualname}_backward"
    arguments = operator._schema.partition("(")[2].rpartition(") ->")[0].replace("*, ", "")
    schema = f"(Tensor[] cotangents, bool[] needed{', ' if arguments else ''}{arguments}) -> Tensor[]"
    plans: dict[Any, BackwardPlan] = {}

    def run(cotangents: Sequence[Any], needed: Sequence[bool], *args: Any) -> list[Any]:
        args = tuple(_contiguous(arg) for arg in args)
        key = _key((args, tuple(needed)))
        plan = plans.get(key)
        if plan is None:
            plan = plans[key] = make_plan(operator._qualname, function, args, needed, grad)
        return carry_out(plan, list(all_tensors(args)), cotangents, needed)

    def fake(cotangents: Sequence[Any], needed: Sequence[bool], *args: Any) -> list[Any]:
        return [torch.empty_like(tensor, memory_format=torch.contiguous_format)
                for tensor, wanted in zip(all_tensors(args), needed, strict=True) if wanted]

    second = torch.library.custom_op(name, run, mutates_args=(), schema=schema)
    second.register_fake(fake)
    second.register_vmap(loop_over_batch(second, name, (), ()))
    refuse_gradient(second, ": the derivative of a kernel is not differentiated again")
    _use(operator, second)


def _use(operator: Any, second: Any) -> None:
    """Let the second operator compute the gradients of the first."""
    keywords = [a.name for a in operator._opoverload._schema.arguments if a.kwarg_only]

    def setup(ctx: Any, inputs: Any, output: Any, keyword_only_inputs: Any = None) -> None:
        given = dict(keyword_only_inputs or {})
        save(ctx, [*inputs, *(given[name] for name in keywords)])
        ctx.tilewright_inputs = len(inputs)

    def gradient(ctx: Any, *grads: Any) -> Any:
        args = saved_values(ctx)
        needed = [wanted for arg, want in zip(args, ctx.needs_input_grad, strict=False)
                  for wanted, _ in _needed(arg, want)]
        found = iter(second(list(all_tensors(grads)), needed, *args))
        return tuple(_gradient_of(arg, want, found)
                     for arg, want in zip(args[:ctx.tilewright_inputs], ctx.needs_input_grad, strict=True))

    register_gradient(operator, gradient, setup)


def _needed(arg: Any, want: Any) -> Iterator[tuple[bool, Any]]:
    """For each tensor of an argument, whether its gradient is asked for."""
    if isinstance(arg, torch.Tensor):
        yield bool(want), arg
    elif isinstance(arg, list):
        for item, one in zip(arg, want if isinstance(want, (list, tuple)) else [False] * len(arg), strict=True):
            yield from _needed(item, one)


def _gradient_of(arg: Any, want: Any, found: Iterator[Any]) -> Any:
    if isinstance(arg, list) and any(isinstance(item, torch.Tensor) for item in arg):
        return [next(found) if wanted else None for wanted, _ in _needed(arg, want)]
    return next(found) if isinstance(arg, torch.Tensor) and want else None


def _contiguous(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_contiguous(item) for item in value]
    return value.detach().contiguous() if isinstance(value, torch.Tensor) else value


def _key(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_key(item) for item in value)
    if isinstance(value, torch.Tensor):
        return value.dtype, tuple(value.shape), str(value.device)
    return type(value), value


# ---- the plan -------------------------------------------------------------------------------------------------------


def make_plan(
    name: str, function: Callable[..., Any], args: Sequence[Any], needed: Sequence[bool], grad: Callable[..., Any]
) -> BackwardPlan:
    """How to get the gradients of one kind of calls. TileUnsupportedFeatureError where one launch does not tell."""
    made = run_on_fakes(function, args)
    if len(made.launches) != 1:
        raise _refusal(name, f"the operator makes {len(made.launches)} launches, and the gradient of one is derived")
    (launch,) = made.launches
    inputs, results = list(all_tensors(made.args)), list(all_tensors([made.result]))
    owners = {storage(tensor): ("output", k, tensor) for k, tensor in enumerate(results)}
    owners |= {storage(tensor): ("input", k, tensor) for k, tensor in enumerate(inputs)}
    values = tuple(_view(arg, owners) for arg in launch.args)
    names = [p.name for p in launch.launcher._specialiser.params]
    written = written_names(launch)
    _check_values(name, launch, names, values, written)
    wrt = tuple(k for k, value in enumerate(values) if names[k] not in written and any(
        v.kind == "input" and needed[v.place] and v.dtype.is_floating_point for v in _views(value)))
    outputs = tuple(k for k, value in enumerate(values) if names[k] in written and any(
        v.kind == "output" and v.dtype.is_floating_point for v in _views(value)))
    kernel = _derived(launch, [names[k] for k in wrt], [names[k] for k in outputs], grad) if wrt and outputs else None
    return BackwardPlan(kernel, launch.grid, values, wrt, outputs, tuple(_view(t, owners) for t in inputs),
                tuple(_view(t, owners) for t in results))


def _derived(launch: RecordedLaunch, wrt: Sequence[str], outputs: Sequence[str], grad: Callable[..., Any]) -> Any:
    own = launch.launcher._specialiser
    forward = kernel_of(own.source, own.hints, own.rules, tile_kernel)
    return grad(forward, wrt=tuple(wrt), outputs=tuple(outputs))


def _view(value: Any, owners: dict[int, tuple[str, int, Any]]) -> Any:
    """A View in the place of each tensor of an argument."""
    if isinstance(value, list):
        return [_view(item, owners) for item in value]
    if not isinstance(value, torch.Tensor):
        return value
    kind, index, owner = owners.get(storage(value), ("own", 0, value))
    if owner.dtype is not value.dtype:
        kind, owner = "own", value
    elements = value.untyped_storage().nbytes() // value.element_size()
    return View(kind, index, tuple(map(int, value.shape)), tuple(map(int, value.stride())), int(value.storage_offset()),
                value.dtype, int(elements))


def _views(value: Any) -> list[View]:
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, View)]


def _check_values(
    name: str, launch: RecordedLaunch, names: Sequence[str], values: Sequence[Any], written: frozenset[str]
) -> None:
    """Every tensor that the kernel reads is an input's memory, and none that it writes."""
    kernel = launch.launcher._specialiser.name
    for param, value, arg in zip(names, values, launch.args, strict=True):
        if isinstance(arg, tuple) and any(True for _ in all_tensors(arg)):
            raise _refusal(name, f"argument {param!r} of kernel {kernel} is a tuple of tensors")
        for view in _views(value):
            if param in written and view.kind == "input":
                raise _refusal(name, f"kernel {kernel} writes to {param!r}, an input of the operator")
            if param not in written and view.kind != "input":
                raise _refusal(name, f"argument {param!r} of kernel {kernel} is no view of an input of the operator; "
                                     "make it outside, where autograd sees how")


def _refusal(name: str, why: str) -> TileUnsupportedFeatureError:
    return TileUnsupportedFeatureError(
        f"operator {name}: no gradient can be derived: {why}",
        hints=["give backward= a function that computes the gradients"])


# ---- carrying it out ------------------------------------------------------------------------------------------------


def carry_out(
    plan: BackwardPlan, inputs: Sequence[Any], cotangents: Sequence[Any], needed: Sequence[bool]
) -> list[Any]:
    """The gradients of the inputs that need one: new contiguous tensors."""
    device = inputs[0].device
    args = [_value(value, inputs, device) for value in plan.values]
    given = [_value_of_cotangent(plan.values[k], plan.results, cotangents, device) for k in plan.outputs]
    memories: list[tuple[int, Any]] = []
    gradients = [_zeros(plan.values[k], plan.inputs, memories, device) for k in plan.wrt]
    if plan.kernel is not None:
        all_args = (*args, *given, *gradients)
        if plan.grid is None:
            plan.kernel(*all_args)
        else:
            grid = plan.grid if isinstance(plan.grid, (tuple, list)) else (plan.grid,)
            plan.kernel.launcher.launch_over(make_grid(tuple(grid)), all_args, None)
    return [_sum(k, tensor, memories) for k, tensor in enumerate(inputs) if needed[k]]


def _value(value: Any, inputs: Sequence[Any], device: Any) -> Any:
    """An argument of the forward kernel: of outputs only the shapes count."""
    if isinstance(value, list):
        return [_value(item, inputs, device) for item in value]
    if not isinstance(value, View):
        return value
    if value.kind == "input":
        own = inputs[value.place]
        return own.as_strided(value.shape, value.strides, value.offset + own.storage_offset())
    return value.of(torch.empty(value.elements, dtype=value.dtype, device=device))


def _value_of_cotangent(value: Any, results: Sequence[View], cotangents: Sequence[Any], device: Any) -> Any:
    """The cotangent of an array that the kernel writes: zero where the operator does not return it."""
    if isinstance(value, list):
        return [_value_of_cotangent(item, results, cotangents, device) for item in value]
    if value.kind != "output":
        return torch.zeros(value.shape, dtype=value.dtype, device=device)
    result, cotangent = results[value.place], cotangents[value.place]
    if result.offset == 0 and result.elements == cotangent.numel() and _row_major(result):
        memory = cotangent.contiguous().view(-1)
        return memory.as_strided(value.shape, value.strides, memory.storage_offset() + value.offset)
    memory = torch.zeros(value.elements, dtype=value.dtype, device=device)
    result.of(memory).copy_(cotangent)
    return value.of(memory)


def _row_major(view: View) -> bool:
    step = 1
    for extent, stride in zip(reversed(view.shape), reversed(view.strides), strict=True):
        if extent != 1 and stride != step:
            return False
        step *= extent
    return True


def _zeros(value: Any, inputs: Sequence[View], memories: list[tuple[int, Any]], device: Any) -> Any:
    """Zeros to which the gradient of an array is added, as the same view of memory. Narrow floats are added up in
    float32."""
    if isinstance(value, list):
        return [_zeros(item, inputs, memories, device) for item in value]
    dtype = torch.float32 if value.dtype.itemsize < 4 else value.dtype
    memory = torch.zeros(inputs[value.place].elements, dtype=dtype, device=device)
    memories.append((value.place, memory))
    return value.of(memory)


def _sum(index: int, tensor: Any, memories: Sequence[tuple[int, Any]]) -> Any:
    """The gradient of an input: what was added to the memories that stand for it."""
    found = [memory for k, memory in memories if k == index]
    if not found:
        return torch.zeros_like(tensor)
    total = found[0]
    for other in found[1:]:
        total = total + other
    return total.view(tensor.shape).to(tensor.dtype)
