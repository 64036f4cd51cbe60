"""export_kernel: PTX or machine code of a kernel, for programs that launch it without Python."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any, Literal

from tilewright.compilation.aliases import aliases_of
from tilewright.compilation.arguments import arguments_of
from tilewright.compilation.output import ExportedKernel, assemble, launch_info, with_launch_notes, write
from tilewright.compilation.signature import KernelSignature
from tilewright.inspecting.dumps import Dump, observed
from tilewright.kernel import tile_kernel
from tilewright.launching.timeouts import limited
from tilewright.tileir.core import Function
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError
from tilewright.tileir.ops.memory import TileAccess
from tilewright.tileir.plan import Limits, Switches

if TYPE_CHECKING:
    from tilewright.backend_ptx.targets import Target
    from tilewright.compilation.modules import Module

OutputFormat = Literal["cubin", "ptx", "tileir_bytecode"]


def export_kernel(
    kernel: tile_kernel, signatures: Sequence[KernelSignature], output_file: IO[Any] | str | bytes | os.PathLike[Any],
    *, gpu_code: str | None = None, output_format: OutputFormat = "cubin", bytecode_version: str | None = None,
    manifest: str | os.PathLike[str] | None = None,
) -> tuple[ExportedKernel, ...]:
    """Compile a kernel ahead of time, once per signature, all into one file; says how to launch each.

    `output_file`: a path, or a file open for writing; nothing is written unless everything compiles. `gpu_code`: the
    GPU, such as "sm_90" or "sm_80"; None for the one in this machine. `output_format`: "cubin" for machine code (made
    by ptxas where it is installed, else by the driver, for its own GPU), or "ptx" for text. Hints of the kernel count
    as in a launch. Neither a GPU nor a driver is needed for PTX, nor for a cubin with ptxas.

    Raises TypeError and ValueError for signatures that do not fit the kernel, TileError for a kernel that does not
    compile, and TileUnsupportedFeatureError for the format "tileir_bytecode", and where no assembler for the GPU is
    here.

    `manifest`: the path of a JSON file beside the output. With one the code is that of a launch: it may use tensor maps
    and clusters, and the manifest says how each parameter is packed and what arguments must satisfy. `tw.load_bundle`
    and the C loader read it, and check the arguments of each launch. A C header with the same contents is written
    beside it (docs/shipping.md).

    Example:
        import io

        @ct.tile_kernel
        def scale(x, out, TILE: ct.Constant[int]):
            i = ct.bid(0)
            ct.store(out, i, ct.load(x, i, TILE) * 2.0)

        array = ct.compilation.ArrayConstraint(
            ct.float32, 1, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(), may_alias_internally=False,
            stride_constant=[1], base_addr_divisible_by=16)

        v1 = ct.compilation.CallingConvention.cutile_python_v1()
        signature = ct.compilation.KernelSignature([array, array, 256], v1, symbol="scale_f32")
        file = io.StringIO()  # or a path such as "scale.ptx"
        [info] = ct.compilation.export_kernel(scale, [signature], file, gpu_code="sm_90", output_format="ptx")
        print(info.symbol, [p.c_type for p in info.parameters[:2]])  # scale_f32 ['void*', 'int32_t']
        assert ".entry scale_f32" in file.getvalue()
        ct.compilation.export_kernel(scale, [], file, output_format="tileir_bytecode")  # TileUnsupportedFeatureError
    """
    from tilewright.compilation.exported import beside, write_exported
    from tilewright.compilation.modules import compile_module

    _check_format(output_format, bytecode_version)
    named = _named_signatures(kernel, signatures)
    target = _target(gpu_code)
    place = None if manifest is None else beside(output_file, manifest)
    hints = kernel.hints.resolve(target.name)

    # A program that launches a plain export need not know of clusters, tensor maps, and blocks that loop.
    plain = place is None
    functions: list[Function] = []

    def make(dump: Dump | None) -> Module:
        functions[:] = [exported_function(kernel, signature, dump, plain=plain) for signature in named]
        return compile_module(functions, target, dump, hints, Limits(allow_cluster=not plain),
                              Switches(loop_over_blocks=not plain))

    module = limited(kernel.__name__, lambda: observed(kernel.__name__, make))
    infos = tuple(launch_info(lowered) for lowered in module.kernels)
    code = (with_launch_notes(module.ptx, infos) if output_format == "ptx" else
            assemble(module.ptx, kernel.__name__, target, hints.opt_level))
    if place is None:
        write(output_file, code)
    else:
        write_exported(place, kernel, named, functions, module.kernels, code, target)
    return infos


def _check_format(output_format: str, bytecode_version: str | None) -> None:
    if output_format == "tileir_bytecode":
        raise TileUnsupportedFeatureError(
            "Tilewright has no bytecode of its Tile IR to export",
            hints=['export output_format="ptx" or "cubin"; kernel.ir(...) is the Tile IR as text'])
    if output_format not in ("cubin", "ptx"):
        raise ValueError(f"export_kernel: output_format must be 'cubin' or 'ptx', not {output_format!r}")
    if bytecode_version is not None:
        raise TileUnsupportedFeatureError("bytecode_version belongs to the format tileir_bytecode, which Tilewright "
                                          "does not have", hints=["leave bytecode_version out"])


def _named_signatures(kernel: tile_kernel, signatures: Sequence[KernelSignature]) -> list[KernelSignature]:
    """The signatures with their symbols, which differ and which PTX can spell."""
    from tilewright.backend_ptx.abi import symbol_name

    if not isinstance(kernel, tile_kernel):
        raise TypeError(f"export_kernel: the kernel must be made with @tile_kernel, not {type(kernel).__name__}")
    out: list[KernelSignature] = []
    for signature in signatures:
        if not isinstance(signature, KernelSignature):
            raise TypeError(f"export_kernel: signatures must hold KernelSignatures, not {type(signature).__name__}")
        named = signature
        if named.symbol is None:
            named = named.with_mangled_symbol(symbol_name(kernel.__name__))
        if symbol_name(named.symbol or "") != named.symbol:
            raise ValueError(f"export_kernel: {named.symbol!r} cannot be the name of a kernel; use ASCII letters, "
                             "digits and _, and begin with a letter")
        if any(named.symbol == other.symbol for other in out):
            raise ValueError(f"export_kernel: two signatures have the symbol {named.symbol!r}")
        out.append(named)
    if not out:
        raise ValueError("export_kernel: there is no signature to compile the kernel for")
    return out


def _target(gpu_code: str | None) -> Target:
    from tilewright.backend_ptx import targets
    from tilewright.backend_ptx.runtime import driver

    if gpu_code is not None:
        if not isinstance(gpu_code, str):
            raise TypeError(f"export_kernel: gpu_code must be a name such as 'sm_90', not {gpu_code!r}")
        return targets.get_target(gpu_code)
    if not driver.available():
        raise ValueError('export_kernel: there is no GPU here to compile for; name one, such as gpu_code="sm_90"')
    return driver.get_device(driver.current_ordinal()).target


def exported_function(
    kernel: tile_kernel, signature: KernelSignature, dump: Dump | None = None, *, plain: bool = True,
) -> Function:
    """The Tile IR of one signature under its symbol; if `plain`, it needs nothing but the arguments of the
    convention."""

    arguments = arguments_of(kernel, signature.parameters)
    aliases = aliases_of(kernel, signature)
    function = kernel.specialiser.make_tile_ir(arguments, facts=True, aliases=aliases, dump=dump)
    assert signature.symbol is not None
    function.name = signature.symbol
    for op in function.walk() if plain else ():
        if isinstance(op, TileAccess):
            op.allow_tma = False  # a tensor map would be one more parameter, which the launching program had to encode
    return function
