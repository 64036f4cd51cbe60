"""A Tile IR function to the text of an LLVM module: the backend's passes, then every op in turn."""

from __future__ import annotations

import tilewright.backend_ptx.lower.families  # noqa: F401  (registers the lowerings)
from tilewright.backend_ptx.abi import AbiParam, Lowered, kernel_abi
from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.llvm.builder import Val
from tilewright.backend_ptx.llvm.module import DebugLines, KernelText
from tilewright.backend_ptx.lower.arrays import GLOBAL, in_grid
from tilewright.backend_ptx.lower.blocks import lower_block
from tilewright.backend_ptx.lower.bulk import init_mbarriers, issuing_thread
from tilewright.backend_ptx.lower.context import Context, param_name
from tilewright.backend_ptx.lower.fragments import ArrayRef, Fragment, ListRef, elem_of
from tilewright.backend_ptx.lower.registry import lowering_of
from tilewright.backend_ptx.lower.warpgroup import start_turns
from tilewright.backend_ptx.map_records import MAP_ALIGN, MAP_BYTES
from tilewright.backend_ptx.ops.bulk import MbarrierInit
from tilewright.backend_ptx.ops.matmul import MmaFma, MmaSync, Product
from tilewright.backend_ptx.ops.warpgroup import TakeTurn
from tilewright.backend_ptx.resources.occupancy import AIM, register_cap, resident
from tilewright.backend_ptx.resources.registers import ADDRESSES, LONG, MARGIN, estimated_registers
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.analysis.effects import changing_arrays
from tilewright.tileir.analysis.neighbours import moves_elements
from tilewright.tileir.analysis.places import late_loads
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.analysis.uses import read_from_outside
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.diagnostics import NO_SPAN
from tilewright.tileir.layouts.queries import registers
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.passes.project import initial_ops, project
from tilewright.tileir.plan import Role, launching
from tilewright.tileir.types import ArrayType, ListType, TileType


def emit_function(function: Function, target: Target) -> Lowered:
    """Emit a function on which the passes have run."""
    abi = kernel_abi(function)
    warps = function.plan.warps
    # Line numbers for profilers and for ptxas messages.
    wanted = function.switches.line_info and function.span is not NO_SPAN
    debug = DebugLines(abi.name, function.span) if wanted else None
    ctx = Context(function, target, abi, warps, debug)
    ctx.locate(function.span)
    # Loads of what is promised to be read only could be moved above the wait for earlier grids.
    written = frozenset(range(len(function.params))) if function.plan.dependent else changing_arrays(function)
    threads = 32 * ctx.all_warps * function.plan.packed
    if function.plan.roles:
        _emit_roles(ctx, written)
    else:
        _emit_body(ctx, written)
    params = [(_param_type(p, function, written), param_name(i)) for i, p in enumerate(abi.params)]
    frame = KernelText(abi.name, params, threads, min_blocks(function, target), cluster=function.plan.cluster)
    return Lowered(name=abi.name, target=target, abi=abi, llvm_text=frame.text(ctx.b, debug), threads=threads,
                   shared_bytes=function.plan.shared_bytes, **launching(function.plan))


def _take_arguments(ctx: Context, written: frozenset[int]) -> None:
    for number, value in enumerate(ctx.function.params):
        ctx.set(value, _argument(ctx, number, value, number not in written))


def _emit_body(ctx: Context, written: frozenset[int]) -> None:
    _take_arguments(ctx, written)
    if any(isinstance(op, TakeTurn) for op in ctx.function.walk()):
        start_turns(ctx)
    with ctx.b.when(in_grid(ctx), "block"):
        lower_block(ctx, ctx.function.body)
    ctx.b.ret()


def _emit_roles(ctx: Context, written: frozenset[int]) -> None:
    """One branch of the kernel for each role. In all but the first a single thread goes on; the others exit."""
    b, (main, *others) = ctx.b, ctx.function.plan.roles
    initial = [op for op in initial_ops(ctx.function) if isinstance(op, MbarrierInit)]
    for op in initial:
        assert op.barriers.op is not None
        lowering_of(op.barriers.op)(ctx, op.barriers.op)
    init_mbarriers(ctx, initial)
    parts, last = _parts(ctx, written)
    consume, other = b.label("consume"), b.label("others")
    produce, leave = [b.label("produce") for _ in others], b.label("leave")
    b.cbr(b.icmp("ult", ctx.tid, 32 * main.warps), consume, other)
    b.start(other)
    for role, part, label in zip(others, parts, produce, strict=True):
        if role is not others[-1]:
            mine, other = b.label("role"), b.label("others")
            b.cbr(b.icmp("ult", ctx.tid, part.first_thread + 32 * role.warps), mine, other)
            b.start(mine)
        _set_registers(ctx, "dec", role)
        b.cbr(issuing_thread(part), label, leave)
        if role is not others[-1]:
            b.start(other)
    b.start(leave)
    b.ret()
    for part, label in zip(parts, produce, strict=True):
        b.start(label)
        _emit_body(part, written)
    b.start(consume)
    _set_registers(ctx, "inc", main)
    _emit_body(last, written)


