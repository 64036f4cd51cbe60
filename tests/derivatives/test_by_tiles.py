"""Gradients by their own tiles: beside those that are added up block by block, their kernels, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from benchmarks import derivative_kernels as forward
from support.differentiable import attention, layer_norm, linear_gelu, rotary

import tilewright as tw
from tilewright.tileir.ops.atomics import AtomicRmw
from tilewright.tileir.ops.control import For, While
from tilewright.tileir.ops.matmul import Mma
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.ops.shape import Permute, Reshape

random = np.random.default_rng(41)
F32 = np.float32


def normal(*shape: int) -> Any:
    return random.standard_normal(shape)


def both_ways(
    kernel: tw.tile_kernel, grid: tuple[int, ...], given: dict[str, Any], wrt: tuple[str, ...], output: str,
    tiles: tuple[int, ...], run: Callable[..., None] | None = None, **options: Any,
) -> tuple[list[Any], list[Any]]:
    """Gradients by their own tiles, and as they are added up block by block, from zeros."""
    g = normal(*given[output].shape).astype(given[output].dtype)
    one, other = ([np.zeros_like(given[name]) for name in wrt] for _ in range(2))
    tw.grad(kernel, wrt=wrt, outputs=output, **options)[grid](*given.values(), g, *other)
    by_tiles = tw.grad(kernel, wrt=wrt, outputs=output, by_tiles=True, **options)
    if run is None:
        by_tiles[tiles](*given.values(), g, *one, grid)
    else:
        run(by_tiles, tiles, *given.values(), g, *one, grid)
    return one, other


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal: bool) -> None:
    """Keys and values; of causal attention the blocks that have a share follow each other, and are found by halving."""
    q, k, v = (normal(13, 8) for _ in range(3))
    given = {"q": q, "k": k, "v": v, "out": q.copy(), "SCALE": 0.35, "D": 8, "CAUSAL": causal}
    for one, other in zip(*both_ways(attention, (4,), given, ("k", "v"), "out", (4,)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)
    extra = (q, k.copy(), v.copy(), (4,))
    function = tw.grad(attention, wrt=("k", "v"), outputs="out", by_tiles=True).lower(*given.values(), *extra).tile_ir()
    assert not any(isinstance(op, AtomicRmw) for op in function.walk())
    assert any(isinstance(op, While) for op in function.walk()) is causal
    assert [d.value for d in function.decisions if d.name == "gradient"] == [
        "k: one tile in each block", "v: one tile in each block"]


@pytest.mark.parametrize("name, tiles", [("x", (2, 3)), ("w", (3, 2))])
def test_a_product_is_a_product(name: str, tiles: tuple[int, int]) -> None:
    """Of x @ w the gradients are two more products, as one writes them by hand."""
    given = {"x": normal(7, 21), "w": normal(21, 10), "bias": normal(10), "out": normal(7, 10), "tm": 4, "tn": 8,
             "tk": 8}
    (one,), (other,) = both_ways(forward.linear, (2, 2), {**given, **_narrow(given)}, (name,), "out", tiles)
    np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)
    x = tw.spec("bf16[4096,4096]")
    backward = tw.grad(forward.linear, wrt=name, outputs="out", by_tiles=True, overwrite=name)
    function = backward.lower(x, x, tw.spec("bf16[4096]"), x, 128, 64, 128, x, x, (32, 64)).tile_ir()
    [loop] = [op for op in function.walk() if isinstance(op, For)]
    [mma] = [op for op in loop.loop.ops if isinstance(op, Mma)]
    assert mma.acc is loop.loop.params[1] and loop.loop.terminator.operands == [mma.result]
    assert sum(isinstance(op, Permute) for op in function.walk()) == 1


def _narrow(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value.astype(F32) for name, value in given.items() if isinstance(value, np.ndarray)}


def half(x: Any) -> Any:
    return x.astype(ml_dtypes.bfloat16)


def attended(heads: int, tokens: int, d: int, causal: bool) -> dict[str, Any]:
    """The arguments of `forward.attention`, after it has run."""
    q, k, v = (half(normal(heads, tokens, d)) for _ in range(3))
    given = {"q": q, "k": k, "v": v, "out": np.zeros_like(q), "lse": np.zeros((heads, tokens), F32), "scale": 0.25,
             "tm": 16, "tn": 32, "d": d, "causal": causal}
    forward.attention[tw.cdiv(tokens, 16), heads](*given.values())
    return given


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("residuals, words", [(("out", "lse"), 16), ((), 48)])
def test_what_blocks_compute_is_kept(causal: bool, residuals: tuple[str, ...], words: int) -> None:
    """The same bits, with a workspace that the launch allocates or is given, launched, bound and checked: of each query
    the product of result and cotangent; without residuals the maximum and the sum that the loop over keys leaves, too.
    """
    given = attended(2, 50, 16, causal)
    g = half(normal(*given["out"].shape))
    options: dict[str, Any] = {
        "wrt": ("k", "v"), "outputs": "out", "overwrite": ("k", "v"), "residuals": residuals,
        "by_tiles": True}
    plain, backward = tw.grad(forward.attention, **options), tw.grad(forward.attention, workspace=True, **options)
    assert backward.roles.parameters[-1] == "blocks" and backward.roles.optional == ("workspace",)
    kept = np.zeros((8, 1, words), np.int32)

    def launched(run: Callable[..., Any], **more: Any) -> list[Any]:
        made = [np.full_like(given[name], np.nan) for name in "kv"]
        run(*given.values(), g, *made, (4, 2), **more)
        return made

    wanted = launched(plain[2, 2])
    for found in (launched(backward[2, 2]), launched(backward[2, 2], workspace=kept),
                  launched(lambda *args: backward.bind((2, 2), *args)()),
                  launched(lambda *args: backward.interpret((2, 2), *args, check=True, on_report="collect"))):
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, other)
    assert kept.any(axis=2).all()
    with pytest.raises(ValueError, match=rf"needs 8 blocks, a slot or more, and {words} words"):
        launched(backward[2, 2], workspace=kept[:, :, 1:])


def test_words_of_64_bits() -> None:
    q, k, v = (normal(13, 8) for _ in range(3))
    given = {"q": q, "k": k, "v": v, "out": q.copy(), "SCALE": 0.35, "D": 8, "CAUSAL": True}
    (one,), (other,) = both_ways(attention, (4,), given, ("v",), "out", (4,), workspace=True)
    np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)
    backward = tw.grad(attention, wrt="v", outputs="out", by_tiles=True, workspace=True)
    with pytest.raises(tw.TileTypeError, match="the workspace must be an array of int64, not of int32"):
        backward[4](*given.values(), q, v.copy(), (4,), workspace=np.zeros((4, 1, 8), np.int32))


def test_a_product_keeps_nothing() -> None:
    given = {"x": normal(7, 21), "w": normal(21, 10), "bias": normal(10), "out": normal(7, 10), "tm": 4, "tn": 8,
             "tk": 8}
    kept = np.zeros((4, 1, 1), np.int32)
    backward = tw.grad(forward.linear, wrt="w", outputs="out", by_tiles=True, workspace=True)
    made, g = np.zeros((21, 10), F32), normal(7, 10).astype(F32)
    given = {**given, **_narrow(given)}
    backward[3, 2](*given.values(), g, made, (2, 2), workspace=kept)
    np.testing.assert_allclose(made, given["x"].T @ g, rtol=1e-4, atol=1e-5)
    assert not kept.any()


def test_cotangents_are_multiplied_as_they_are_loaded() -> None:
    """With what blocks compute in the workspace, nothing reads cotangents but products: these take them as they are,
    in registers of eight warps, and compute no reduction."""
    x, lse = tw.spec("bf16[8,1024,64]"), tw.spec("f32[8,1024]")
    backward = tw.grad(forward.attention, wrt=("k", "v"), outputs="out", residuals=("out", "lse"), by_tiles=True,
                       workspace=True)
    given = (x, x, x, x, lse, 0.125, 64, 128, 64, False, x, x, x, (16, 8), tw.spec("i32[128,1,64]"))
    function = backward.lower(*given).tile_ir()
    products = [op for op in function.walk() if isinstance(op, Mma)]
    assert len(products) == 4 and not any(op.reduces for op in function.walk())
    for op in products:
        value = op.b
        while isinstance(value.op, (Permute, Reshape)):
            value = value.op.src
        assert isinstance(value.op, Load)
    [decision] = [d for d in function.decisions if d.name == "block_values"]
    assert decision.value == "kept in the workspace by a kernel before" and "64 words of 32 bits" in decision.reason
    assert backward.lower(*given, target="sm_90a").machine_ir().plan.warps == 8


def test_launches_that_cannot_be_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A launch that a GPU is handed as it is would leave the kernel before out."""
    from tilewright.launching.launcher import Launcher

    given = attended(1, 16, 16, False)
    backward = tw.grad(forward.attention, wrt="k", outputs="out", by_tiles=True, workspace=True)
    args = (*given.values(), given["q"].copy(), given["k"].copy(), (1, 1), None)
    monkeypatch.setattr(Launcher, "bind", lambda self, grid, args: (object(), self._specialiser.bind(args), 0))
    with pytest.raises(tw.TileUnsupportedFeatureError, match="a kernel before fills their workspace"):
        backward.launcher.bind(backward[1, 1].grid, args)


