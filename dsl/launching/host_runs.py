"""Runs of a kernel without a GPU, as methods of the kernel: interpreted, under a debugger, simulated."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Literal

from tilewright.inspecting.methods import Inspected
from tilewright.launching.checking import checking
from tilewright.launching.grid import block_place, make_grid
from tilewright.launching.launcher import Launcher
from tilewright.launching.numerics import target_of
from tilewright.tracebacks import public

if TYPE_CHECKING:
    from tilewright.interp.checking.report import Report


def tuples_of(devices: Any, args: tuple[Any, ...], named: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The arguments of each device; TypeError for what are none, and for arguments beside them."""
    if args or named:
        raise TypeError("devices has the arguments of each device; write no others beside it")
    if not isinstance(devices, (list, tuple)) or not devices or not all(isinstance(d, (list, tuple)) for d in devices):
        raise TypeError("devices must be a list with a tuple of arguments for each device, such as "
                        "devices=[(x, 0), (x, 1)]")
    return [tuple(each) for each in devices]


class HostRuns(Inspected):
    """How a kernel that has a launcher runs on the host."""

    launcher: Launcher

    @public
    def interpret(
        self, grid: Any, *args: Any, mode: str = "chunked", order: str | int | None = None, poison: bool = False,
        check: bool | str | Collection[str] = False, on_report: str = "raise", numerics: str | None = None,
        devices: Sequence[Sequence[Any]] | None = None, **named: Any,
    ) -> list[Report] | None:
        """Run in the interpreter, wherever the arrays live (device arrays are copied to the host and back).

        Arguments: `grid` and `args` as in a launch.
        Options: `mode`, "chunked" (many blocks at once) or "single" (one block after the other); `order` of single
            blocks, "asc" (the default), "desc" or an int that seeds a random order: a kernel whose result depends on it
            has a race; `poison=True` fills UNDETERMINED padding with NaN (integers: bytes 0x5A) in place of zero, so
            that a result that depends on it shows. `check`: True, "all" or names of checks, which `docs/checking.md`
            explains; `on_report`, "raise", "warn" (errors are warnings too) or "collect". `numerics`, a target such as
            "sm_90a": the code that the backend makes for it is run, with matrix products bit for bit as its tensor
            cores compute them (`docs/numerics.md`). `devices`, in the place of `args`: the arguments of a launch on
            each of several devices, as tuples. All run at once, each over the whole grid, in one memory; blocks may
            wait for those of other devices, whom MemoryScope.SYS reaches, and `order` is that of their turns, too.
        Result: None; of a checked run, a list of reports.
        Errors: those of a launch; ValueError for another mode or order, and for `check` or `devices` with `numerics`;
            TypeError for `devices` with other arguments; TileValueError for an unknown target; CheckError for what a
            check has found.

        Example:
            @ct.tile_kernel
            def total(x, out):
                print("block", ct.bid(0), end="; ")
                ct.store(out, 0, ct.sum(ct.load(x, 0, 4)))         # three elements, and what lies behind them

            x, out = np.ones(3, np.float32), np.zeros(1, np.float32)
            total.interpret((3,), x, out, mode="single", order="desc", poison=True)
            print(out)  # block 2; block 1; block 0; [nan]
            total.interpret((3,), x, out, order="sideways")  # ValueError
        """
        from tilewright.interp.options import ExecutionOptions

        made = make_grid(grid if isinstance(grid, tuple) else (grid,))
        options = ExecutionOptions(mode=mode, order=order, poison=poison)
        checks = checking(check, on_report)
        target = target_of(numerics, checks is not None)
        bind, complete = self.specialiser.bind, self.specialiser.call.complete
        if devices is None:
            return self.launcher.interpret(made, bind(complete(args, named)), options, checks, target)
        if target is not None:
            raise ValueError("numerics and devices cannot go together: interpret one device after the other")
        launches = [bind(complete(each, {})) for each in tuples_of(devices, args, named)]
        return self.launcher.interpret_devices(made, launches, options, checks)

    @public
    def debug(self, grid: Any, *args: Any, block: Any = None, **named: Any) -> None:
        """Run in the interpreter under pdb, or the debugger that `breakpoint()` calls: it stops at the kernel's first
        statement, and goes on line by line as in Python. Names stand for what they hold: tiles are NumPy arrays.

        Arguments: `grid` and `args` as in a launch.
        Options: `block`, the coordinates of the block in which to stop (an int, or up to three); None stops in each.
        Errors: those of a launch; ValueError for a block outside the grid. Leaving the debugger by `quit` ends the run.

        Example:
            @ct.tile_kernel
            def double(x):
                i = ct.bid(0)
                t = ct.load(x, i, 4)
                ct.store(x, i, t * 2.0)

            import sys

            x, stops = np.ones(8, np.float32), []
            sys.breakpointhook = lambda: stops.append(sys._getframe(1).f_code.co_name)  # in the place of pdb
            double.debug((2,), x, block=1)
            sys.breakpointhook = sys.__breakpointhook__
            assert stops == ["double"]
            double.debug((2,), x, block=2)  # ValueError
        """
        from bdb import BdbQuit

        made = make_grid(grid if isinstance(grid, tuple) else (grid,))
        place = None if block is None else block_place(block, made)
        with contextlib.suppress(BdbQuit):
            self.launcher.debug(made, self.specialiser.bind(self.specialiser.call.complete(args, named)), place)

    @public
    def simulate(
        self, grid: Any, *args: Any, target: str | None = None, schedule: Literal["inorder", "random"] = "inorder",
        seed: int = 0, **named: Any,
    ) -> None:
        """Run the code for a GPU on the CPU, instruction by instruction, with every access and synchronisation checked:
        races of threads, bounds, barriers, asynchronous copies and MMAs. It is slow: take small arrays and few blocks.

        Arguments: `grid` and `args` as in a launch, with NumPy arrays, which are written in place.
        Options: `target`, such as "sm_90a" (by default that of the GPU here, else the default target); `schedule`,
            "inorder" (all warps side by side) or "random" (one at a time, as `seed` chooses; copies land as late as
            they may), which finds more.
        Errors: TileSimulationError at the line of the source whose code is wrong; those of a launch.

        Example:
            @ct.tile_kernel
            def copy(x, out):
                i = ct.bid(0) * 128 + ct.arange(128, dtype=ct.int32)
                ct.scatter(out, i, ct.gather(x, i), check_bounds=False)

            x, out = np.ones(256, np.float32), np.zeros(256, np.float32)
            copy.simulate((2,), x, out, target="sm_80")
            assert out.all()
            copy.simulate((2,), x, out[:200], target="sm_80")  # TileSimulationError
        """
        from tilewright.inspecting.simulation import simulate

        made = make_grid(grid if isinstance(grid, tuple) else (grid,))
        simulate(self.lower(*args, target=target, lineinfo=True, **named), made, schedule, seed)
