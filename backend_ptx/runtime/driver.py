"""The CUDA driver through cuda.bindings: availability, errors, devices, contexts, memory and streams."""

from __future__ import annotations

import functools
import threading
from typing import Any

from tilewright.backend_ptx.targets import Target, target_of_driver
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError
from tilewright.tileir.records import record


class CudaError(RuntimeError):
    """A driver call failed; `code` is the CUresult."""

    def __init__(self, what: str, code: int, name: str) -> None:
        super().__init__(f"{what} failed: {name} ({code})")
        self.code = code


@functools.cache
def driver() -> Any:
    """The module cuda.bindings.driver, initialised. Raises TileUnsupportedFeatureError where there is no GPU."""
    try:
        from cuda.bindings import driver as module
    except ImportError as error:
        raise TileUnsupportedFeatureError(f"cuda-python cannot be imported: {error}", hints=[
            "pip install cuda-python; without a GPU, pass host arrays"]) from None
    try:
        [result] = module.cuInit(0)
    except Exception as error:  # cuda.bindings raises its own classes where libcuda is missing
        raise _no_gpu(str(error)) from None
    if int(result):
        raise _no_gpu(str(result))
    return module


def _no_gpu(reason: str) -> TileUnsupportedFeatureError:
    return TileUnsupportedFeatureError(
        "no NVIDIA GPU can be used here", notes=[reason.strip() or "the driver library is missing"],
        hints=["pass host arrays (NumPy, CPU tensors): they run in the interpreter"])


def available() -> bool:
    """Whether a driver and at least one device are there."""
    try:
        return device_count() > 0
    except (TileUnsupportedFeatureError, CudaError):
        return False


def check(result: tuple[Any, ...], what: str) -> Any:
    """The values of a driver call without its status: None, one value, or a tuple. Raises CudaError."""
    code = int(result[0])
    if code:
        raise CudaError(what, code, getattr(result[0], "name", "unknown error"))
    if len(result) <= 2:
        return result[1] if len(result) == 2 else None
    return result[1:]


@functools.cache
def driver_version() -> int:
    """13000 for CUDA 13.0."""
    return int(check(driver().cuDriverGetVersion(), "cuDriverGetVersion"))


@functools.cache
def device_count() -> int:
    return int(check(driver().cuDeviceGetCount(), "cuDeviceGetCount"))


@record
class Device:
    """One GPU with its primary context, which torch, CuPy and numba use too."""

    ordinal: int
    name: str
    capability: tuple[int, int]
    target: Target
    context: Any  # CUcontext

    def make_current(self) -> None:
        """Make the primary context current in this thread."""
        check(driver().cuCtxSetCurrent(self.context), "cuCtxSetCurrent")

    def ensure_current(self) -> None:
        """As `make_current`, where another context or none is."""
        if not self.is_current():
            self.make_current()

    def is_current(self) -> bool:
        [code, context] = driver().cuCtxGetCurrent()
        return int(code) == 0 and int(context) == int(self.context)


_devices: dict[int, Device] = {}
_devices_lock = threading.Lock()


def get_device(ordinal: int = 0) -> Device:
    """The device of this number; its primary context is retained for the life of the process."""
    device = _devices.get(ordinal)
    if device is None:
        with _devices_lock:
            device = _devices.get(ordinal) or _devices.setdefault(ordinal, _open(ordinal))
    return device


def _open(ordinal: int) -> Device:
    cuda = driver()
    handle = check(cuda.cuDeviceGet(ordinal), f"cuDeviceGet({ordinal})")
    capability = (device_attribute(ordinal, "COMPUTE_CAPABILITY_MAJOR"),
                  device_attribute(ordinal, "COMPUTE_CAPABILITY_MINOR"))
    name = check(cuda.cuDeviceGetName(128, handle), "cuDeviceGetName")
    context = check(cuda.cuDevicePrimaryCtxRetain(handle), "cuDevicePrimaryCtxRetain")
    target = target_of_driver(capability, driver_version())
    text = name.decode(errors="replace").rstrip("\0") if isinstance(name, bytes) else str(name)
    return Device(ordinal, text, capability, target, context)


def device_attribute(ordinal: int, name: str) -> int:
    """An attribute of a device, named as CUDA does without CU_DEVICE_ATTRIBUTE."""
    cuda = driver()
    code = getattr(cuda.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
    handle = check(cuda.cuDeviceGet(ordinal), f"cuDeviceGet({ordinal})")
    return int(check(cuda.cuDeviceGetAttribute(code, handle), name))


def current_ordinal() -> int:
    """The device of this thread's current context, 0 when there is none."""
    code, device = driver().cuCtxGetDevice()
    return 0 if int(code) else int(device)
