"""Running a kernel on a GPU: frozen plans by the exact shapes, kernels by the facts, checks before each launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from tilewright.arguments.bind import Argument, ArrayArgument, ArrayList, Tuple
from tilewright.arguments.checks import check_outputs, real
from tilewright.inspecting.dumps import Dump, observed
from tilewright.launching import shipped, warm
from tilewright.launching.device_plans import Ctas, DevicePlan
from tilewright.launching.joining import joins_of
from tilewright.launching.specialise import Once, Specialiser
from tilewright.launching.timeouts import limited
from tilewright.tileir.environment import switched_on
from tilewright.tileir.plan import NO_ALIASES, Aliases, Switches

MAX_PLANS = 4096  # plans are per exact shape; a kernel with ever new shapes must not grow without bound


class GpuRunner:
    """Compiled kernels of one kernel function by specialisation and device."""

    def __init__(self, specialiser: Specialiser) -> None:
        self._specialiser = specialiser
        self._kernels = Once()
        self._plans: dict[Any, DevicePlan] = {}
        self._sharing: dict[Ctas, GpuRunner] = {}

    def prepare(self, arguments: Sequence[Argument], linear: bool, ordinal: int) -> DevicePlan:
        """The plan for arguments of exactly these shapes, strides and alignments; compiles on the first use."""
        from tilewright.backend_ptx.runtime.driver import get_device

        aliases = self._specialiser.aliases(arguments, facts=True)
        exact = ordinal, linear, aliases, tuple(_exact_key(argument) for argument in arguments)
        plan = self._plans.get(exact)
        if plan is None:
            device = get_device(ordinal)
            key = ordinal, linear, aliases, tuple(argument.key(True) for argument in arguments)
            # What a bundle's code asks of arguments may be more than this key knows: only exact shapes can tell.
            # It has no joined blocks: that of a bundle loaded meanwhile is of another grid.
            wanted = shipped.Wanted(self._specialiser, arguments, linear, device, aliases)
            found = None if self._specialiser.joins else shipped.find(wanted)
            kernel, written = found or (
                self._kernels.get(key, lambda: self._build_in_time(arguments, linear, device, aliases)))
            plan = DevicePlan(kernel, arguments, written, None if found else partial(self._shared, linear, ordinal),
                              self._specialiser.joins)
            if len(self._plans) >= MAX_PLANS:
                self._plans.clear()
            self._plans[exact] = plan
        check_outputs(arguments, plan.written)
        return plan

    def _shared(self, linear: bool, ordinal: int, ctas: Ctas, arguments: Sequence[Argument]) -> DevicePlan:
        """The plan of blocks that so many CTAs compute each, or of which so many of each axis are joined to one."""
        if ctas not in self._sharing:
            made = self._specialiser.with_ctas(ctas) if isinstance(ctas, int) else self._specialiser.joined(ctas)
            self._sharing[ctas] = GpuRunner(made)
        return self._sharing[ctas].prepare(arguments, linear, ordinal)

    def _build_in_time(
        self, arguments: Sequence[Argument], linear: bool, device: Any, aliases: Aliases
    ) -> tuple[Any, frozenset[int]]:
        built = limited(self._specialiser.name, lambda: self.build(arguments, linear, device, aliases))
        if not device.is_current():  # under a limit another thread has built it
            device.make_current()
        return built

    def build(
        self, arguments: Sequence[Argument], linear: bool, device: Any, aliases: Aliases = NO_ALIASES
    ) -> tuple[Any, frozenset[int]]:
        """Compile and load for one device: a DeviceKernel, and the parameters that it writes by their own name."""
        switches = Switches(linear_grid=linear, loop_over_blocks=True, pack_blocks=True, line_info=wants_lines())

        def make(dump: Dump | None) -> tuple[Any, frozenset[int]]:
            if dump is None and aliases == NO_ALIASES:
                return self._found_or_built(arguments, switches, device)
            make_ir = self._specialiser.tile_ir if dump is None else partial(self._specialiser.make_tile_ir, dump=dump)
            return self._built(make_ir(arguments, facts=True, aliases=aliases), switches, device, dump)

        kernel, written = observed(self._specialiser.name, make)
        return kernel, written if aliases is NO_ALIASES else self._specialiser.outputs(arguments, facts=True)

    def _found_or_built(
        self, arguments: Sequence[Argument], switches: Switches, device: Any
    ) -> tuple[Any, frozenset[int]]:
        """The kernel that a process before this one made of the same source; else compiled, for the next one."""
        key = warm.key_of(self._specialiser, arguments, switches, device)
        found = warm.find(key, self._specialiser.name, device) if key is not None else None
        if found is not None:
            return found
        function = self._specialiser.tile_ir(arguments, facts=True)
        made = self._built(function, switches, device)
        if key is not None:
            from tilewright.backend_ptx.runtime.build import cache_key

            hints = self._specialiser.hints.resolve(device.target.name)
            warm.remember(key, cache_key(function, hints, switches, device), made[1], made[0].joins)
        return made

    def _built(
        self, function: Any, switches: Switches, device: Any, dump: Dump | None = None
    ) -> tuple[Any, frozenset[int]]:
        from tilewright.backend_ptx.runtime.build import build_kernel
        from tilewright.tileir.analysis.effects import written_arrays

        hints = self._specialiser.hints.resolve(device.target.name)
        kernel = build_kernel(function, device, hints, switches, dump)
        alone = self._specialiser.joins or self._specialiser.rules.deterministic
        joins = () if alone else joins_of(function, device.target, hints)
        return replace(kernel, joins=joins) if joins else kernel, written_arrays(function)


def wants_lines() -> bool:
    """Whether TILEWRIGHT_LINEINFO asks for machine code that names the lines of the source."""
    return switched_on("TILEWRIGHT_LINEINFO")


def _exact_key(argument: Argument) -> Any:
    """All numbers of an argument that a plan has filled in."""
    if isinstance(argument, Tuple):
        return tuple(_exact_key(item) for item in argument.items)
    if isinstance(argument, ArrayArgument):
        info = real(argument)
        return info.dtype, info.shape, info.strides, info.pointer & 15
    if isinstance(argument, ArrayList):
        return tuple(_exact_key(item) for item in argument.items)
    return argument.key(True)
