"""PTX to machine code by the driver's own assembler, with its logs; a refusal becomes an error that names the kernel.

Kernels are loaded as whole programs, and the driver keeps their machine code in a cache of its own. Linking would give
us a cubin to keep, but it treats a kernel as one of several compilation units: setmaxnreg is ignored (C7504), any call,
such as that of a division's slow path, makes wgmma run one at a time (C7509), and ptxas takes more registers (71 for
61, 1 CTA per SM in place of 2: layer norm of 16384 columns). It serves those who want to look at code.
"""

from __future__ import annotations

import ctypes
import re
from typing import Any

from tilewright.backend_ptx.runtime.driver import check, driver
from tilewright.tileir.diagnostics import TileCompilerExecutionError

LOG_BYTES = 64 * 1024
# What else than the PTX and the option opt_level decides the cubin; part of the cache key.
JIT_OPTIONS = (("LOG_VERBOSE", 1),)
# The driver's optimisation level for each opt_level: its highest, which is its default, is 4.
JIT_LEVELS = (0, 1, 2, 4)


def link_ptx(ptx: str, kernel: str, opt_level: int = 3) -> tuple[bytes, str]:
    """Assemble for the device of the current context. Returns the cubin and the assembler's information log.

    `opt_level`: 0 to 3, how hard the assembler works.
    Raises TileCompilerExecutionError with the assembler's message and the PTX lines that it names.
    """
    cuda = driver()
    info, errors, keys, values = _options(opt_level, ptx)
    state = check(cuda.cuLinkCreate(len(keys), keys, values), "cuLinkCreate")
    try:
        data = ptx.encode() + b"\0"
        kind = cuda.CUjitInputType.CU_JIT_INPUT_PTX
        [status] = cuda.cuLinkAddData(state, kind, data, len(data), f"{kernel}.ptx".encode(), 0, [], [])
        if int(status) == 0:
            status, address, size = cuda.cuLinkComplete(state)
        if int(status):
            raise assembler_error(kernel, ptx, _text(errors) or str(status))
        # The cubin belongs to the link state and dies with it.
        return ctypes.string_at(int(address), int(size)), _text(info)
    finally:
        cuda.cuLinkDestroy(state)


def load_ptx(ptx: str, kernel: str, opt_level: int = 3) -> tuple[Any, str]:
    """Assemble for the device of the current context and load: (the CUmodule, the assembler's information log).

    Raises as `link_ptx` does.
    """
    cuda = driver()
    info, errors, keys, values = _options(opt_level, ptx)
    status, *module = cuda.cuModuleLoadDataEx(ptx.encode() + b"\0", len(keys), keys, values)
    if int(status):
        raise assembler_error(kernel, ptx, _text(errors) or str(status))
    return module[0], _text(info)


def has_lines(ptx: str) -> bool:
    """Whether the text names lines of the source, which the machine code then does too."""
    return "\t.loc\t" in ptx


def _options(opt_level: int, ptx: str) -> tuple[bytearray, bytearray, list[Any], list[Any]]:
    """The buffers of both logs; the keys and the values of the options that name them."""
    info, errors = bytearray(LOG_BYTES), bytearray(LOG_BYTES)
    options = {"INFO_LOG_BUFFER": info, "INFO_LOG_BUFFER_SIZE_BYTES": LOG_BYTES,
               "ERROR_LOG_BUFFER": errors, "ERROR_LOG_BUFFER_SIZE_BYTES": LOG_BYTES, **dict(JIT_OPTIONS),
               "OPTIMIZATION_LEVEL": JIT_LEVELS[opt_level], **({"GENERATE_LINE_INFO": 1} if has_lines(ptx) else {})}
    keys = driver().CUjit_option
    return info, errors, [getattr(keys, f"CU_JIT_{name}") for name in options], list(options.values())


def _text(log: bytearray) -> str:
    return bytes(log).split(b"\0", 1)[0].decode(errors="replace").strip()


def assembler_error(kernel: str, ptx: str, log: str) -> TileCompilerExecutionError:
    """The assembler's refusal, with each PTX line that it names."""
    from tilewright.backend_ptx.llvm.compile import DUMP_HINT

    lines = ptx.splitlines()
    notes = [line.strip() for line in log.splitlines() if line.strip()][:12]
    for number in sorted({int(n) for n in re.findall(r"line (\d+)", log)})[:4]:
        if number <= len(lines):
            notes.append(f"PTX line {number}: {lines[number - 1].strip()}")
    return TileCompilerExecutionError(
        f"the assembler refused the PTX of kernel {kernel}", notes=notes, hints=[DUMP_HINT])
