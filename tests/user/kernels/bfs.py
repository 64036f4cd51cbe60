"""One level of a breadth-first search: compare-and-swap claims nodes, a running sum packs them."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def step(indptr, neighbours, distance, frontier, size, next_frontier, next_size, level, T: ct.Constant[int]):
    i = ct.bid(0)
    n = ct.load(size, 0, ())
    if i >= n:
        return
    node = ct.load(frontier, i, ())
    mine = neighbours.slice(0, ct.load(indptr, node, ()), ct.load(indptr, node + 1, ()))
    for j in range(ct.num_tiles(mine, 0, T)):
        k = j * T + ct.arange(T, dtype=ct.int32)
        there = ct.gather(mine, k, padding_value=-1)
        old = ct.atomic_cas(distance, there, -1, level)
        fresh = (there >= 0) & (old == -1)
        count = ct.sum(fresh)
        if count > 0:
            base = ct.atomic_add(next_size, 0, count)
            place = base + ct.cumsum(fresh) - 1
            ct.scatter(next_frontier, place, there, mask=fresh)


rng = np.random.default_rng(4)
n = 60
adj = rng.random((n, n)) < 0.05
indptr = np.concatenate([[0], adj.sum(1).cumsum()]).astype(np.int32)
nb = np.nonzero(adj)[1].astype(np.int32)
dist = np.full(n, -1, np.int32)
dist[0] = 0
front, fsize = np.zeros(n, np.int32), np.array([1], np.int32)
level = 1
while fsize[0]:
    nxt, nsize = np.zeros(n, np.int32), np.zeros(1, np.int32)
    step[(int(fsize[0]),)](indptr, nb, dist, front, fsize, nxt, nsize, level, 8)
    front, fsize, level = nxt, nsize, level + 1
want = np.full(n, -1)
want[0] = 0
q = [0]
for v in q:
    for w in np.nonzero(adj[v])[0].tolist():
        if want[w] < 0:
            want[w] = want[v] + 1
            q.append(w)
assert (dist == want).all()
