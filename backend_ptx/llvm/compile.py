"""LLVM IR text to PTX text, by llvmlite: parse, verify, a few cheap passes, code generation."""

from __future__ import annotations

import functools
import re
import threading
import time
from itertools import pairwise
from typing import Any

from tilewright.backend_ptx.llvm import llvm_defects, ptxas_defects
from tilewright.backend_ptx.llvm.module import TRIPLE
from tilewright.backend_ptx.llvm.repeated_moves import without_repeats
from tilewright.backend_ptx.targets import Target
from tilewright.tileir import foreign
from tilewright.tileir.diagnostics import TileCompilerExecutionError, TileUnsupportedFeatureError
from tilewright.tileir.passes.manager import verification_wanted

# Measured on vector add, softmax, transpose, in-place updates and a GEMM: code generation runs its own clean-up and
# ptxas schedules again, so the O1 to O3 pipelines cost 20 to 70 ms and give the same PTX. Without these two the PTX of
# kernels with loops takes up to 8 registers more; they cost 0.5 to 4 ms. Nothing is an alloca, so SROA has no work.
PASSES = ("instruction_combine", "simplify_cfg")
# The PTX of levels 1 to 3 has the same length, level 1 is made quickest. Level 0 copies registers around inline
# assembly, which serialises wgmma.
CODEGEN_LEVEL = 1

# llvmlite's modules share one LLVM context, which two threads may not use at once.
LOCK = threading.Lock()
_machines: dict[tuple[str, int], Any] = {}


def llvm_to_ptx(text: str, target: Target) -> tuple[str, dict[str, float]]:
    """Compile one module; returns the PTX and the seconds of each stage (parse, verify, passes, codegen).

    Raises TileCompilerExecutionError when LLVM refuses the text: that is a defect of the lowering.
    """
    binding = llvm_binding()
    with LOCK:
        machine = machine_of(binding, target)
        if "!llvm.dbg.cu" in text:
            _keep_places(binding)
        clock = [time.perf_counter()]
        try:
            module = binding.parse_assembly(text)
            clock.append(time.perf_counter())
            if foreign.linked(binding, module, text) or verification_wanted():  # ours is checked in the tests
                module.verify()
        except RuntimeError as error:
            raise refused(str(error), text, target) from None
        clock.append(time.perf_counter())
        with module:
            run_passes(binding, machine, module)
            clock.append(time.perf_counter())
            sound = llvm_defects.without_defects(binding, module, text)
            ptx = foreign.merged(ptxas_defects.without_defects(without_repeats(machine.emit_assembly(sound))), text)
        clock.append(time.perf_counter())
    _check_resolved(ptx, target)
    stages = ("llvm parse", "llvm verify", "llvm passes", "llvm codegen")
    return ptx, {name: end - start for name, (start, end) in zip(stages, pairwise(clock), strict=True)}


def llvm_binding() -> Any:
    """llvmlite's; TileUnsupportedFeatureError where it is missing."""
    try:
        import llvmlite.binding as binding
    except ImportError as error:
        raise TileUnsupportedFeatureError(
            f"llvmlite cannot be imported: {error}", hints=["pip install 'llvmlite>=0.50,<0.51'"]) from None
    return binding


@functools.cache
def _keep_places(binding: Any) -> None:
    """Instructions that LLVM moves to another block keep their places: else the index arithmetic in front of a loop
    would have none. The options are the process's; they decide debug locations alone."""
    for option in ("-pick-merged-source-locations", "-use-unknown-locations=Disable"):
        binding.set_option("tilewright", option)


def llvm_version() -> str:
    """llvmlite's and LLVM's version, as one word for cache keys and reports."""
    import llvmlite

    return f"llvmlite-{llvmlite.__version__}-llvm-{'.'.join(map(str, llvm_binding().llvm_version_info))}"


def machine_of(binding: Any, target: Target) -> Any:
    """LLVM's for a target, which threads may use under LOCK alone."""
    key = target.name, target.ptx
    machine = _machines.get(key)
    if machine is None:
        if not _machines:
            binding.initialize_all_targets()
            binding.initialize_all_asmprinters()
        machine = binding.Target.from_triple(TRIPLE).create_target_machine(
            cpu=target.name, features=f"+ptx{target.ptx}", opt=CODEGEN_LEVEL)
        _machines[key] = machine
    return machine


def run_passes(binding: Any, machine: Any, module: Any) -> None:
    manager, builder = pipeline_of(binding, machine)
    manager.run(module, builder)


@functools.cache
def pipeline_of(binding: Any, machine: Any) -> tuple[Any, Any]:
    """The passes, and their builder, which must know the machine: without it LLVM does not see that NVPTX branches
    diverge. Both are made once: for a small kernel that takes as long as a sixth of the passes."""
    manager = binding.create_new_module_pass_manager()
    for name in PASSES:
        getattr(manager, f"add_{name}_pass")()
    return manager, binding.create_pass_builder(machine, binding.PipelineTuningOptions(speed_level=1))


def refused(message: str, text: str, target: Target) -> TileCompilerExecutionError:
    """LLVM's refusal, with the lines of the text that it names."""
    message = message.replace("LLVM IR parsing error\n", "").strip()
    notes = [f"while compiling for {target.name} with PTX {target.ptx / 10}"]
    found = re.search(r"<string>:(\d+):", message)
    if found:
        lines = text.splitlines()
        at = int(found[1])
        notes += [f"line {n} of the LLVM text: {lines[n - 1].strip()}" for n in range(max(1, at - 1), at + 1)
                  if n <= len(lines)]
    return TileCompilerExecutionError(f"LLVM refused the generated code: {message}", notes=notes, hints=[DUMP_HINT])


DUMP_HINT = ("this is a defect of Tilewright; set TILEWRIGHT_DUMP_DIR=folder to write every stage of the compilation "
             "there, and report it with those files")


def _check_resolved(ptx: str, target: Target) -> None:
    """LLVM turns an intrinsic that it does not know into a call of an undefined function."""
    names = re.findall(r"^\.extern \.func .*?([\w.$]+)\s*$", ptx, re.MULTILINE) if ".extern .func" in ptx else []
    names = [n for n in names if n not in ("vprintf", "__assertfail", "malloc", "free")]
    if names:
        raise TileCompilerExecutionError(
            f"the generated code calls functions that do not exist for {target.name}: {', '.join(names)}",
            hints=[DUMP_HINT])
