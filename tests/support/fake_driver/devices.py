"""Devices and contexts of the stand-in for the driver."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from support.fake_driver.results import CUresult, Names


@dataclass
class Devices:
    """Devices and contexts."""

    devices: int = 1
    capability: tuple[int, int] = (9, 0)
    context: int = 0
    pushed: list[int] = field(default_factory=list)
    has_pools: bool = True

    CUresult = CUresult
    CUdevice_attribute = CUjit_option = CUjitInputType = CUfunction_attribute = CUpointer_attribute = Names()
    CUlaunchAttributeID = CUmemPool_attribute = Names()

    def cuInit(self, flags: int) -> Any:
        return (CUresult(0),)

    def cuDriverGetVersion(self) -> Any:
        return CUresult(0), 13000

    def cuDeviceGetCount(self) -> Any:
        return CUresult(0), self.devices

    def cuDeviceGet(self, ordinal: int) -> Any:
        return CUresult(0), ordinal

    def cuDeviceGetName(self, size: int, device: int) -> Any:
        return CUresult(0), b"Fake GPU"

    def cuDeviceGetAttribute(self, attribute: str, device: int) -> Any:
        numbers = {"COMPUTE_CAPABILITY_MAJOR": self.capability[0], "COMPUTE_CAPABILITY_MINOR": self.capability[1],
                   "MEMORY_POOLS_SUPPORTED": int(self.has_pools)}
        return CUresult(0), numbers.get(attribute.removeprefix("CU_DEVICE_ATTRIBUTE_"), 132)

    def cuDevicePrimaryCtxRetain(self, device: int) -> Any:
        return CUresult(0), 100 + device

    def cuCtxGetCurrent(self) -> Any:
        return CUresult(0), self.context

    def cuCtxSetCurrent(self, context: int) -> Any:
        self.context = context
        return (CUresult(0),)

    def cuCtxGetDevice(self) -> Any:
        return (CUresult(0), self.context - 100) if self.context else (CUresult(201), None)

    def cuCtxSynchronize(self) -> Any:
        return (CUresult(0),)

    def cuCtxPushCurrent(self, context: int) -> Any:
        self.pushed.append(self.context)
        return self.cuCtxSetCurrent(context)

    def cuCtxPopCurrent(self) -> Any:
        self.context, left = self.pushed.pop(), self.context
        return CUresult(0), left
