"""The process that times kernels of one checkout. It is run by its path, with that checkout on PYTHONPATH: this file
and the interpreter are all that the two sides share, so it takes nothing from the checkout that it stands in.

Requests and answers are lines of JSON: {"do": "names"}, {"do": "prepare", "name": ..., "grid": [...]}, {"do": "time"};
{"do": "compiled"}, {"do": "compile", "name": ...}.
"""

from __future__ import annotations

import functools
import inspect
import json
import statistics
import sys
from collections.abc import Callable
from typing import Any

REPLAYS = 3
GRAPH_US = 3000.0  # a graph holds launches for about so long, so that starting it does not count
SAMPLES = 1_000_003  # elements of a result that its digest reads


class Worker:
    def __init__(self) -> None:
        self._compile: dict[str, Callable[[], dict[str, float]]] = {}
        self._kept: tuple[Any, ...] = ()  # the arrays, which the graph writes
        self._replay: Callable[[], Any] = lambda: None
        self._launches = 1

    @functools.cached_property
    def _works(self) -> dict[str, Any]:
        from benchmarks.report import works

        return {work.name: work for work in works()}

    def names(self) -> list[str]:
        return list(self._works)

    def compiled(self) -> list[str]:
        """The kernels of `benchmarks compile`, each compiled once: what a process does once is done."""
        from benchmarks import compile as compiling

        target, assembler = compiling.find_assembler()
        self._compile = {name: functools.partial(compiling.stages, kernel, args, target, assembler)
                         for name, kernel, args in compiling.kernels()}
        for run in self._compile.values():
            run()
        return list(self._compile)

    def compile(self, name: str) -> dict[str, float]:
        """Milliseconds by stage of one compilation."""
        return self._compile[name]()

    def prepare(self, name: str, grid: list[int]) -> float:
        """Arrays, a first launch, and a graph of launches. The sum of the magnitudes of the last array, by some of its
        elements: the other side's must be as large."""
        import torch

        self._kept, self._replay = (), lambda: None
        torch.cuda.empty_cache()
        torch.manual_seed(1)
        work = self._works[name]
        named = zip(inspect.signature(work.kernel).parameters, work.args, strict=True)
        args = tuple(array(a, of) if isinstance(a, str) else a for of, a in named)
        run = lambda: work.kernel[tuple(grid)](*args)  # noqa: E731
        for _ in range(3):
            run()
        self._launches = max(1, min(40, int(GRAPH_US / max(1.0, timed(lambda: [run() for _ in range(5)]) / 5))))
        side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            run()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            for _ in range(self._launches):
                run()
        self._kept, self._replay = args, graph.replay
        return digest([a for a in args if isinstance(a, torch.Tensor)][-1])

    def time(self) -> float:
        """Microseconds of a launch: the median of some replays, after one that is not counted."""
        self._replay()
        return statistics.median(timed(self._replay) for _ in range(REPLAYS)) / self._launches


def timed(run: Callable[[], Any]) -> float:
    """Microseconds on the GPU."""
    import torch

    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    run()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) * 1e3


def array(spec: str, name: str) -> Any:
    """Random numbers of a spec; `rows` are indices in a random order, and other integers count from 0."""
    import torch

    dtypes = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "i32": torch.int32,
              "i8": torch.int8, "e4m3": torch.float8_e4m3fn}
    dtype, extents = spec.rstrip("]").split("[")
    shape = [int(n) for n in extents.split(",")]
    if dtype == "i8":
        return torch.randint(-100, 100, shape, dtype=torch.int8, device="cuda")
    if dtype == "i32":
        made = torch.randperm(shape[0]) if name == "rows" else torch.zeros(shape)
        return made.to(torch.int32).cuda()
    return torch.randn(shape, device="cuda").to(dtypes[dtype])


def digest(result: Any) -> float:
    some = result.flatten()[:: max(1, result.numel() // SAMPLES)]
    return float(some.double().nan_to_num().abs().sum())


def serve() -> None:
    answers, sys.stdout = sys.stdout, sys.stderr  # what a checkout prints must not stand between the answers
    worker = Worker()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer: dict[str, Any] = {"is": getattr(worker, request.pop("do"))(**request)}
        except Exception as error:  # the other kernels are still timed
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    serve()
