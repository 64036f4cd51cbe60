"""A manifest as a C header: the tables that the C loader (c/tilewright.h) reads, in the place of JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tilewright.arguments.bind import Scalar, leaves
from tilewright.backend_ptx.abi import AbiParam
from tilewright.backend_ptx.map_records import TensorMapSpec
from tilewright.backend_ptx.runtime.tensor_map import encoded_as
from tilewright.backend_ptx.targets import get_target
from tilewright.compilation.manifest import Binary, CodeFile, Manifest
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError
from tilewright.tileir.plan import Aliases
from tilewright.tileir.types import ArrayType, ListType

TABLE_VERSION = 2
# As in tilewright.h.
MAX_PARAMETERS, MAX_MAPS, MAX_RANK = 512, 24, 16
_PARTS = {"pointer": "TW_POINTER", "extent": "TW_EXTENT", "stride": "TW_STRIDE", "scalar": "TW_VALUE",
          "table": "TW_RECORDS", "length": "TW_LENGTH", "tensor_map": "TW_MAP", "map_table": "TW_MAP_TABLE",
          "grid": "TW_GRID"}


def c_sources() -> dict[str, bytes]:
    """The C loader's own files, by name."""
    folder = Path(__file__).parent / "c"
    return {name: (folder / name).read_bytes() for name in ("tilewright.h", "tilewright.c")}


def c_table(manifest: Manifest, name: str) -> str:
    """The header: everything in it is static, and the table is called `name`.

    TileUnsupportedFeatureError for a kernel that is larger than the C loader's buffers.
    """
    prefix = _identifier(name)
    out = [f"/* What Tilewright compiled into {', '.join(code.file for code in manifest.code)}; generated. */",
           f"#ifndef TILEWRIGHT_TABLE_{prefix}", f"#define TILEWRIGHT_TABLE_{prefix}", '#include "tilewright.h"', ""]
    rows = []
    for number, binary in enumerate(manifest.binaries):
        own = f"{prefix}_{number}"
        lines, row = _kernel(manifest, binary, own)
        out += lines
        rows.append(row)
    codes = [_code(code) for code in manifest.code]
    out += _array("tw_code", f"{prefix}_code", codes) + _array("tw_kernel", f"{prefix}_kernels", rows)
    out += [f"static const tw_table {prefix} = {{{TABLE_VERSION}, {prefix}_code, {len(codes)}, {prefix}_kernels, "
            f"{len(rows)}}};", "#endif", ""]
    return "\n".join(out)


def _kernel(manifest: Manifest, binary: Binary, own: str) -> tuple[list[str], str]:
    """The tables of one binary, and its row."""
    params, found = binary.abi.params, list(leaves(binary.arguments))
    maps = [p for p in params if p.tensor_map is not None]
    if len(params) > MAX_PARAMETERS or len(maps) > MAX_MAPS or any(_rank(leaf) > MAX_RANK for leaf in found):
        raise TileUnsupportedFeatureError(
            f"kernel {binary.symbol} has {len(params)} parameters and {len(maps)} tensor maps; the C loader takes "
            f"{MAX_PARAMETERS} and {MAX_MAPS}, and arrays of {MAX_RANK} axes")
    out = [f"/* {binary.symbol}({', '.join(leaf.name for leaf in found)}) */"]
    rows = []
    for position, leaf in enumerate(found):
        type = None if isinstance(leaf, Scalar) else leaf.type(True)
        array = type.element if isinstance(type, ListType) else type
        if array is not None and array.rank:
            out += _array("tw_axis", f"{own}_{position}", _axes(array))
        rows.append(_argument(leaf, array, position, binary, f"{own}_{position}"))
    specs = [_map(p.tensor_map) for p in maps if p.tensor_map is not None]
    out += _array("tw_map", f"{own}_maps", specs) if specs else []
    out += _array("tw_argument", f"{own}_arguments", rows) if rows else []
    out += _array("tw_parameter", f"{own}_parameters", [_parameter(p, maps, own) for p in params]) if params else []
    kernel = manifest.kernels[binary.kernel].name
    row = _row(_text(binary.symbol), _text(kernel), binary.code, binary.threads, binary.cluster, int(binary.dependent),
               binary.shared_bytes,
               f"{own}_arguments" if rows else "NULL", len(rows), f"{own}_parameters" if params else "NULL",
               len(params), int(binary.looped))
    return out, row


def _rank(leaf: Any) -> int:
    type = None if isinstance(leaf, Scalar) else leaf.type(True)
    return 0 if type is None else (type.element if isinstance(type, ListType) else type).rank


def _argument(leaf: Any, array: ArrayType | None, position: int, binary: Binary, axes: str) -> str:
    if array is None:
        number = {"int": "TW_INT", "uint": "TW_UINT", "bool": "TW_BOOL"}.get(leaf.dtype.kind)
        number = number or ("TW_FLOAT" if leaf.dtype.bytes >= 4 else "TW_BITS")
        return _row(_text(leaf.name), "TW_SCALAR", number, leaf.dtype.bytes, 0, 0, 1, 0, 0, 0, 0, -1, "NULL")
    kind = "TW_LIST" if isinstance(leaf.type(True), ListType) else "TW_ARRAY"
    return _row(_text(leaf.name), kind, "TW_BITS", array.dtype.bytes, array.rank, array.index.bytes, array.align,
                int(array.disjoint), int(array.small), int(position in binary.writes),
                _overlap(position, binary.aliases), _same_as(position, binary.aliases),
                axes if array.rank else "NULL")


def _overlap(position: int, aliases: Aliases) -> int:
    return next((number for number, group in enumerate(aliases.groups, 1) if position in group), 0)


def _same_as(position: int, aliases: Aliases) -> int:
    return next((earlier for later, earlier in aliases.same if later == position), -1)


def _axes(array: ArrayType) -> list[str]:
    columns = zip(array.extents, array.strides, array.extent_div, array.stride_div, strict=True)
    return [_row(*("TW_ANY" if value is None else f"INT64_C({value})" for value in column)) for column in columns]


def _map(spec: TensorMapSpec) -> str:
    element, swizzle = encoded_as(spec)
    return _row(spec.argument, element, swizzle, len(spec.axes), len(spec.clips), int(spec.stored), _row(*spec.axes),
                _row(*spec.box), _row(*(spec.clips or (0,))))


def _parameter(param: AbiParam, maps: Sequence[AbiParam], own: str) -> str:
    place = f"&{own}_maps[{maps.index(param)}]" if param.tensor_map is not None else "NULL"
    return _row(_PARTS[param.kind], param.argument, param.axis, param.size, place)


def _code(code: CodeFile) -> str:
    target = get_target(code.target)
    major, minor = target.capability
    return _row(_text(code.file), _text(code.sha256), int(code.format == "ptx"), major, minor,
                int(code.target.endswith("a")))


def _row(*values: Any) -> str:
    return f"{{{', '.join(map(str, values))}}}"


def _array(type: str, name: str, rows: Sequence[str]) -> list[str]:
    return [f"static const {type} {name}[] = {{", *(f"    {row}," for row in rows), "};"]


def _text(value: str) -> str:
    return json.dumps(value)  # an ASCII string of JSON is one of C, but for \\u, which names here do not have


def _identifier(name: str) -> str:
    clean = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
    return clean if clean[:1].isalpha() else f"table_{clean}"
