"""wgmma: descriptors of operands in shared memory, the instructions, waits (PTX ISA 9.7.15).

A product is one asm text with all its steps of k for each 64 rows of the warpgroup. Descriptors are numbers that differ
by constants, so that ptxas keeps them in uniform registers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, islice, product

from tilewright.backend_ptx.instructions import warpgroup as records
from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.layouts.bulk import bulk_layout
from tilewright.backend_ptx.layouts.fragments import warpgroup_fragment
from tilewright.backend_ptx.layouts.warpgroup import MOST_COLUMNS, ROWS, WARPS, in_order_of_sums, warpgroup_grid
from tilewright.backend_ptx.llvm.builder import Val
from tilewright.backend_ptx.lower.bulk import shared_number
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.convert import converted
from tilewright.backend_ptx.lower.matmul import Word, packed_words, register_places
from tilewright.backend_ptx.lower.registry import emits, lower, refuse
from tilewright.backend_ptx.lower.shared import CONSUMERS_BARRIER, SharedRef, slot_offset
from tilewright.backend_ptx.ops import warpgroup as ops
from tilewright.tileir.core import Value
from tilewright.tileir.layouts.flat import OFFSET, log2
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.types import SharedType

# Matrix descriptors count 16 bytes (PTX ISA 9.7.15.5.1.2.2): bits 0-13 address, 16-29 and 32-45 offsets, 62-63 swizzle.
# An address in shared memory has the block's rank in its cluster above these bits, where the offsets would be.
_ADDRESS = 0x3FFFF
UNIT = 16
_SWIZZLE = {128: 1, 64: 2, 32: 3, 16: 0}
GROUP_ROWS = 8
FIRST_TURN = CONSUMERS_BARRIER + 1  # the named barrier of the first warpgroup's turns


refuse(ops.Stage, "lower_conversions stores the tile first", "this is a defect of the backend, please report it")


@lower(ops.SharedView)
def shared_view(ctx: Context, op: ops.SharedView) -> None:
    ref: SharedRef = ctx[op.buffer]
    ctx.set(op.result, SharedRef(op.result.type, ref.offset, slot_offset(ctx, ref, op.slot, 0)))


emits(ops.ProxyFence, "fence.proxy.async")


@lower(ops.SkippedBlocks)
def skipped_blocks(ctx: Context, op: ops.SkippedBlocks) -> None:
    ctx.set(op.result, ctx.team if op.first and ctx.teams > 1 else ctx.b.const("i32", ctx.teams - 1))


@lower(ops.TakeTurn)
def take_turn(ctx: Context, op: ops.TakeTurn) -> None:
    """Each warpgroup has a named barrier, on which its threads and those of the warpgroup before it meet."""
    _meet(ctx, "bar.sync.named", _turn(ctx))


@lower(ops.PassTurn)
def pass_turn(ctx: Context, op: ops.PassTurn) -> None:
    _meet(ctx, "bar.arrive.named", ctx.b.and_(ctx.b.add(_turn(ctx), 1), _turns(ctx) - 1))


def start_turns(ctx: Context) -> None:
    """The last warpgroup passes the first turn to the first one."""
    b = ctx.b
    with b.when(b.icmp("eq", _turn(ctx), _turns(ctx) - 1), "last"):
        _meet(ctx, "bar.arrive.named", b.const("i32", 0))


def _turns(ctx: Context) -> int:
    """How many alternate: teams, or the warpgroups of one."""
    return ctx.teams if ctx.teams > 1 else ctx.warps // WARPS


def _turn(ctx: Context) -> Val:
    return ctx.team if ctx.teams > 1 else _warpgroup(ctx)


def _meet(ctx: Context, name: str, group: Val) -> None:
    b = ctx.b
    each = ctx.warps if ctx.teams > 1 else WARPS
    instruction(name).emit(b, b.add(group, FIRST_TURN), b.const("i32", 2 * 32 * each))


@dataclass(frozen=True, slots=True)
class Matrix:
    """An operand in shared memory: rows of `row` bytes along the dense axis, `rows` of them, then the next piece.

    `transposed`: the dense axis is m (or n) and not k.
    """

    row: int
    rows: int
    transposed: bool
    element_bytes: int

    @property
    def piece(self) -> int:
        """Bytes of the part of the tile that is as wide as a row."""
        return self.row * self.rows

    @property
    def fields(self) -> int:
        """The descriptor without the address. Leading offset: from piece to piece, where the dense axis is m or n (of
        no meaning along k); stride offset: from 8 rows to the next 8. Without a swizzle it is the other way round."""
        leading, stride = self.piece if self.transposed else UNIT, GROUP_ROWS * self.row
        if self.row == UNIT:
            leading, stride = stride, leading
        return _SWIZZLE[self.row] << 62 | (stride // UNIT) << 32 | (leading // UNIT) << 16

    def offset(self, place: int, k: int) -> int:
        """Bytes from the buffer's start to (m or n = place, k), which must start rows or instructions."""
        dense, row = (place, k) if self.transposed else (k, place)
        width = self.row // self.element_bytes
        return dense // width * self.piece + row * self.row + dense % width * self.element_bytes


