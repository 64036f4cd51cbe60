"""A kernel loaded on one device: from an entry of the cache to a handle that launches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from tilewright.backend_ptx.abi import KernelAbi
from tilewright.backend_ptx.runtime.driver import Device, check, driver
from tilewright.backend_ptx.runtime.link import load_ptx
from tilewright.tileir.cache import Entry
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError
from tilewright.tileir.records import record

# A kernel may use this much dynamic shared memory without asking.
PLAIN_SHARED_BYTES = 48 * 1024


@record
class DeviceKernel:
    """A launchable kernel.

    `registers` are per thread, `local_bytes` per thread (spills and stack), `shared_bytes` the dynamic shared memory
    of a launch. `handle` is a CUfunction of `device`. Clusters of
    `cluster` blocks run each block of a launch's grid: the machine's is so many times longer along its axis 0.
    `dependent`: it waits by itself for the grids before it, so that a launch may start it while they run. `looped`: its
    CTAs loop over the blocks of a launch, for which as many as run at once are enough. `packed`: each CTA runs so many.
    `joins`: so many blocks of each axis of a launch may become one, of another kernel.
    """

    name: str
    device: Device
    abi: KernelAbi
    threads: int
    shared_bytes: int
    ptx: str
    log: str
    handle: Any
    registers: int
    local_bytes: int
    timings: Mapping[str, float] = field(default_factory=dict)
    cluster: int = 1
    rungs: tuple[str, ...] = ()
    dependent: bool = False
    looped: bool = False
    packed: int = 1
    walked: tuple[int, ...] = ()
    shares: bool = False
    joins: tuple[int, ...] = ()


def load_entry(entry: Entry, device: Device) -> DeviceKernel | None:
    """A cached kernel, or None where this build cannot read the entry."""
    try:
        abi = KernelAbi.from_json(str(entry.meta["abi"]))
        return load_code(entry, abi, device, {})
    except Exception:  # whatever is odd about an entry: the kernel is made anew, and says itself what is wrong with it
        return None


def load_code(
    entry: Entry, abi: KernelAbi, device: Device, timings: Mapping[str, float], module: Any = None,
) -> DeviceKernel:
    """`module`: where the code is loaded already."""
    cuda = driver()
    threads, shared = int(str(entry.meta["threads"])), int(str(entry.meta["shared_bytes"]))
    rungs = tuple(map(str, found)) if isinstance(found := entry.meta.get("rungs"), list) else ()
    if shared > device.target.shared_per_block:
        raise TileUnsupportedFeatureError(
            f"kernel {abi.name} needs {shared} bytes of shared memory per block; {device.target.name} has "
            f"{device.target.shared_per_block}", hints=["use smaller tiles"])
    if module is None:
        text = entry.ptx + str(entry.meta.get("mark", ""))  # the driver's own cache knows it so
        module, _ = load_ptx(text, abi.name, int(str(entry.meta["opt_level"])))
    handle = check(cuda.cuModuleGetFunction(module, abi.name.encode()), f"cuModuleGetFunction({abi.name})")

    def ask(name: str) -> int:
        code = getattr(cuda.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        return int(check(cuda.cuFuncGetAttribute(code, handle), f"cuFuncGetAttribute({name})"))

    if shared > PLAIN_SHARED_BYTES:
        code = cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        check(cuda.cuFuncSetAttribute(handle, code, shared), f"cuFuncSetAttribute(shared memory {shared})")
    return DeviceKernel(
        abi.name, device, abi, threads, shared, entry.ptx, str(entry.meta.get("log", "")), handle,
        ask("NUM_REGS"), ask("LOCAL_SIZE_BYTES"), timings, int(str(entry.meta["cluster"])), rungs,
        bool(entry.meta.get("dependent")), bool(entry.meta.get("looped")), int(str(entry.meta.get("packed", 1))),
        tuple(found) if isinstance(found := entry.meta.get("walked"), list | tuple) else (),
        bool(entry.meta.get("shares")))
