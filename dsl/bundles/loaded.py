"""`load_bundle`: the code of a bundle, for its own kernels and for those of this process that it was built from."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tilewright.bundles.matching import complaint, named, rank
from tilewright.bundles.sources import BundledSource, bundled_kernel
from tilewright.compilation.digest import digest_of
from tilewright.compilation.manifest import Binary, Manifest, ManifestError
from tilewright.kernel import tile_kernel
from tilewright.launching import shipped
from tilewright.launching.shipped import Found, Wanted
from tilewright.tileir.diagnostics import TileError
from tilewright.tune import stored

MANIFEST = "manifest.json"


class Bundle:
    """Compiled kernels: `bundle["name"]` is one, launched as any other; iteration gives their names.

    A launch takes the code that fits its device and arguments, and never compiles.

    Attributes: `path`, the manifest; `about`, what made it and the licences of what is in it.
    Errors: KeyError for a name that is not in it; at a launch TileUnsupportedFeatureError, with the signature, where no
        code fits.
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self.about = dict(manifest.about)
        self._manifest = manifest
        self._bytes = [manifest.checked_code(path.parent, number) for number in range(len(manifest.code))]
        self._of_kernel: dict[int, list[int]] = {number: [] for number in range(len(manifest.kernels))}
        order = sorted(range(len(manifest.binaries)), key=self._rank, reverse=True)
        for number in order:
            self._of_kernel[manifest.binaries[number].kernel].append(number)
        self._kernels = {name: self._kernel(number) for number, name in enumerate(self._names())}
        self._modules: dict[tuple[int, int], Any] = {}
        self._found: dict[tuple[int, int], Found] = {}
        self._digests: dict[tuple[Any, int], str] = {}
        self._lock = threading.RLock()

    def __getitem__(self, name: str) -> tile_kernel:
        """The kernel of this name; where several modules have one, "module:name"."""
        if name not in self._kernels:
            known = ", ".join(self._kernels) or "none"
            raise KeyError(f"the bundle {self.path} has no kernel {name!r}; it has {known}")
        return self._kernels[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def __repr__(self) -> str:
        return f"<bundle {self.path}: {', '.join(self._kernels)}>"

    @property
    def tuned(self) -> dict[str, Any]:
        """The choices of autotuned kernels that it brings."""
        return dict(self._manifest.tuned)

    def unload(self) -> None:
        """Kernels of Python functions no longer look for code here. What was found stays loaded."""
        if self in shipped.LOADED:
            shipped.LOADED.remove(self)
        stored.withdraw(self._manifest.tuned)

    def find(self, wanted: Wanted) -> Found | None:
        """The code for a launch, loaded on its device; None where there is none."""
        for number in self._candidates(wanted):
            binary = self._manifest.binaries[number]
            fits = complaint(binary, self._manifest.code[binary.code], wanted) is None
            if fits and self._is_of(wanted.specialiser, number):
                return self._load(number, wanted.device)
        return None

    def reasons(self, wanted: Wanted) -> list[str]:
        """Why its binaries of a kernel do not do."""
        out = []
        for number in self._candidates(wanted):
            binary = self._manifest.binaries[number]
            why = complaint(binary, self._manifest.code[binary.code], wanted)
            if why is None:
                why = "it was built from another version of the kernel, of what it calls, or of its hints"
            out.append(f"{named(binary, self._manifest.code)}: {why}")
        return out or [f"the bundle {self.path} has no kernel {wanted.specialiser.name}"]

    # ---- how

    def _rank(self, number: int) -> tuple[int, int, int]:
        binary = self._manifest.binaries[number]
        return rank(binary, self._manifest.code[binary.code])

    def _names(self) -> list[str]:
        names = [kernel.name for kernel in self._manifest.kernels]
        return [kernel.name if names.count(kernel.name) == 1 else kernel.where for kernel in self._manifest.kernels]

    def _kernel(self, number: int) -> tile_kernel:
        binaries = [self._manifest.binaries[k] for k in self._of_kernel[number]]
        writes = frozenset[int]().union(*(binary.writes for binary in binaries))
        return bundled_kernel(self._manifest.kernels[number], self, writes)

    def _candidates(self, wanted: Wanted) -> Iterator[int]:
        source = wanted.specialiser.source
        for number, name in enumerate(self._kernels):
            own = self._kernels[name].specialiser.source
            if source is own or (not isinstance(source, BundledSource) and source.name == own.name):
                yield from self._of_kernel[number]

    def _is_of(self, specialiser: Any, number: int) -> bool:
        """Whether a binary was made from this very kernel: from the Tile IR that its source makes."""
        if isinstance(specialiser.source, BundledSource):
            return True
        binary = self._manifest.binaries[number]
        key = specialiser, number
        if key not in self._digests:
            try:
                self._digests[key] = digest_of(specialiser, binary.arguments, binary.aliases)
            except (TileError, TypeError, ValueError):  # another kernel, which does not take such arguments
                self._digests[key] = ""
        return self._digests[key] == binary.ir

    def _load(self, number: int, device: Any) -> Found:
        with self._lock:
            key = number, device.ordinal
            if key not in self._found:
                device.ensure_current()
                binary = self._manifest.binaries[number]
                self._found[key] = Found(self._device_kernel(binary, device), binary.writes)
            return self._found[key]

    def _device_kernel(self, binary: Binary, device: Any) -> Any:
        from tilewright.backend_ptx.runtime.driver import check, driver
        from tilewright.backend_ptx.runtime.kernel import load_code
        from tilewright.backend_ptx.runtime.link import load_ptx
        from tilewright.tileir.cache import Entry

        code, data = self._manifest.code[binary.code], self._bytes[binary.code]
        ptx = data.decode() if code.format == "ptx" else ""
        key = binary.code, device.ordinal
        if key not in self._modules:
            self._modules[key] = (load_ptx(ptx, binary.symbol, binary.opt_level)[0] if ptx else
                                  check(driver().cuModuleLoadData(data), f"loading {code.file}"))
        meta = {"threads": binary.threads, "shared_bytes": binary.shared_bytes, "opt_level": binary.opt_level,
                "cluster": binary.cluster, "dependent": binary.dependent, "looped": binary.looped}
        return load_code(Entry(meta, ptx), binary.abi, device, {}, self._modules[key])


def load(path: Path) -> Bundle:
    """Read, check and register a bundle."""
    listing = path / MANIFEST if path.is_dir() else path
    try:
        text = listing.read_text()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise ManifestError(f"{listing} cannot be read: {why}; name a folder that tilewright build has made, or the "
                          "manifest of an export") from None
    bundle = Bundle(listing, Manifest.from_json(text, str(listing)))
    shipped.LOADED.append(bundle)
    stored.bring(bundle.tuned)
    return bundle
