"""From Tile IR through the cache, compiler and driver to a kernel that is loaded on a device."""

from __future__ import annotations

import functools
import hashlib
import secrets
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from tilewright.backend_ptx.resources.verdict import FULL_LEVEL, Rejection, of_error, of_log
from tilewright.backend_ptx.runtime.driver import Device, check, driver
from tilewright.backend_ptx.runtime.kernel import DeviceKernel, load_code, load_entry
from tilewright.backend_ptx.runtime.link import load_ptx
from tilewright.backend_ptx.runtime.versions import versions
from tilewright.tileir.cache import DiskCache, Entry, open_cache
from tilewright.tileir.core import Function
from tilewright.tileir.diagnostics import TileCompilerExecutionError
from tilewright.tileir.events import timed
from tilewright.tileir.plan import Hints, Limits, Switches, complaint, launching, settings
from tilewright.tileir.printer import to_text
from tilewright.tileir.sources import digest

if TYPE_CHECKING:
    from tilewright.backend_ptx.compile import Attempt, Compiled, Watch

# What compiles for this thread as `compile_kernel` does, in another process.
elsewhere: ContextVar[Callable[..., Compiled] | None] = ContextVar("tilewright_compiles_elsewhere", default=None)


def build_kernel(
    function: Function, device: Device, hints: Hints, switches: Switches, watch: Watch | None = None,
) -> DeviceKernel:
    """Compile (or find in the cache) and load; the device's context is current in this thread afterwards.

    With a watch the cache is not read, so that it sees every stage.
    """
    device.ensure_current()
    with timed("compile", function.name, executor=str(device.target)) as facts:
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
        make = elsewhere.get() if watch is None else None
        compiled = (make or compile_kernel)(function, device.target, watch, hints=hints, switches=switches,
                                            judge=assembler, limits=_accepted(cache, key))
        module, log, mark = assembler.take(compiled.ptx)
        meta = {"abi": compiled.abi.to_json(), "threads": compiled.threads, "shared_bytes": compiled.shared_bytes,
                "log": log, "opt_level": hints.opt_level, "rungs": list(compiled.rungs), "mark": mark,
                "limits": settings(compiled.limits), **launching(compiled)}
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
        self._loaded: dict[str, tuple[Any, str, str]] = {}
        self._asked: dict[str, Rejection | None] = {}

    def __call__(self, plan: Attempt) -> Rejection | None:
        ptx = plan.compiled.ptx
        if ptx not in self._asked:  # some rungs change nothing of a kernel
            self._asked[ptx] = self._ask(plan.compiled)
        return self._asked[ptx]

    def _ask(self, compiled: Compiled) -> Rejection | None:
        # New to the driver's own cache, which gives machine code without the log that tells of spills.
        mark = f"// {secrets.token_hex(8)}\n"
        try:
            module, log = load_ptx(compiled.ptx + mark, compiled.name, self._level)
        except TileCompilerExecutionError as error:
            if (refused := of_error(error)) is None:
                raise
            return refused
        self._loaded[compiled.ptx] = module, log, mark
        return of_log(log) if self._level >= FULL_LEVEL else None

    def adopt(self, compiled: Compiled, log: str, mark: str) -> None:
        """Take over what another process has assembled for this GPU: the driver's cache has it."""
        module, _ = load_ptx(compiled.ptx + mark, compiled.name, self._level)
        self._loaded[compiled.ptx] = module, log, mark

    def take(self, ptx: str) -> tuple[Any, str, str]:
        """The module of this code, the assembler's log, and the mark by which the driver's cache knows the text; the
        others are unloaded."""
        taken = self._loaded.pop(ptx)
        for module, *_ in self._loaded.values():
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
    parts = to_text(function, spans=switches.line_info), hints, switches, versions(device), source_digest()
    return hashlib.sha256(repr(parts).encode()).hexdigest()


@functools.cache
def source_digest() -> str:
    """A digest of the backend's own sources and of the IR's, so that an edited compiler finds no old entries.

    The simulator is left out: it runs code and decides none.
    """
    return digest(("tilewright.backend_ptx", "tilewright.tileir"), without=("simulator",))
