"""Instructions that join threads: barriers, fences, shuffles, votes and warp reductions."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.backend_ptx.instructions.record import Instruction

# Last operand of shfl: bits 0-4 clamp the source lane; "up" clamps at lane 0, the others at lane 31.
_CLAMP = {"bfly": 31, "idx": 31, "down": 31, "up": 0}
_REDUX = {
    "add": ("s32", "u32"), "min": ("s32", "u32"), "max": ("s32", "u32"),
    "and": ("b32",), "or": ("b32",), "xor": ("b32",),
}
_REMOTE_STORE = """{{
.reg .b32 there;
mapa.shared::cluster.u32 there, $0, $1;
@$3 st.shared::cluster.{bits} [there], $2;
}}"""
_SEND = """{{
.reg .b32 there, bar;
mapa.shared::cluster.u32 there, $0, $2;
mapa.shared::cluster.u32 bar, $1, $2;
@$4 st.async.shared::cluster.mbarrier::complete_tx::bytes.{bits} [there], $3, [bar];
}}"""


def _barriers() -> Iterator[Instruction]:
    yield Instruction("bar.sync", "bar.sync 0;", (), (), "barrier", reads=True, writes=True, convergent=True)
    # Operands: barrier number 1..15, threads that take part (a multiple of 32).
    yield Instruction("bar.sync.named", "bar.sync $0, $1;", ("i32", "i32"), (), "barrier_named",
                      {"waits": True}, reads=True, writes=True, convergent=True)
    yield Instruction("bar.arrive.named", "bar.arrive $0, $1;", ("i32", "i32"), (), "barrier_named",
                      {"waits": False}, reads=True, writes=True, convergent=True)
    # All threads of the cluster that have not left.
    yield Instruction("cluster.sync", "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;", (), (),
                      "cluster_sync", reads=True, writes=True, convergent=True, sm=90, ptx=80)
    # The two halves of cluster.sync: what a thread wrote before it arrived, those that have waited see.
    for name, qualifier in (("arrive", "release"), ("wait", "acquire")):
        yield Instruction(f"cluster.{name}", f"barrier.cluster.{name}.{qualifier};", (), (), f"cluster_{name}",
                          reads=True, writes=True, convergent=True, sm=90, ptx=80)
    # Arrives without a promise about memory: with .release ptxas puts a fence of the whole GPU (MEMBAR.ALL.GPU) before
    # it, by every thread. What fence.mbarrier_init covers needs none.
    yield Instruction("cluster.arrive.relaxed", "barrier.cluster.arrive.relaxed;", (), (), "cluster_arrive",
                      {"releases": False}, reads=True, writes=True, convergent=True, sm=90, ptx=80)
    # Writes to the shared memory of another block, and completes as many bytes on an mbarrier there. Operands: address
    # and mbarrier in this block, rank of the other, value, predicate.
    for kind, bits in (("i32", "b32"), ("i64", "b64")):
        yield Instruction(f"cluster.send.{bits}", _SEND.format(bits=bits), ("i32", "i32", "i32", kind, "i1"), (),
                          "cluster_send", {"size": int(bits[1:]) // 8}, reads=True, writes=True, sm=90, ptx=81)
    # Writes to the shared memory of another block of the cluster, which a barrier of it has to order. No pass makes
    # these (st.async is faster); the simulator's barrier is tested by them. Operands: address in this block, rank of
    # the other, value, predicate.
    for kind, bits in (("i32", "b32"), ("i64", "b64")):
        yield Instruction(f"cluster.store.{bits}", _REMOTE_STORE.format(bits=bits), ("i32", "i32", kind, "i1"), (),
                          "cluster_store", {"size": int(bits[1:]) // 8}, reads=True, writes=True, sm=90, ptx=80)
    yield Instruction("bar.warp.sync", "bar.warp.sync -1;", (), (), "barrier_warp",
                      reads=True, writes=True, convergent=True)
    for scope in ("cta", "gpu", "sys"):
        yield Instruction(f"fence.acq_rel.{scope}", f"fence.acq_rel.{scope};", (), (), "fence", {"scope": scope},
                          reads=True, writes=True)


def _shuffles() -> Iterator[Instruction]:
    for mode, clamp in _CLAMP.items():
        # Operands: value, lane or distance or mask of lane bits.
        yield Instruction(f"shfl.{mode}", f"shfl.sync.{mode}.b32 $0, $1, $2, {clamp}, -1;", ("i32", "i32"), ("i32",),
                          "shuffle", {"mode": mode}, convergent=True)


def _votes() -> Iterator[Instruction]:
    for mode in ("any", "all"):
        yield Instruction(f"vote.{mode}", f"vote.sync.{mode}.pred $0, $1, -1;", ("i1",), ("i1",),
                          "vote", {"mode": mode}, convergent=True)
    yield Instruction("vote.ballot", "vote.sync.ballot.b32 $0, $1, -1;", ("i1",), ("i32",),
                      "vote", {"mode": "ballot"}, convergent=True)


def _reductions() -> Iterator[Instruction]:
    for op, kinds in _REDUX.items():
        for kind in kinds:
            yield Instruction(f"redux.{op}.{kind}", f"redux.sync.{op}.{kind} $0, $1, -1;", ("i32",), ("i32",),
                              "warp_reduce", {"op": op, "kind": kind}, convergent=True)


def records() -> Iterator[Instruction]:
    yield from _barriers()
    yield from _shuffles()
    yield from _votes()
    yield from _reductions()
