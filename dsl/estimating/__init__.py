"""`tilewright.estimating`: what a launch moves and computes, and what bounds it, without a GPU."""

from tilewright.estimating.devices import DEVICES, DeviceLimits
from tilewright.estimating.entry import estimate
from tilewright.estimating.result import ArrayTraffic, Bytes, Estimate

__all__ = ["estimate", "Estimate", "ArrayTraffic", "Bytes", "DeviceLimits", "DEVICES"]
