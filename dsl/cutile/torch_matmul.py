"""torch's matrix multiplies on the CPU with the precision that a GPU gives them: programs check their kernels by them.

torch accumulates float16 on a CPU in float16 or float32, in an order of its own, and takes 200 times as long where the
CPU has no instructions for it (2048^3 on an EPYC: 118 s against 0.6 s in float32). It also knows no TF32 there. Here
both accumulate in float64 and round once, so that no order of additions shows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tilewright.cutile.log import substituted

FUNCTIONS = "matmul mm bmm mv dot inner addmm baddbmm einsum".split()
METHODS = "__matmul__ __rmatmul__ matmul mm bmm mv dot inner addmm baddbmm".split()
OF_LAYERS = "linear scaled_dot_product_attention conv1d conv2d conv3d".split()
TF32_DROPS = 13  # bits of float32's mantissa


def patch_matmul(torch: Any) -> None:
    """Change torch in place."""
    layers = getattr(getattr(torch, "nn", None), "functional", None)
    for owner, names, prefix in ((torch, FUNCTIONS, "torch."), (torch.Tensor, METHODS, "Tensor."),
                                 (layers, OF_LAYERS, "torch.nn.functional.")):
        for name in names:
            if hasattr(owner, name):
                setattr(owner, name, _as_on_a_gpu(torch, getattr(owner, name), prefix + name))


def _as_on_a_gpu(torch: Any, function: Callable[..., Any], label: str) -> Callable[..., Any]:
    def widened(value: Any, kind: Any) -> Any:
        if type(value) in (tuple, list):
            return type(value)(widened(part, kind) for part in value)
        if not isinstance(value, torch.Tensor) or value.dtype is not kind:
            return value
        return (to_tf32(torch, value) if kind is torch.float32 else value).to(torch.float64)

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        kind = _kind(torch, (*args, *named.values()))
        if kind is None or named.get("out") is not None:
            return function(*args, **named)
        what = "float16" if kind is torch.float16 else "float32 (TF32 is allowed)"
        substituted(f"{label} of {what}", "operands rounded as on a GPU, accumulated in float64")
        wide = {name: widened(value, kind) for name, value in named.items()}
        return function(*(widened(value, kind) for value in args), **wide).to(kind)

    return call


def _kind(torch: Any, values: tuple[Any, ...]) -> Any:
    """The dtype of the operands, None for those that torch multiplies as a GPU does."""
    tensors = [part for value in values for part in (value if type(value) in (tuple, list) else (value,))
               if isinstance(part, torch.Tensor)]
    if any(tensor.dtype is torch.float16 for tensor in tensors):
        return torch.float16
    tf32 = getattr(torch, "get_float32_matmul_precision", lambda: "highest")() != "highest"
    return torch.float32 if tf32 and any(tensor.dtype is torch.float32 for tensor in tensors) else None


def to_tf32(torch: Any, tensor: Any) -> Any:
    """A float32 tensor rounded to TF32's 10 bits of mantissa, to nearest even; infinities and NaN stay."""
    bits = tensor.detach().contiguous().view(torch.int32)
    odd = (bits >> TF32_DROPS) & 1
    rounded = ((bits + odd + ((1 << TF32_DROPS - 1) - 1)) & -(1 << TF32_DROPS)).view(torch.float32)
    finite = torch.isfinite(tensor)
    return tensor + torch.where(finite, rounded - tensor, torch.zeros_like(tensor)).detach()