def test_gradients_are_added_or_stored() -> None:
    given = {"x": normal(7, 21), "w": normal(21, 10), "b": normal(10), "out": normal(7, 10), "TM": 4, "TN": 8, "TK": 8}
    g, made = normal(7, 10), [np.ones((7, 21)), np.full((7, 21), np.nan)]
    for array, stored in zip(made, ((), ("x",)), strict=True):
        backward = tw.grad(linear_gelu, wrt="x", outputs="out", by_tiles=True, overwrite=stored)
        assert backward.roles.parameters[-2:] == ("x_grad", "blocks")
        backward[2, 3](*given.values(), g, array, (2, 2))
    np.testing.assert_allclose(made[0], made[1] + 1.0)


def test_blocks_that_the_kernel_does_not_tell_apart() -> None:
    """Along an axis that no load names all blocks add the same; a bias is the sum over rows of blocks."""
    given = {"x": normal(7, 21), "w": normal(21, 10), "b": normal(10), "out": normal(7, 10), "TM": 4, "TN": 8, "TK": 8}
    (one,), (other,) = both_ways(linear_gelu, (2, 2), given, ("b",), "out", (2,))
    np.testing.assert_allclose(one, other, rtol=1e-12)


def test_a_loop_over_rows() -> None:
    """What a loop counts may begin at a block's number, and step over those of others."""

    @tw.tile_kernel
    def walking(x, w, out):
        t = tw.load(w, 0, 8)
        for i in range(tw.bid(0), tw.cdiv(x.shape[0], 2), tw.num_blocks(0)):
            tw.store(out, (i, 0), tw.load(x, (i, 0), (2, 8)) * t)

    given = {"x": normal(9, 8), "w": normal(8), "out": normal(9, 8)}
    (one,), (other,) = both_ways(walking, (3,), given, ("x",), "out", (5,))
    np.testing.assert_array_equal(one, other)
    (one,), (other,) = both_ways(walking, (3,), given, ("w",), "out", (1,))
    np.testing.assert_allclose(one, other, rtol=1e-12)


