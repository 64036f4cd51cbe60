"""Host cost of one launch with three torch CUDA tensors, beside torch.add's and the driver's own call: raw, from a loop
in machine code with packed parameters, and through cuda.bindings."""

from __future__ import annotations

import ctypes
import statistics
import sys
import time
import timeit
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

LAUNCHES = 500
RAW = """
define i32 @raw(ptr %words) {{
entry:
  %function_at = getelementptr i64, ptr %words, i64 1
  %table_at = getelementptr i64, ptr %words, i64 2
  %threads_at = getelementptr i64, ptr %words, i64 3
  %count = load i64, ptr %words
  %function = load ptr, ptr %function_at
  %table = load ptr, ptr %table_at
  %threads = load i32, ptr %threads_at
  br label %launch
launch:
  %i = phi i64 [0, %entry], [%next, %launch]
  %status = call i32 inttoptr (i64 {address} to ptr)(ptr %function, i32 1, i32 1, i32 1, i32 %threads, i32 1, i32 1,
                                                     i32 0, ptr null, ptr %table, ptr null)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %launch, label %end
end:
  ret i32 %status
}}
"""


def per_launch(run: Callable[[], Any], at_once: int = 1, launches: int = LAUNCHES) -> float:
    """Microseconds of host time of a launch, of which `run` makes so many at once, the queue never full."""
    import torch

    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(launches // at_once):
        run()
    return (time.perf_counter() - start) / launches * 1e6


def host_cost(run: Callable[[], Any], at_once: int = 1, launches: int = LAUNCHES, rounds: int = 9) -> float:
    """The median of several measurements."""
    return statistics.median(per_launch(run, at_once, launches) for _ in range(rounds))


def loop(statement: str, names: dict[str, Any]) -> Callable[[], Any]:
    """LAUNCHES times the statement itself: a function around it would be the benchmark's own cost."""
    timer = timeit.Timer(statement, globals=names)
    return lambda: timer.timeit(LAUNCHES)


def rows() -> Iterator[str]:
    import torch
    from vector_add import vector_add

    import tilewright as tw

    x, y, out = (torch.randn(1024, device="cuda") for _ in range(3))
    stream = torch.cuda.current_stream()
    bound, grid = vector_add.bind((1,), x, y, out, 1024), vector_add[(1,)]
    raw = raw_call(vector_add, x, y, out, 1024)
    names = {"kernel": vector_add, "k": grid, "bound": bound, "packed": driver_call(vector_add, x, y, out, 1024),
             "tw": tw, "torch": torch, "stream": stream, "x": x, "y": y, "out": out}
    ways: dict[str, Callable[[], Any]] = {
        "cuLaunchKernel, machine code": raw,
        "kernel[grid](...)": loop("kernel[(1,)](x, y, out, 1024)", names),
        "k(...), k = kernel[grid]": loop("k(x, y, out, 1024)", names),
        "tw.launch(stream, ...)": loop("tw.launch(stream, (1,), kernel, (x, y, out, 1024))", names),
        "bound()": loop("bound()", names),
        "cuLaunchKernel, cuda.bindings": loop("packed()", names),
        "torch.add(x, y, out=out)": loop("torch.add(x, y, out=out)", names),
    }
    for way in ways.values():
        per_launch(way, LAUNCHES)
    time.sleep(1)  # machine code for launches is made on another thread, the first time
    for way in ways.values():
        per_launch(way, LAUNCHES)
    took: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(15):  # side by side: what the driver takes differs from process to process
        for name, way in ways.items():
            took[name].append(per_launch(way, LAUNCHES))
    first = took["cuLaunchKernel, machine code"]
    for name, times in took.items():
        ratio = statistics.median(a / b for a, b in zip(times, first, strict=True))
        yield f"host cost of a launch, {name:<29} {statistics.median(times):6.2f} us, {ratio:.2f} of raw"
    with tw.profile():
        per_launch(ways["kernel[grid](...)"], LAUNCHES)
        on = host_cost(ways["kernel[grid](...)"], LAUNCHES)
    off = host_cost(ways["kernel[grid](...)"], LAUNCHES)
    before = statistics.median(took["kernel[grid](...)"])
    yield f"host cost of a launch, kernel[grid](...) {before:.2f} us; in a profile {on:.2f}; after it {off:.2f}"


def raw_call(kernel: Any, *args: Any) -> Callable[[], Any]:
    """LAUNCHES launches by the driver's function, called in a loop of machine code with packed parameters."""
    from tilewright.interp.jit.engine import compile_text
    from tilewright.launching.words import function_address

    fixed, _, _ = kernel.launcher.bind(kernel[(1,)].grid, args)
    compiled, frame = fixed.plan.kernel, fixed.frame
    run = compile_text(RAW.format(address=function_address("cuLaunchKernel", 4000)), "raw")
    words = (ctypes.c_int64 * 4)(LAUNCHES, int(compiled.handle), frame.address, compiled.threads)

    def launch() -> None:
        assert not run(ctypes.addressof(words)), frame

    return launch


def driver_call(kernel: Any, *args: Any) -> Callable[[], Any]:
    """The driver's function with parameters that are packed already, through cuda.bindings."""
    from tilewright.backend_ptx.runtime.driver import driver

    fixed, _, _ = kernel.launcher.bind(kernel[(1,)].grid, args)
    given = fixed.plan.kernel.handle, *fixed.grid, fixed.plan.kernel.threads, 1, 1, fixed.plan.kernel.shared_bytes
    call, frame = driver().cuLaunchKernel, fixed.frame
    return lambda: call(*given, 0, frame.address, 0)
