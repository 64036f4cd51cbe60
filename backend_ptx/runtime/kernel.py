"""A kernel loaded on one device: from Tile IR through the cache, compiler and driver to a handle that launches."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.backend_ptx.abi import KernelAbi
from tilewright.backend_ptx.resources.verdict import FULL_LEVEL, Rejection, of_error, of_log
from tilewright.backend_ptx.runtime.cache import DiskCache, Entry, open_cache
from tilewright.backend_ptx.runtime.driver import Device, check, driver, driver_version
from tilewright.backend_ptx.runtime.link import JIT_OPTIONS, load_ptx
from tilewright.tileir.core import Function
from tilewright.tileir.diagnostics import TileCompilerExecutionError, TileUnsupportedFeatureError
from tilewright.tileir.events import timed
from tilewright.tileir.plan import Hints, Limits, Switches, complaint, settings
from tilewright.tileir.printer import to_text

if TYPE_CHECKING:
    from tilewright.backend_ptx.compile import Attempt, Watch

# A kernel may use this much dynamic shared memory without asking.
PLAIN_SHARED_BYTES = 48 * 1024
# A library of llvmlite from this size on has LLVM linked in (those of PyPI: 120 to 180 MB; without it: 0.2 MB).
WITH_LLVM = 1 << 24


@dataclass(frozen=True, slots=True)
class DeviceKernel:
    """A launchable kernel.

    `registers` are per thread, `local_bytes` per thread (spills and stack), `shared_bytes` the dynamic shared memory
    of a launch. `handle` is a CUfunction of `device`. Clusters of
    `cluster` blocks run each block of a launch's grid: the machine's is so many times longer along its axis 0.
    `dependent`: it waits by itself for the grids before it, so that a launch may start it while they run.
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


def build_kernel(
    function: Function, device: Device, hints: Hints, switches: Switches, watch: Watch | None = None,
) -> DeviceKernel:
    """Compile (or find in the cache) and load; the device's context is current in this thread afterwards.

    With a watch the cache is not read, so that it sees every stage.
    """
    device.ensure_current()
    with timed("compile", function.name, executor=str(device.target)) as facts:
        return _build(function, device, hints, switches, watch, facts)


def _build(
    function: Function, device: Device, hints: Hints, switches: Switches, watch: Watch | None, facts: dict[str, Any],
) -> DeviceKernel:
    cache = open_cache()
    key = cache_key(function, hints, switches, device)
    entry = cache.load(key) if cache is not None and watch is None else None
    kernel = load_entry(entry, device) if entry is not None else None
    if kernel is not None:
        facts["cache"] = "hit"
        return kernel
    facts["cache"] = "off" if cache is None else "miss"
    # With a warm cache a process loads no pass, no lowering and no LLVM.
    from tilewright.backend_ptx.compile import compile_kernel

    assembler = DriverJudge(hints.opt_level)
    compiled = compile_kernel(function, device.target, watch, hints=hints, switches=switches, judge=assembler,
                              limits=_accepted(cache, key))
    module, log = assembler.take(compiled.ptx)
    meta = {"abi": compiled.abi.to_json(), "threads": compiled.threads, "shared_bytes": compiled.shared_bytes,
            "log": log, "opt_level": hints.opt_level, "cluster": compiled.cluster, "rungs": list(compiled.rungs),
            "limits": settings(compiled.limits), "dependent": compiled.dependent}
    entry = Entry(meta, compiled.ptx)
    facts["seconds"] = dict(compiled.timings)
    kernel = load_code(entry, compiled.abi, device, dict(compiled.timings), module)
    if cache is not None:
        cache.store(key, entry)
    return kernel


