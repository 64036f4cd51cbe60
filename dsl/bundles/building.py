"""Building a bundle: every entry of its spec for every target, into one folder that appears whole."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tilewright.backend_ptx.abi import symbol_name
from tilewright.backend_ptx.compile import Compiled, compile_kernel
from tilewright.backend_ptx.targets import Target, get_target, ptx_version_of_driver
from tilewright.bundles.entries import Entry, bound
from tilewright.bundles.loaded import MANIFEST
from tilewright.compilation.argument_data import argument_data
from tilewright.compilation.ctable import c_sources, c_table
from tilewright.compilation.exported import about, binary_of, record_of
from tilewright.compilation.manifest import Binary, CodeFile, KernelRecord, Manifest, code_file
from tilewright.compilation.output import assemble
from tilewright.compilation.writing import write_folder
from tilewright.kernel import tile_kernel
from tilewright.launching.timeouts import limited
from tilewright.tileir.core import Function
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError
from tilewright.tileir.plan import Aliases, Switches
from tilewright.tune.stored import choices_of

TABLE = "kernels"


class _Contents:
    """What has been compiled so far."""

    def __init__(self, code: str | None) -> None:
        self.wanted = code
        self.kernels: list[KernelRecord] = []
        self.codes: list[CodeFile] = []
        self.binaries: list[Binary] = []
        self.files: dict[str, bytes] = {}

    def add(
        self, kernel: tile_kernel, arguments: Sequence[Any], aliases: Aliases, target: Target, symbol: str,
    ) -> None:
        """One binary; nothing where the symbol is there already: it stands for the same arguments."""
        if any(b.symbol == symbol and self.codes[b.code].target == target.name for b in self.binaries):
            return
        function, made = limited(kernel.__name__, lambda: _compiled(kernel, arguments, aliases, target, symbol))
        form, data = self._code(made, kernel, target)
        file = f"{symbol}.{target.name}.{form}"
        self.files[file] = data
        self.codes.append(code_file(file, form, target.name, data))
        self.binaries.append(binary_of(self._number(kernel), len(self.codes) - 1, arguments, aliases, kernel, function,
                                       made))

    def _number(self, kernel: tile_kernel) -> int:
        record = record_of(kernel)
        if record not in self.kernels:
            self.kernels.append(record)
        return self.kernels.index(record)

    def _code(self, made: Compiled, kernel: tile_kernel, target: Target) -> tuple[str, bytes]:
        if self.wanted != "ptx":
            try:
                level = kernel.hints.resolve(target.name).opt_level
                return "cubin", assemble(made.ptx, made.name, target, level)
            except TileUnsupportedFeatureError:
                if self.wanted == "cubin":
                    raise
        return "ptx", made.ptx.encode()


def build(
    entries: Sequence[Entry], folder: Path, targets: Sequence[str], code: str | None, licences: dict[str, str],
    tuned: Path | None, path: Path,
) -> Manifest:
    """Compile entries, whose places are relative to a folder, for all targets, and write the bundle; its manifest."""
    contents = _Contents(code)
    for entry in entries:
        kernel = entry.resolved(folder)
        arguments, aliases = bound(entry, kernel)
        symbol = entry.symbol or symbol_of(kernel, arguments, aliases)
        for name in targets:
            contents.add(kernel, arguments, aliases, _target(name, code), symbol)
    if not contents.binaries:
        raise ValueError("there is nothing to build: the spec has no entries")
    choices = {} if tuned is None else choices_of(tuned)
    manifest = Manifest(contents.codes, contents.kernels, contents.binaries, about(licences), choices)
    files = {**contents.files, f"{TABLE}.h": c_table(manifest, TABLE).encode(), **c_sources(),
             MANIFEST: manifest.to_json().encode()}
    write_folder(path, files, MANIFEST)
    return manifest


def symbol_of(kernel: tile_kernel, arguments: Sequence[Any], aliases: Aliases) -> str:
    """A symbol that differs where arguments, what shares memory, or hints do."""
    told = json.dumps([[argument_data(argument) for argument in arguments], aliases.same, aliases.groups,
                       repr(kernel.hints)])
    return f"{symbol_name(kernel.__name__)}_{hashlib.sha256(told.encode()).hexdigest()[:10]}"


def _target(name: str, code: str | None) -> Target:
    """The target, for machine code with the newest PTX that the assembler here takes: no driver has to read it."""
    from tilewright.backend_ptx.runtime import ptxas

    target = get_target(name)
    if code == "ptx" or not ptxas.has_ptxas():
        return target
    major, minor = map(int, ptxas.ptxas_version().split(".")[:2])
    return target.with_ptx(ptx_version_of_driver(1000 * major + 10 * minor))


def _compiled(
    kernel: tile_kernel, arguments: Sequence[Any], aliases: Aliases, target: Target, symbol: str,
) -> tuple[Function, Compiled]:
    function = kernel.specialiser.make_tile_ir(arguments, facts=True, aliases=aliases)
    function.name = symbol
    return function, compile_kernel(function, target, hints=kernel.hints.resolve(target.name),
                                    switches=Switches(loop_over_blocks=True))
