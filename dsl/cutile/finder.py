"""`import cuda.tile` and its submodules. Other modules of the package `cuda` are found as before."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from operator import attrgetter
from types import ModuleType

import tilewright
import tilewright.compilation
import tilewright.jax
import tilewright.tune
from tilewright.cutile.log import substituted

PUBLIC: dict[str, ModuleType] = {
    "cuda.tile": tilewright,
    "cuda.tile.tune": tilewright.tune,
    "cuda.tile.compilation": tilewright.compilation,
    "cuda.tile.jax": tilewright.jax,
}

# Private modules that programs import public names from. Those of its compiler have no counterpart.
PRIVATE = ("_by_target", "_datatype", "_exception", "_execution", "_memory_model", "_numeric_semantics", "_stub")


class Existing(Loader):
    """Gives the import system a module that is there, as it is."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module

    def create_module(self, spec: ModuleSpec) -> None:
        return None  # the import system would write its spec into a module that we return here

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = self.module  # what stands there afterwards is what the import gives


class CutileFinder(MetaPathFinder):
    """The first finder: `cuda.tile` and all below it, found or refused."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != "cuda.tile" and not name.startswith("cuda.tile."):
            return None
        module = PUBLIC.get(name) or private_module(name)
        if module is None:
            # Other finders would look below tilewright's own folder and load a second copy of what they find.
            raise ModuleNotFoundError(f"No module named {name!r} in Tilewright's answer to cuda.tile", name=name)
        if name == "cuda.tile":  # programs make kernels with other hints of it: ct.kernel(k._pyfunc, occupancy=2)
            setattr(tilewright.tile_kernel, "_pyfunc", property(attrgetter("__wrapped__")))  # noqa: B010
        substituted(f"import {name}", module.__name__ if name in PUBLIC else "public names of tilewright")
        return importlib.util.spec_from_loader(name, Existing(module), is_package=name == "cuda.tile")


def private_module(name: str) -> ModuleType | None:
    """A module with the public names, for `from cuda.tile._numeric_semantics import RoundingMode` and its like."""
    if name.removeprefix("cuda.tile.") not in PRIVATE:
        return None
    module = ModuleType(name, "Public names of tilewright, under the name of a private module of cuTile.")
    vars(module).update({public: getattr(tilewright, public) for public in tilewright.__all__})
    return module


class CudaPackageFinder(MetaPathFinder):
    """The last finder: an empty package `cuda`, where no package of that name is installed."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != "cuda":
            return None
        return importlib.util.spec_from_loader(name, Existing(_empty_package(name)), is_package=True)


def _empty_package(name: str) -> ModuleType:
    package = ModuleType(name)
    package.__path__ = []
    return package