def test_in_the_simulator() -> None:
    """GPU code of causal attention's gradients, with halving, wgmma and residuals, beside the interpreter."""
    heads, tokens, d = 1, 128, 16
    q, k, v = (normal(heads, tokens, d).astype(F32) for _ in range(3))
    given = {"q": q, "k": k, "v": v, "out": np.zeros_like(q), "lse": np.zeros((heads, tokens), F32), "scale": 0.125,
             "tm": 64, "tn": 64, "d": d, "causal": True}
    given = {name: value.astype(ml_dtypes.bfloat16) if name in "q k v out".split() else value
             for name, value in given.items()}
    forward.attention[2, heads](*given.values())

    def simulate(kernel: tw.tile_kernel, *args: Any) -> None:
        kernel.simulate(*args, target="sm_90a")

    made = both_ways(forward.attention, (2, heads), given, ("k", "v"), "out", (heads, 2), simulate,
                     residuals=("out", "lse"))
    for one, other in zip(*made, strict=True):
        assert np.abs(one.astype(F32) - other.astype(F32)).max() <= 2.0**-6 * np.abs(other.astype(F32)).max()


def two_loads(x, out):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, 4) * tw.load(x, tw.num_blocks(0) - 1 - i, 4))


def shifted(x, out):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i + 1, 4))


