"""A Tile IR function to the text of an LLVM module: the backend's passes, then every op in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import tilewright.backend_ptx.lower.families  # noqa: F401  (registers the lowerings)
from tilewright.backend_ptx.abi import AbiParam, KernelAbi, kernel_abi
from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.llvm.builder import Val
from tilewright.backend_ptx.llvm.module import DebugLines, KernelText
from tilewright.backend_ptx.lower.arrays import GLOBAL, param_name
from tilewright.backend_ptx.lower.blocks import lower_block
from tilewright.backend_ptx.lower.bulk import init_mbarriers, meet_cluster, producer_thread
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.fragments import ArrayRef, Fragment, ListRef, elem_of
from tilewright.backend_ptx.lower.registry import lowering_of
from tilewright.backend_ptx.lower.warpgroup import start_turns
from tilewright.backend_ptx.ops.matmul import MmaFma, MmaSync
from tilewright.backend_ptx.ops.warpgroup import TakeTurn
from tilewright.backend_ptx.roles import (
    CONSUMER,
    PRODUCER,
    initial_ops,
    project,
)
from tilewright.backend_ptx.targets import Target
from tilewright.backend_ptx.tensor_maps import MAP_ALIGN, MAP_BYTES
from tilewright.tileir.core import Function, Op, Value, clone_function
from tilewright.tileir.diagnostics import NO_SPAN
from tilewright.tileir.ops.arrays import ListItem, RawView, SliceArray
from tilewright.tileir.types import ArrayType, ListType

Observer = Callable[[str, Function], None]


@dataclass(frozen=True, slots=True)
class Lowered:
    """A kernel as LLVM text. `threads` is the block size, `shared_bytes` the dynamic shared memory of a launch. The
    grid of the machine is `cluster` times as long as that of the launch, along its axis 0."""

    llvm_text: str
    abi: KernelAbi
    threads: int
    shared_bytes: int
    name: str
    cluster: int = 1


def lower_function(function: Function, target: Target, *, observer: Observer | None = None) -> Lowered:
    """Run the backend's passes on a copy of `function` and emit LLVM text for `target`.

    `observer(name, function)` sees the function after every pass. Raises TileUnsupportedFeatureError for what the
    target cannot do.
    """
    from tilewright.backend_ptx.pipeline import run_passes

    function = clone_function(function)
    run_passes(function, target, observer)
    return emit_function(function, target)


def emit_function(function: Function, target: Target) -> Lowered:
    """Emit a function on which the passes have run."""
    abi = kernel_abi(function)
    warps = function.plan.warps
    debug = _debug_lines(function, abi)
    ctx = Context(function, target, abi, warps, debug)
    written = written_params(function)
    threads = 32 * (warps + ctx.producers)
    if ctx.producers:
        _emit_roles(ctx, written)
    else:
        _emit_body(ctx, written)
    params = [(_param_type(p, function, written), param_name(i)) for i, p in enumerate(abi.params)]
    frame = KernelText(abi.name, params, threads, min_blocks(function, target), cluster=function.plan.cluster)
    return Lowered(frame.text(ctx.b, debug), abi, threads, function.plan.shared_bytes, abi.name, function.plan.cluster)


def _emit_body(ctx: Context, written: set[int]) -> None:
    for number, value in enumerate(ctx.function.params):
        ctx.set(value, _argument(ctx, ctx.abi, number, value, number not in written))
    if any(isinstance(op, TakeTurn) for op in ctx.function.walk()):
        start_turns(ctx)
    lower_block(ctx, ctx.function.body)
    meet_cluster(ctx)
    ctx.b.ret()


def _emit_roles(ctx: Context, written: set[int]) -> None:
    """One branch of the kernel for the producer's thread, one for the consumers; the producer's other lanes leave."""
    b = ctx.b
    initial = initial_ops(ctx.function)
    for op in initial:
        assert op.barriers.op is not None
        lowering_of(op.barriers.op)(ctx, op.barriers.op)
    init_mbarriers(ctx, initial)
    consume, others, produce, leave = (b.label(n) for n in ("consume", "others", "produce", "leave"))
    b.cbr(b.icmp("ult", ctx.tid, 32 * ctx.warps), consume, others)
    b.start(others)
    _set_registers(ctx, "dec", PRODUCER)
    b.cbr(producer_thread(ctx), produce, leave)
    b.start(leave)
    b.ret()
    for label, role in ((produce, PRODUCER), (consume, CONSUMER)):
        b.start(label)
        if role == CONSUMER:
            _set_registers(ctx, "inc", CONSUMER)
        _emit_body(ctx.part(project(ctx.function, role)), written)


def _set_registers(ctx: Context, way: str, name: str) -> None:
    """Give registers to the CTA's pool, or take some, where the plan says how many a role has."""
    role = ctx.function.plan.role(name)
    if role is not None and role.registers is not None:
        instruction(f"setmaxnreg.{way}.{role.registers}").emit(ctx.b)


