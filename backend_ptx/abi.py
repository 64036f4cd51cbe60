"""The ABI record: what a compiled kernel's parameters are, in order; and the record of a kernel as LLVM text.

Lowering, launcher and cache all read the one ABI record.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from tilewright.backend_ptx.map_records import MAP_BYTES, TensorMapSpec
from tilewright.backend_ptx.targets import MAP_TABLE_PTX, Target
from tilewright.tileir.dtypes import BY_IR, DType, int32
from tilewright.tileir.plan import Launching
from tilewright.tileir.records import record
from tilewright.tileir.types import ArrayType, ListType, TileType

if TYPE_CHECKING:
    from tilewright.tileir.core import Function

# How a scalar of each dtype is passed. bool travels as one byte (C `bool`), narrow floats as their bits' own type.
LLVM_SCALAR = {"i1": "i8", "i8": "i8", "u8": "i8", "i16": "i16", "u16": "i16", "i32": "i32", "u32": "i32", "i64": "i64",
               "u64": "i64", "f16": "half", "bf16": "bfloat", "f32": "float", "f64": "double", "tf32": "float",
               "e4m3": "i8", "e5m2": "i8", "e8m0": "i8", "e5m3": "i8", "e2m1": "i8"}

# The kinds of parameters that are addresses in global memory.
ADDRESSES = "pointer", "table", "map_table"


@record
class AbiParam:
    """One parameter of the compiled kernel.

    `kind` is one of
      pointer  base address of an array argument (`dtype`: its element type)
      extent   extent of axis `axis`, in elements
      stride   stride of axis `axis`, in elements
      scalar   a scalar argument
      table    address of a list's records: per array one int64 pointer, n extents, n strides
      length   number of arrays in that list (int32)
      tensor_map  the 128 bytes of a tensor map, encoded as `tensor_map` says; `axis` numbers the kernel's maps
      map_table   address of such maps, one for each array of a list
      grid     number of blocks along axis `axis` (int32); only with `linear_grid`
    `argument` is the index into `Function.params` (-1 for grid). Extents and strides that are constants of the type
    are passed all the same, so that the convention does not depend on the facts.
    """

    kind: str
    argument: int
    dtype: DType
    name: str
    axis: int = -1
    tensor_map: TensorMapSpec | None = None

    @property
    def llvm_type(self) -> str:
        """As a value in the kernel; a tensor map is the address of its bytes."""
        if self.kind == "tensor_map":
            return "ptr"
        if self.kind in ADDRESSES:
            return "ptr addrspace(1)"
        return LLVM_SCALAR[self.dtype.ir]

    @property
    def size(self) -> int:
        """Bytes in the parameter buffer."""
        if self.kind == "tensor_map":
            return MAP_BYTES
        return 8 if self.kind in ADDRESSES else self.dtype.bytes

    @staticmethod
    def from_data(data: dict[str, Any]) -> AbiParam:
        """From the fields as JSON has them. Raises KeyError or TypeError on anything else."""
        if not isinstance(data, dict):
            raise TypeError(f"{data!r} is no parameter")
        spec = data["tensor_map"]
        found = None if spec is None else TensorMapSpec.from_data(spec)
        return AbiParam(**{**data, "dtype": BY_IR[data["dtype"]], "tensor_map": found})


@record
class KernelAbi:
    """The parameters of the kernel `name`, in order.

    With `linear_grid` the launch is one-dimensional in hardware: ctaid.x is x + gx * (y + gy * z), and the three
    trailing `grid` parameters hold gx, gy, gz. Otherwise ctaid and nctaid are block id and grid size as they stand.
    """

    name: str
    params: tuple[AbiParam, ...]
    linear_grid: bool = False

    def position(self, kind: str, argument: int, axis: int = -1) -> int:
        """The position of the parameter that carries this part of an argument; ValueError if there is none."""
        return [(p.kind, p.argument, p.axis) for p in self.params].index((kind, argument, axis))

    def map_position(self, spec: TensorMapSpec) -> int:
        """The position of the parameter that holds this tensor map, or the address of a list's."""
        return next(i for i, p in enumerate(self.params) if p.tensor_map == spec)

    @property
    def ptx(self) -> int:
        """The least version of PTX for such parameters: TMA reads tensor maps in tables after a fence only."""
        return MAP_TABLE_PTX if any(p.kind == "map_table" for p in self.params) else 0

    def to_json(self) -> str:
        data = {"name": self.name, "linear_grid": self.linear_grid, "params": self.params}
        return json.dumps(data, default=_plain)

    @staticmethod
    def from_json(text: str) -> KernelAbi:
        """The inverse of to_json. Raises ValueError, KeyError or TypeError on anything else."""
        data: dict[str, Any] = json.loads(text)
        params = tuple(AbiParam.from_data(p) for p in data["params"])
        return KernelAbi(data["name"], params, data["linear_grid"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowered(Launching):
    """A kernel as LLVM text. `threads` is the block size, `shared_bytes` the dynamic shared memory of a launch."""

    name: str
    target: Target
    abi: KernelAbi
    llvm_text: str
    threads: int
    shared_bytes: int


def kernel_abi(function: Function) -> KernelAbi:
    """The ABI of a Tile IR function. Its switch `linear_grid` asks for the linearised form of the grid."""
    from tilewright.backend_ptx.tensor_maps import find_tensor_maps  # a launch only reads the record

    params: list[AbiParam] = []
    used: set[str] = set()
    for index, value in enumerate(function.params):
        name = _unique(value.hint or f"arg{index}", used)
        params += _params_of(value.type, index, name)
    for number, spec in enumerate(find_tensor_maps(function)):
        kind, what = ("map_table", "maps") if spec.table else ("tensor_map", "map")
        name = _unique(f"{function.params[spec.argument].hint or 'array'}.{what}", used)
        params.append(AbiParam(kind, spec.argument, spec.dtype, name, number, spec))
    linear = function.switches.linear_grid or function.plan.looped
    if linear or function.plan.packed > 1:
        params += [AbiParam("grid", -1, int32, _unique(f"grid.{a}", used), i) for i, a in enumerate("xyz")]
    return KernelAbi(symbol_name(function.name), tuple(params), linear)


def _plain(value: Any) -> str | dict[str, Any]:
    """What JSON has no form for: a dtype as its name, a record as its fields."""
    return value.ir if isinstance(value, DType) else {f.name: getattr(value, f.name) for f in fields(value)}


def _params_of(type: Any, index: int, name: str) -> list[AbiParam]:
    if isinstance(type, TileType):
        assert not type.shape, "a kernel parameter is a scalar, an array or a list"
        return [AbiParam("scalar", index, type.dtype, name)]
    if isinstance(type, ListType):
        return [AbiParam("table", index, type.element.dtype, name), AbiParam("length", index, int32, f"{name}.length")]
    assert isinstance(type, ArrayType)
    axes = range(type.rank)
    return [AbiParam("pointer", index, type.dtype, name),
            *(AbiParam("extent", index, type.index, f"{name}.n{k}", k) for k in axes),
            *(AbiParam("stride", index, type.index, f"{name}.s{k}", k) for k in axes)]


def _unique(wanted: str, used: set[str]) -> str:
    name, count = _clean(wanted), 1
    while name in used:
        name, count = f"{_clean(wanted)}.{count}", count + 1
    used.add(name)
    return name


def symbol_name(name: str) -> str:
    """A PTX identifier for a kernel of this name: lambdas, non-ASCII names and a lone _ have none of their own."""
    clean = _clean(name).replace(".", "_")
    usable = clean[:1].isalpha() or clean[:1] == "_" != clean
    return clean if usable and clean != "WARP_SZ" else f"kernel_{clean}"  # WARP_SZ is PTX's only predefined constant


def _clean(name: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in "_.") else "_" for c in name) or "arg"
