"""What a bundle is built from: kernels with the arguments that they are compiled for, targets, licences, choices."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.bundles.entries import Entry, Names, bound
from tilewright.kernel import tile_kernel
from tilewright.tracebacks import public

if TYPE_CHECKING:
    from tilewright.compilation.manifest import Manifest


@dataclass(slots=True)
class BundleSpec:
    """What `tilewright build SPEC.py -o bundle` makes a bundle of: `spec = ct.bundles.BundleSpec(targets=["sm_90a"])`
    at the top level of SPEC.py, then `spec.add(...)` for each kernel and kind of arguments.

    Arguments: `targets`, names of targets; `licences`, of what is in the bundle, by name, for its manifest; `tuned`, a
        file of choices that `TILEWRIGHT_TUNE_FILE` has collected; `code`, "cubin", "ptx", or None for machine code
        where there is an assembler and PTX elsewhere.
    Errors: TypeError and ValueError for values that make no sense.

    Example:
        import tempfile

        @ct.tile_kernel
        def double(x, n: ct.Constant[int]):
            ct.store(x, ct.bid(0), ct.load(x, ct.bid(0), n) * 2.0)

        spec = ct.bundles.BundleSpec(targets=["sm_80"], code="ptx", licences={"double": "Apache-2.0"})
        spec.add(double, "f32[?]", 256)
        spec.add(double, "f16[1024]", 512)
        spec.build(tempfile.mkdtemp())
        print(len(spec.entries))  # 2
        spec.add(double, "f32[?]")  # TypeError
    """

    targets: Sequence[str] = ("sm_90a",)
    licences: Mapping[str, str] = field(default_factory=dict)
    tuned: str | os.PathLike[str] | None = None
    code: str | None = None
    entries: list[Entry] = field(default_factory=list, init=False)
    folder: Path = field(default_factory=Path, init=False)

    @public
    def __post_init__(self) -> None:
        from tilewright.backend_ptx.targets import get_target

        if isinstance(self.targets, str) or not self.targets:
            raise TypeError("BundleSpec: targets is a list of names, such as targets=['sm_90a']")
        for name in self.targets:
            get_target(name)
        if self.code not in (None, "cubin", "ptx"):
            raise ValueError(f"BundleSpec: code must be 'cubin', 'ptx' or None, not {self.code!r}")

    @public
    def add(
        self, kernel: tile_kernel | str, /, *arguments: Any, same: Names = (), overlapping: Names = (),
        hints: Mapping[str, Any] | None = None, symbol: str | None = None,
    ) -> None:
        """Compile the kernel for these arguments too.

        Arguments: `kernel`, or its place: "FILE.py:name" (relative to the spec's file) or "package.module:name";
            `arguments`, by position as in a launch: for arrays and scalars texts as `ct.spec` takes them, such as
            "f32[?,1024]" and "i32", lists and tuples of those; constants as they are.
        Options: `same`, pairs of names of parameters that are given the same array; `overlapping`, groups of names of
            those that may overlap; `hints`, of `replace_hints`; `symbol`, the name in the code, by default made of the
            kernel's name and the arguments.
        Errors: TypeError and ValueError for arguments that do not fit the kernel; for one named by its place when the
            bundle is built.
        """
        shared = tuple(map(tuple, same)), tuple(map(tuple, overlapping))
        entry = Entry(kernel, arguments, *shared, dict(hints or {}), symbol)
        if isinstance(kernel, tile_kernel):
            bound(entry, kernel)
        elif not isinstance(kernel, str):
            raise TypeError(f"BundleSpec.add: the kernel must be made with @tile_kernel, not {type(kernel).__name__}")
        self.entries.append(entry)

    @public
    def build(self, path: str | os.PathLike[str], /) -> Manifest:
        """Compile everything into a folder, written aside and renamed; what is in it.

        Arguments: `path`, the folder: new, empty, or an older bundle, which it takes the place of.
        Errors: FileExistsError for a folder with other contents; TileError for a kernel that does not compile,
            ValueError for a constant that no file can hold, such as a function.
        """
        from tilewright.bundles.building import build

        tuned = None if self.tuned is None else self.folder / self.tuned
        return build(self.entries, self.folder, self.targets, self.code, dict(self.licences), tuned, Path(path))