def min_blocks(function: Function, target: Target) -> int:
    """Blocks of a multiprocessor for which ptxas must leave registers, 0 where it may choose.

    As the hint `occupancy` asks. Left alone, ptxas gives kernels with many independent multiply-adds too few registers
    and spills some (96 for 128 threads, 116 without spills), as it does with some of mma.sync; one block as the least
    that must fit raises its limit. Products of usual tiles need so much shared memory that no more blocks would fit.
    With parked tiles the registers shall not keep blocks away for which shared memory has room.
    """
    wanted = function.hints.occupancy
    if wanted is not None:
        return min(wanted, target.threads_per_sm // (32 * function.plan.warps))
    planned = function.plan.occupancy if function.limits.cap_registers else 0
    return max(planned, 1 if any(isinstance(op, (MmaFma, MmaSync)) for op in function.walk()) else 0)


def _debug_lines(function: Function, abi: KernelAbi) -> DebugLines | None:
    """Line numbers for profilers and for ptxas messages, where the switch line_info asks for them."""
    if function.span is NO_SPAN or not function.switches.line_info:
        return None
    return DebugLines(abi.name, function.span)


# ---- parameters -------------------------------------------------------------------------------------------------


def _argument(ctx: Context, abi: KernelAbi, number: int, value: Value, read_only: bool) -> Fragment:
    def param(kind: str, axis: int = -1) -> Val:
        position = abi.position(kind, number, axis)
        return Val(abi.params[position].llvm_type, 0, f"%{param_name(position)}")

    type = value.type
    if isinstance(type, ListType):
        return ListRef(param("table"), param("length"))
    if not isinstance(type, ArrayType):
        passed = param("scalar")
        return ctx.b.icmp("ne", passed, 0) if type.dtype.is_bool else passed

    def known(kind: str, numbers: tuple[int | None, ...]) -> tuple[Val, ...]:
        elem = elem_of(type.index)
        return tuple(param(kind, k) if n is None else ctx.b.const(elem, n) for k, n in enumerate(numbers))

    return ArrayRef(type, param("pointer"), known("extent", type.extents), known("stride", type.strides), read_only)


def _param_type(param: AbiParam, function: Function, written: set[int]) -> str:
    """The LLVM type of a parameter with its attributes."""
    if param.kind == "tensor_map":
        # Without the annotation the kernel would copy it to local memory, where TMA cannot read it.
        return f'ptr byval([{MAP_BYTES} x i8]) align {MAP_ALIGN} "nvvm.grid_constant"'
    if param.kind == "table":
        return f"{GLOBAL} noalias readonly align 8"
    if param.kind != "pointer":
        return param.llvm_type
    type = function.params[param.argument].type
    promise = "" if param.argument in written else " noalias readonly"
    return f"{GLOBAL}{promise} align {type.align}"


def written_params(function: Function) -> set[int]:
    """Positions of the array parameters that some op may write. The launcher refuses arrays that overlap one."""
    numbers = {value: i for i, value in enumerate(function.params)}
    written: set[int] = set()
    for op in function.walk():
        for array in op.effects().writes:
            if not isinstance(array.type, (ArrayType, ListType)):
                continue
            roots = list(_roots(array))
            if any(r not in numbers for r in roots):
                return {i for i, v in enumerate(function.params) if isinstance(v.type, (ArrayType, ListType))}
            written.update(numbers[r] for r in roots)
    return written


def _roots(value: Value) -> Iterable[Value]:
    """The parameters that an array may be a view of; a value that is no parameter if that is not clear."""
    op: Op | None = value.op
    while isinstance(op, (SliceArray, RawView, ListItem)):
        value = op.list if isinstance(op, ListItem) else op.array
        op = value.op
    yield value
