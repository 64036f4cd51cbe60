"""Operators of torch for tests: a softmax with a backward, one in place, a layer norm and a product by tw.grad."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

import tilewright as tw


@tw.tile_kernel
def softmax_rows(x, out, columns: tw.Constant[int]):
    row = tw.bid(0)
    t = tw.load(x, (row, 0), (1, columns), padding_mode=tw.PaddingMode.NEG_INF)
    e = tw.exp(t - tw.max(t, axis=1, keepdims=True))
    tw.store(out, (row, 0), e / tw.sum(e, axis=1, keepdims=True))


@tw.tile_kernel
def softmax_rows_backward(y, y_grad, x_grad, columns: tw.Constant[int]):
    row = tw.bid(0)
    t = tw.load(y, (row, 0), (1, columns), padding_mode=tw.PaddingMode.ZERO)
    g = tw.load(y_grad, (row, 0), (1, columns), padding_mode=tw.PaddingMode.ZERO)
    tw.store(x_grad, (row, 0), t * (g - tw.sum(t * g, axis=1, keepdims=True)))


@tw.tile_kernel
def scale_tiles(x, factor):
    i = tw.bid(0)
    tw.store(x, i, (tw.load(x, i, 4) * factor).astype(x.dtype))


@tw.tile_kernel
def normalise_rows(x, weight, bias, out, mean_out, columns: tw.Constant[int], tile: tw.Constant[int]):
    row = tw.bid(0)
    t = tw.load(x, (row, 0), (1, tile), padding_mode=tw.PaddingMode.ZERO)
    inside = tw.arange(tile, dtype=tw.int32)[None, :] < columns
    mean = tw.sum(t, axis=1, keepdims=True) / columns
    centred = tw.where(inside, t - mean, 0.0)
    variance = tw.sum(centred * centred, axis=1, keepdims=True) / columns
    w = tw.load(weight, 0, tile, padding_mode=tw.PaddingMode.ZERO)[None, :]
    b = tw.load(bias, 0, tile, padding_mode=tw.PaddingMode.ZERO)[None, :]
    tw.store(out, (row, 0), centred * (1.0 / tw.sqrt(variance + 1e-5)) * w + b)
    tw.store(mean_out, row, tw.reshape(mean, (1,)))


@tw.tile_kernel
def multiply(a, b, c, tile: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    total = tw.zeros((tile, tile), c.dtype)
    for k in range(tw.num_tiles(a, axis=1, shape=(tile, tile))):
        x = tw.load(a, (i, k), (tile, tile), padding_mode=tw.PaddingMode.ZERO)
        y = tw.load(b, (k, j), (tile, tile), padding_mode=tw.PaddingMode.ZERO)
        total = tw.mma(x, y, total)
    tw.store(c, (i, j), total)


@tw.torch.op("tilewright_tests::softmax_backward")
def softmax_backward(output: Tensor, grad: Tensor, tile: int) -> Tensor:
    x_grad = torch.empty_like(output)
    softmax_rows_backward[(output.shape[0],)](output, grad, x_grad, tile)
    return x_grad


@tw.torch.op("tilewright_tests::softmax", backward=softmax_backward)
def softmax(x: Tensor, tile: int = 8) -> Tensor:
    """The softmax of each row of at most `tile` elements."""
    out = torch.empty_like(x)
    softmax_rows[(x.shape[0],)](x, out, tile)
    return out


@tw.torch.op("tilewright_tests::scale_", example=("f32[8]", 2.0))
def scale_(x: Tensor, factor: float) -> None:
    scale_tiles[(tw.cdiv(x.shape[0], 4),)](x, factor)


@tw.torch.op("tilewright_tests::layer_norm", backward=tw.grad)
def layer_norm(x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """Rows over the last axis, and their means."""
    rows = x.reshape(-1, x.shape[-1])
    out, mean = torch.empty_like(rows), rows.new_empty(rows.shape[0])
    normalise_rows[(rows.shape[0],)](rows, weight, bias, out, mean, int(x.shape[-1]), 8)
    return out.view(x.shape), mean


@tw.torch.op("tilewright_tests::matmul", backward=partial(tw.grad), autocast=torch.float32)
def matmul(a: Tensor, b: Tensor) -> Tensor:
    c = a.new_empty(a.shape[0], b.shape[1])
    multiply[(tw.cdiv(a.shape[0], 4), tw.cdiv(b.shape[1], 4))](a, b, c, 4)
    return c
