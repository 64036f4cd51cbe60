"""The ways of running a kernel that can be compared, and running a Tile IR function in each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tilewright.launching.grid import Grid
from tilewright.options import KernelOptions
from tilewright.tileir.core import Function, clone_function
from tilewright.tileir.plan import Hints

Observer = Callable[[str, Function], None]

KINDS = ("interpreter", "frontend", "machine", "simulator", "gpu")
ORDERS = ("chunked", "single", "desc")


@dataclass(frozen=True)
class Side:
    """One of the two executions that `compare` sets side by side.

    Attributes: `on`, what runs the kernel: "interpreter" (also "interpreter:single" and "interpreter:desc": one block
        after the other, from the first or the last), "frontend" (the same before any pass), "machine:TARGET" (the IR
        after the passes for a target, in the interpreter), "simulator:TARGET", "gpu". `args`, other values of some
        parameters than the launch gives, by name, such as the length of a tile; `grid`, another grid; `hints`, other
        options of the kernel, as `replace_hints` takes them.

    Example:
        @ct.tile_kernel
        def double(x, tile: ct.Constant):
            i = ct.bid(0)
            ct.store(x, i, ct.load(x, i, tile) * 2.0)

        x = np.ones(64, np.float32)
        found = ct.compare(double, (4,), x, 16, a="interpreter", b=ct.Side("interpreter", {"tile": 32}, (2,)))
        print(found.equal)  # True
    """

    on: str
    args: dict[str, Any] = field(default_factory=dict)
    grid: Any = None
    hints: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kind, _, more = self.on.partition(":") if isinstance(self.on, str) else ("", "", "")
        if kind not in KINDS or (kind in ("frontend", "gpu") and more) or (
            kind == "interpreter" and more not in ("", *ORDERS)
        ):
            raise ValueError(
                f"compare: {self.on!r} runs nothing; there are interpreter, interpreter:single, interpreter:desc, "
                "frontend, machine:TARGET, simulator:TARGET and gpu")
        unknown = set(self.hints) - set(KernelOptions.__dataclass_fields__)
        if unknown:
            raise TypeError(f"compare: the kernel has no option {min(unknown)!r}")

    @property
    def kind(self) -> str:
        return self.on.partition(":")[0]

    @property
    def target(self) -> str | None:
        """The name of the target that is asked for, None for the default."""
        return (self.on.partition(":")[2] or None) if self.kind in ("machine", "simulator") else None

    @property
    def compiles(self) -> bool:
        """Whether the backend's passes take part."""
        return self.kind in ("machine", "simulator", "gpu")


@dataclass(frozen=True)
class Runner:
    """A side with its grid and the arguments that exist at run time. `early`: functions come to it before the passes of
    Tile IR, and it runs them first."""

    side: Side
    grid: Grid
    values: Sequence[Any]
    target: Any
    hints: Hints
    early: bool

    def run(self, function: Function, more: Sequence[Any] = ()) -> list[Any]:
        """Execute a function on copies of the arguments, and on `more` in place: the arguments afterwards."""
        from tilewright.comparing.copies import copies

        values = copies(self.values)
        if not self.grid.empty:
            function = clone_function(function)
            self.prepare(function)
            _RUN[self.side.kind](self, function, [*values, *more])
        return values

    def prepare(self, function: Function, observer: Observer | None = None) -> None:
        """Give a function the hints of this side, and take it through the passes of Tile IR where it has not been."""
        from tilewright.tileir.passes import run_pipeline

        function.hints = self.hints
        if self.early:
            run_pipeline(function, observer=observer)

    def machine(self, function: Function, observer: Observer = lambda name, function: None) -> Function:
        """The function after the backend's passes."""
        from tilewright.backend_ptx.compile import backend_dumps

        return backend_dumps(function, self.target, observer)


def interpret(function: Function, grid: Grid, values: Sequence[Any], order: str = "") -> None:
    """Run in the interpreter."""
    import tilewright.backend_ptx.ops  # noqa: F401  (what passes have made holds its ops)
    from tilewright.interp import ExecutionOptions, compile_function

    options = {"single": ExecutionOptions(mode="single"), "desc": ExecutionOptions(order="desc")}
    compile_function(function).run(grid.size, values, options.get(order, ExecutionOptions()))


def _interpreter(run: Runner, function: Function, values: Sequence[Any]) -> None:
    interpret(function, run.grid, values, run.side.on.partition(":")[2])


def _machine(run: Runner, function: Function, values: Sequence[Any]) -> None:
    interpret(run.machine(function), run.grid, values)


def _simulator(run: Runner, function: Function, values: Sequence[Any]) -> None:
    from tilewright.inspecting.simulation import simulate_function

    simulate_function(function, run.target, run.grid, values)


def _gpu(run: Runner, function: Function, values: Sequence[Any]) -> None:
    from tilewright.comparing.device import launch

    launch(function, run.grid, values)


_RUN: dict[str, Callable[[Runner, Function, Sequence[Any]], None]] = {
    "interpreter": _interpreter, "frontend": _interpreter, "machine": _machine, "simulator": _simulator, "gpu": _gpu,
}
