"""Rotation of vectors by quaternions, a dataclass of tiles with methods."""

from dataclasses import dataclass

import numpy as np

import tilewright as ct


@dataclass(frozen=True)
class Quaternion:
    w: ct.Tile
    x: ct.Tile
    y: ct.Tile
    z: ct.Tile

    def times(self, o):
        return Quaternion(
            self.w * o.w - self.x * o.x - self.y * o.y - self.z * o.z,
            self.w * o.x + self.x * o.w + self.y * o.z - self.z * o.y,
            self.w * o.y - self.x * o.z + self.y * o.w + self.z * o.x,
            self.w * o.z + self.x * o.y - self.y * o.x + self.z * o.w,
        )

    def conjugate(self):
        return Quaternion(self.w, -self.x, -self.y, -self.z)


@ct.tile_kernel
def rotate(q, v, out, N: ct.Constant[int]):
    i = ct.bid(0) * N + ct.arange(N, dtype=ct.int32)
    r = Quaternion(*tuple(ct.gather(q, (i, k)) for k in ct.static_iter(range(4))))
    p = Quaternion(ct.zeros((N,), ct.float32), *tuple(ct.gather(v, (i, k)) for k in ct.static_iter(range(3))))
    s = r.times(p).times(r.conjugate())
    for k, part in ct.static_iter([(0, s.x), (1, s.y), (2, s.z)]):
        ct.scatter(out, (i, k), part)


rng = np.random.default_rng(9)
q = rng.standard_normal((50, 4)).astype(np.float32)
q /= np.linalg.norm(q, axis=1, keepdims=True)
v = rng.standard_normal((50, 3)).astype(np.float32)
out = np.zeros_like(v)
rotate[(4,)](q, v, out, 16)
w, u = q[:, :1], q[:, 1:]
want = v + 2 * np.cross(u, np.cross(u, v) + w * v)
assert np.allclose(out, want, atol=1e-5)
