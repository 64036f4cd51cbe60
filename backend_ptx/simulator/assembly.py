"""The meaning of every record of the instruction table, by the name that the record gives (its `meaning`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from tilewright.backend_ptx.simulator.engines import bulk, cluster, cluster_barrier, copies, mbarrier, wgmma
from tilewright.backend_ptx.simulator.errors import Unsupported
from tilewright.backend_ptx.simulator.machine.code import Operation
from tilewright.backend_ptx.simulator.machine.compile import FunctionCompiler, OperationTable
from tilewright.backend_ptx.simulator.machine.state import Machine, Registers
from tilewright.backend_ptx.simulator.memory.memory import GLOBAL, SHARED
from tilewright.backend_ptx.simulator.numbers import floats
from tilewright.backend_ptx.simulator.ops import foreign, matrix, register_pool, warp
from tilewright.backend_ptx.simulator.ops.arith import pure
from tilewright.backend_ptx.simulator.ops.memory import UPDATES, atomic
from tilewright.backend_ptx.simulator.text.ir import LlvmInstruction
from tilewright.backend_ptx.simulator.text.records import find_text
from tilewright.backend_ptx.simulator.text.types import numpy_type

Array = np.ndarray[Any, Any]
OPERATIONS = OperationTable()
Facts = Mapping[str, Any]
_SPACES = {"global": GLOBAL, "shared": SHARED}


def _predicated(m: Machine, r: Registers, predicate: int) -> Array:
    """The active threads for which the predicate holds."""
    chosen: Array = m.active[m.of_active(r[predicate])]
    return chosen


def _at(m: Machine, value: Array, threads: Array) -> Array:
    return m.spread(value)[threads]


# ---- memory ----


def load(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    address, predicate, *padding = (c.slot(o) for o in i.operands)
    target = c.result(i)
    size, count, space = facts["size"], facts["count"], _SPACES[facts["space"]]
    total = size * count
    register = numpy_type(i.operands[2].type)
    invariant = ".nc." in i.extra["asm"]
    order = facts.get("semantics", "")

    def run(m: Machine, r: Registers) -> None:
        threads = _predicated(m, r, predicate)
        if order and len(threads):
            m.memory.synchronise(order, facts["scope"], threads)
        values = [np.array(m.spread(r[p])) for p in padding]
        if len(threads):
            where = _at(m, r[address], threads).astype(np.uint64)
            raw = m.memory.load(space, where, total, total, threads, invariant=invariant, ordered=bool(order))
            lanes = raw.view(f"u{size}")
            for lane, value in enumerate(values):
                value[threads] = lanes[:, lane].astype(register)
        m.put(r, target, values[0] if count == 1 else tuple(values))

    return run


def store(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    address, predicate, *lanes = (c.slot(o) for o in i.operands)
    size, total, space = facts["size"], facts["size"] * facts["count"], _SPACES[facts["space"]]
    order = facts.get("semantics", "")

    def run(m: Machine, r: Registers) -> None:
        threads = _predicated(m, r, predicate)
        if not len(threads):
            return
        if order:
            m.memory.synchronise(order, facts["scope"], threads)
        data = np.stack([_at(m, r[s], threads).astype(f"u{size}") for s in lanes], axis=1)
        raw = data.view(np.uint8).reshape(len(threads), total)
        m.memory.store(space, _at(m, r[address], threads).astype(np.uint64), raw, total, threads, ordered=bool(order))

    return run


_ATOMIC_KIND = {
    "u32": np.uint32, "s32": np.uint32, "b32": np.uint32, "u64": np.uint64, "s64": np.uint64, "b64": np.uint64,
    "b16": np.uint16, "f32": np.float32, "f64": np.float64, "noftz.f16": np.float16, "noftz.bf16": floats.BF16,
}


def atomic_operation(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    # The call passes the tied operand (what a false predicate returns) last.
    address, predicate, *rest = (c.slot(o) for o in i.operands)
    *operands, otherwise = rest
    target = c.result(i)
    kind = np.dtype(_ATOMIC_KIND[facts["kind"]])
    register = numpy_type(i.type)
    update, space = _update(facts), _SPACES[facts["space"]]

    def run(m: Machine, r: Registers) -> None:
        threads = _predicated(m, r, predicate)
        out = np.array(m.spread(r[otherwise]))
        if len(threads):
            m.memory.synchronise(facts["semantics"], facts["scope"], threads)
            given = [_at(m, r[s], threads) for s in operands]
            where = _at(m, r[address], threads).astype(np.uint64)
            old = atomic(m, space, where, kind, threads, lambda was, n: update(was, *(g[n] for g in given)))
            out[threads] = old.view(register)
        m.put(r, target, out)

    return run


def reduction(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    """Each element of the vector is an atomic operation of its own (PTX ISA, "red")."""
    address, predicate, *words = (c.slot(o) for o in i.operands)
    kind = np.dtype(_ATOMIC_KIND[facts["kind"]])

    def added(lane: Array, was: Any, number: int) -> Any:
        return UPDATES["fadd"](was, lane[number])

    def run(m: Machine, r: Registers) -> None:
        threads = _predicated(m, r, predicate)
        if not len(threads):
            return
        m.memory.synchronise("relaxed", facts["scope"], threads)
        given = np.stack([_at(m, r[s], threads) for s in words], axis=1).view(kind)
        where = _at(m, r[address], threads).astype(np.uint64)
        for lane in range(given.shape[1]):
            place = where + np.uint64(lane * kind.itemsize)
            atomic(m, GLOBAL, place, kind, threads, partial(added, given[:, lane]))

    return run


def _update(facts: Facts) -> Callable[..., Any]:
    name, kind = facts["op"], facts["kind"]
    if name == "cas":
        return lambda old, expected, new: new if old == expected else old
    if name == "exch":
        return UPDATES["xchg"]
    if name in ("min", "max"):
        return UPDATES[name if kind[0] == "s" else "u" + name]
    if kind.startswith("noftz"):
        return lambda old, x: old + np.asarray(x).reshape(1).view(old.dtype)[0]
    return UPDATES[name]


# ---- grids ----


def grid_wait(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    """The grids that this one depends on complete, if there are any."""
    def run(m: Machine, r: Registers) -> None:
        if m.memory.prior is not None:
            m.memory.prior.wait(m.active)

    return run


def launch_dependents(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    """Nothing: what the grids that may start now see of memory, their own waits decide."""
    return lambda m, r: None


# ---- numbers ----


def to_tf32(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    return pure(c, i, lambda a: floats.to_tf32(a, facts["even"]).view(np.uint32))


def to_bf16(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    return pure(c, i, lambda a: a.astype(floats.BF16).view(np.uint16).astype(np.uint32) << np.uint32(16))


def copy(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    return pure(c, i, lambda a: a)


def divide(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    return pure(c, i, lambda a, b: a // b)


def wide_product(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    return pure(c, i, lambda a, b: a.astype(np.uint64) * b)


MEANINGS: dict[str, Callable[[FunctionCompiler, LlvmInstruction, Facts], Operation]] = {
    "load": load, "store": store, "atomic": atomic_operation, "reduction": reduction, "copy_async": copies.copy_async,
    "copy_commit": copies.copy_commit, "copy_wait": copies.copy_wait, "to_tf32": to_tf32, "to_bf16": to_bf16,
    "copy": copy, "divide": divide, "wide_product": wide_product,
    "barrier": warp.barrier, "barrier_named": warp.barrier_named, "barrier_warp": warp.barrier_warp,
    "fence": warp.fence, "shuffle": warp.shuffle, "warp_reduce": warp.warp_reduce,
    "grid_wait": grid_wait, "launch_dependents": launch_dependents,
    "matrix_load": matrix.matrix_load, "matrix_store": matrix.matrix_store, "mma": matrix.mma,
    "mbarrier_init": mbarrier.mbarrier_init, "mbarrier_arrive": mbarrier.mbarrier_arrive,
    "mbarrier_expect": mbarrier.mbarrier_expect, "mbarrier_wait": mbarrier.mbarrier_wait,
    "fence_mbarrier_init": mbarrier.fence_mbarrier_init, "fence_proxy": mbarrier.fence_proxy,
    "tma_load": bulk.tma_load, "tma_store": bulk.tma_store, "tma_commit": bulk.tma_commit, "tma_wait": bulk.tma_wait,
    "acquire_map": bulk.acquire_map, "prefetch_map": bulk.prefetch_map,
    "wgmma": wgmma.wgmma, "wgmma_fence": wgmma.wgmma_fence,
    "wgmma_commit": wgmma.wgmma_commit, "wgmma_wait": wgmma.wgmma_wait,
    "set_registers": register_pool.set_registers,
    "cluster_sync": cluster_barrier.cluster_sync, "cluster_arrive": cluster_barrier.cluster_arrive,
    "cluster_wait": cluster_barrier.cluster_wait, "cluster_store": cluster.cluster_store,
    "cluster_send": cluster.cluster_send,
    "mbarrier_arrive_remote": cluster.mbarrier_arrive_remote, "tma_load_multicast": cluster.tma_load_multicast,
}
_CLOBBER = re.compile(r",?~\{memory\}")


@OPERATIONS.define("asm")
def _asm(c: FunctionCompiler, i: LlvmInstruction) -> Operation:
    key = (i.extra["asm"], _CLOBBER.sub("", i.extra["constraints"]))
    record = find_text(*key)
    if record is None:
        found = foreign.operation(c, i)
        if found is not None:
            return found
        raise Unsupported(f"inline assembly that is not in the instruction table: {key}")
    return MEANINGS[record.meaning](c, i, record.facts)
