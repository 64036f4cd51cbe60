"""`fuse`: launches that are recorded, and run as fewer."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload

from tilewright.arguments.arrays import named_dtype
from tilewright.combining.graph import Graph, Temporary
from tilewright.launching import watching
from tilewright.launching.graphs import LaunchGraph, graph
from tilewright.launching.grid import make_grid
from tilewright.tileir.dtypes import DType
from tilewright.tracebacks import public

if TYPE_CHECKING:
    from tilewright.combining.running import Program, Ran

_here = threading.local()


class Fusion:
    """Launches that are recorded within a `with` statement, and run at its end: what `fuse()` gives.

    Attributes, after the end: `launches`, what was launched in their place: each with `kernel` (a kernel as any other:
    `kernel.ir(*args)`), `names` of the kernels that it does the work of, `grid`, and `args`.

    Example:
        @ct.tile_kernel
        def double(x, out):
            ct.store(out, ct.bid(0), ct.load(x, ct.bid(0), 4) * 2)

        x, out = np.arange(4), np.zeros(4, np.int64)
        with ct.fuse() as g:
            t = g.empty((4,), np.int64)
            double[(1,)](x, t)
            double[(1,)](t, out)
        print(out, len(g.launches))          # [ 0  4  8 12] 1
        print(g.explain().splitlines()[1])   #   double + double over (1, 1, 1); without t1
    """

    def __init__(
        self, temporaries: Sequence[Any], device: str, programs: dict[Any, Program], reassociate: bool = False
    ) -> None:
        self._graph = Graph(temporaries, reassociate)
        self._device = device
        self._programs = programs
        self._count = 0
        self._thread: int | None = None
        self._explained: Program | None = None
        self._again: LaunchGraph | None = None
        self.launches: tuple[Ran, ...] = ()

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> Temporary:
        """An array that only the recorded launches use: it vanishes where each block reads what it wrote itself."""
        size = shape if isinstance(shape, tuple) else (shape,)
        self._count += 1
        return Temporary(size, dtype if isinstance(dtype, DType) else named_dtype(_name(dtype)), self._count)

    def explain(self) -> str:
        """What became of the launches, and why: a line for each launch that is left, decision and refusal."""
        if self._explained is None:
            raise RuntimeError("fuse: launches are fused at the end of the with statement; ask behind it")
        return self._explained.explain()

    def picture(self) -> str:
        """The launches as an SVG image: each with its kernels, the arrays that it reads and writes in memory, and those
        that vanished. Notebooks show it. RuntimeError before the end of the with statement."""
        from tilewright.combining.picture import picture

        if self._explained is None:
            raise RuntimeError("fuse: launches are fused at the end of the with statement; look at them behind it")
        return picture(self._explained.steps)

    @public
    def explore(self, out: str | Path, *, launch: int = 0, target: str | None = None) -> Path:
        """Write the explorer's page of one of `launches`: its kernel at every stage, as of any kernel, and in the tab
        *Launches* the picture of all of them with what `explain` says.

        Arguments: `out`, the file to write; `launch`, which one, counted from 0; `target`, as in `kernel.ptx`.
        Result: the file's path.
        Errors: RuntimeError before the end of the with statement; IndexError where there is no such launch.
        """
        from tilewright.inspecting.explorer.page import page

        picture, ran = self.picture(), self.launches[launch]
        told = {"picture": picture, "explained": self.explain(), "launch": launch, "launches": len(self.launches)}
        text = page(ran.kernel, ran.args, target, " + ".join(ran.names), ran.grid, beside={"fused": told})
        path = Path(out)
        path.write_text(text, encoding="utf-8")
        return path

    def _repr_html_(self) -> str:
        """How a notebook displays a recording: the picture, and what `explain` says."""
        from html import escape

        if self._explained is None:
            return "<div>launches that are being recorded</div>"
        return f"<div>{self.picture()}<pre>{escape(self.explain())}</pre></div>"

    @public
    def replay(self, *, stream: Any = None) -> None:
        """Queue anew the launches that were made, with the same arrays and numbers: on a GPU as one CUDA graph, which
        costs the host one call. Nothing is recorded or planned anew; intermediates keep their memory.

        Arguments: `stream`, as in a launch.
        Errors: RuntimeError before the end of the with statement; those of `tw.graph`.
        """
        if self._explained is None:
            raise RuntimeError("fuse: launches are fused at the end of the with statement; replay them behind it")
        if self._again is None:
            with graph() as again:
                for ran in self.launches:
                    ran.kernel.launcher.launch(make_grid(ran.grid), ran.args, None)
            self._again = again
        self._again(stream=stream)

    def __enter__(self) -> Self:
        if getattr(_here, "recording", None) is not None:
            raise RuntimeError("fuse: launches are being recorded already")
        if self._explained is not None:
            raise RuntimeError("fuse: these launches have run; begin anew with fuse()")
        _here.recording, self._thread = self, threading.get_ident()
        watching.watch(self._watch)
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        watching.unwatch(self._watch)
        _here.recording = None
        if kind is None:
            self._run()

    def _watch(self, launch: Any, launcher: Any, grid: Any, args: tuple[Any, ...], stream: Any) -> Any:
        if threading.get_ident() != self._thread:
            return launch(launcher, grid, args, stream)
        self._graph.record(launcher, grid, args, stream)
        return None

    def _run(self) -> None:
        from tilewright.combining.running import program_of

        self._explained = program_of(self._graph, self._device, self._programs)
        self.launches = self._explained.run(self._graph)


@overload
def fuse(
    function: Callable[..., Any], /, *, device: str = "h200", reassociate: bool = False,
) -> Callable[..., Fusion]: ...
@overload
def fuse(
    function: None = None, /, *, temporaries: Sequence[Any] = (), device: str = "h200", reassociate: bool = False,
) -> Fusion: ...
@public
def fuse(
    function: Any = None, /, *, temporaries: Sequence[Any] = (), device: str = "h200", reassociate: bool = False,
) -> Any:
    """Record launches and run them as fewer: intermediates stay in registers, and nothing is rewritten.

    `with fuse() as g:` records the launches of the statement's body, which run at its end; `fuse(function)` gives a
    function that records what `function(g, *args)` launches, and keeps the kernels for the next call. Launches become
    one where no block needs what another block makes, as the indices of their loads and stores show, and where a GPU
    needs no more time for it. Bits are those of the launches one by one.

    Arguments: `function`, which is given the recording as its first argument.
    Result: a Fusion, or a function that gives one. `g.empty(shape, dtype)` makes an intermediate that vanishes where it
        can; every other array is written. `g.explain()` says what was done and why; `g.launches` has the kernels.
    Options: `temporaries`, arrays of yours that may vanish, too: what they hold afterwards is not defined. `device`,
        the GPU by whose limits profit is judged, as of `estimating.estimate`. `reassociate=True` allows algebra that
        changes bits: roundings between fused kernels are left out, and a number that an operand of a product is
        multiplied with is multiplied with the sum.
    Errors: within the body, those of each launch; RuntimeError for a recording inside another; TypeError for a
        temporary that is no array.

    Example:
        @ct.tile_kernel
        def scale(x, out, factor):
            i = ct.bid(0)
            ct.store(out, i, ct.load(x, i, 4) * factor)

        @ct.tile_kernel
        def relu(x, out):
            i = ct.bid(0)
            ct.store(out, i, ct.maximum(ct.load(x, i, 4), 0.0))

        x, out = np.arange(-4, 4, dtype=np.float32), np.zeros(8, np.float32)
        with ct.fuse() as g:
            t = g.empty(8, ct.float32)
            relu[(2,)](x, t)
            scale[(2,)](t, out, 0.5)
        print(out)  # [0.  0.  0.  0.  0.  0.5 1.  1.5]
        print([ran.names for ran in g.launches])  # [('relu', 'scale')]
        ct.fuse(temporaries=[3])  # TypeError
    """
    if function is None:
        return Fusion(temporaries, device, {}, reassociate)
    programs: dict[Any, Program] = {}

    @functools.wraps(function)
    def fused(*args: Any, **named: Any) -> Fusion:
        with Fusion((), device, programs, reassociate) as g:
            function(g, *args, **named)
        return g

    return fused


def _name(dtype: Any) -> str:
    """The name of a dtype of NumPy or torch."""
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    return str(name).removeprefix("torch.")
