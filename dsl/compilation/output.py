"""What an export hands out: the file, and how to launch what is in it."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from tilewright.tileir.diagnostics import TileUnsupportedFeatureError

if TYPE_CHECKING:
    from tilewright.backend_ptx.abi import AbiParam
    from tilewright.backend_ptx.compile import Compiled
    from tilewright.backend_ptx.targets import Target


@dataclass(frozen=True, slots=True)
class ExportedParameter:
    """One parameter of an exported kernel.

    `kind`: "pointer", "extent" or "stride" of an array, "scalar", "table" or "length" of a list, and with a manifest
    "tensor_map" or "map_table"; `name`: the kernel's own name for the argument, with .n0, .s1, .length, ... for its
    parts; `c_type`: how C declares it; `size`: bytes.

    Example:
        p = ct.compilation.ExportedParameter(name="x.n0", kind="extent", c_type="int32_t", size=4)
        print(p.name, p.kind)  # x.n0 extent
    """

    name: str
    kind: str
    c_type: str
    size: int


@dataclass(frozen=True, slots=True)
class ExportedKernel:
    """What a program needs to launch an exported kernel with cuLaunchKernel.

    `symbol`: its name in the module; `threads`: blockDimX (Y and Z are 1); `shared_bytes`: dynamic shared memory of
    the launch, which above 48 KiB needs CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES; `parameters`: in order. The
    grid of the launch is the kernel's grid; with a manifest it is `cluster` times as long along x. `looped`, with a
    manifest alone: CTAs loop over the blocks of the kernel's grid, whose sizes are the last three parameters. They are
    in a grid of one axis, and as many as the GPU runs at once are enough.

    Example:
        made = ct.compilation.ExportedKernel("scale_f32", threads=128, shared_bytes=0, parameters=())
        print(made.symbol, made.threads)  # scale_f32 128
    """

    symbol: str
    threads: int
    shared_bytes: int
    parameters: tuple[ExportedParameter, ...]
    cluster: int = 1
    looped: bool = False


_C_TYPES = {"i1": "bool", "f16": "__half", "bf16": "__nv_bfloat16", "f32": "float", "f64": "double", "tf32": "float"}


def launch_info(compiled: Compiled) -> ExportedKernel:
    """How to launch a kernel."""
    parameters = tuple(ExportedParameter(p.name, p.kind, c_type(p), p.size) for p in compiled.abi.params)
    return ExportedKernel(compiled.name, compiled.threads, compiled.shared_bytes, parameters, compiled.cluster,
                          compiled.looped)


def c_type(param: AbiParam) -> str:
    """How C declares a parameter."""
    named = {"pointer": "void*", "table": "const int64_t*", "tensor_map": "CUtensorMap",
             "map_table": "const CUtensorMap*"}
    if param.kind in named:
        return named[param.kind]
    if param.dtype.is_int:
        return f"{'u' if param.dtype.kind == 'uint' else ''}int{param.dtype.bitwidth}_t"
    return _C_TYPES.get(param.dtype.ir, "uint8_t")


def with_launch_notes(ptx: str, infos: tuple[ExportedKernel, ...]) -> str:
    """PTX that says at its head how to launch each kernel."""
    notes = [f"// {i.symbol}: {i.threads} threads per block, {i.shared_bytes} bytes of dynamic shared memory\n"
             f"//   ({', '.join(f'{p.c_type} {p.name}' for p in i.parameters)})" for i in infos]
    return "\n".join(notes) + "\n" + ptx


def assemble(ptx: str, name: str, target: Target, opt_level: int) -> bytes:
    """The cubin: by ptxas, or by the driver for its own GPU. TileUnsupportedFeatureError where there is neither."""
    from tilewright.backend_ptx.runtime import driver, ptxas
    from tilewright.backend_ptx.runtime.link import link_ptx

    try:
        ptxas.find_ptxas()
    except FileNotFoundError as error:
        device = driver.get_device(driver.current_ordinal()) if driver.available() else None
        if device is None or device.target.name != target.name:
            raise TileUnsupportedFeatureError(
                f"there is no assembler here for {target.name}", notes=[str(error)],
                hints=["pip install 'nvidia-cuda-nvcc==13.0.*', or export output_format=\"ptx\""]) from None
        if not device.is_current():
            device.make_current()
        return link_ptx(ptx, name, opt_level)[0]
    return ptxas.assemble(ptx, target, kernel=name, level=opt_level).cubin


def write(output: IO[Any] | str | bytes | os.PathLike[Any], data: str | bytes) -> None:
    """Write to a path, or to a file that is open for text (PTX alone) or for bytes."""
    raw = data.encode() if isinstance(data, str) else data
    if isinstance(output, (str, bytes, os.PathLike)):
        with open(output, "wb") as file:
            file.write(raw)
        return
    if not hasattr(output, "write"):
        raise TypeError(f"export_kernel: output_file must be a path or a file, not {type(output).__name__}")
    if isinstance(output, io.TextIOBase):
        if not isinstance(data, str):
            raise TypeError('export_kernel: a cubin is binary; open the file with mode "wb"')
        output.write(data)
    else:
        output.write(raw)
