"""One combination: compiled through the public interface, assembled by ptxas, and what both say."""

from __future__ import annotations

import hashlib
import re
import time
from dataclasses import dataclass
from typing import Any

from benchmarks.sweep.cases import Case

IGNORED = "C7508"  # ptxas' message of setmaxnreg, which it ignores: no wgmma runs alone for that
# Outcomes. Of these only FAILED and SLOW are defects: what cannot exist on a target must be said in these words.
OK, TOO_LARGE, UNSUPPORTED, FAILED, SLOW = "ok", "too large", "unsupported", "failed", "no end"


@dataclass(frozen=True)
class Result:
    """`rungs`: how the compiler lowered its plan until the assembler took it. `serialised`: ptxas' messages of wgmma
    that run one at a time. `ptx` is a digest, by which runs of two compilers are compared. Times are seconds."""

    number: int
    name: str
    family: str
    target: str
    status: str
    message: str = ""
    rungs: tuple[str, ...] = ()
    registers: int = 0
    spills: int = 0
    shared_bytes: int = 0
    threads: int = 0
    serialised: tuple[str, ...] = ()
    ptx: str = ""
    compiling: float = 0.0
    assembling: float = 0.0


def attempt(case: Case) -> Result:
    """Compile and assemble; an error becomes a result."""
    from tilewright.backend_ptx.runtime.ptxas import assemble
    from tilewright.tileir.diagnostics import TileError

    start = time.perf_counter()
    about = (case.number, case.name, case.family, case.target)
    try:
        compiled = kernel_of(case).compiled(*arguments_of(case), target=case.target)
        made = time.perf_counter()
        assembled = assemble(compiled.ptx, compiled.target, kernel=compiled.name)
    except TileError as error:
        return Result(*about, status_of(error), f"{type(error).__name__}: {error}",
                      compiling=time.perf_counter() - start)
    except Exception as error:
        return Result(*about, FAILED, f"{type(error).__name__}: {error}", compiling=time.perf_counter() - start)
    return Result(
        *about, OK, rungs=tuple(getattr(compiled, "rungs", ())), registers=assembled.registers,
        spills=assembled.spills, shared_bytes=compiled.shared_bytes + assembled.shared_bytes,
        threads=compiled.threads, serialised=tuple(sorted(set(re.findall(r"\bC75\d\d\b", assembled.log)) - {IGNORED})),
        ptx=hashlib.sha256(compiled.ptx.encode()).hexdigest(), compiling=made - start,
        assembling=time.perf_counter() - made)


def status_of(error: Exception) -> str:
    from tilewright.tileir.diagnostics import TileUnsupportedFeatureError, TileValueError

    if isinstance(error, TileUnsupportedFeatureError):
        return UNSUPPORTED
    return TOO_LARGE if isinstance(error, TileValueError) and "live at once" in str(error) else FAILED


def kernel_of(case: Case) -> Any:
    from benchmarks.sweep import kernels

    return getattr(kernels, case.kernel).replace_hints(**case.hints)


def arguments_of(case: Case) -> list[Any]:
    import tilewright as tw

    def argument(given: Any) -> Any:
        if isinstance(given, list):
            return [tw.spec(text) for text in given]
        return tw.spec(given) if isinstance(given, str) else given

    return [argument(given) for given in case.args]
