"""Exports with a manifest: code, manifest and C table, side by side."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tilewright.backend_ptx.compile import Compiled
from tilewright.backend_ptx.targets import Target
from tilewright.compilation.aliases import aliases_of
from tilewright.compilation.argument_data import parameters_data
from tilewright.compilation.arguments import arguments_of
from tilewright.compilation.ctable import c_table
from tilewright.compilation.digest import digest_of
from tilewright.compilation.manifest import Binary, KernelRecord, Manifest, code_file
from tilewright.compilation.signature import KernelSignature
from tilewright.compilation.writing import write_file
from tilewright.kernel import tile_kernel
from tilewright.tileir.analysis.effects import written_arrays
from tilewright.tileir.core import Function
from tilewright.tileir.plan import Aliases


def beside(output: Any, manifest: str | os.PathLike[str]) -> tuple[Path, Path]:
    """The paths of an export's code and manifest. TypeError or ValueError for those that do not lie side by side."""
    if not isinstance(output, (str, os.PathLike)):
        raise TypeError(f"export_kernel: with a manifest output_file must be a path, not {type(output).__name__}")
    code, listing = Path(os.fsdecode(output)), Path(manifest)
    if code.parent.absolute() != listing.parent.absolute() or len({code, listing, listing.with_suffix(".h")}) < 3:
        raise ValueError(f"export_kernel: the manifest {listing} must lie beside the output {code} under another name, "
                         "and so must its header")
    return code, listing


def write_exported(
    place: tuple[Path, Path], kernel: tile_kernel, signatures: Sequence[KernelSignature],
    functions: Sequence[Function], kernels: Sequence[Compiled], code: str | bytes, target: Target,
) -> None:
    """Write the code, the C table and then the manifest, whose digest tells when the code is another's."""
    path, listing = place
    data, form = (code.encode(), "ptx") if isinstance(code, str) else (code, "cubin")
    binaries = [
        binary_of(0, 0, arguments_of(kernel, signature.parameters), aliases_of(kernel, signature), kernel, function,
                  made)
        for signature, function, made in zip(signatures, functions, kernels, strict=True)]
    manifest = Manifest([code_file(path.name, form, target.name, data)], [record_of(kernel)], binaries, about({}))
    header = c_table(manifest, listing.stem)
    for file, content in ((path, data), (listing.with_suffix(".h"), header.encode()),
                          (listing, manifest.to_json().encode())):
        write_file(file, content)


def about(licences: dict[str, str]) -> dict[str, Any]:
    """What made a manifest, and under which licences its contents are."""
    from tilewright.backend_ptx.runtime import ptxas

    assembler = f"ptxas {ptxas.ptxas_version()}" if ptxas.has_ptxas() else "the driver"
    return {"made_by": f"tilewright {sys.modules['tilewright'].__version__}", "assembler": assembler,
            "licences": {"tilewright.h, tilewright.c": "Apache-2.0", **licences}}


def where_of(kernel: tile_kernel) -> str:
    """The module and the name of a kernel."""
    function = getattr(kernel, "__wrapped__", kernel)
    return f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', kernel.__name__)}"


def record_of(kernel: tile_kernel) -> KernelRecord:
    specialiser = kernel.specialiser
    return KernelRecord(kernel.__name__, where_of(kernel), specialiser.rules.grid,
                        parameters_data(specialiser.source.parameters, specialiser.params))


def binary_of(
    number: int, code: int, arguments: Sequence[Any], aliases: Aliases, kernel: tile_kernel, function: Function,
    made: Compiled,
) -> Binary:
    """The record of a compiled kernel. `function`: its Tile IR after all passes."""
    level = kernel.hints.resolve(made.target.name).opt_level
    return Binary(number, made.name, code, made.abi, made.threads, made.shared_bytes, made.cluster, made.dependent,
                  made.looped, level, arguments, written_arrays(function), aliases,
                  digest_of(kernel.specialiser, arguments, aliases))
