"""Gradients through loops and branches, which stores may be followed back, and what is refused at the user's line."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
import pytest
from support.gradcheck import gradcheck

import tilewright as tw
from tilewright.tileir.core import Op
from tilewright.tileir.ops.atomics import AtomicRmw
from tilewright.tileir.ops.control import For


def powers(t: Any, n: Any) -> Any:
    """Carried values that the adjoints need."""
    u = t
    for _ in range(n):
        u = u * tw.sin(t) + u * u * 0.1
    return u


def sums(t: Any, n: Any) -> Any:
    """Carried values that no adjoint needs, and a loop variable that counts by three from five."""
    total = t * 0.0
    for k in range(5, 5 + 3 * n, 3):
        total = total + t * t / k
    return total


def nested(t: Any, n: Any) -> Any:
    u = t
    for j in range(n):
        v = u
        for k in range(j + 1):
            v = v * t + u / (k + 1)
        u = tw.tanh(v)
    return u


def branches(t: Any, n: Any) -> Any:
    if n % 2 == 0:
        u, v = t * t, t
    else:
        u, v = tw.sin(t) * 0.5, t * 3.0
        for _ in range(n):
            u = u * t + v
    return u * v


def decided_in_a_loop(t: Any, n: Any) -> Any:
    u, v = t, t * 0.5
    for k in range(n):
        if k % 2 == 0:
            u = u * v
        else:
            u, v = v, tw.exp(u * 0.1)
    return u


def by_data(t: Any, n: Any) -> Any:
    return t * 2.0 if tw.sum(t) > 0.0 else t * t


def until(t: Any, n: Any) -> Any:
    """How often it runs depends on the data."""
    while tw.sum(t * t) < 9.0 * n:
        t = t * 1.5 + tw.sin(t)
    return t


def leaving(t: Any, n: Any) -> Any:
    u = t
    for k in range(6):
        u = u * 1.25 + t
        if tw.sum(u * u) > 9.0 * n:
            break
        u = u + k
    return u * t


def whiles_in_loops(t: Any, n: Any) -> Any:
    u, v = t, t * 0.5
    for k in range(n):
        while tw.max(abs(u)) > 0.5 + k:
            u = u * 0.5
            if tw.sum(u) > v.shape[0]:
                break
            v = v + u * u
        u = u + v
    return u * v


FUNCTIONS = {f.__name__: f for f in (
    powers, sums, nested, branches, decided_in_a_loop, by_data, until, leaving, whiles_in_loops)}


def kernel_of(function: Callable[[Any, Any], Any]) -> tw.tile_kernel:
    @tw.tile_kernel
    def kernel(x, out, n):
        i = tw.bid(0)
        tw.store(out, i, function(tw.load(x, i, 4), n + i))

    return kernel


@pytest.mark.parametrize("trips", [0, 1, 3])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_loops_and_branches(name: str, trips: int) -> None:
    """The padding is zero, as a decision by data sees it."""
    x = np.random.default_rng(4).standard_normal(7)
    gradcheck(kernel_of(FUNCTIONS[name]), (2,), {"x": x, "out": np.zeros(7), "n": trips}, ["x"])


@pytest.mark.parametrize("slots", [None, 1, 3, 9])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_kept_values_give_the_same_gradients(name: str, slots: int | None) -> None:
    """Bit for bit, with a workspace of few slots or many, or one that the launch allocates."""
    random = np.random.default_rng(4)
    x, cotangent = random.standard_normal((2, 7))
    kernel = kernel_of(FUNCTIONS[name])
    recomputed, kept = np.zeros(7), np.zeros(7)
    tw.grad(kernel, wrt="x", outputs="out")[2](x, np.zeros(7), 5, cotangent, recomputed)
    backward = tw.grad(kernel, wrt="x", outputs="out", workspace=True)
    workspace = None if slots is None else np.full((2, slots, 64), -1)
    backward[2](x, np.zeros(7), 5, cotangent, kept, workspace=workspace)
    np.testing.assert_array_equal(kept, recomputed)
    assert recomputed.any() and (workspace is None or name in TAPE_FREE or (workspace != -1).any())


TAPE_FREE = ("sums", "by_data")


def ops_of(kernel: tw.tile_kernel, arguments: dict[str, Any], wrt: tuple[str, ...] = ("x",)) -> list[Op]:
    extra = [copy(arguments[name]) for name in ("out", *wrt)]
    stages = tw.grad(kernel, wrt=wrt, outputs="out").lower(*arguments.values(), *extra)
    return list(stages.tile_ir().walk())


def test_a_sum_is_not_recomputed() -> None:
    """One loop, in the forward order; where adjoints need what it carries, a loop up to there stands inside."""
    given = {"x": tw.spec("f32[?]"), "out": tw.spec("f32[?]"), "n": tw.spec("i32")}
    assert sum(isinstance(op, For) for op in ops_of(kernel_of(sums), given)) == 1
    assert sum(isinstance(op, For) for op in ops_of(kernel_of(powers), given)) == 2


def few(t: Any, n: Any) -> Any:
    for _ in range(4):
        t = t * tw.sin(t)
    return t


def test_decisions_say_what_is_kept() -> None:
    """Loops of few iterations recompute, others keep of what they carry what adjoints need: here one tile of four."""
    from tilewright.inspecting.decisions import decisions

    specs = [tw.spec("f32[?]"), tw.spec("f32[?]"), tw.spec("i32"), tw.spec("f32[?]"), tw.spec("f32[?]")]
    found = {}
    for f in (powers, few):
        backward = tw.grad(kernel_of(f), wrt="x", outputs="out", workspace=True)
        lines = decisions(backward, (*specs, tw.spec("i32[?,?,?]")), "sm_90a")
        [found[f]] = [line for line in lines if line.startswith("carried_values")]
    assert "kept in the workspace (adjoints need them at each iteration: 4 words of 32 bits" in found[powers]
    assert "recomputed (adjoints need them at each iteration: 4 iterations run 6 more, which takes" in found[few]


@pytest.mark.parametrize("workspace, error, text", [
    (np.zeros((2, 4, 3), np.int64), ValueError, r"has the shape \(2, 4, 3\), but this launch needs 2 blocks"),
    (np.zeros((1, 4, 4), np.int64), ValueError, r"a slot or more, and 4 words: \(2, 1, 4\)"),
    (np.zeros((2, 4), np.int64), TypeError, "'workspace' must be an array of int32 or int64 with three axes, or None"),
    (np.zeros((2, 4, 4), np.int32), tw.TileTypeError, "the workspace must be an array of int64, not of int32"),
])
def test_a_workspace_that_does_not_fit(workspace: Any, error: type[Exception], text: str) -> None:
    backward = tw.grad(kernel_of(powers), wrt="x", outputs="out", workspace=True).replace_hints(occupancy=2)
    with pytest.raises(error, match=text):
        backward[2](np.zeros(7), np.zeros(7), 5, np.zeros(7), np.zeros(7), workspace=workspace)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_kept_values_in_the_simulator(dtype: Any) -> None:
    """The code for a GPU, whose threads wait for what others have stored."""
    random = np.random.default_rng(4)
    given = {"x": random.standard_normal(256).astype(dtype), "out": np.zeros(256, dtype), "n": 5}

    def wide(t: Any, n: Any) -> Any:
        flipped = t
        for _ in range(n):
            flipped = tw.flip(flipped * tw.sin(t), 0)
        return flipped

    @tw.tile_kernel
    def kernel(x, out, n):
        i = tw.bid(0)
        tw.store(out, i, wide(tw.load(x, i, 128), n))

    cotangent, results = random.standard_normal(256).astype(dtype), [np.zeros(256, dtype) for _ in range(2)]
    backward = tw.grad(kernel, wrt="x", outputs="out", workspace=True)
    backward[2](*given.values(), cotangent, results[0])
    backward.simulate(2, *given.values(), cotangent, results[1], np.zeros((2, 2, 128), np.int32), target="sm_90a")
    np.testing.assert_allclose(*results, rtol=2**-9 if dtype == np.float16 else 2**-20, atol=2**-10)


def test_decisions_say_what_is_added_and_recomputed() -> None:
    from tilewright.inspecting.decisions import decisions

    specs = [tw.spec("f32[?]"), tw.spec("f32[?]"), tw.spec("i32"), tw.spec("f32[?]"), tw.spec("f32[?]")]
    found = {name: decisions(tw.grad(kernel_of(f), wrt="x", outputs="out"), tuple(specs), "sm_90a")
             for name, f in (("sums", sums), ("powers", powers))}
    added = "gradient: x: loads and stores (no two blocks or lanes read the same elements)"
    assert all(added in lines for lines in found.values())
    assert not any("carried_values" in line for line in found["sums"])
    assert any(line.startswith("carried_values: recomputed (adjoints need them") for line in found["powers"])


@tw.tile_kernel
def strided(x, out):
    """Every block takes each so many-th tile."""
    for j in range(tw.bid(0), tw.cdiv(x.shape[0], 4), tw.num_blocks(0)):
        t = tw.load(x, j, 4)
        tw.store(out, j, t * t)


@tw.tile_kernel
def paired(x, out):
    """Rows and columns from one number; two tiles of each row, at even and odd places."""
    number = tw.bid(0)
    i, j = number // 2, number % 2
    a, b = tw.load(x, (i, 2 * j), (2, 2)), tw.load(x, (i, 2 * j + 1), (2, 2))
    tw.store(out, (i, 2 * j), a * b)
    tw.store(out, (i, 2 * j + 1), a * a)


@tw.tile_kernel
def scattered(x, out):
    i = tw.bid(0)
    for j in range(2):
        at = i * 8 + j * 4 + tw.arange(4, dtype=tw.int32)
        tw.scatter(out, at, tw.sin(tw.gather(x, at)))


@tw.tile_kernel
def sliced(x, out):
    i = tw.bid(0)
    rows = x.slice(0, 4 * i, tw.minimum(4 * i + 4, x.shape[0]))
    for j in range(2):
        t = tw.load(rows, j, 2)
        tw.store(out, 2 * i + j, t * t)


@pytest.mark.parametrize("kernel, grid, shape, atomics", [
    (strided, 2, (14,), 0), (paired, 4, (4, 8), 0), (scattered, 2, (13,), 0), (sliced, 3, (11,), 1),
])
def test_stores_that_are_followed_back(kernel: tw.tile_kernel, grid: int, shape: tuple[int, ...], atomics: int) -> None:
    """Atomics only where the indices do not show that blocks are apart."""
    x = np.random.default_rng(5).standard_normal(shape)
    arguments = {"x": x, "out": np.zeros(shape)}
    gradcheck(kernel, (grid,), arguments, ["x"])
    found = sum(isinstance(op, AtomicRmw) for op in ops_of(kernel, arguments))
    assert found == atomics


@tw.tile_kernel
def banded(x, out):
    """Tiles in an order that only its author sees through."""
    for number in range(tw.bid(0), 4, tw.num_blocks(0)):
        at = number ^ 1
        t = tw.load(x, at, 2)
        tw.store(out, at, t * t)


def test_a_promise_that_outputs_are_stored_once() -> None:
    arguments = {"x": np.arange(8.0), "out": np.zeros(8)}
    with pytest.raises(tw.TileUnsupportedFeatureError, match="an iteration may overwrite") as error:
        tw.grad(banded, wrt="x", outputs="out").ir(*arguments.values(), *map(copy, arguments.values()))
    assert 'stored_once="out"' in str(error.value)
    x_grad = np.zeros(8)
    backward = tw.grad(banded, wrt="x", outputs="out", stored_once="out")
    backward[(2,)](*arguments.values(), np.ones(8), x_grad)
    np.testing.assert_array_equal(x_grad, 2 * np.arange(8.0))
    with pytest.raises(ValueError, match="stored_once names 'x', which is not named in outputs"):
        tw.grad(banded, wrt="x", outputs="out", stored_once="x")


def stored_in_each_iteration(x, out):
    t = tw.load(x, 0, 4)
    for _ in range(3):
        t = t * t
        tw.store(out, 0, t)  # here


def stored_over(x, out):
    t = tw.load(x, 0, 4)
    tw.store(out, 0, t)
    tw.store(out, 0, t * t)  # here


def stored_over_by_the_next(x, out):
    for j in range(3):
        t = tw.load(x, j, 4)
        tw.store(out, j, t)
        tw.store(out, j + 1, t * t)  # here


def read_back(x, out):
    tw.store(out, 0, tw.load(x, 0, 4))
    tw.store(out, 1, tw.load(out, 0, 4) * 2.0)  # here


def in_place(x, out):
    t = tw.load(x, 0, 4)  # here
    tw.store(x, 0, t * t)
    tw.store(out, 0, t * t * t)


def bits(x, out):
    t = tw.bitcast(tw.load(x, 0, 4), tw.int32) & 0x7FFFFFFF
    tw.store(out, 0, tw.bitcast(t, tw.float32))  # here


def exchanged(x, out):
    before = tw.atomic_xchg(out, tw.arange(4, dtype=tw.int32), tw.load(x, 0, 4))  # here
    tw.store(out, 1, before)


def largest(x, out):
    tw.atomic_max(out, tw.arange(4, dtype=tw.int32), tw.load(x, 0, 4))  # here


REFUSED = {
    stored_in_each_iteration: "an iteration may overwrite what an earlier one has stored in out",
    stored_over: "this may overwrite what was stored in out before",
    stored_over_by_the_next: "this may overwrite what was stored in out before",
    read_back: "this reads an array that the kernel also writes",
    in_place: "this reads an array that the kernel also writes",
    bits: "the bits of a float are no number that changes with it",
    exchanged: "would not find the value again that this gives",
    largest: "atomic_max hands on no derivative",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_what_is_refused_at_its_line(function: Any) -> None:
    spec = tw.spec("f32[16]")
    with pytest.raises(tw.TileUnsupportedFeatureError, match=REFUSED[function]) as error:
        tw.grad(tw.tile_kernel(function), wrt="x", outputs="out").ir(*[spec] * 4)
    with open(__file__) as file:
        assert "# here" in file.readlines()[error.value.loc.line - 1]


def test_what_is_no_output_is_named() -> None:
    @tw.tile_kernel
    def kernel(x, y, out):
        tw.store(out, 0, tw.load(x, 0, 4))

    spec = tw.spec("f32[16]")
    with pytest.raises(tw.TileTypeError, match="y is no output: nothing is stored in it"):
        tw.grad(kernel, wrt="x", outputs="y").ir(*[spec] * 5)
