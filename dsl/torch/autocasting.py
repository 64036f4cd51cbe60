"""Operators under torch.autocast: which dtype their tensors of floats are cast to."""

from __future__ import annotations

from typing import Any

import torch
from torch.amp.autocast_mode import _cast

from tilewright.torch.transforms import all_tensors

DEVICES = {"cuda": "AutocastCUDA", "cpu": "AutocastCPU"}
REGION, WIDEST = "region", "widest"


def register_autocast(operator: Any, wanted: Any) -> None:
    """`wanted`: a dtype; "region" for that of the region, as of torch's products; "widest" for the widest one among the
    tensors, as of torch's additions. ValueError for anything else."""
    if wanted not in (REGION, WIDEST) and not isinstance(wanted, torch.dtype):
        raise ValueError(f'tw.torch.op: autocast is {wanted!r}; it must be a dtype of torch, "region" or "widest"')
    for device, key in DEVICES.items():
        if isinstance(wanted, torch.dtype):
            operator.register_autocast(device, wanted)
        else:
            operator._lib.impl(operator._name, _casting(operator._opoverload, device, wanted), key, with_keyset=True)


def _casting(overload: Any, device: str, wanted: str) -> Any:
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU) | torch._C.DispatchKeySet(
        torch._C.DispatchKey.AutocastCUDA)

    def kernel(_: Any, *args: Any, **named: Any) -> Any:
        dtype = torch.get_autocast_dtype(device)
        if wanted == WIDEST:
            found = {tensor.dtype for tensor in all_tensors(args) if tensor.is_floating_point()} - {torch.float64}
            dtype = found.pop() if len(found) == 1 else torch.float32
        with torch._C._ExcludeDispatchKeyGuard(keys):
            return overload(*_cast(args, device, dtype), **named)

    return kernel