def chosen(x, out):
    i = tw.bid(0)
    t = tw.zeros((4,), x.dtype)
    if i > 1:
        t = tw.load(x, i, 4)
    tw.store(out, i, t)


def in_order(x, w, out):
    t = tw.load(x, tw.bid(0), 4)
    for k in range(3):
        t = tw.sin(t) * tw.load(w, k, 4)
    tw.store(out, tw.bid(0), t)


def gathered(x, out):
    i = tw.bid(0) * 4 + tw.arange(4, dtype=tw.int32)
    tw.store(out, tw.bid(0), tw.gather(x, i))


@pytest.mark.parametrize("function, reason", [
    (two_loads, "it is loaded more than once"), (shifted, "the place of a tile is no block number or loop variable"),
    (chosen, "a gradient is added to under a condition"), (gathered, "it is not loaded by tiles"),
], ids=lambda value: getattr(value, "__name__", ""))
def test_what_is_refused(function: Any, reason: str) -> None:
    x = normal(8)
    backward = tw.grad(tw.tile_kernel(function), wrt="x", outputs="out", by_tiles=True)
    with pytest.raises(tw.TileUnsupportedFeatureError, match=reason):
        backward.ir(x, x.copy(), x.copy(), x.copy(), 2)


def test_a_loop_whose_adjoints_come_in_order() -> None:
    backward = tw.grad(tw.tile_kernel(in_order), wrt="w", outputs="out", by_tiles=True)
    x, w = normal(8), normal(12)
    with pytest.raises(tw.TileUnsupportedFeatureError, match="the place of a tile is no block number or loop variable"):
        backward.ir(x, w, x.copy(), x.copy(), w.copy(), 2)


def test_an_array_that_is_needed_and_overwritten() -> None:
    @tw.tile_kernel
    def kernel(x, w, out):
        i = tw.bid(0)
        t = tw.load(w, i, 4)
        tw.store(w, i, tw.zeros((4,), tw.float64))
        tw.store(out, i, tw.load(x, i, 4) * t)

    x = normal(8)
    for by_tiles, more in ((False, ()), (True, (2,))):
        backward = tw.grad(kernel, wrt="x", outputs="out", by_tiles=by_tiles)
        with pytest.raises(tw.TileUnsupportedFeatureError, match="this reads an array that the kernel also writes"):
            backward.ir(x, x.copy(), x.copy(), x.copy(), x.copy(), *more)


def test_gradients_at_different_places() -> None:
    x, g = normal(5, 13), normal(13)
    backward = tw.grad(layer_norm, wrt=("x", "w"), outputs="out", by_tiles=True)
    with pytest.raises(tw.TileUnsupportedFeatureError, match="its tiles lie at other places than those of the first"):
        backward.ir(x, g, g.copy(), x.copy(), np.float64(1e-5), 16, x.copy(), x.copy(), g.copy(), (3,))


def test_arguments_that_do_not_fit() -> None:
    backward = tw.grad(rotary, wrt="cos", outputs="out", by_tiles=True)
    x, c = normal(4, 16), normal(4, 8)
    for blocks in (2.0, (1, 2, 3, 4), c):
        with pytest.raises(TypeError, match="'blocks' must be the grid of the kernel"):
            backward[2](x, c, c.copy(), x.copy(), 8, x.copy(), c.copy(), blocks)
    with pytest.raises(TypeError, match="by_tiles must be True or False"):
        tw.grad(rotary, wrt="cos", outputs="out", by_tiles=3)  # type: ignore[arg-type]
