"""Cross entropy with label smoothing, loss and gradient in one kernel; rows whose label is negative are left out."""

import numpy as np
from _places import check, places

import tilewright as tw


@tw.tile_kernel
def cross_entropy(logits, labels, loss, gradient, smoothing: tw.Constant[float], width: tw.Constant[int]):
    row = tw.bid(0)
    classes = logits.shape[1]
    label = tw.load(labels, row, ())
    if label < 0:
        tw.store(loss, row, 0.0)
        tw.store(gradient, (row, 0), tw.zeros((1, width), tw.float32))
        return
    x = tw.load(logits, (row, 0), (1, width), padding_mode=tw.PaddingMode.NEG_INF)
    column = tw.arange(width, dtype=tw.int32)[None, :]
    top = tw.max(x)
    e = tw.exp(x - top)
    total = tw.sum(e)
    # log of the softmax; the columns past the end (-inf) must not enter the mean.
    log_share = x - top - tw.log(total)
    at_label = tw.gather(logits, (row, label)) - top - tw.log(total)
    mean = tw.sum(tw.where(column < classes, log_share, 0.0)) / classes
    tw.store(loss, row, -(1 - smoothing) * at_label - smoothing * mean)
    target = tw.where(column == label, 1 - smoothing, 0.0) + smoothing / classes
    tw.store(gradient, (row, 0), e / total - target)


def main() -> None:
    rng = np.random.default_rng(25)
    rows, classes, smoothing = 40, 300, 0.1
    logits = (3 * rng.standard_normal((rows, classes))).astype(np.float32)
    labels = rng.integers(0, classes, rows).astype(np.int32)
    labels[::7] = -100
    exact = logits.astype(np.float64)
    log_share = exact - exact.max(axis=1, keepdims=True)
    log_share -= np.log(np.exp(log_share).sum(axis=1, keepdims=True))
    kept = labels >= 0
    picked = log_share[np.arange(rows), np.where(kept, labels, 0)]
    want = np.where(kept, -(1 - smoothing) * picked - smoothing * log_share.mean(axis=1), 0)
    target = np.full((rows, classes), smoothing / classes)
    target[np.arange(rows)[kept], labels[kept]] += 1 - smoothing
    want_gradient = np.where(kept[:, None], np.exp(log_share) - target, 0)
    for place in places():
        dx, dl, loss, gradient = place.put(logits, labels, np.empty(rows, np.float32), np.empty_like(logits))
        cross_entropy[(rows,)](dx, dl, loss, gradient, smoothing, 512)
        check(f"cross entropy of {rows} x {classes}", place, place.get(loss), want, bound=1e-5)
        check("its gradient", place, place.get(gradient), want_gradient, bound=1e-6)


if __name__ == "__main__":
    main()
