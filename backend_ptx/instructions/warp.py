"""Instructions that join threads: barriers, fences, shuffles, warp reductions, and the registers of warpgroups."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product

from tilewright.backend_ptx.instructions.record import Instruction

_Record = partial(Instruction, reads=True, writes=True)
_SEND = """{{
.reg .b32 there, bar;
mapa.shared::cluster.u32 there, $0, $2;
mapa.shared::cluster.u32 bar, $1, $2;
@$4 st.async.shared::cluster.mbarrier::complete_tx::bytes.{bits} [there], $3, [bar];
}}"""
MIN_REGISTERS, MAX_REGISTERS = 24, 256  # of setmaxnreg


def _barriers() -> Iterator[Instruction]:
    together = partial(_Record, convergent=True)
    yield together("bar.sync", "bar.sync 0;", (), (), "barrier")
    # Operands: barrier number 1..15, threads that take part (a multiple of 32).
    for way, waits in (("sync", True), ("arrive", False)):
        yield together(f"bar.{way}.named", f"bar.{way} $0, $1;", ("i32", "i32"), (), "barrier_named", {"waits": waits})
    # All threads of the cluster that have not left.
    yield together("cluster.sync", "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;", (), (),
                   "cluster_sync", sm=90, ptx=80)
    # The two halves of cluster.sync: what a thread wrote before it arrived, those that have waited see.
    for name, qualifier in (("arrive", "release"), ("wait", "acquire")):
        yield together(f"cluster.{name}", f"barrier.cluster.{name}.{qualifier};", (), (), f"cluster_{name}", sm=90,
                       ptx=80)
    # Arrives without a promise about memory: with .release ptxas puts a fence of the whole GPU (MEMBAR.ALL.GPU) before
    # it, by every thread. What fence.mbarrier_init covers needs none.
    yield together("cluster.arrive.relaxed", "barrier.cluster.arrive.relaxed;", (), (), "cluster_arrive",
                   {"releases": False}, sm=90, ptx=80)
    yield together("bar.warp.sync", "bar.warp.sync -1;", (), (), "barrier_warp")
    # Waits until the grids that this one depends on have completed and their writes are visible; lets those start that
    # depend on this one. Without such grids they do nothing.
    yield _Record("grid.wait", "griddepcontrol.wait;", (), (), "grid_wait", sm=90, ptx=78)
    yield _Record("grid.launch_dependents", "griddepcontrol.launch_dependents;", (), (), "launch_dependents", sm=90,
                  ptx=78)
    yield _Record("fence.acq_rel.gpu", "fence.acq_rel.gpu;", (), (), "fence", {"scope": "gpu"})


def records() -> Iterator[Instruction]:
    yield from _barriers()
    # Writes to the shared memory of another block, and completes as many bytes on an mbarrier there. Operands: address
    # and mbarrier in this block, rank of the other, value, predicate.
    for size in (4, 8):
        yield _Record(f"cluster.send.b{8 * size}", _SEND.format(bits=f"b{8 * size}"),
                      ("i32", "i32", "i32", f"i{8 * size}", "i1"), (), "cluster_send", {"size": size}, sm=90, ptx=81)
    # Operands: value, lane ("idx") or mask of lane bits ("bfly"). The last one of shfl clamps the source lane to 31.
    for mode in ("bfly", "idx"):
        yield Instruction(f"shfl.{mode}", f"shfl.sync.{mode}.b32 $0, $1, $2, 31, -1;", ("i32", "i32"), ("i32",),
                          "shuffle", {"mode": mode}, convergent=True)
    for op, kind in product(("add", "min", "max"), ("s32", "u32")):
        yield Instruction(f"redux.{op}.{kind}", f"redux.sync.{op}.{kind} $0, $1, -1;", ("i32",), ("i32",),
                          "warp_reduce", {"op": op, "kind": kind}, convergent=True)
    # A warpgroup gives registers to the block's pool or takes some; all its warps execute it. `inc` waits until the
    # pool has enough; the kernel needs "nvvm.maxntid".
    for count, way in product(range(MIN_REGISTERS, MAX_REGISTERS + 1, 8), ("inc", "dec")):
        yield _Record(
            f"setmaxnreg.{way}.{count}", f"setmaxnreg.{way}.sync.aligned.u32 {count};", (), (), "set_registers",
            {"count": count, "more": way == "inc"}, convergent=True, sm=90, ptx=80, exact=True)
