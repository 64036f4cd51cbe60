"""Print which names of the language are implemented where, and which tests call them; `make language-table`.

Implemented: from the registries of the frontend, the interpreter and the backend. Tested: from the syntax trees of the
tests and examples. Only CONTRACT and REFUSED are written by hand.
"""

from __future__ import annotations

import ast
import functools
import inspect
import types
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tilewright as ct
import tilewright.frontend.translate  # noqa: F401
import tilewright.interp.handlers  # noqa: F401
from tilewright.backend_ptx.lower.registry import LOWERINGS, load_lowerings
from tilewright.backend_ptx.lower.registry import REFUSALS as BACKEND_REFUSALS
from tilewright.frontend.calls.registry import RULES
from tilewright.interp.registry import HANDLERS
from tilewright.tileir.core import Op

ROOT = Path(__file__).resolve().parent.parent

CONTRACT = {
    "kernels and launch": "kernel function launch ByTarget",
    "annotations": "Constant ConstantAnnotation ScalarInt64 ScalarAnnotation IndexedWithInt64 ArrayAnnotation "
                   "ListAnnotation",
    "dtypes": "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 tfloat32 "
              "float8_e4m3fn float8_e5m2 float8_e8m0fnu float8_e5m3fnu float4_e2m1fn DType",
    "types": "Tile Array Scalar TiledView",
    "enums": "RoundingMode PaddingMode MemoryOrder MemoryScope",
    "operators": "add sub mul truediv floordiv cdiv mod divmod pow minimum maximum atan2 bitwise_and bitwise_or "
                 "bitwise_xor bitwise_lshift bitwise_rshift equal not_equal less less_equal greater greater_equal",
    "functions of one tile": "exp exp2 log log2 sqrt rsqrt sin cos tan sinh cosh tanh floor ceil negative abs isnan "
                             "bitwise_not",
    "index space": "bid num_blocks num_tiles assume_divisible_by",
    "memory": "load store gather scatter Slice load_advanced_indexing store_advanced_indexing",
    "atomics": "atomic_cas atomic_xchg atomic_add atomic_max atomic_min atomic_and atomic_or atomic_xor",
    "factories": "full zeros ones arange astile",
    "matrix products": "matmul mma mma_scaled",
    "shapes and conversions": "reshape broadcast_to expand_dims permute transpose cat extract insert astype bitcast "
                              "pack_to_bytes unpack_from_bytes where",
    "reductions and scans": "sum prod max min argmax argmin reduce cumsum cumprod scan",
    "compile time": "static_eval static_assert static_iter ensure_constant",
    "output": "print printf assert_",
    "dependent launch": "grid_dependency_control_wait grid_dependency_control_launch_dependents",
    "methods": "Tile.item Tile.reshape Tile.astype Tile.permute Tile.transpose Tile.extract Tile.insert Array.slice "
               "Array.tiled_view Array.get_raw_memory TiledView.num_tiles TiledView.load TiledView.store "
               "TiledView.atomic_store_add TiledView.atomic_store_max TiledView.atomic_store_min "
               "TiledView.atomic_store_and TiledView.atomic_store_or TiledView.atomic_store_xor "
               "RawArrayMemory.load_offset RawArrayMemory.store_offset RawArrayMemory.atomic_cas_offset "
               "RawArrayMemory.atomic_xchg_offset RawArrayMemory.atomic_add_offset RawArrayMemory.atomic_max_offset "
               "RawArrayMemory.atomic_min_offset RawArrayMemory.atomic_and_offset RawArrayMemory.atomic_or_offset "
               "RawArrayMemory.atomic_xor_offset",
    "errors": "TileError TileSyntaxError TileTypeError TileValueError TileRecursionError TileUnsupportedFeatureError "
              "TileStaticEvalError TileStaticAssertionError TileInternalError",
    "modules": "tune compilation compiler_timeout jax",
}
"""The public names of the language, by part."""

REFUSED = {"jax": "the bridge to JAX is not part of Tilewright"}
"""Names that are left out on purpose, with the reason."""

OTHER_OWNERS = ("np", "math", "numpy", "torch", "operator")

HINTS = frozenset({"latency", "allow_tma", "occupancy", "num_ctas", "num_worker_warps", "opt_level"})
"""Options that may be ignored: they change speed only."""


@dataclass(frozen=True)
class Row:
    """One name of the language: its options, where it is implemented, which files call it."""

    part: str
    name: str
    options: tuple[str, ...]
    frontend: bool
    interpreter: str
    backend: str
    tests: tuple[str, ...]
    refusal: str

    @property
    def settled(self) -> bool:
        return self.frontend or bool(self.refusal)


