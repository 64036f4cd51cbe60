"""torch, CuPy and Triton of a program that runs on the CPU: found when it imports them, never imported by us."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from tilewright.cutile.finder import Existing
from tilewright.cutile.log import substituted
from tilewright.launching import launcher


def install_hosts() -> None:
    launcher.FORCE_INTERPRETER = True  # a kernel without arrays has none on the CPU to tell where it runs
    if not any(isinstance(finder, HostFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, HostFinder())
    for name, patch in PATCHES.items():
        if name in sys.modules:
            patch(sys.modules[name])


def _patch_torch(torch: ModuleType) -> None:
    from tilewright.cutile.torch_cpu import patch

    patch(torch)


def _patch_triton(testing: ModuleType) -> None:
    from tilewright.cutile.triton_cpu import patch

    patch(testing)


PATCHES: dict[str, Callable[[ModuleType], None]] = {"torch": _patch_torch, "triton.testing": _patch_triton}


class HostFinder(MetaPathFinder):
    """Modules of PATCHES as they are installed, patched once they are loaded; CuPy's stand-in."""

    def __init__(self) -> None:
        self.looking: set[str] = set()

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name in PATCHES and name not in self.looking:
            return self._patched(name)
        if name.partition(".")[0] in ("cupy", "cupyx"):
            from tilewright.cutile.cupy_cpu import MODULES

            if name in MODULES:
                if name == "cupy":
                    substituted("import cupy", "NumPy")
                return importlib.util.spec_from_loader(name, Existing(MODULES[name]), is_package=True)
            raise ModuleNotFoundError(f"No module named {name!r}; Tilewright's stand-in for CuPy has none", name=name)
        return None

    def _patched(self, name: str) -> ModuleSpec | None:
        self.looking.add(name)  # the other finders are asked through this one
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.looking.discard(name)
        if spec is not None and spec.loader is not None:
            spec.loader = PatchingLoader(spec.loader, PATCHES[name])
        return spec


class PatchingLoader(Loader):
    """Loads a module by its own loader, then patches it."""

    def __init__(self, inner: Loader, patch: Callable[[ModuleType], None]) -> None:
        self.inner = inner
        self.patch = patch

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.inner.exec_module(module)
        self.patch(module)

    def __getattr__(self, name: str) -> Any:  # get_source, get_resource_reader and the like
        return getattr(self.inner, name)