class DriverJudge:
    """The driver's assembler as the judge of plans. The code of those that run stays loaded until one is taken."""

    def __init__(self, level: int) -> None:
        self._level = level
        self._loaded: dict[str, tuple[Any, str]] = {}

    def __call__(self, plan: Attempt) -> Rejection | None:
        compiled = plan.compiled
        try:
            module, log = load_ptx(compiled.ptx, compiled.name, self._level)
        except TileCompilerExecutionError as error:
            if (refused := of_error(error)) is None:
                raise
            return refused
        self._loaded[compiled.ptx] = module, log
        return of_log(log) if self._level >= FULL_LEVEL else None

    def take(self, ptx: str) -> tuple[Any, str]:
        """The module of this code and the assembler's log; the others are unloaded."""
        taken = self._loaded.pop(ptx)
        for module, _ in self._loaded.values():
            check(driver().cuModuleUnload(module), "cuModuleUnload")
        return taken


def _accepted(cache: DiskCache | None, key: str) -> Limits:
    """Where the ladder starts: at the plan that was accepted before, where the cache knows it."""
    entry = cache.load(key) if cache is not None else None
    limits = entry.meta.get("limits") if entry is not None else None
    if not isinstance(limits, dict) or any(complaint(Limits, str(name), value) for name, value in limits.items()):
        return Limits()
    return Limits(**limits)


def cache_key(function: Function, hints: Hints, switches: Switches, device: Device) -> str:
    """A digest over everything that decides the machine code."""
    target = device.target
    parts = (
        to_text(function, spans=switches.line_info), hints, switches, target.name,
        target.ptx, device.capability, llvm_build(), driver_version(), JIT_OPTIONS, source_digest(),
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()


@functools.cache
def llvm_build() -> str:
    """Which LLVM compiles, without loading it where llvmlite's own library holds it."""
    folder = Path(getattr(importlib.util.find_spec("llvmlite"), "origin", None) or "").parent
    sizes = [path.stat().st_size for path in sorted(folder.glob("binding/*llvmlite.*"))]
    if sum(sizes) < WITH_LLVM:  # it finds LLVM elsewhere, where that may change by itself; or it is missing
        from tilewright.backend_ptx.llvm.compile import llvm_version

        return llvm_version()
    return f"{(folder / '_version.py').read_text()} {sizes}"


@functools.cache
def source_digest() -> str:
    """A digest of the backend's own sources and of the IR's, so that an edited compiler finds no old entries.

    The simulator is left out: it runs code and decides none.
    """
    import tilewright.backend_ptx
    import tilewright.tileir

    digest = hashlib.sha256()
    for package in (tilewright.backend_ptx, tilewright.tileir):
        for root in package.__path__:
            for path in sorted(Path(root).rglob("*.py")):
                name = path.relative_to(root)
                if name.parts[0] != "simulator":
                    digest.update(f"{package.__name__}/{name.as_posix()}".encode() + path.read_bytes())
    return digest.hexdigest()


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
    rungs = entry.meta.get("rungs")
    if shared > device.target.shared_per_block:
        raise TileUnsupportedFeatureError(
            f"kernel {abi.name} needs {shared} bytes of shared memory per block; {device.target.name} has "
            f"{device.target.shared_per_block}", hints=["use smaller tiles"])
    module = load_ptx(entry.ptx, abi.name, int(str(entry.meta["opt_level"])))[0] if module is None else module
    handle = check(cuda.cuModuleGetFunction(module, abi.name.encode()), f"cuModuleGetFunction({abi.name})")

    def ask(name: str) -> int:
        code = getattr(cuda.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        return int(check(cuda.cuFuncGetAttribute(code, handle), f"cuFuncGetAttribute({name})"))

    if shared > PLAIN_SHARED_BYTES:
        code = cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        check(cuda.cuFuncSetAttribute(handle, code, shared), f"cuFuncSetAttribute(shared memory {shared})")
    return DeviceKernel(
        abi.name, device, abi, threads, shared, entry.ptx, str(entry.meta.get("log", "")), handle,
        ask("NUM_REGS"), ask("LOCAL_SIZE_BYTES"), timings, int(str(entry.meta["cluster"])),
        tuple(map(str, rungs)) if isinstance(rungs, list) else (), bool(entry.meta.get("dependent")))