def referred_ops(function: Any, depth: int = 5, seen: set[Any] | None = None) -> set[type[Op]]:
    """The op classes that a rule names, itself or through the functions of the frontend that it calls."""
    seen = set() if seen is None else seen
    if isinstance(function, functools._lru_cache_wrapper):
        return referred_ops(function.__wrapped__, depth, seen)
    if isinstance(function, functools.partial):
        return referred_ops(function.func, depth, seen).union(
            *(referred_ops(a, depth, seen) for a in (*function.args, *function.keywords.values())))
    if isinstance(function, type) and issubclass(function, Op):
        return set() if inspect.isabstract(function) or not getattr(function, "opcode", "") else {function}
    if not isinstance(function, types.FunctionType) or depth == 0 or function in seen:
        return set()
    seen.add(function)
    if not function.__module__.startswith("tilewright.frontend.calls"):
        return set()
    values = [function.__globals__.get(name) for name in names_of(function.__code__)]
    values += [cell.cell_contents for cell in function.__closure__ or ()]
    return set().union(*(referred_ops(value, depth - 1, seen) for value in values), _attributes(function))


def names_of(code: types.CodeType) -> set[str]:
    inner = [names_of(c) for c in code.co_consts if isinstance(c, types.CodeType)]
    return set(code.co_names).union(*inner)


def _attributes(function: types.FunctionType) -> set[type[Op]]:
    """Op classes that a rule reaches as attributes of a module: `ops.Load`."""
    names = names_of(function.__code__)
    modules = [v for n in names if isinstance(v := function.__globals__.get(n), types.ModuleType)
               and v.__name__.startswith("tilewright.tileir")]
    found = (getattr(m, n, None) for m in modules for n in names)
    return {c for c in found if isinstance(c, type) and issubclass(c, Op)}


def callers() -> dict[str, tuple[str, ...]]:
    """The test and example files that use each name, by the syntax tree: `ct.name`, `.method(...)`."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in [*ROOT.glob("tests/**/*.py"), *ROOT.glob("examples/*.py")]:
        if "errors" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute):
                owner = node.value.id if isinstance(node.value, ast.Name) else ""
                if owner not in OTHER_OWNERS:
                    kind = "" if owner in ("ct", "tw") else "."
                    found[kind + node.attr].add(str(path.relative_to(ROOT)))
    return {name: tuple(sorted(files)) for name, files in found.items()}


def rows() -> list[Row]:
    used = callers()
    load_lowerings()
    return [_row(part, name, used) for part, names in CONTRACT.items() for name in names.split()]


def _row(part: str, name: str, used: dict[str, tuple[str, ...]]) -> Row:
    rule = RULES.get(name)
    ops = referred_ops(rule.function) if rule else set()
    return Row(part, name, _options(name), rule is not None or _public(name), _share(ops, HANDLERS),
               _share(ops, {**LOWERINGS, **BACKEND_REFUSALS}),
               used.get("." + name.rpartition(".")[2] if "." in name else name, ()),
               REFUSED.get(name, ""))


def _public(name: str) -> bool:
    value: Any = ct
    for part in name.split("."):
        value = getattr(value, part, None)
    return value is not None


def _options(name: str) -> tuple[str, ...]:
    stub: Any = ct
    for part in name.split("."):
        stub = getattr(stub, part, None)
    if not inspect.isfunction(stub):
        return ()
    return tuple(p.name for p in inspect.signature(stub).parameters.values() if p.kind is p.KEYWORD_ONLY)


def _share(ops: set[type[Op]], registry: Any) -> str:
    """How many of the op classes that the rule may emit this part has."""
    return f"{sum(op in registry or op.opcode in registry for op in ops)}/{len(ops)}" if ops else "-"


def table() -> str:
    lines = ["| part | name | options | frontend | interpreter | backend | used in |", "|---|---|---|---|---|---|---|"]
    for r in rows():
        options = ", ".join(f"{o} (hint)" if o in HINTS else o for o in r.options)
        state = "yes" if r.frontend else f"refused: {r.refusal}" if r.refusal else "MISSING"
        lines.append(f"| {r.part} | `{r.name}` | {options} | {state} | {r.interpreter} | {r.backend} | "
                     f"{len(r.tests)} files{': ' + r.tests[-1] if r.tests else ''} |")
    lines += ["", "Interpreter, backend: of the op classes that the rule names, how many have a handler or a lowering.",
              "Ops that passes rewrite before the backend need no lowering of their own."]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