def matrix_of(type_: SharedType, k_axis: int) -> Matrix:
    """How an operand lies in its buffer."""
    assert type_.layout is not None
    size = type_.dtype.bytes
    [inner] = [i for i, part in enumerate(type_.layout.bases(OFFSET)[0]) if part]
    dense = bulk_layout(type_.shape, inner, size)
    assert type_.layout in (dense, in_order_of_sums(dense, inner)), f"tensor cores cannot read {type_.layout}"
    return Matrix(min(128, type_.shape[inner] * size), type_.shape[1 - inner], inner != k_axis, size)


@lower(ops.Wgmma)
def wgmma(ctx: Context, op: ops.Wgmma) -> None:
    """Start the products of every 64 rows (and at most 256 columns) of this thread's warpgroup, as one group, or
    stepwise as some."""
    b, kind = ctx.b, records.KINDS[op.kind]
    m, n = op.acc.type.shape
    wm, wn, _ = warpgroup_grid(m, n, ctx.warps)
    rows, columns = m >> wm, n >> wn
    width = min(columns, MOST_COLUMNS)
    group = _warpgroup(ctx)
    first_row = b.mul(b.and_(group, (1 << wm) - 1), ROWS)
    first_column = b.mul(b.and_(b.lshr(group, wm), (1 << wn) - 1), columns)
    right = matrix_of(op.b.type, 0)
    b_start = _descriptor(ctx, op.b, right, first_column, columns if wn else 0)
    left = matrix_of(op.a.type, 1) if isinstance(op.a.type, SharedType) else None
    if left is not None:
        a_start = _descriptor(ctx, op.a, left, first_row, ROWS if wm else 0)
    elif op.wide is None:
        whole = _fragments(ctx, op, *op.parts)
    sums, pack = _registers(ctx, op.acc, kind.per_register)
    fresh = isinstance(op.acc.op, Constant) and op.acc.op.value == 0
    computed = not fresh and not _in_registers(op.acc)
    if fresh:  # the first step does not read them
        sums = [Val(r.elem, 0, "poison") for r in sums]
    count = width // 2 // kind.per_register

    def started(part: range, sums: list[Val]) -> list[Val]:
        """The products of some steps."""
        record = records.wgmma(
            width, op.kind, left.transposed if left else None, right.transposed, len(part), fenced=computed)
        words = [] if left else whole if op.wide is None else _fragments(ctx, op, part)
        if not computed:
            instruction("wgmma.fence").emit(b)
        out = list(sums)
        for number, (block, column) in enumerate(product(range(rows // ROWS), range(0, columns, width))):
            row = block * (ROWS << wm)
            arguments: list[Val] = []
            for step in part:
                k = step * kind.k
                arguments += words[block][step - part.start] if left is None else [
                    b.add(a_start, left.offset(row, k) // UNIT)]
                arguments.append(b.add(b_start, right.offset(column, k) // UNIT))
            here = slice(number * count, (number + 1) * count)
            out[here] = record.emit(b, *out[here], *arguments, b.const("i32", int(not fresh)))
        instruction("wgmma.commit").emit(b)
        return out

    *before, last = op.parts
    for part in before:
        sums = started(part, sums)
    ctx.set(op.result, _vector(ctx, _as_deep(ctx, op, len(last), lambda depth: started(last[:depth], sums)), pack))


def _as_deep(ctx: Context, op: ops.Wgmma, depth: int, started: Callable[[int], list[Val]]) -> list[Val]:
    """With half of the steps where the others have nothing to add, and so on. Each way has a fence and a group of its
    own: ptxas runs MMAs one at a time where ways meet between them."""
    if op.left is None or depth == 1:
        return started(depth)
    b, half = ctx.b, depth // 2
    more = b.icmp("sgt", ctx[op.left], half * records.KINDS[op.kind].k)
    ways = b.branch(more, lambda: started(depth), lambda: _as_deep(ctx, op, half, started), ("whole", "part"))
    return [b.join([(values[i], label) for values, label in ways]) for i in range(len(ways[0][0]))]


def _in_registers(acc: Value) -> bool:
    """Whether an accumulator is what a block starts with, or what a product or wait left: LLVM has nothing to compute
    there that it might move below a fence of its own."""
    return acc.op is None or isinstance(acc.op, (ops.Wgmma, ops.WgmmaWait))


def _warpgroup(ctx: Context) -> Val:
    """The number of the warpgroup, the same for all lanes as far as ptxas can see."""
    return ctx.uniform("warpgroup", lambda b: b.lshr(ctx.tid, 5 + log2(WARPS)))


def _descriptor(ctx: Context, value: Value, matrix: Matrix, first: Val, part: int) -> Val:
    """The descriptor of the warpgroup's part of an operand; `part` rows (columns) each, 0 where all read the same."""
    b = ctx.b
    ref: SharedRef = ctx[value]
    start = shared_number(ctx, ref)
    if part:
        # Offsets grow evenly from piece to piece, within one, and from one group of rows to the next.
        step = max(part, matrix.row // matrix.element_bytes) if matrix.transposed else part
        start = b.add(start, b.mul(b.udiv(first, step), matrix.offset(step, 0)))
        if part < step:
            start = b.add(start, b.mul(b.and_(first, step - 1), matrix.element_bytes))
    if ctx.function.plan.cluster > 1:
        start = b.and_(start, _ADDRESS)
    return b.or_(b.cast("zext", b.lshr(start, log2(UNIT)), "i64"), matrix.fields)


def _fragments(ctx: Context, op: ops.Wgmma, part: range) -> list[list[list[Val]]]:
    """The registers of A in some steps of k: for each 64 rows, for each step, four words. They are put together behind
    the wait for the product that reads the last ones: made before that wait, and only copied behind it, ptxas gives
    them the registers which that product still reads, and results are wrong (e4m3 with b as [K, N] on an H100, CUDA
    13)."""
    fragment = warpgroup_fragment(op.kind)
    layout = ctx.layout(op.a)
    places = register_places(layout)
    rows = sorted({place[1] & -ROWS for place in places})
    word = [place[2] for place in places][:fragment.pack]
    second = 1 if op.rows_in_pairs else 8

    def registers(row: int, step: int) -> list[tuple[int, ...]]:
        return [tuple(places[0, row + second * half, fragment.k * step + 4 * fragment.pack * upper + e] for e in word)
                for upper in range(2) for half in range(2)]

    found = [[registers(row, step) for step in part] for row in rows]
    elements = list(chain(*chain(*chain(*found))))
    packed = packed_words(ctx.b, ctx[op.a]) if op.wide is None else _cast_behind_wait(ctx, op, op.wide, elements)
    return [[list(map(packed, step)) for step in block] for block in found]


def _cast_behind_wait(ctx: Context, op: ops.Wgmma, wide: Value, elements: list[int]) -> Callable[[Word], Val]:
    """Words of A by the registers of what is cast, which pass through the wait for the product that reads the last
    ones, so that LLVM casts none before."""
    b, cast = ctx.b, op.a.op
    assert isinstance(cast, Cast)
    passed = _tied(ctx, len(op.parts) - 1, [b.extract(ctx[wide], i) for i in elements])
    free = dict(zip(elements, passed, strict=True))
    dtypes = wide.type.dtype, cast.dtype, cast.rounding

    def made(word: Word) -> Val:
        found = b.vector([free[i] for i in word if i is not None])
        return b.bitcast(converted(b, ctx.target, found, *dtypes), "i32", 0)
    return made


def _registers(ctx: Context, acc: Value, per_register: int) -> tuple[list[Val], str]:
    """The accumulators as the instruction takes them, and their element type."""
    b, value, elem = ctx.b, ctx[acc], ctx[acc].elem
    if per_register > 1:
        value = b.bitcast(value, "i32", value.n // per_register)
    return [b.extract(value, i) for i in range(value.n)], elem


def _vector(ctx: Context, registers: list[Val], elem: str) -> Val:
    value = ctx.b.vector(registers)
    return value if value.elem == elem else ctx.b.bitcast(value, elem, value.n * (2 if elem == "half" else 1))


def _tied(ctx: Context, pending: int, registers: list[Val]) -> list[Val]:
    """Registers after they pass through a wait, whose operands are floats first and then words."""
    order = sorted(range(len(registers)), key=lambda i: registers[i].elem != "float")
    floats = sum(r.elem == "float" for r in registers)
    record = records.wgmma_wait_tied(pending, floats, len(registers) - floats)
    passed = record.emit(ctx.b, *(registers[i] for i in order))
    after = dict(zip(order, passed, strict=True))
    return [after[i] for i in range(len(registers))]


@lower(ops.WgmmaWait)
def wgmma_wait(ctx: Context, op: ops.WgmmaWait) -> None:
    """Accumulators pass through the wait, so that LLVM moves none of their readers above it."""
    if not op.accs:
        instruction(f"wgmma.wait.{min(op.pending, records.MAX_PENDING)}").emit(ctx.b)
        return
    registers: list[Val] = []
    parts: list[tuple[int, str]] = []
    for acc in op.accs:
        found, elem = _registers(ctx, acc, 2 if ctx[acc].elem == "half" else 1)
        registers += found
        parts.append((len(found), elem))
    rest = iter(_tied(ctx, op.pending, registers))
    for result, (count, elem) in zip(op.results, parts, strict=True):
        ctx.set(result, _vector(ctx, list(islice(rest, count)), elem))
