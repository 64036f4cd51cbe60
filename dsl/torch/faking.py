"""Running a function that launches kernels on tensors that have no memory: what it would launch, and with what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from tilewright.arguments.arrays import torch_dtype
from tilewright.arguments.bind import Argument, leaves
from tilewright.arguments.spec import Spec, spec
from tilewright.launching.recording import recorded
from tilewright.launching.tracing import RecordedLaunch


class Faked(NamedTuple):
    """What a function did with tensors without memory: the arguments it was given, its result, and its launches."""

    args: tuple[Any, ...]
    result: Any
    launches: list[RecordedLaunch]


def run_on_fakes(function: Callable[..., Any], args: Sequence[Any]) -> Faked:
    """Run a function on tensors of the shapes, strides and dtypes of these, without memory and without launches. A spec
    stands for a tensor of host memory."""
    with FakeTensorMode(), recorded() as launches:
        fakes = tuple(_fake(arg) for arg in args)
        return Faked(fakes, function(*fakes), launches)


def _fake(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_fake(item) for item in value]
    if isinstance(value, Spec):
        return _of_spec(value)
    if not isinstance(value, torch.Tensor):
        return value
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=value.device)


def _of_spec(value: Spec) -> Any:
    if value.extents is None or None in value.extents:
        raise ValueError(f"example: {value} must have a known extent for each axis")
    dtype = getattr(torch, value.dtype.name.rstrip("_"))
    if value.strides is None:
        return torch.empty(value.extents, dtype=dtype)
    return torch.empty_strided(value.extents, value.strides, dtype=dtype)


def example_value(given: Any, is_tensor: bool) -> Any:
    """An entry of `example`: a text in the place of a tensor is a spec."""
    return spec(given) if is_tensor and isinstance(given, str) else given


def storage(tensor: Any) -> int:
    """What views of the same memory have in common."""
    return int(tensor.untyped_storage()._cdata)


def as_spec(value: Any) -> Any:
    """A launch's argument with a spec in the place of each tensor, from which it can be bound."""
    if isinstance(value, list):
        return [as_spec(item) for item in value]
    if isinstance(value, tuple):
        items = [as_spec(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if not isinstance(value, torch.Tensor):
        return value
    return Spec(torch_dtype(value.dtype), tuple(map(int, value.shape)), tuple(map(int, value.stride())))


def bound(launch: RecordedLaunch) -> list[Argument]:
    """The arguments of a launch, with specs for its tensors."""
    made: list[Argument] = launch.launcher._specialiser.bind([as_spec(arg) for arg in launch.args])
    return made


def written_names(launch: RecordedLaunch) -> frozenset[str]:
    """The parameters (of a tuple: items) that a launch writes, by the effects of the kernel's IR."""
    arguments = bound(launch)
    outputs = launch.launcher._specialiser.outputs(arguments, facts=False)
    return frozenset(leaf.name for k, leaf in enumerate(leaves(arguments)) if k in outputs)


def tensors_of(launch: RecordedLaunch) -> list[tuple[str, Any]]:
    """The tensors of a launch with the names of the parameters (of a tuple: items) that they belong to."""
    names = [p.name for p in launch.launcher._specialiser.params]
    out: list[tuple[str, Any]] = []
    for name, arg in zip(names, launch.args, strict=True):
        _collect(name, arg, out)
    return out


def _collect(name: str, value: Any, out: list[tuple[str, Any]]) -> None:
    if isinstance(value, tuple):
        for i, item in enumerate(value):
            _collect(f"{name}[{i}]", item, out)
    elif isinstance(value, list):
        out += [(name, item) for item in value]
    elif isinstance(value, torch.Tensor):
        out.append((name, value))
