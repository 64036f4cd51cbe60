"""A kernel bound to a grid: what `kernel[grid]` gives, and a call launches."""

from __future__ import annotations

from functools import partial
from typing import Any

from tilewright.launching.grid import Grid
from tilewright.launching.launcher import Launcher
from tilewright.launching.learning import Learner
from tilewright.launching.tracing import not_traced
from tilewright.tracebacks import is_refusal, one_line


class BoundKernel(partial[None]):
    """Launch a kernel over a grid: `kernel[grid](*args)`.

    Host arrays run in the interpreter, and the results are there when the call returns. Arrays on a GPU run on that
    GPU, on their library's current stream or on `stream`, and the call does not wait.

    Arguments: `grid`, an int or a tuple of up to three ints of at most 2^24 - 1 (0: nothing runs); the kernel's
        arguments by position or name, those with a default if you want to; `stream`, a torch, CuPy or numba stream or
        an int handle.
    Errors: TypeError for a wrong number or kind of arguments; OverflowError for an int that does not fit int32;
        ValueError for a grid out of range, for one that the decorator's `grid` contradicts, for arrays in different
        places, for an output that is read-only, for two outputs that overlap without being equal; TileError of some
        kind for a kernel that does not compile.

    Example:
        @ct.tile_kernel
        def fill(out):
            ct.store(out, (ct.bid(0), ct.bid(1)), ct.full((2, 2), ct.bid(1), ct.int32))

        out = np.zeros((2, 4), np.int32)
        fill[(1, 2)](out)
        print(out)
        # [[0 0 1 1]
        #  [0 0 1 1]]
        fill[(1, 2, 3, 4)](out)  # ValueError
        fill[(1, 2)]([out, np.zeros(3, np.float32)])  # TypeError
    """

    kernel: Any
    grid: Grid

    def __new__(cls, kernel: Any, grid: Grid, launcher: Launcher) -> BoundKernel:
        """`kernel` is the tile_kernel; its name is all that is read of it here."""
        call = _Call(grid, launcher)
        made = super().__new__(cls, call.launch)
        made.kernel, made.grid = kernel, grid
        call.learner = Learner(made, call.launch, "launch", launcher.taught(grid))
        return made

    def __repr__(self) -> str:
        return f"<tile_kernel {self.kernel.__name__}[{', '.join(map(str, self.grid.size))}]>"


class _Call:
    """What a kernel over a grid calls at first, and for launches that machine code does not know."""

    __slots__ = ("grid", "launcher", "learner", "_launch", "_call", "_keyword_only")

    learner: Learner

    def __init__(self, grid: Grid, launcher: Launcher) -> None:
        self.grid = grid
        self.launcher = launcher
        self._launch = launcher.launch_over if launcher.has_grid else launcher.launch
        self._call = launcher.call
        self._keyword_only = launcher.call.keyword_only

    @not_traced
    @one_line
    def launch(self, /, *args: Any, stream: Any = None, **named: Any) -> None:
        """Launch. Device arrays: on `stream`, by default their library's current one, without waiting for the end."""
        try:
            if named or self._keyword_only:
                args = self._call.complete(args, named)
            made = self._launch(self.grid, args, stream)
            if made is None and self.learner.is_time() and not self.launcher.has_grid:
                self.learner.learn(lambda: self.launcher.words(self.grid, args))
        except Exception as error:
            __tracebackhide__ = True  # as `public` does, without a call more on each launch
            if not is_refusal(error):
                raise
            raise error.with_traceback(None) from error.__cause__
