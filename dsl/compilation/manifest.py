"""The manifest of compiled kernels: what is in which file, what each parameter is, and what its arguments must satisfy.

It is JSON. A reader refuses a manifest of another version, and one whose own digest does not fit what it says.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tilewright.backend_ptx.abi import AbiParam, KernelAbi
from tilewright.backend_ptx.map_records import TensorMapSpec
from tilewright.compilation.argument_data import argument_data, argument_of
from tilewright.compilation.output import c_type
from tilewright.tileir.dtypes import tfloat32
from tilewright.tileir.plan import Aliases

FORMAT = "tilewright binaries"
VERSION = 2
READABLE = 1, VERSION  # kernels of version 1 have a CTA for each block of a launch
# The driver's names of what a tensor map is encoded with (cuTensorMapEncodeTiled); the width of elements is all that
# counts, but for tfloat32, to which the copy rounds.
_ELEMENTS = {1: "UINT8", 2: "UINT16", 4: "UINT32", 8: "UINT64"}


class ManifestError(ValueError):
    """A manifest or a file of code that is not what it was when it was made; or one of another version."""


@dataclass(frozen=True, slots=True)
class CodeFile:
    """One file of code: its name beside the manifest, "cubin" or "ptx", its target, the digest and size of it."""

    file: str
    format: str
    target: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class KernelRecord:
    """One kernel, of which there may be several binaries. `where` is "module:name", `grid` the decorator's expression,
    `parameters` those of its call (argument_data.py)."""

    name: str
    where: str
    grid: str | None
    parameters: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Binary:
    """A kernel compiled for some arguments.

    `kernel` and `code`: positions in the manifest. `arguments`: one for each parameter of the kernel, with what the
    code relies on; `writes`: those that it writes, by the position among the arguments that remain at run time, which
    is how `abi` and `aliases` count too. `cluster` CTAs run each block of a launch: the hardware's grid is so many
    times longer along x. `dependent`: a launch may start while the kernel before it on its stream runs
    (CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION). `looped`: its CTAs loop over the blocks of a launch, for
    which as many as run at once are enough. `ir`: the digest of the Tile IR that it was made from.
    """

    kernel: int
    symbol: str
    code: int
    abi: KernelAbi
    threads: int
    shared_bytes: int
    cluster: int
    dependent: bool
    looped: bool
    opt_level: int
    arguments: Sequence[Any]
    writes: frozenset[int]
    aliases: Aliases
    ir: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """All of a bundle. `about`: what made it, and under which licences; `tuned`: choices of autotuned kernels."""

    code: Sequence[CodeFile]
    kernels: Sequence[KernelRecord]
    binaries: Sequence[Binary]
    about: Mapping[str, Any] = field(default_factory=dict)
    tuned: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        content = {
            "format": FORMAT, "version": VERSION, "about": dict(self.about),
            "code": [_fields(code) for code in self.code],
            "kernels": [_fields(kernel) for kernel in self.kernels],
            "binaries": [_binary_data(binary) for binary in self.binaries], "tuned": dict(self.tuned)}
        return json.dumps({**content, "sha256": _digest(content)}, indent=1) + "\n"

    @staticmethod
    def from_json(text: str, name: str) -> Manifest:
        """The inverse of to_json; ManifestError, which calls the file `name`, for anything else."""
        try:
            content = json.loads(text)
            if content["format"] != FORMAT:
                raise ValueError
        except (ValueError, KeyError, TypeError):
            raise ManifestError(f"{name} is no manifest of Tilewright's binaries") from None
        if content.get("version") not in READABLE:
            raise ManifestError(f"{name} has version {content.get('version')}; this Tilewright reads versions "
                                f"{READABLE[0]} to {VERSION}: build the bundle anew")
        if content.pop("sha256", None) != _digest(content):
            raise ManifestError(f"{name} was changed after it was made: its digest does not fit; build the bundle anew")
        try:
            return Manifest(
                tuple(CodeFile(**code) for code in content["code"]),
                tuple(KernelRecord(**kernel) for kernel in content["kernels"]),
                tuple(map(_binary, content["binaries"])), content["about"], content["tuned"])
        except (KeyError, TypeError, ValueError) as error:
            raise ManifestError(f"{name} cannot be read: {type(error).__name__}: {error}") from None

    def checked_code(self, folder: Path, number: int) -> bytes:
        """The bytes of a file of code. ManifestError, with the file, where they are not those that were written."""
        code = self.code[number]
        path = folder / code.file
        if Path(code.file).name != code.file:
            raise ManifestError(f"the manifest names the file {code.file!r}, which is not beside it")
        try:
            data = path.read_bytes()
        except OSError as error:
            raise ManifestError(f"{path} cannot be read: {error.strerror or error}") from None
        if hashlib.sha256(data).hexdigest() != code.sha256:
            raise ManifestError(f"{path} was damaged or changed after it was made: its digest does not fit the "
                                "manifest")
        return data


def code_file(file: str, format: str, target: str, data: bytes) -> CodeFile:
    return CodeFile(file, format, target, hashlib.sha256(data).hexdigest(), len(data))


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _fields(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in type(record).__slots__}


def _binary_data(binary: Binary) -> dict[str, Any]:
    return {
        "kernel": binary.kernel, "symbol": binary.symbol, "code": binary.code, "threads": binary.threads,
        "shared_bytes": binary.shared_bytes, "cluster": binary.cluster, "dependent": binary.dependent,
        "looped": binary.looped, "opt_level": binary.opt_level, "linear_grid": binary.abi.linear_grid,
        "arguments": [argument_data(argument) for argument in binary.arguments],
        "parameters": [_parameter_data(param) for param in binary.abi.params], "writes": sorted(binary.writes),
        "same": binary.aliases.same, "overlapping": binary.aliases.groups, "ir": binary.ir}


def _binary(data: Mapping[str, Any]) -> Binary:
    abi = KernelAbi(data["symbol"], tuple(map(_parameter, data["parameters"])), data["linear_grid"])
    aliases = Aliases(tuple(map(tuple, data["same"])), tuple(map(tuple, data["overlapping"])))
    return Binary(
        data["kernel"], data["symbol"], data["code"], abi, data["threads"], data["shared_bytes"], data["cluster"],
        data["dependent"], data.get("looped", False), data["opt_level"],
        [argument_of(argument) for argument in data["arguments"]], frozenset(data["writes"]), aliases, data["ir"])


def _parameter_data(param: AbiParam) -> dict[str, Any]:
    row = {"kind": param.kind, "argument": param.argument, "dtype": param.dtype.ir, "name": param.name,
           "axis": param.axis, "bytes": param.size, "c_type": c_type(param), "tensor_map": None}
    spec = param.tensor_map
    if spec is not None:
        row["tensor_map"] = {**_fields(spec), "dtype": spec.dtype.ir, "encoding": encoding(spec)}
    return row


def _parameter(data: Mapping[str, Any]) -> AbiParam:
    spec = data["tensor_map"]
    if spec is not None:
        spec = {name: value for name, value in spec.items() if name != "encoding"}
    return AbiParam.from_data({**{name: data[name] for name in ("kind", "argument", "dtype", "name", "axis")},
                               "tensor_map": spec})


def encoding(spec: TensorMapSpec) -> dict[str, str]:
    """The enumerators of cuda.h that a tensor map is encoded with, without CU_TENSOR_MAP_."""
    element = "TFLOAT32" if spec.dtype is tfloat32 else _ELEMENTS[spec.dtype.bytes]
    return {"type": f"DATA_TYPE_{element}", "interleave": "INTERLEAVE_NONE",
            "swizzle": f"SWIZZLE_{f'{spec.swizzle}B' if spec.swizzle else 'NONE'}", "promotion": "L2_PROMOTION_L2_128B",
            "fill": "FLOAT_OOB_FILL_NONE"}
