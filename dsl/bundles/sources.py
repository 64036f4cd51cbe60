"""Kernels that come from a bundle: launched as those of Python functions are, by code that is there already."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.arguments.annotations import Param
from tilewright.arguments.bind import Argument
from tilewright.compilation.argument_data import parameters_of
from tilewright.compilation.manifest import KernelRecord
from tilewright.kernel import kernel_around, tile_kernel
from tilewright.launching.launcher import Launcher
from tilewright.launching.shipped import Shipment
from tilewright.launching.specialise import Specialiser
from tilewright.options import KernelOptions, LaunchRules
from tilewright.tileir.core import Function
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError
from tilewright.tileir.plan import Aliases, Hints


class BundledSource:
    """A kernel of which there is code alone. `shipment` has it; `writes` are the parameters that the code writes."""

    def __init__(self, record: KernelRecord, shipment: Shipment, writes: frozenset[int]) -> None:
        self.name = record.name
        self.shipment = shipment
        self.writes = writes
        self.parameters: Sequence[inspect.Parameter]
        self.params: Sequence[Param]
        self.parameters, self.params = parameters_of(record.parameters)

    @property
    def namespace(self) -> Mapping[str, Any]:
        return {}

    def check(self, arguments: Sequence[Argument]) -> None:
        """Nothing but their kinds matters until code is looked for."""

    def translate(
        self, arguments: Sequence[Argument], *, facts: bool, hints: Hints, aliases: Aliases, debug: bool
    ) -> Function:
        raise TileUnsupportedFeatureError(
            f"kernel {self.name} comes from a bundle, which has its code for GPUs and not its source: there "
            "is nothing to interpret, compile or show",
            hints=["pass arrays on a GPU, or import the kernel from its Python module"])


class _Bundled(Specialiser):
    """What the outputs are is known without Tile IR."""

    def outputs(self, arguments: Sequence[Argument], *, facts: bool) -> frozenset[int]:
        assert isinstance(self.source, BundledSource)
        return self.source.writes


def bundled_kernel(record: KernelRecord, shipment: Shipment, writes: frozenset[int]) -> tile_kernel:
    specialiser = _Bundled(BundledSource(record, shipment, writes), KernelOptions(), LaunchRules(grid=record.grid))
    return kernel_around(specialiser, Launcher(specialiser), tile_kernel)