def _parts(ctx: Context, written: frozenset[int]) -> tuple[list[Context], Context]:
    """The contexts of the other roles, and that of the main one. Numbers that several compute from arguments and the
    place in the grid are emitted here, once for all; not where they may depend on the team of the warps that ask."""
    roles = ctx.function.plan.roles
    copies: list[dict[Value, Value]] = [{} for _ in roles]
    parts = [ctx.part(project(ctx.function, role.name, found), role.name, found)
             for role, found in zip(roles, copies, strict=True)]
    kept = [set(part.function.body.ops) for part in parts]
    if ctx.function.plan.teams == 1:
        _take_arguments(ctx, written)
    numbers = filter(_is_number, ctx.function.body.ops) if ctx.function.plan.teams == 1 else ()
    for op in numbers:
        users = [(part, found) for part, found, ops in zip(parts, copies, kept, strict=True)
                 if found[op.results[0]].owner in ops]
        if len(users) > 1 and all(v in ctx for v in read_from_outside(op)):
            ctx.locate(op.span)
            lowering_of(op)(ctx, op)
            for part, found in users:
                for result in op.results:
                    part.set(found[result], ctx[result])
    return parts[1:], parts[0]


def _is_number(op: Op) -> bool:
    """Whether an op gives scalars and does nothing else."""
    scalars = all(isinstance(v.type, TileType) and not v.type.shape for v in op.results)
    return bool(op.results) and scalars and not (op.effectful or any(inner.effectful for inner in op.inside()))


def _set_registers(ctx: Context, way: str, role: Role) -> None:
    """Give registers to the CTA's pool, or take some, where the plan says how many a role has."""
    if role.registers is not None:
        instruction(f"setmaxnreg.{way}.{role.registers}").emit(ctx.b)


def min_blocks(function: Function, target: Target) -> int:
    """CTAs per SM for which ptxas must leave registers, 0 where it may choose.

    As the hint `occupancy` asks. Left alone, ptxas gives kernels with many independent multiply-adds too few registers
    and spills some (96 for 128 threads, 116 without spills), as it does with some of mma.sync; one CTA as the least
    that must fit raises its limit. GEMMs of usual tiles need so much shared memory that no more CTAs would fit. Where
    tiles are spilled to shared memory, registers are capped so that shared memory, not registers, limits occupancy; and
    so are they where live ranges leave registers for AIM CTAs, but ptxas may take some more than those: with strips of
    two ways it takes up to twice of what is live, so that they are held against as many CTAs as that leaves room for.
    Where weights are read strip by strip, no tile of their run is complete.
    """
    if not function.limits.cap_registers:
        return 1
    wanted = function.hints.occupancy
    if wanted is not None:
        return min(wanted, target.threads_per_sm // (32 * function.plan.warps))
    plan, threads = function.plan, 32 * function.plan.all_warps
    products = [op for op in function.walk() if isinstance(op, Product)]
    if products:
        return max(plan.occupancy, int(any(isinstance(op, (MmaFma, MmaSync)) for op in products)))
    apart = moves_elements(function)
    needed = _needed_one_by_one(function) if apart else estimated_registers(function, bool(late_loads(Unit(function))))
    apart = apart and needed > LONG
    fit = resident(needed, threads, plan.shared_bytes, target)
    aim = fit if apart else AIM
    close = needed <= register_cap(aim, threads, target) < needed + MARGIN
    return max(plan.occupancy, aim if close and fit == aim else 0)


def _needed_one_by_one(function: Function) -> int:
    """Registers where elements are moved one by one: each comes into one of its own, and strips are no whole tiles."""
    layouts = (op.result.type.layout for op in function.walk() if isinstance(op, Load) and op.shape)
    return max(estimated_registers(function, strips=True), ADDRESSES + max(map(registers, layouts)))


# ---- parameters -------------------------------------------------------------------------------------------------


def _argument(ctx: Context, number: int, value: Value, read_only: bool) -> Fragment:
    def param(kind: str, axis: int = -1) -> Val:
        return ctx.argument(kind, number, axis)

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


def _param_type(param: AbiParam, function: Function, written: frozenset[int]) -> str:
    """The LLVM type of a parameter with its attributes."""
    if param.kind == "tensor_map":
        # Without the annotation the kernel would copy it to local memory, where TMA cannot read it.
        return f'ptr byval([{MAP_BYTES} x i8]) align {MAP_ALIGN} "nvvm.grid_constant"'
    if param.kind == "map_table":
        return f"{GLOBAL} noalias readonly align {MAP_ALIGN}"
    if param.kind == "table":
        return f"{GLOBAL} noalias readonly align 8"
    if param.kind != "pointer":
        return param.llvm_type
    type = function.params[param.argument].type
    return f"{GLOBAL}{'' if param.argument in written else ' noalias readonly'} align {type.align}"
