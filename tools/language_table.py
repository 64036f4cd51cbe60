"""Print which names of the language are implemented where, and which executed cells show it; `make language-table`.

Implemented: the ops that a name becomes, found by translating it, have handlers in the interpreter and lowerings in
the backend. Executed: the cells of tests/catalogue/cells, and the tests that run them. Refused: each dtype that no cell
runs, in the words of the error. Only CONTRACT here and the tables of tests/catalogue/cells/contract.py are written by
hand. `--cells` prints every cell with its test.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import tilewright as ct

CONTRACT = {
    "kernels and launch": "kernel function launch trace Trace compare Comparison Side ByTarget profile Profile",
    "annotations": "Constant ConstantAnnotation ScalarInt64 ScalarAnnotation IndexedWithInt64 ArrayAnnotation "
                   "ListAnnotation",
    "dtypes": "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 tfloat32 "
              "float8_e4m3fn float8_e5m2 float8_e8m0fnu float8_e5m3fnu float4_e2m1fn DType",
    "types": "Tile Array Scalar TiledView",
    "enums": "RoundingMode PaddingMode MemoryOrder MemoryScope",
    "operators": "add sub mul truediv floordiv cdiv mod divmod pow minimum maximum clamp atan2 bitwise_and bitwise_or "
                 "bitwise_xor bitwise_lshift bitwise_rshift equal not_equal less less_equal greater greater_equal",
    "functions of one tile": "exp exp2 log log2 sqrt rsqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh "
                             "log1p expm1 erf erfc sigmoid floor ceil trunc stop_gradient round negative abs isnan "
                             "isinf isfinite bitwise_not popcount clz ffs",
    "index space": "bid num_blocks num_tiles assume_divisible_by",
    "memory": "load store gather scatter Slice load_advanced_indexing store_advanced_indexing",
    "atomics": "atomic_cas atomic_xchg atomic_add atomic_max atomic_min atomic_and atomic_or atomic_xor",
    "factories": "full zeros ones arange astile",
    "matrix products": "matmul mma mma_scaled",
    "shapes and conversions": "reshape broadcast_to expand_dims permute transpose cat extract insert astype bitcast "
                              "pack_to_bytes unpack_from_bytes where",
    "reductions and scans": "sum prod max min argmax argmin any all reduce cumsum cumprod scan",
    "random numbers": "random.philox random.bits random.randint random.uniform random.normal",
    "order and places in a tile": "sort argsort topk histogram join split interleave take roll flip",
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
              "TileStaticEvalError TileStaticAssertionError TileInternalError TileCompilerTimeoutError "
              "UnsupportedCallError",
    "modules": "tune compilation compiler_timeout jax random",
}
"""The public names of the language, by part."""

HINTS = frozenset({"latency", "allow_tma", "occupancy", "num_ctas", "num_worker_warps", "opt_level",
                   "programmatic_dependent_launch"})
"""Options that may be ignored: they change speed only."""


@dataclass(frozen=True)
class Row:
    """One name of the language: its part, whether it is public, and the ops that it becomes."""

    part: str
    name: str
    public: bool
    interpreter: str
    backend: str


def rows() -> list[Row]:
    """The public names with their options, then what else kernels consist of."""
    from language_evidence import FEATURES, option_names

    found = []
    for part, names in CONTRACT.items():
        for name in names.split():
            found.append(_row(part, name, _public(name)))
            found += [_row("", option, _public(name)) for option in option_names(name)]
    return found + [_row(part, name, True) for part, names in FEATURES.items() for name in names]


def _row(part: str, name: str, public: bool) -> Row:
    from language_evidence import opcodes, unhandled

    ops = opcodes(name)
    return Row(part, name, public, *(_state(ops, lacking) for lacking in unhandled(ops)))


def _state(ops: tuple[str, ...], lacking: list[str]) -> str:
    return f"not {', '.join(lacking)}" if lacking else ", ".join(ops) or "-"


def _public(name: str) -> bool:
    value: Any = ct
    for part in name.split("."):
        value = getattr(value, part, None)
    from language_evidence import RULES

    return value is not None or name in RULES


def table() -> str:
    """All rows, then what is refused and why."""
    lines = ["| part | name | frontend | interpreter | backend | cells | dtypes | ranks | boundaries | test |",
             "|---|---|---|---|---|---|---|---|---|---|", *map(_line, rows()), "",
             "Interpreter, backend: the ops that the name becomes. Boundaries count executed cells; every cell runs in",
             "the interpreter, in the simulator and on a GPU (`test_interpreter`, `test_simulator`, `test_gpu`).", ""]
    return "\n".join([*lines, *refusal_lines()])


def _line(row: Row) -> str:
    from language_evidence import evidence

    found = evidence(row.name)
    state = "MISSING" if not row.public else "a hint" if row.name.partition("(")[2].rstrip(")") in HINTS else "yes"
    dtypes = ", ".join(found.dtypes) if len(found.dtypes) < 20 else f"{len(found.dtypes)} dtypes and pairs"
    if found.refused:
        dtypes += f" ({len(found.refused)} refused)"
    ranks = ", ".join(map(str, found.ranks))
    boundaries = ", ".join(f"{count} {word}" for word, count in found.boundaries.most_common(6))
    test = f"{found.elsewhere[0]}: {found.test}" if found.elsewhere else found.test
    name = row.name.replace("|", "\\|")
    return (f"| {row.part} | `{name}` | {state} | {row.interpreter} | {row.backend} | {len(found.cells)} | {dtypes} | "
            f"{ranks} | {boundaries} | {test} |")


def refusal_lines() -> list[str]:
    """What is refused: dtypes grouped by the words of the error, ranks, syntax."""
    from language_evidence import RANKS, SYNTAX_ERRORS, evidence, refused_names

    lines = ["| refused | where | reason |", "|---|---|---|"]
    for name in refused_names():
        groups: dict[str, list[str]] = defaultdict(list)
        for dtype, reason in evidence(name).refused.items():
            groups[_without(dtype, reason)].append(dtype)
        for reason, dtypes in groups.items():
            shown = ", ".join(dtypes) if len(dtypes) < 12 else f"{len(dtypes)}, such as {', '.join(dtypes[:3])}"
            lines.append("| `{}` | {} | {} |".format(*(text.replace("|", "\\|") for text in (name, shown, reason))))
    lines += [f"| `{name}` | rank {', '.join(map(str, ranks))} | {reason} |" for name, (ranks, reason) in RANKS.items()]
    return lines + [f"| {what} | kernels | tests/errors/syntax/{case}.err |" for what, case in SYNTAX_ERRORS.items()]


def _without(dtype: str, reason: str) -> str:
    """A reason that does not name the dtypes, so that like ones are told once."""
    for word in dtype.split():
        if len(word) > 4:
            reason = reason.replace(word, "T")
    return reason


def cell_lines() -> list[str]:
    """Every executed cell and the test that runs it."""
    from language_evidence import evidence

    return [f"{cell} | {test}" for row in rows() for cell, test in evidence(row.name).cells.items()]


if __name__ == "__main__":
    print("\n".join(cell_lines()) if "--cells" in sys.argv else table())
