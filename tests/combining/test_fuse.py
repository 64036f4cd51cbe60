"""`fuse`: which launches become one and why, and that bits are those of the launches one by one."""

from __future__ import annotations

import os
import threading
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from support.chains import fused_is_unfused, random_chain
from support.fused_kernels import (
    bias_gelu,
    data,
    divide_rows,
    dropout,
    exponentials,
    layer_norm,
    linear,
    plus,
    relu,
    reverse,
    row_maxima,
    times,
)

import tilewright as tw
from tilewright.tileir.parser import parse
from tilewright.tileir.printer import to_text

CHAINS = 500 if os.environ.get("TILEWRIGHT_THOROUGH") else 40
F32 = np.float32


def three(g: Any, x: Any, out: Any) -> None:
    """relu(x) * 0.5 + 1"""
    a, b = g.empty(x.shape, tw.float32), g.empty(x.shape, np.float32)
    relu[7](x, a)
    times[7](a, b, 0.5)
    plus[7](b, out, 1.0)


def test_three_kernels_are_one() -> None:
    x, out = data(100), np.zeros(100, F32)
    with tw.fuse() as g:
        three(g, x, out)
        assert not out.any()  # launches run at the end
    np.testing.assert_array_equal(out, np.maximum(x, 0) * F32(0.5) + 1)
    [ran] = g.launches
    assert (ran.names, ran.grid) == (("relu", "times", "plus"), (7, 1, 1)) and ran.kernel.__name__ == "relu_times_plus"
    text = ran.kernel.ir(*ran.args)
    assert [text.count(word) for word in (" load(", " store(", "fma(")] == [1, 1, 0]
    assert to_text(parse(text)) == text
    again = np.zeros_like(out)
    tw.kernel_from_ir(text)[7](*(again if a is out else a for a in ran.args))
    np.testing.assert_array_equal(again, out)
    ran.kernel.simulate((7,), *(again if a is out else a for a in ran.args), target="sm_80")
    np.testing.assert_array_equal(again, out)
    ptx = ran.kernel.ptx(*ran.args, target="sm_90a")
    assert "fma" not in ptx and "add.rn" in ptx and "mul.rn" in ptx


