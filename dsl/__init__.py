"""Tilewright: kernels that work on tiles, written in Python, run on NumPy and on NVIDIA GPUs.

    import tilewright as tw

    @tw.tile_kernel
    def add(x, y, z):
        i = tw.bid(0)
        tw.store(z, (i,), tw.load(x, (i,), (256,)) + tw.load(y, (i,), (256,)))

    add[(tw.cdiv(n, 256),)](x, y, z)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tilewright import language as _language
from tilewright.arguments.annotations import (
    ArrayAnnotation,
    Constant,
    ConstantAnnotation,
    IndexedWithInt64,
    ListAnnotation,
    ScalarAnnotation,
    ScalarInt64,
)
from tilewright.arguments.device_array import DeviceArray, gpu_available, to_device
from tilewright.arguments.spec import Spec, spec
from tilewright.kernel import function, tile_kernel
from tilewright.language import *  # noqa: F403
from tilewright.launching.checking import uninitialized
from tilewright.launching.launch import launch
from tilewright.launching.settings import settings
from tilewright.launching.timeouts import compiler_timeout
from tilewright.options import ByTarget
from tilewright.tileir.diagnostics import (
    CheckError,
    CheckWarning,
    TileAssertionError,
    TileCompilerTimeoutError,
    TileError,
    TileInternalError,
    TileRecursionError,
    TileSimulationError,
    TileStaticAssertionError,
    TileStaticEvalError,
    TileSyntaxError,
    TileTypeError,
    TileUnsupportedFeatureError,
    TileValueError,
    UnsupportedCallError,
)
from tilewright.tileir.dtypes import (
    DType,
    bfloat16,
    bool_,
    float4_e2m1fn,
    float8_e4m3fn,
    float8_e5m2,
    float8_e5m3fnu,
    float8_e8m0fnu,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    tfloat32,
    uint8,
    uint16,
    uint32,
    uint64,
)
from tilewright.tileir.enums import MemoryOrder, MemoryScope, PaddingMode, RoundingMode

if TYPE_CHECKING:
    from tilewright import bundles, compilation, jax, random, torch, tune
    from tilewright.bundles.entry import load_bundle
    from tilewright.combining.fuse import Fusion, fuse
    from tilewright.combining.infer import infer
    from tilewright.combining.vmap import vmap
    from tilewright.comparing.entry import compare
    from tilewright.comparing.result import Comparison
    from tilewright.comparing.sides import Side
    from tilewright.deriving.from_ir import kernel_from_ir
    from tilewright.deriving.grad import grad
    from tilewright.inspecting.trace import Trace, trace
    from tilewright.launching.graphs import LaunchGraph, graph
    from tilewright.linking.instructions import inline_ptx
    from tilewright.linking.linked import device_function
    from tilewright.profiling.profile import Profile, profile
    from tilewright.streams.arrays import empty, from_dlpack
    from tilewright.streams.copies import copy, to_host
    from tilewright.streams.event import Event
    from tilewright.streams.stream import Stream
    from tilewright.tune.autotune import autotune

# Where the names above are; what most programs do not use is loaded at its first use, so that an import takes no time.
_LATER = {
    "bundles": "tilewright",
    "compilation": "tilewright",
    "jax": "tilewright",
    "random": "tilewright",
    "torch": "tilewright",
    "tune": "tilewright",
    "load_bundle": "tilewright.bundles.entry",
    "Fusion": "tilewright.combining.fuse",
    "fuse": "tilewright.combining.fuse",
    "infer": "tilewright.combining.infer",
    "vmap": "tilewright.combining.vmap",
    "compare": "tilewright.comparing.entry",
    "Comparison": "tilewright.comparing.result",
    "Side": "tilewright.comparing.sides",
    "kernel_from_ir": "tilewright.deriving.from_ir",
    "grad": "tilewright.deriving.grad",
    "Trace": "tilewright.inspecting.trace",
    "trace": "tilewright.inspecting.trace",
    "LaunchGraph": "tilewright.launching.graphs",
    "graph": "tilewright.launching.graphs",
    "inline_ptx": "tilewright.linking.instructions",
    "device_function": "tilewright.linking.linked",
    "Profile": "tilewright.profiling.profile",
    "profile": "tilewright.profiling.profile",
    "empty": "tilewright.streams.arrays",
    "from_dlpack": "tilewright.streams.arrays",
    "copy": "tilewright.streams.copies",
    "to_host": "tilewright.streams.copies",
    "Event": "tilewright.streams.event",
    "Stream": "tilewright.streams.stream",
    "autotune": "tilewright.tune.autotune",
}

kernel = tile_kernel

__version__ = "0.1.0"

__all__ = [
    # kernels and their launch
    "tile_kernel", "kernel", "function", "launch", "graph", "LaunchGraph", "trace", "Trace",
    # kernels made of kernels
    "grad", "kernel_from_ir", "infer", "vmap", "fuse", "Fusion",
    "compare", "Comparison", "Side", "ByTarget", "profile", "Profile",
    "Constant", "ConstantAnnotation", "ScalarInt64",
    "ScalarAnnotation", "IndexedWithInt64", "ArrayAnnotation", "ListAnnotation", "Spec", "spec",
    # arrays, streams and events
    "to_device", "to_host", "copy", "empty", "from_dlpack",
    "DeviceArray", "gpu_available", "Stream", "Event", "compiler_timeout", "settings", "uninitialized",
    # tuning, compilation ahead of time, and operators of other libraries
    "inline_ptx", "device_function",
    "tune", "autotune", "compilation", "bundles", "load_bundle", "jax", "torch",
    # functions of kernels in a module of their own
    "random",
    # element types
    "DType", "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16",
    "float32", "float64", "tfloat32", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float8_e5m3fnu",
    "float4_e2m1fn",
    # options of operations
    "RoundingMode", "PaddingMode", "MemoryOrder", "MemoryScope",
    # errors
    "TileError", "TileSyntaxError", "TileTypeError", "TileValueError", "TileRecursionError",
    "TileUnsupportedFeatureError", "TileStaticEvalError", "TileStaticAssertionError", "TileAssertionError",
    "TileSimulationError",
    "TileInternalError", "TileCompilerTimeoutError", "UnsupportedCallError", "CheckError", "CheckWarning",
]
__all__ += _language.__all__


if not TYPE_CHECKING:  # to type checkers it would say that there is any name

    def __getattr__(name: str) -> Any:
        """A name of `_LATER`, at its first use."""
        where = _LATER.get(name)
        if where is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(f"{where}.{name}" if where == __name__ else where)
        found = globals()[name] = module if where == __name__ else getattr(module, name)
        return found


def __dir__() -> list[str]:
    """The public API, without the modules that it is made of."""
    return [*__all__, "__doc__", "__version__"]
