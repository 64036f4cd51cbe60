"""What torch's autograd must know of tensors that kernels write, and tensors that have no memory."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

_IN_PLACE = "leaf Variable that requires grad is being used in an in-place operation."


def address(tensor: Any) -> int:
    """The address of a tensor's first element. TypeError for a tensor that only stands for one while a program is
    traced: FakeTensorMode, torch.compile, torch.export, torch.vmap."""
    # A FakeTensor answers 0, with a warning; the other kinds raise.
    if not any(cls.__name__ == "FakeTensor" for cls in type(tensor).__mro__):
        try:
            return int(tensor.data_ptr())
        except RuntimeError as error:
            if "data pointer" not in str(error):
                raise
    raise TypeError("a tensor that has no memory of its own cannot be passed: the program is traced (FakeTensorMode, "
                    "torch.compile, torch.export, torch.vmap), and kernels do not run; make the function that launches "
                    'the kernel an operator, @tw.torch.op("my::name"), and call that')


def check_output(tensor: Any) -> None:
    """RuntimeError, with torch's message, for a leaf that requires grad, or a view of one, while gradients are
    recorded."""
    if not tensor.requires_grad or not sys.modules["torch"].is_grad_enabled():
        return
    if tensor.is_leaf:
        raise RuntimeError(f"a {_IN_PLACE}")
    if tensor._is_view() and tensor._base.is_leaf:
        raise RuntimeError(f"a view of a {_IN_PLACE}")


def note_writes(tensors: Sequence[Any]) -> None:
    """Let autograd know that these tensors are changed in place: their version counters go up. RuntimeError where
    `check_output` raises it."""
    for tensor in tensors:
        if getattr(tensor, "requires_grad", False):  # stand-ins for torch have no autograd
            check_output(tensor)
    if tensors:
        _increment()(tensors)


@cache
def _increment() -> Callable[[Iterable[Any]], None]:
    autograd = getattr(sys.modules["torch"], "autograd", None)
    found: Callable[[Iterable[Any]], None] | None = getattr(
        getattr(autograd, "graph", None), "increment_version", None)
    return found or (lambda tensors: None)