def test_a_picture_of_what_became_of_launches() -> None:
    """Each launch with its kernels, what goes in and out, and what stays in registers; it is well-formed."""
    x, out = data(100), np.zeros(100, F32)
    with tw.fuse() as g:
        three(g, x, out)
        reverse[7](out, x)
        assert "being recorded" in g._repr_html_()
        with pytest.raises(RuntimeError, match="look at them behind it"):
            g.picture()
    svg = ElementTree.fromstring(g.picture())
    texts = [element.text for element in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["relu", "times", "plus", "over (7, 1, 1)", "in registers: t1, t2", "x", "out",
                     "reverse", "over (7, 1, 1)", "out", "x"]
    assert svg.get("aria-label") == "2 launches: relu + times + plus; reverse"
    assert "reverse is not fused with relu" in g._repr_html_() and "<svg" in g._repr_html_()


def test_launches_are_made_again() -> None:
    """With what the arrays hold then; in the interpreter, and on a GPU as a graph (test_fuse_on_gpu.py)."""
    x, out = data(112), np.zeros(112, F32)
    with tw.fuse() as g:
        three(g, x, out)
        reverse[7](out, x)
        with pytest.raises(RuntimeError, match="fused at the end of the with statement; replay them behind it"):
            g.replay()
    for _ in range(2):
        before = x.copy()
        g.replay()
        np.testing.assert_array_equal(out, np.maximum(before, 0) * F32(0.5) + 1)
        assert not np.array_equal(x, before)


def test_what_follows_may_start_early() -> None:
    """A kernel that fusing makes, behind another launch of the recording on its stream."""
    x, out = data(112), np.zeros(112, F32)
    with tw.fuse() as g:
        three(g, x, out)
        reverse[7](out, x)
        relu[7](x, x)
    assert [ran.kernel.hints.programmatic_dependent_launch for ran in g.launches] == [False, True]
    assert [len(ran.names) for ran in g.launches] == [3, 2]
    waits = "griddepcontrol.wait"
    assert [waits in ran.kernel.ptx(*ran.args, target="sm_90") for ran in g.launches] == [False, True]
    np.testing.assert_array_equal(x, np.maximum(out[::-1].reshape(7, 16)[:, ::-1].reshape(-1), 0))


def test_what_is_explained() -> None:
    x, out = data(100), np.zeros(100, F32)
    with tw.fuse() as g:
        three(g, x, out)
        reverse[7](out, x)
    first, one, two, *why = g.explain().splitlines()
    assert first == "4 launches became 2:"
    assert one == "  relu + times + plus over (7, 1, 1); without t1, t2" and two == "  reverse over (7, 1, 1)"
    assert why[0] == ("times is fused with relu: in one launch, block by block; 832 bytes less to move, at least "
                      "0.000194 us in the place of 0.000389 us on NVIDIA H200 SXM")
    assert why[2] == ("reverse is not fused with relu + times + plus: blocks along axis 0 of the grid may access "
                      "elements of out that another block writes, or where they do is not known")


def test_twenty_kernels_are_one() -> None:
    x, out, want = data(100), np.zeros(100, F32), data(100)
    with tw.fuse() as g:
        source = x
        for k in range(20):
            t = out if k == 19 else g.empty(100, tw.float32)
            plus[7](source, t, 0.25 * k) if k % 2 else times[7](source, t, 1.0 + k / 16)
            source = t
    for k in range(20):
        want = want + F32(0.25 * k) if k % 2 else want * F32(1.0 + k / 16)
    np.testing.assert_array_equal(out, want)
    assert len(g.launches) == 1 and len(g.launches[0].names) == 20
    assert g.launches[0].kernel.__name__ == "times_plus"


@pytest.mark.parametrize("seed", range(CHAINS))
def test_random_chains(seed: int) -> None:
    fused_is_unfused(random_chain(seed))


def test_random_chains_fuse() -> None:
    """The chains of the test above are not all left as they are, nor all fused in one way."""
    told = [fused_is_unfused(random_chain(seed)).explain() for seed in (0, 1, 2, 3, 4, 5, 16, 26)]
    assert sum("is fused with" in text for text in told) >= 6 and any("is not fused with" in text for text in told)


@pytest.mark.parametrize("seed", range(12))
def test_the_ir_of_fused_launches_runs(seed: int) -> None:
    """It prints, parses to itself, and leaves the bits of the kernel in every argument."""
    for ran in fused_is_unfused(random_chain(seed)).launches:
        if len(ran.names) > 1:
            text = ran.kernel.ir(*ran.args)
            assert to_text(parse(text)) == text
            one, other = ([a.copy() if isinstance(a, np.ndarray) else a for a in ran.args] for _ in range(2))
            ran.kernel[ran.grid](*one)
            tw.kernel_from_ir(text)[ran.grid](*other)
            assert [np.asarray(a).tobytes() for a in one] == [np.asarray(a).tobytes() for a in other]


def layer(g: Any, tk: int, out: Any, arrays: Any) -> None:
    x, w, weight, bias, more = arrays
    (m, k), n = x.shape, w.shape[1]
    normal, product, bent = g.empty((m, k), x.dtype), g.empty((m, n), x.dtype), g.empty((m, n), x.dtype)
    grid = (tw.cdiv(m, 16), tw.cdiv(n, 16))
    layer_norm[grid[:1]](x, weight, bias, normal, 16, 64)
    linear[grid](normal, w, product, 16, 16, tk)
    bias_gelu[grid](product, more, bent, 16, 16)
    dropout[grid](bent, out, 7, 0.2, 16, 16)


class Plain:
    """In the place of a recording: memory for all, launches at once."""

    @staticmethod
    def empty(shape: tuple[int, ...], dtype: Any) -> Any:
        return np.zeros(shape, dtype)


@pytest.mark.parametrize("tk", [16, 64])
def test_a_layer_of_four_kernels(tk: int) -> None:
    """The normalisation is computed where the product loads it, the rest where the product is stored."""
    arrays = [data(*s, dtype=np.float16) for s in ((40, 64), (64, 48), (64,), (64,), (48,))]
    want, out = np.zeros((40, 48), np.float16), np.zeros((40, 48), np.float16)
    layer(Plain, tk, want, arrays)
    with tw.fuse() as g:
        layer(g, tk, out, arrays)
    np.testing.assert_array_equal(out.view(np.uint16), want.view(np.uint16))
    [ran] = g.launches
    assert ran.names == ("layer_norm", "linear", "bias_gelu", "dropout") and ran.grid == (3, 3, 1)
    assert "linear is fused with layer_norm: computed where it is loaded" in g.explain()
    assert "wgmma" not in ran.kernel.ptx(*ran.args, target="sm_80")
    text = ran.kernel.ir(*ran.args)
    assert to_text(parse(text)) == text
    again = np.zeros_like(out)
    tw.kernel_from_ir(text)[ran.grid](*(again if a is out else a for a in ran.args))
    np.testing.assert_array_equal(again.view(np.uint16), want.view(np.uint16))


def test_rows_and_what_follows() -> None:
    """A softmax of three kernels: what is reduced is a tile of each block."""
    x, out = data(10, 21), np.zeros((10, 21), F32)
    with tw.fuse() as g:
        top, up = g.empty(10, tw.float32), g.empty((10, 21), tw.float32)
        row_maxima[3](x, top, 32)
        exponentials[3](x, top, up, 32)
        divide_rows[3](up, out, 32)
    assert [ran.names for ran in g.launches] == [("row_maxima", "exponentials", "divide_rows")]
    want = np.exp(x - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out, want / want.sum(axis=1, keepdims=True), rtol=1e-6)
    assert g.launches[0].kernel.ir(*g.launches[0].args).count(" load(") == 1


def test_an_axis_of_one_block_is_none() -> None:
    """The grid (3, 1) in front of rows whose kernel knows one axis: the tiles are the same."""
    x, bias, out = data(10, 21), data(21), np.zeros(10, F32)
    with tw.fuse() as g:
        t = g.empty((10, 21), tw.float32)
        bias_gelu[3, 1](x, bias, t, 4, 32)
        row_maxima[3](t, out, 32)
    assert g.explain().splitlines()[1] == "  bias_gelu + row_maxima over (3, 1, 1); without t1"
    want = np.empty_like(x)
    bias_gelu[3, 1](x, bias, want, 4, 32)
    np.testing.assert_array_equal(out, want.max(axis=1))


def test_independent_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.combining import planning

    x, y, one, two = data(100), data(100), np.zeros(100, F32), np.zeros(100, F32)
    with tw.fuse() as g:
        relu[7](x, one)
        times[7](y, two, 2.0)
    assert [ran.names for ran in g.launches] == [("relu", "times")]
    np.testing.assert_array_equal(two, y * 2)
    monkeypatch.setattr(planning, "SMALL", 1e-12)
    with tw.fuse() as g:
        relu[7](x, one)
        times[7](y, two, 2.0)
    assert [ran.names for ran in g.launches] == [("relu",), ("times",)]
    assert "they share no array, and are not so short that one launch would be felt" in g.explain()


def test_short_launches_over_different_grids() -> None:
    """They share a launch, whose blocks do the work of one or of the other."""
    x, one, a, b, two = data(100), np.zeros(100, F32), data(40, 16), data(16, 20), np.zeros((40, 20), F32)
    with tw.fuse() as g:
        linear[(3, 2)](a, b, two, 16, 16, 16)
        relu[7](x, one)
        times[7](one, one, 2.0)
    [ran] = g.launches
    assert (ran.names, ran.grid) == (("linear", "relu", "times"), (13, 1, 1))
    assert "relu + times is put beside linear: one launch for both, of " in g.explain()
    np.testing.assert_array_equal(one, np.maximum(x, 0) * 2)
    want = np.zeros_like(two)
    linear[(3, 2)](a, b, want, 16, 16, 16)
    np.testing.assert_array_equal(two, want)
    text = ran.kernel.ir(*ran.args)
    assert to_text(parse(text)) == text and ".target sm_90a" in ran.kernel.ptx(*ran.args, target="sm_90a")
    one[:] = 0
    ran.kernel.simulate(ran.grid, *ran.args, target="sm_80")
    np.testing.assert_array_equal(one, np.maximum(x, 0) * 2)


def test_every_other_array_is_written() -> None:
    x, between, out = data(48), np.zeros(48, F32), np.zeros(48, F32)
    with tw.fuse() as g:
        relu[3](x, between)
        times[3](between, out, 2.0)
        plus[3](out, out, 1.0)
    assert len(g.launches) == 1
    np.testing.assert_array_equal(between, np.maximum(x, 0))
    np.testing.assert_array_equal(out, between * 2 + 1)
    between[:] = 0
    with tw.fuse(temporaries=[between]) as g:
        relu[3](x, between)
        times[3](between, out, 2.0)
    assert not between.any() and "without out" in g.explain()
    np.testing.assert_array_equal(out, np.maximum(x, 0) * 2)


def test_a_function_of_launches_is_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.combining import running

    planned: list[Any] = []
    real = running.plan

    def counted(*args: Any) -> Any:
        planned.append(args)
        return real(*args)

    monkeypatch.setattr(running, "plan", counted)
    fused = tw.fuse(three)
    for n in (100, 100, 110):
        x, out = data(n), np.zeros(n, F32)
        assert len(fused(x, out).launches) == 1
        np.testing.assert_array_equal(out, np.maximum(x, 0) * F32(0.5) + 1)
    assert len(planned) == 2 and fused.__name__ == "three"


def test_the_kernel_is_one_for_these_shapes() -> None:
    with tw.fuse() as g:
        three(g, data(100), np.zeros(100, F32))
    kernel, (x, _, out, _) = g.launches[0].kernel, g.launches[0].args
    kernel(x, 2.0, out, 3.0)  # it knows its grid, and scalars are still arguments
    np.testing.assert_array_equal(out, np.maximum(x, 0) * 2 + 3)
    for error, text, given in (
        (ValueError, "argument 'x' must be an array of float32 of shape (100,)", (data(90), 1.0, out, 1.0)),
        (TypeError, "argument 'factor' must be a scalar of float32, not of int32", (x, 1, out, 1.0)),
        (TypeError, "annotated with ArrayAnnotation, but a scalar was given", (1.0, 1.0, out, 1.0)),
        (TypeError, "argument 'factor' must be a scalar, as in the launches that were fused", (x, x, out, 1.0)),
        (tw.TileValueError, "arguments share memory, and the launches that were fused had arrays that do not",
         (x, 1.0, x, 1.0)),
    ):
        with pytest.raises(error) as caught:
            kernel(*given)
        assert text in str(caught.value)
    with pytest.raises(ValueError, match="the decorator of kernel relu_times_plus gives"):
        kernel[8](x, 1.0, out, 1.0)


def test_the_gradient_of_a_chain() -> None:
    with tw.fuse() as g:
        three(g, data(100), np.zeros(100, F32))
    x, factor, out, term = g.launches[0].args
    grad = np.zeros_like(x)
    tw.grad(g.launches[0].kernel, wrt="x", outputs="out")[7](x, factor, out, term, np.ones_like(x), grad)
    np.testing.assert_array_equal(grad, np.where(x > 0, F32(0.5), 0))


def test_errors_of_recordings() -> None:
    x = data(32)
    with tw.fuse() as g:
        with pytest.raises(RuntimeError, match="launches are being recorded already"), tw.fuse():
            pass
        with pytest.raises(TypeError, match="kernel relu takes 2 arguments"):
            relu[2](x)
        with pytest.raises(RuntimeError, match="launches are fused at the end of the with statement; ask behind it"):
            g.explain()
    with pytest.raises(RuntimeError, match="these launches have run; begin anew"), g:
        pass
    with pytest.raises(TypeError, match="fuse: temporaries are arrays, not int"):
        tw.fuse(temporaries=[3])
    out = np.zeros_like(x)
    with pytest.raises(ZeroDivisionError), tw.fuse():
        relu[2](x, out)
        raise ZeroDivisionError
    assert not out.any()
    relu[2](x, out)
    assert out.any()


def test_other_threads_launch_at_once() -> None:
    x, out = np.ones(16, F32), np.zeros(16, F32)
    with tw.fuse():
        thread = threading.Thread(target=lambda: relu[1](x, out))
        thread.start()
        thread.join()
        assert out.all()
