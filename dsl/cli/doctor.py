"""`tilewright doctor`: what is installed, which GPU and driver there are, what is missing and how to get it."""

from __future__ import annotations

import importlib.metadata
import platform
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tilewright.cli.answers import Answer

# package -> what it is for; the first group is needed, the second improves things.
NEEDED = {"numpy": "arrays", "ml_dtypes": "bfloat16 and float8", "llvmlite": "PTX", "lark": "reading Tile IR dumps",
          "rich": "this table", "platformdirs": "the place of the disk cache"}
FOR_A_GPU = {"cuda-bindings": "the driver"}


@dataclass(frozen=True)
class Finding:
    """One line of the report. `advice` says how to get what is missing; empty if all is well."""

    what: str
    state: str
    advice: str = ""


def examine() -> Iterator[Finding]:
    """Every finding, needed things first."""
    yield Finding("Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    for group, needed in ((NEEDED, True), (FOR_A_GPU, False)):
        for package, purpose in group.items():
            yield _package(package, purpose, needed)
    yield _guarded("PTX for NVIDIA GPUs", _llvm, "pip install 'llvmlite>=0.50,<0.51'")
    yield _guarded("GPU", _gpu, "kernels run in the interpreter; a GPU needs NVIDIA's driver")
    yield _guarded("disk cache", _cache, "set TILEWRIGHT_CACHE_DIR to a folder that can be written")
    yield _guarded("ptxas (tests without a GPU)", _ptxas, "pip install 'nvidia-cuda-nvcc==13.0.*'")
    yield _guarded("disassembler (kernel.sass)", _disassembler, "pip install nvidia-cuda-nvdisasm")


def _package(package: str, purpose: str, needed: bool) -> Finding:
    try:
        return Finding(f"{package} ({purpose})", importlib.metadata.version(package))
    except importlib.metadata.PackageNotFoundError:
        why = "" if needed else "; only a GPU needs it"
        return Finding(f"{package} ({purpose})", f"missing{why}", f"pip install {package}")


def _guarded(what: str, ask: Callable[[], str], advice: str) -> Finding:
    """A finding whose question may fail in any way that a broken installation can: the report must go on."""
    try:
        return Finding(what, ask())
    except Exception as error:
        reason = getattr(error, "message", "") or str(error) or type(error).__name__
        return Finding(what, reason.splitlines()[0], advice)


def _llvm() -> str:
    import llvmlite.binding as llvm

    from tilewright.backend_ptx.targets import TARGETS

    return f"LLVM {'.'.join(map(str, llvm.llvm_version_info))}; targets {', '.join(TARGETS)}"


def _gpu() -> str:
    from tilewright.backend_ptx.runtime import driver

    count = driver.device_count()
    version = driver.driver_version()
    names = [f"{d.name} ({d.target.name})" for d in map(driver.get_device, range(count))]
    return f"{', '.join(names)}; driver for CUDA {version // 1000}.{version % 1000 // 10}"


def _cache() -> str:
    from tilewright.tileir.cache import default_folder

    folder = default_folder()
    if folder is None:
        return "switched off"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        return str(folder)


def _ptxas() -> str:
    from tilewright.backend_ptx.runtime.ptxas import find_ptxas, ptxas_version

    return f"{ptxas_version()} at {find_ptxas()}"


def _disassembler() -> str:
    from tilewright.inspecting.sass import find_disassembler

    return find_disassembler()[0]


def report(findings: list[Finding]) -> Any:
    """The findings as a rich table."""
    from rich.table import Table

    table = Table("", "found", "what to do", title="tilewright doctor")
    for finding in findings:
        table.add_row(finding.what, finding.state, finding.advice, style="yellow" if finding.advice else None)
    return table


def answer() -> Answer:
    """The report of `tilewright doctor`."""
    findings = list(examine())
    data = {"ok": not any(f.advice for f in findings), "findings": [vars(f) for f in findings]}
    return Answer(data, lambda: _print(findings))


def _print(findings: list[Finding]) -> None:
    """A table; plain lines where rich itself is missing."""
    try:
        from rich.console import Console
    except ImportError:
        for f in findings:
            print(f"{f.what}: {f.state}{'; ' + f.advice if f.advice else ''}")
        return
    Console().print(report(findings))
