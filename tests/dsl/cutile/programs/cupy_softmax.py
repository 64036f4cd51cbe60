"""A class that holds a kernel's configuration, events around the launches, a device as a context."""

from dataclasses import dataclass

import cuda.tile as ct
import cupy
from cuda.tile._numeric_semantics import RoundingMode as Rounding


@ct.kernel(occupancy=ct.ByTarget(default=2, sm_100=4))
def softmax(x, out, width: ct.Constant[int]):
    row = ct.bid(0)
    t = ct.load(x, (row, 0), (1, width), padding_mode=ct.PaddingMode.NEG_INF)
    e = ct.exp(t - ct.max(t, axis=1, keepdims=True))
    ct.store(out, (row, 0), ct.truediv(e, ct.sum(e, axis=1, keepdims=True), rounding_mode=Rounding.APPROX))


@dataclass
class Softmax:
    width: int = 64

    def __call__(self, x: cupy.ndarray) -> cupy.ndarray:
        if not isinstance(x, cupy.ndarray):
            raise TypeError("softmax takes a CuPy array")
        out = cupy.empty_like(x)
        ct.launch(cupy.cuda.get_current_stream(), x.shape[:1], softmax, (x, out, self.width))
        return out


def main():
    with cupy.cuda.Device(0) as device:
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        x = cupy.random.default_rng(7).standard_normal((9, 50), dtype=cupy.float32)
        start.record()
        out = Softmax()(x)
        end.record()
        end.synchronize()
        device.synchronize()
    assert cupy.cuda.get_elapsed_time(start, end) >= 0
    want = cupy.exp(x - x.max(axis=1, keepdims=True))
    want /= want.sum(axis=1, keepdims=True)
    print("softmax", float(cupy.abs(out - want).max()) < 1e-5, out.sum().get().shape)


if __name__ == "__main__":
    main()
