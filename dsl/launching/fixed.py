"""Launches with their arguments: what `kernel.bind(grid, *args)` gives, and a call queues once more."""

from __future__ import annotations

from functools import partial
from typing import Any

from tilewright.arguments.arrays import is_torch
from tilewright.arguments.bind import arrays
from tilewright.arguments.checks import outputs_of, real
from tilewright.arguments.device_array import memory_of
from tilewright.arguments.torch_tensors import note_writes
from tilewright.launching.current import current
from tilewright.launching.grid import Grid
from tilewright.launching.held import HELD, RECORDED, WATCHED, seen
from tilewright.launching.launcher import Launcher, own_stream_of
from tilewright.launching.learning import Learner
from tilewright.launching.streams import stream_handle
from tilewright.launching.tracing import not_traced
from tilewright.launching.watching import enrol
from tilewright.tracebacks import is_refusal, one_line


class BoundLaunch(partial[None]):
    """A launch with its arguments: `bound = kernel.bind(grid, *args)`. Each `bound()` launches once more, with nothing
    left to look up: on a GPU it costs the host about as much as the driver's own call.

    It keeps the arrays alive, and reads their contents anew in each launch; what else the arguments were, numbers too,
    is as it was when they were bound. Host arrays run in the interpreter.

    Arguments: `stream`, as in a launch.
    Attributes: `kernel`, `grid`, `arguments`.
    Errors: TypeError for another argument, and for what is no stream; those of the driver.

    Example:
        @ct.tile_kernel
        def double(x):
            i = ct.bid(0)
            ct.store(x, i, ct.load(x, i, 4) * 2.0)

        x = np.ones(8, np.float32)
        bound = double.bind(2, x)
        bound()
        bound()
        print(x[0], bound.grid)  # 4.0 (2, 1, 1)
        bound(x)  # TypeError
    """

    kernel: Any
    grid: tuple[int, int, int]
    arguments: tuple[Any, ...]

    def __new__(cls, kernel: Any, grid: Grid, launcher: Launcher, args: tuple[Any, ...]) -> BoundLaunch:
        call = _Call(grid, launcher, args)
        made = super().__new__(cls, call.launch)
        made.kernel, made.grid, made.arguments = kernel, grid.size, args
        call.learner = Learner(made, call.launch, "replay")
        return made

    def __repr__(self) -> str:
        return f"<bound launch of tile_kernel {self.kernel.__name__}[{', '.join(map(str, self.grid))}]>"


class _Call:
    """What a launch with its arguments calls at first, and where machine code cannot make it."""

    __slots__ = ("grid", "launcher", "args", "learner", "_fixed", "_stream", "_owners", "_memory", "_written")

    learner: Learner

    def __init__(self, grid: Grid, launcher: Launcher, args: tuple[Any, ...]) -> None:
        fixed, arguments, device = launcher.bind(grid, args)
        self.grid = grid
        self.launcher = launcher
        self.args = args
        self._fixed = fixed
        self._written: list[Any] = []
        if fixed is not None:
            self._owners = [real(array).owner for array in arrays(arguments)]
            self._memory = memory_of(self._owners)
            self._stream = own_stream_of(arguments, device)
            outputs = [real(array).owner for array in outputs_of(arguments, fixed.written)]
            self._written = [output for output in outputs if is_torch(type(output))]

    @not_traced
    @one_line
    def launch(self, *, stream: Any = None) -> None:
        """Launch once more, on `stream`, by default the current one of the arrays' library."""
        try:
            fixed = self._fixed
            if fixed is None or seen():
                self.launcher.launch(self.grid, self.args, stream)
                if HELD[WATCHED] == RECORDED and fixed is not None and not self.grid.empty:
                    self._let_record()
            elif not self.grid.empty:
                if stream is None:
                    stream = current()
                if stream is None:
                    stream = self._stream()
                elif type(stream) is not int:
                    stream = stream_handle(stream)
                if self._written:
                    note_writes(self._written)
                fixed.launch(stream)
                if self.learner.is_time():
                    self.learner.learn(self._words)
        except Exception as error:
            __tracebackhide__ = True  # as `public` does, without a call more on each launch
            if not is_refusal(error):
                raise
            raise error.with_traceback(None) from error.__cause__

    def _let_record(self) -> None:
        """Let machine code make the launches of a profile, too, if it can."""
        if self.learner.is_time():
            self.learner.learn(self._words)
        known = self.learner.latest
        if known is not None:
            enrol(known, self.launcher, self.grid, self.args)

    def _words(self) -> Any:
        from tilewright.launching.words import of_fixed

        return of_fixed(self._fixed, self._owners, self._written)
