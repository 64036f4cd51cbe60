"""A small network learns: two linear layers, a layer norm and a cross-entropy, whose backward kernels are derived."""

import numpy as np
from _places import Host, check, places

import tilewright as tw

ZERO, LOW = tw.PaddingMode.ZERO, tw.PaddingMode.NEG_INF
BATCH, INPUTS, HIDDEN, CLASSES = 48, 12, 20, 5
STEPS, RATE, EPS = 30, 0.5, 1e-5


@tw.tile_kernel
def linear(x, w, b, out, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.cdiv(x.shape[1], tk)):
        left = tw.load(x, (i, k), (tm, tk), padding_mode=ZERO)
        acc = tw.mma(left, tw.load(w, (k, j), (tk, tn), padding_mode=ZERO), acc)
    tw.store(out, (i, j), acc + tw.load(b, (0, j), (1, tn)))


@tw.tile_kernel
def norm_relu(x, gain, shift, out, tm: tw.Constant[int], n: tw.Constant[int]):
    """relu of the normalised rows, n columns or fewer."""
    i = tw.bid(0)
    columns = x.shape[1]
    t = tw.load(x, (i, 0), (tm, n), padding_mode=ZERO)
    inside = (tw.arange(n, dtype=tw.int32) < columns)[None, :]
    t = tw.where(inside, t - tw.sum(t, 1, keepdims=True) / columns, 0.0)
    t = t * tw.rsqrt(tw.sum(t * t, 1, keepdims=True) / columns + EPS)
    t = t * tw.load(gain, (0, 0), (1, n), padding_mode=ZERO) + tw.load(shift, (0, 0), (1, n), padding_mode=ZERO)
    tw.store(out, (i, 0), tw.maximum(t, 0.0))


@tw.tile_kernel
def cross_entropy(logits, labels, loss, tm: tw.Constant[int], n: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(logits, (i, 0), (tm, n), padding_mode=LOW)
    top = tw.max(t, 1, keepdims=True)
    chosen = tw.arange(n, dtype=tw.int32)[None, :] == tw.load(labels, i, tm)[:, None]
    picked = tw.sum(tw.where(chosen, t, 0.0), 1)
    tw.store(loss, i, tw.log(tw.sum(tw.exp(t - top), 1)) + tw.reshape(top, (tm,)) - picked)


@tw.tile_kernel
def descend(parameter, gradient, rate, tm: tw.Constant[int], tn: tw.Constant[int]):
    """parameter -= rate * gradient, which becomes zero for the next step."""
    at = tw.bid(0), tw.bid(1)
    tw.store(parameter, at, tw.load(parameter, at, (tm, tn)) - rate * tw.load(gradient, at, (tm, tn)))
    tw.store(gradient, at, tw.zeros((tm, tn), tw.float32))


linear_backward = tw.grad(linear, wrt=("x", "w", "b"), outputs="out")
norm_backward = tw.grad(norm_relu, wrt=("x", "gain", "shift"), outputs="out")
loss_backward = tw.grad(cross_entropy, wrt="logits", outputs="loss")


def train(place: Host, x: np.ndarray, labels: np.ndarray, start: list[np.ndarray]) -> list[float]:
    """The losses of all steps, by kernels in float32."""
    x, labels = place.put(x.astype(np.float32), labels)
    values, gradients = [place.put(p.astype(np.float32)) for p in start], [zeros(place, *p.shape) for p in start]
    w1, b1, gain, shift, w2, b2 = values
    w1_grad, b1_grad, gain_grad, shift_grad, w2_grad, b2_grad = gradients
    rows, tiles = tw.cdiv(BATCH, 16), (16, 16, 16)
    wide, narrow = (rows, tw.cdiv(HIDDEN, 16)), (rows, tw.cdiv(CLASSES, 16))
    h, a, logits, loss = (zeros(place, *s) for s in ((BATCH, HIDDEN), (BATCH, HIDDEN), (BATCH, CLASSES), (BATCH,)))
    mean = place.put(np.full(BATCH, 1 / BATCH, np.float32))
    losses = []
    for _ in range(STEPS):
        linear[wide](x, w1, b1, h, *tiles)
        norm_relu[rows](h, gain, shift, a, 16, 32)
        linear[narrow](a, w2, b2, logits, *tiles)
        cross_entropy[rows](logits, labels, loss, 16, 8)
        losses.append(float(place.get(loss).mean()))

        x_grad, h_grad, a_grad, logits_grad = (zeros(place, *v.shape) for v in (x, h, a, logits))
        loss_backward[rows](logits, labels, loss, 16, 8, mean, logits_grad)
        linear_backward[narrow](a, w2, b2, logits, *tiles, logits_grad, a_grad, w2_grad, b2_grad)
        norm_backward[rows](h, gain, shift, a, 16, 32, a_grad, h_grad, gain_grad, shift_grad)
        linear_backward[wide](x, w1, b1, h, *tiles, h_grad, x_grad, w1_grad, b1_grad)
        for value, gradient in zip(values, gradients, strict=True):
            descend[tw.cdiv(value.shape[0], 16), 1](value, gradient, RATE, 16, 32)
    return losses


def zeros(place: Host, *shape: int) -> np.ndarray:
    return place.put(np.zeros(shape, np.float32))


def train_in_float64(x: np.ndarray, labels: np.ndarray, start: list[np.ndarray]) -> list[float]:
    """The same training by the formulas of its gradients."""
    w1, b1, gain, shift, w2, b2 = values = [p.copy() for p in start]
    losses = []
    for _ in range(STEPS):
        h = x @ w1 + b1
        scale = 1 / np.sqrt(h.var(1, keepdims=True) + EPS)
        normed = (h - h.mean(1, keepdims=True)) * scale
        a = np.maximum(normed * gain + shift, 0)
        logits = a @ w2 + b2
        p = np.exp(logits - logits.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        losses.append(-np.log(p[np.arange(BATCH), labels]).mean())

        dlogits = (p - np.eye(CLASSES)[labels]) / BATCH
        da = dlogits @ w2.T * (a > 0)
        inner = da * gain
        dh = scale * (inner - inner.mean(1, keepdims=True) - normed * (inner * normed).mean(1, keepdims=True))
        gradients = (x.T @ dh, dh.sum(0), (da * normed).sum(0), da.sum(0), a.T @ dlogits, dlogits.sum(0))
        for value, gradient in zip(values, gradients, strict=True):
            value -= RATE * gradient
    return losses


def main() -> None:
    rng = np.random.default_rng(30)
    x = rng.standard_normal((BATCH, INPUTS))
    labels = (np.abs(x[:, :CLASSES]).argmax(1)).astype(np.int32)
    start = [rng.standard_normal((INPUTS, HIDDEN)) / INPUTS**0.5, np.zeros((1, HIDDEN)), np.ones((1, HIDDEN)),
             np.zeros((1, HIDDEN)), rng.standard_normal((HIDDEN, CLASSES)) / HIDDEN**0.5, np.zeros((1, CLASSES))]
    want = np.array(train_in_float64(x, labels, start))
    for place in places():
        losses = train(place, x, labels, start)
        check(f"loss of {STEPS} steps, from {losses[0]:.3f} to {losses[-1]:.3f}", place, np.array(losses), want, 1e-3)
        if losses[-1] > losses[0] / 2:
            raise SystemExit("the network has not learned")


if __name__ == "__main__":
    main()
