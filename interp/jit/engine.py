"""LLVM IR text to functions that Python can call."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from functools import cache
from typing import Any

# LLVM's context is not made for several threads; it is our own, so that only the interpreter's wait for each other.
_lock = threading.Lock()
_made: list[Any] = []

Function = Any
_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)


@cache
def usable() -> bool:
    """Has this CPU the instructions that loops count on? LLVM would call functions for them that nobody has."""
    try:
        from llvmlite import binding

        features = binding.get_host_cpu_features()
        x86 = binding.get_process_triple().startswith(("x86_64", "i686"))
    except (ImportError, OSError, RuntimeError):
        return False
    return not x86 or bool(features.get("f16c") and features.get("fma"))


def compile_text(text: str, name: str) -> Function:
    """The function `int32 name(pointer)` of a module; Python's other threads run while it does."""
    [address] = compile_functions(text, (name,))
    return _PROTOTYPE(address)


def compile_functions(text: str, names: Sequence[str]) -> list[int]:
    """The addresses of a module's functions, which stay."""
    with _lock:
        if not _made:
            _made.extend(_start())
        binding, machine, engine, context = _made
        module = binding.parse_assembly(text, context)
        _optimise(binding, machine, module)
        engine.add_module(module)
        engine.finalize_object()
        return [engine.get_function_address(name) for name in names]


def _start() -> tuple[Any, Any, Any, Any]:
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    target = binding.Target.from_default_triple()
    features = binding.get_host_cpu_features()
    machine = target.create_target_machine(cpu=binding.get_host_cpu_name(), features=features.flatten(), opt=3)
    context = binding.create_context()
    engine = binding.create_mcjit_compiler(binding.parse_assembly("", context), machine)
    return binding, machine, engine, context


def _optimise(binding: Any, machine: Any, module: Any) -> None:
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    options = binding.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = True
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
