"""Programmatic dependent launches: compiled kernels wait before they touch what earlier grids may still use, and each
defect put into their code is caught."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from catalogue.group_kernels import grouped
from support.simulator.edits import drop, one_call

import tilewright as tw
from tilewright.backend_ptx.simulator import SimError, Unsupported, simulate_lowered

ZERO = tw.PaddingMode.ZERO
SCHEDULES: list[dict[str, Any]] = [{}, {"schedule": "random", "seed": 1}]
rng = np.random.default_rng(5)


@tw.tile_kernel
def add(x, y, out, n: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, n) + tw.load(y, i, n))


@tw.tile_kernel
def fill(out, value, n: tw.Constant[int]):
    tw.store(out, tw.bid(0), tw.full((n,), value, tw.float32))


@tw.tile_kernel
def count(out):
    tw.atomic_add(out, 0, 1)


@tw.tile_kernel
def say(number):
    print("block", tw.bid(0), number)


@tw.tile_kernel
def nothing(x):
    pass


@tw.tile_kernel
def row_sums(x, out, tm: tw.Constant[int], tn: tw.Constant[int]):
    i = tw.bid(0)
    total = tw.zeros((tm, tn), tw.float32)
    for j in range(tw.num_tiles(x, 1, (tm, tn))):
        total += tw.load(x, (i, j), (tm, tn), padding_mode=ZERO, latency=3)
    tw.store(out, i, tw.sum(total, axis=1))


@tw.tile_kernel
def scaled_product(a, scale, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """The producer loads a and b by TMA, the other warps load the scale."""
    i, j = tw.bid(0), tw.bid(1)
    factor = tw.load(scale, i, tm)[:, None]
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        acc = tw.mma(tw.load(a, (i, k), (tm, tk), padding_mode=ZERO), tw.load(b, (k, j), (tk, tn), padding_mode=ZERO),
                     acc)
    tw.store(c, (i, j), (acc * factor).astype(c.dtype))


def floats(*shape: int) -> Any:
    return rng.normal(size=shape).astype(np.float32)


def product(**hints: int) -> tuple[Any, Any, tuple[Any, ...]]:
    a, b = (floats(*shape).astype(ml_dtypes.bfloat16) for shape in ((256, 128), (128, 128)))
    return scaled_product.replace_hints(**hints), (2, 1), (a, floats(256), b, floats(256, 128), 128, 128, 64)


def lists() -> tuple[Any, Any, tuple[Any, ...]]:
    args = [[np.zeros(s, np.float16) for s in shapes] for shapes in
            (((72, 40), (8, 72)), ((40, 64), (72, 128)), ((72, 64), (8, 128)))]
    return grouped, 2, (*args, 64, 128, 32)


PROGRAMS: dict[str, Callable[[], tuple[Any, Any, tuple[Any, ...]]]] = {
    "add": lambda: (add, 3, (floats(300), floats(300), floats(300), 128)),
    "fill": lambda: (fill, 4, (floats(512), 2.0, 128)), "atomic": lambda: (count, 3, (np.zeros(1, np.int32),)),
    "output": lambda: (say, 2, (7,)), "no access": lambda: (nothing, 2, (floats(4),)),
    "row sums": lambda: (row_sums, 2, (floats(32, 200), floats(32), 16, 64)), "product": product,
    "cluster": partial(product, num_ctas=2), "lists": lists,
}


class Program(NamedTuple):
    code: Any
    grid: Any
    values: Any


@cache
def made(name: str, dependent: bool = True) -> Program:
    kernel, grid, args = PROGRAMS[name]()
    specialised = kernel.replace_hints(programmatic_dependent_launch=dependent).lower(*args, target="sm_90a")
    return Program(specialised.lowered, grid, specialised.values)


def run(name: str, code: Any, **how: Any) -> None:
    simulate_lowered(code, made(name).grid, made(name).values, max_steps=50_000, **how)


@pytest.mark.parametrize("how", SCHEDULES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_the_compiler_makes_waits(name: str, how: dict[str, Any]) -> None:
    code = made(name).code
    assert code.dependent and "griddepcontrol.wait" in code.llvm_text and not made(name, False).code.dependent
    run(name, code, **how)


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_that_do_not_wait_may_not_be_launched_so(name: str) -> None:
    code = made(name, False).code
    with pytest.raises(SimError, match="the grids that it depends on"):
        run(name, code, dependent=True)


# ---- defects ----------------------------------------------------------------------------------------------------

WAIT, RELEASE = "griddepcontrol.wait", "griddepcontrol.launch_dependents"
PRODUCER, OTHERS = 0, 1  # in the order of the text


def late(text: str, which: int = 0) -> str:
    """The wait stands where the kernel, or the role, ends."""
    line = one_call(text, WAIT, which).group(0)
    before, _, after = text.partition(line)
    rest, _, tail = after.partition("  ret void") if which == PRODUCER else after.rpartition("  ret void")
    return f"{before}{rest}{line}\n  ret void{tail}"


def below(text: str, part: str) -> str:
    """The wait stands below the first line with `part`."""
    line = one_call(text, WAIT, 0).group(0)
    before, _, after = text.partition(line)
    assert part in after
    head, found, tail = after.partition(part)
    end, _, rest = tail.partition("\n")
    return f"{before}{head}{found}{end}\n{line}\n{rest}"


def by_one_thread(text: str, then: str = "") -> str:
    """Only the first thread waits; the others go on at once, or with it, after `then`."""
    line = one_call(text, WAIT, 0).group(0)
    made = (f"  %first.tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  %first = icmp eq i32 %first.tid, 0\n"
            f"  br i1 %first, label %waits, label %waited\nwaits:\n{line}\n  br label %waited\nwaited:\n{then}")
    return text.replace(line, made)


BARRIER = '  call void asm sideeffect "bar.sync 0;", "~{memory}"() convergent nounwind\n'
DEFECTS: dict[str, tuple[str, Callable[[str], str]]] = {
    "no wait before loads": ("add", partial(drop, part=WAIT)),
    "no wait before stores": ("fill", partial(drop, part=WAIT)),
    "no wait before an atomic operation": ("atomic", partial(drop, part=WAIT)),
    "no wait before output": ("output", partial(drop, part=WAIT)),
    "a grid without accesses may end early": ("no access", partial(drop, part=WAIT)),
    "a table of a list is read": ("lists", partial(drop, part=WAIT, which=OTHERS)),
    "the producer does not wait": ("product", partial(drop, part=WAIT, which=PRODUCER)),
    "only the producer waits": ("product", partial(drop, part=WAIT, which=OTHERS)),
    "the producers of a cluster do not wait": ("cluster", partial(drop, part=WAIT, which=PRODUCER)),
    "loads before the wait": ("add", late),
    "stores before the wait": ("fill", late),
    "the producer waits when all is loaded": ("product", partial(late, which=PRODUCER)),
    "copies start before the wait": ("row sums", partial(below, part="cp.async.commit_group")),
    "one thread waits": ("fill", by_one_thread),
    "dependents start in place of the wait": ("add", lambda text: text.replace(WAIT, RELEASE)),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_defects_are_caught(defect: str) -> None:
    name, edit = DEFECTS[defect]
    code = made(name).code
    text = edit(code.llvm_text)
    assert text != code.llvm_text
    for how in SCHEDULES:
        with pytest.raises(SimError, match="the grids that it depends on") as found:
            run(name, replace(code, llvm_text=text), **how)
        assert not isinstance(found.value, Unsupported)


def test_one_thread_may_wait_for_those_that_it_meets() -> None:
    code = made("fill").code
    for how in SCHEDULES:
        run("fill", replace(code, llvm_text=by_one_thread(code.llvm_text, BARRIER)), **how)


def test_the_order_of_dependents_is_free() -> None:
    """What starts after launch_dependents waits by itself: it may stand anywhere, or be missing."""
    text = made("add").code.llvm_text
    line = one_call(text, RELEASE, 0).group(0)
    for changed in (text.replace(line, ""), text.replace(line, "").replace("entry:\n", f"entry:\n{line}\n", 1)):
        assert changed != text
        run("add", replace(made("add").code, llvm_text=changed))
