"""Looking inside a kernel: its Tile IR, LLVM IR, PTX and cubin for real or abstract arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.arguments.arrays import HOST
from tilewright.arguments.bind import Argument, arrays, bind
from tilewright.arguments.spec import Spec
from tilewright.inspecting.dumps import Dump, observed
from tilewright.launching.specialise import frontend_spec
from tilewright.launching.timeouts import limited

if TYPE_CHECKING:
    from tilewright.backend_ptx.compile import Compiled
    from tilewright.backend_ptx.targets import Target
    from tilewright.kernel import tile_kernel


def tile_ir(kernel: tile_kernel, args: tuple[Any, ...], *, passes: bool) -> str:
    """The text of the Tile IR, specialised on the facts of the arguments as a GPU launch is."""
    arguments = _bind(kernel, args)
    specialiser = kernel._launcher.specialiser
    if passes:
        return str(limited(kernel.__name__, lambda: observed(
            kernel.__name__, lambda dump: specialiser.make_tile_ir(arguments, facts=True, dump=dump))))
    return str(specialiser.translate(arguments, facts=True))


def arg_specs(kernel: tile_kernel, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The specs that `tilewright.frontend.translate` takes, with the facts of these arguments."""
    return tuple(frontend_spec(argument, facts=True) for argument in _bind(kernel, args))


def compiled(kernel: tile_kernel, args: tuple[Any, ...], target: str | None) -> Compiled:
    """The kernel compiled to PTX, without the disk cache."""
    from tilewright.backend_ptx.compile import compile_kernel

    arguments = _bind(kernel, args)
    record = choose_target(arguments, target)

    def make(dump: Dump | None) -> Compiled:
        function = kernel._launcher.specialiser.make_tile_ir(arguments, facts=True, dump=dump)
        return compile_kernel(
            function, record, options=kernel._options.resolve(record.name), observer=dump.function if dump else None,
            text_observer=dump.text if dump else None)

    return limited(kernel.__name__, lambda: observed(kernel.__name__, make))


def cubin(kernel: tile_kernel, args: tuple[Any, ...], target: str | None) -> bytes:
    from tilewright.backend_ptx.runtime import driver
    from tilewright.backend_ptx.runtime.link import link_ptx
    from tilewright.backend_ptx.runtime.ptxas import assemble, has_ptxas

    made = compiled(kernel, args, target)
    level = kernel._options.resolve(made.target.name).get("opt_level", 3)
    if target is None and driver.available() and not has_ptxas():
        driver.get_device(driver.current_ordinal()).make_current()
        return link_ptx(made.ptx, made.name, level)[0]
    return assemble(made.ptx, made.target, kernel=made.name, level=level).cubin


def choose_target(arguments: list[Argument], name: str | None) -> Target:
    """The named target; else that of the arguments' GPU; else that of the first GPU here; else sm_90a."""
    from tilewright.backend_ptx import targets
    from tilewright.backend_ptx.runtime import driver

    if name is not None:
        return targets.get_target(name)
    ordinals = [a.info.device for a in arrays(arguments) if not isinstance(a.info, Spec) and a.info.device != HOST]
    if ordinals:
        return driver.get_device(ordinals[0]).target
    return driver.get_device(0).target if driver.available() else targets.DEFAULT


def _bind(kernel: tile_kernel, args: tuple[Any, ...]) -> list[Argument]:
    return bind(kernel._params, args, kernel.__name__)
