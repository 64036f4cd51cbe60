"""A kernel at every stage of its compilation, for given arguments and one target: what `kernel.lower` gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from tilewright.arguments.arrays import HOST
from tilewright.arguments.bind import Argument, arrays, runtime_values
from tilewright.arguments.spec import Spec
from tilewright.inspecting.dumps import Dump, observed
from tilewright.launching.sources import frontend_spec
from tilewright.launching.specialise import Observer, Specialiser
from tilewright.launching.timeouts import limited
from tilewright.tileir.core import Function
from tilewright.tileir.plan import Aliases, Hints, Switches
from tilewright.tileir.printer import to_text

if TYPE_CHECKING:
    from tilewright.backend_ptx.abi import Lowered
    from tilewright.backend_ptx.compile import Compiled
    from tilewright.backend_ptx.targets import Target

T = TypeVar("T")
DERIVING: list[Callable[..., Any]] = []
"""What derives gradients: `grad`, which knows kernels, and puts itself here."""


class Stages:
    """One specialisation of a kernel on its way to machine code. A stage is made when it is asked for.

    Attributes: `name`; `arguments`, each matched with its parameter; `values`, those that exist at run time, one per
        parameter of the Tile IR function; `target`, a record of `backend_ptx/targets.py`; `hints`, those that hold for
        it (`tileir/plan.py`); `lowered`, LLVM IR with the ABI, block size and shared memory; `compiled`, the same with
        the PTX and the seconds of each stage.
    """

    def __init__(
        self, specialiser: Specialiser, args: Sequence[Any], target: str | None, lineinfo: bool = False
    ) -> None:
        self.name = specialiser.name
        self.arguments = specialiser.bind(args)
        self.values = list(runtime_values(self.arguments, args))
        self._specialiser = specialiser
        self._named = target
        self._switches = Switches(loop_over_blocks=True, pack_blocks=True, line_info=lineinfo)

    def _repr_html_(self) -> str:
        """How a notebook displays them: the source with decisions at their lines, other decisions, the Tile IR."""
        from tilewright.inspecting.deciding import decisions_of
        from tilewright.inspecting.notebook import of_stages

        function = getattr(self._specialiser.source, "function", None)
        return of_stages(self.name, self.target.name, function, lambda: decisions_of(self), self.text)

    @cached_property
    def target(self) -> Target:
        """The named target; else that of the arguments' GPU; else that of the first GPU here; else the default."""
        return choose_target(self.arguments, self._named)

    def vjp(self, *, wrt: str | tuple[str, ...], outputs: str | tuple[str, ...], **options: Any) -> Any:
        """The kernel that carries cotangents of these outputs back to these inputs, for such arguments:
        `grad(stages, ...)`, with its options and errors.

        Example:
            @ct.tile_kernel
            def scale(x, out, FACTOR: ct.Constant[float]):
                i = ct.bid(0)
                ct.store(out, i, ct.load(x, i, 4) * FACTOR)

            x, x_grad = np.ones(8), np.zeros(8)
            backward = scale.lower(x, np.zeros(8), 3.0, target="sm_80").vjp(wrt="x", outputs="out")
            backward[2](x, np.zeros(8), np.ones(8), x_grad)
            print(x_grad)  # [3. 3. 3. 3. 3. 3. 3. 3.]
        """
        [derive] = DERIVING
        return derive(self, wrt=wrt, outputs=outputs, **options)

    @property
    def hints(self) -> Hints:
        return self._specialiser.hints.resolve(self.target.name)

    @property
    def deterministic(self) -> bool:
        """Whether the kernel was made with `deterministic=True`."""
        return self._specialiser.rules.deterministic

    @cached_property
    def aliases(self) -> Aliases:
        """Which arguments share memory with an output (`tileir/plan.py`)."""
        return self._specialiser.aliases(self.arguments, facts=True)

    @property
    def specs(self) -> tuple[Any, ...]:
        """What the frontend is told of each argument: a type, a constant, or a tuple of those."""
        return tuple(frontend_spec(argument, facts=True) for argument in self.arguments)

    def text(self, *, passes: bool = True, spans: bool = False) -> str:
        """The Tile IR as text; with `spans`, each op with its place. It does not depend on the target."""
        if not passes:
            return to_text(self._specialiser.translate(self.arguments, facts=True, aliases=self.aliases), spans=spans)
        return to_text(self._made(lambda dump: self._tile_ir(dump)), spans=spans)

    def tile_ir(self, *, passes: bool = True, facts: bool = True, observer: Observer | None = None) -> Function:
        """The Tile IR function, after its passes, with the target's hints: a new one at each call, to change at will.
        `observer(pass, function)` sees it as the frontend makes it ("frontend") and after each pass.

        `facts=False`, without passes: for all arguments of these types, not only for those aligned and divisible alike.
        """
        if passes:
            function = self._made(lambda dump: self._tile_ir(dump, observer))
        else:
            function = self._specialiser.translate(self.arguments, facts=facts, aliases=self.aliases)
        function.hints = self.hints
        return function

    def machine_ir(self, observer: Observer | None = None) -> Function:
        """The function after the backend's passes: a new one at each call. `observer(pass, function)` sees it after
        each of them; later passes go on with the same object."""
        from tilewright.backend_ptx.compile import backend_dumps

        def make(dump: Dump | None) -> Function:
            function = self._tile_ir(dump)
            function.hints, function.switches = self.hints, self._switches

            def look(name: str, now: Function) -> None:
                for see in (dump.function if dump is not None else None, observer):
                    if see is not None:
                        see(name, now)

            return backend_dumps(function, self.target, look)

        return self._made(make)

    @cached_property
    def lowered(self) -> Lowered:
        """The kernel as LLVM IR, as the simulator takes it."""
        from tilewright.backend_ptx.compile import lower_kernel

        def make(dump: Dump | None) -> Lowered:
            function = self._tile_ir(dump)
            function.hints, function.switches = self.hints, self._switches
            return lower_kernel(function, self.target, dump)

        return self._made(make)

    @cached_property
    def compiled(self) -> Compiled:
        """The kernel as PTX, without the disk cache."""
        from tilewright.backend_ptx.compile import compile_kernel

        def make(dump: Dump | None) -> Compiled:
            return compile_kernel(self._tile_ir(dump), self.target, dump, hints=self.hints, switches=self._switches)

        return self._made(make)

    def cubin(self) -> bytes:
        """The machine code: by ptxas; by the driver for this machine's GPU where there is no ptxas."""
        from tilewright.backend_ptx.runtime import driver
        from tilewright.backend_ptx.runtime.link import link_ptx
        from tilewright.backend_ptx.runtime.ptxas import assemble, has_ptxas

        made = self.compiled
        level = self.hints.opt_level
        if self._named is None and driver.available() and not has_ptxas():
            driver.get_device(driver.current_ordinal()).make_current()
            return link_ptx(made.ptx, made.name, level)[0]
        return assemble(made.ptx, made.target, kernel=made.name, level=level).cubin

    def _tile_ir(self, dump: Dump | None, observer: Observer | None = None) -> Function:
        return self._specialiser.make_tile_ir(
            self.arguments, facts=True, aliases=self.aliases, dump=dump, observer=observer)

    def _made(self, make: Callable[[Dump | None], T]) -> T:
        """`make(dump)`, within the limit on its time and with what the environment asks to see of it."""
        return limited(self.name, lambda: observed(self.name, make))


def choose_target(arguments: Sequence[Argument], name: str | None) -> Target:
    """The named target; else that of the arguments' GPU; else that of the first GPU here; else the default."""
    from tilewright.backend_ptx import targets
    from tilewright.backend_ptx.runtime import driver

    if name is not None:
        return targets.get_target(name)
    ordinals = [a.info.device for a in arrays(arguments) if not isinstance(a.info, Spec) and a.info.device != HOST]
    if ordinals:
        return driver.get_device(ordinals[0]).target
    return driver.get_device(0).target if driver.available() else targets.DEFAULT
