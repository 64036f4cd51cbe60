"""Shared memory: buffers in the block's dynamic allocation, vector accesses at swizzled addresses, barriers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.layouts.matrices import ROW_BYTES, MatrixPlan, Turn, movement
from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.lower.access import both, elem_bytes, from_memory, memory_elem, to_memory
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.fragments import elem_of
from tilewright.backend_ptx.lower.integers import resized
from tilewright.backend_ptx.lower.positions import index_vector, owner
from tilewright.backend_ptx.lower.registry import lower
from tilewright.backend_ptx.ops import shared as ops
from tilewright.backend_ptx.resources.shared import buffer_bytes
from tilewright.tileir.core import Value
from tilewright.tileir.f2 import combine, shifts, span
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.buffers import access_vector, inverse, offset_bases
from tilewright.tileir.layouts.flat import LANE_BITS, axis_shifts, log2
from tilewright.tileir.types import SharedType

Loaded = Iterable[tuple[tuple[int, ...], Val]]  # the registers of each part that was loaded
SPACE = "ptr addrspace(3)"
CONSUMERS_BARRIER = 1
TEAMS_BARRIER = 8  # of the first team of warps; those between are for turns on the tensor cores
# The dynamic allocation of a launch; its size is `plan.shared_bytes`. 1024: what a 128-byte swizzle of TMA needs.
SYMBOL = "@shared_memory"
_DEFINITION = f"{SYMBOL} = external addrspace(3) global [0 x i8], align 1024"


@dataclass(frozen=True, slots=True)
class SharedRef:
    """A buffer: its type and its first byte in the allocation; `slot` is added where it is a slot of a ring."""

    type: SharedType
    offset: int
    slot: Val | None = None


@lower(ops.SharedAlloc)
def shared_alloc(ctx: Context, op: ops.SharedAlloc) -> None:
    assert op.offset >= 0, "plan_shared_memory has not run"
    ctx.b.add_global(_DEFINITION)
    own = ctx.b.mul(ctx.team, buffer_bytes(op.type)) if op.each and ctx.teams > 1 else None
    ctx.set(op.result, SharedRef(op.type, op.offset, own))


@lower(ops.SharedStore)
def shared_store(ctx: Context, op: ops.SharedStore) -> None:
    b, layout, value = ctx.b, ctx.layout(op.value), to_memory(ctx.b, ctx[op.value])
    ref: SharedRef = ctx[op.buffer]
    how = movement(ref.type.layout, layout, elem_bytes(value.elem), ctx.target.has_stmatrix)
    access = SharedAccess(ctx, ref, how.rows, slot=slot_offset(ctx, ref, op.slot, op.ahead))
    other = None if how.turn is None else ctx.thread_bit(how.turn.lane_bit)

    def part(registers: Sequence[int]) -> Val:
        """What a lane stores at once, which has these registers' place."""
        found, *seconds = (b.shuffle(value, chosen) for chosen in (registers, *_others(how.turn, registers)))
        if how.plan is not None:
            found, *seconds = (b.bitcast(v, "i32", 0) for v in (found, *seconds))
        return b.select(other, seconds[0], found) if other is not None else found

    # Copies differ in the warp alone where matrices are stored, so that all lanes of a warp take the same way.
    with b.when(owner(ctx, layout), "owner"):
        for group, (registers, place) in enumerate(access.vectors(numbers=how.plan is not None)):
            if how.plan is None:
                b.store(part(registers), place, access.bytes)
            else:
                assert len(registers) * access.size == ROW_BYTES
                words = [part(how.plan.registers(matrix, group)) for matrix in range(how.plan.per_instruction)]
                instruction(how.plan.called("stmatrix")).emit(b, place, *words)


def _others(turn: Turn | None, registers: Sequence[int]) -> list[list[int]]:
    """The registers with which lanes in another order move what others do with these; none without a turn."""
    return [] if turn is None else [[r ^ 1 << turn.register_bit for r in registers]]


@lower(ops.SharedLoad)
def shared_load(ctx: Context, op: ops.SharedLoad) -> None:
    ref: SharedRef = ctx[op.buffer]
    elem = elem_of(ref.type.dtype)
    at = _sub_tile(ctx, ref.type, op.index, op.shape)
    slot = slot_offset(ctx, ref, op.slot, op.ahead)
    layout = _widened(ctx.layout(op.result), ref.type.shape)
    how = movement(ref.type.layout, layout, elem_bytes(elem))
    access = SharedAccess(ctx, ref, how.rows, at, slot)
    loaded = dict(_load_vectors(access, memory_elem(elem)) if how.plan is None else _load_matrices(access, how.plan))
    if how.turn is not None:
        other = ctx.thread_bit(how.turn.lane_bit)
        loaded = {registers: ctx.b.select(other, loaded[tuple(_others(how.turn, registers)[0])], value)
                  for registers, value in loaded.items()}
    if how.plan is not None:
        loaded = {r: ctx.b.bitcast(word, memory_elem(elem), len(r)) for r, word in loaded.items()}
    ctx.set(op.result, from_memory(ctx.b, _by_register(ctx.b, loaded), elem))


@lower(ops.SharedTake)
def shared_take(ctx: Context, op: ops.SharedTake) -> None:
    """Element by element, each at an address of its own."""
    b, ref, layout = ctx.b, ctx[op.buffer], ctx.layout(op.result)
    place = b.const("i32", 0, ctx.lanes(op.result))
    for axis, shift in enumerate(axis_shifts(ref.type.shape)):
        index = index_vector(ctx, layout, axis)
        if axis == op.axis:
            index = b.and_(resized(b, ctx[op.index], True, "i32"), ref.type.shape[axis] - 1)
        place = b.add(place, b.shl(index, shift))
    elem, size = elem_of(ref.type.dtype), elem_bytes(elem_of(ref.type.dtype))
    found = b.concat([b.load(memory_elem(elem), 1, pointer, size) for pointer in _pointers(ctx, ref, place)])
    ctx.set(op.result, from_memory(b, found, elem))


def _pointers(ctx: Context, ref: SharedRef, places: Val) -> list[Val]:
    """The addresses of some elements of a buffer in row-major order."""
    b, size = ctx.b, elem_bytes(elem_of(ref.type.dtype))
    offsets = b.add(b.mul(places, size), ref.offset)
    offsets = offsets if ref.slot is None else b.add(offsets, b.splat(ref.slot, places.n))
    return [b.gep(Val(SPACE, 0, SYMBOL), b.extract(offsets, r)) for r in range(places.n)]


@lower(ops.SharedCount)
def shared_count(ctx: Context, op: ops.SharedCount) -> None:
    """ptxas makes ATOMS.POPC.INC of it, for which the lanes of a warp that count the same number are one."""
    b, numbers, mine = ctx.b, ctx.vector(op.numbers), owner(ctx, ctx.layout(op.numbers))
    inside = b.icmp("ult", numbers, b.like(numbers, op.buffer.type.size))
    for r, pointer in enumerate(_pointers(ctx, ctx[op.buffer], numbers)):
        place, chosen = b.cast("ptrtoint", pointer, "i32"), both(b, mine, b.extract(inside, r)) or b.extract(inside, r)
        instruction("atom.add.u32.relaxed.cta.shared").emit(b, place, chosen, b.like(place, 0), b.like(place, 1))


def _load_vectors(access: SharedAccess, elem: str) -> Loaded:
    for registers, pointer in access.vectors():
        yield tuple(registers), access.ctx.b.load(elem, len(registers), pointer, access.bytes)


def _load_matrices(access: SharedAccess, plan: MatrixPlan) -> Loaded:
    """The tile by ldmatrix; each instruction fills a word of every lane for each of its matrices."""
    load = instruction(plan.called("ldmatrix"))
    for group, (registers, place) in enumerate(access.vectors(numbers=True)):
        assert len(registers) * access.size == ROW_BYTES
        for matrix, word in enumerate(load.emit(access.ctx.b, place)):
            yield tuple(plan.registers(matrix, group)), word


def _by_register(b: Builder, loaded: Mapping[tuple[int, ...], Val]) -> Val:
    """The lanes of all that was loaded, each part with the registers that it belongs to."""
    registers, parts = zip(*loaded.items(), strict=True)
    place = {register: lane for lane, register in enumerate(chain.from_iterable(registers))}
    return b.shuffle(b.concat(parts), [place[r] for r in range(len(place))])


@lower(ops.Barrier)
def barrier(ctx: Context, op: ops.Barrier) -> None:
    if op.scope == "warp":
        instruction("bar.warp.sync").emit(ctx.b)
    elif ctx.all_warps > ctx.warps:  # the other roles never come here
        number = ctx.b.const("i32", CONSUMERS_BARRIER) if ctx.teams == 1 else ctx.b.add(ctx.team, TEAMS_BARRIER)
        instruction("bar.sync.named").emit(ctx.b, number, ctx.b.const("i32", 32 * ctx.warps))
    else:
        instruction("bar.sync").emit(ctx.b)


def slot_offset(ctx: Context, ref: SharedRef, slot: Value | None, ahead: int) -> Val | None:
    """The offset in bytes (i32) of slot (slot + ahead) % copies of a ring, and of what the team of warps has of a
    buffer; None for 0."""
    if slot is None:
        return ref.slot
    found = _of_slot(ctx, ref.type, slot, ahead)
    return found if ref.slot is None else ctx.b.add(found, ref.slot)


def _of_slot(ctx: Context, type: SharedType, slot: Value, ahead: int) -> Val:
    b, number = ctx.b, ctx.integer(slot, "i32")
    if number.const is not None:
        return b.const("i32", (int(number.const) + ahead) % type.copies * type.bytes)
    if ahead:
        number = b.add(number, ahead)
        number = b.select(b.icmp("sge", number, type.copies), b.sub(number, type.copies), number)
    return b.mul(number, type.bytes)


def _widened(layout: Layout, shape: tuple[int, ...]) -> Layout:
    """The layout of a sub-tile as a map to the indices of the whole tile (those of sub-tile 0)."""
    return layout if layout.shape == shape else Layout(layout.dims, shape)


def _sub_tile(ctx: Context, type: SharedType, index: tuple[Value, ...], shape: tuple[int, ...]) -> Val:
    """The offset in bytes of the sub-tile at tile coordinates `index`."""
    b = ctx.b
    assert type.layout is not None
    table, place = inverse(type.layout), axis_shifts(type.shape)
    out = b.const("i32", 0)
    for axis, value in enumerate(index):
        first, count = place[axis] + log2(shape[axis]), log2(type.shape[axis] // shape[axis])
        contributions = [(k, table[first + k] * type.dtype.bytes) for k in range(count)]
        out = b.xor(out, linear(b, ctx.integer(value, "i32"), contributions))
    return out


def linear(b: Builder, number: Val, contributions: list[tuple[int, int]]) -> Val:
    """XOR of what the set bits of `number` contribute: (bit, contribution) pairs."""
    if number.const is not None:
        return b.like(number, combine([part for bit, part in contributions if int(number.const) >> bit & 1], -1))
    out = b.like(number, 0)
    for mask, shift in shifts(contributions):
        part = b.and_(number, mask)
        out = b.xor(out, b.shl(part, shift) if shift >= 0 else b.lshr(part, -shift))
    return out


def shared_base(ctx: Context) -> Val:
    """The address of shared memory as a 32-bit number."""
    return ctx.once("shared memory", lambda b: b.cast("ptrtoint", Val(SPACE, 0, SYMBOL), "i32"))


class SharedAccess:
    """A thread's accesses to a whole buffer in one layout: vectors of registers and their addresses.

    The byte offset is linear over F2: a part of the thread, a part of the register, and `at`, combined by XOR. Where
    the register's part shares no bit with the others it is added as a constant of the instruction. The slot of a ring
    is added last.
    """

    def __init__(self, ctx: Context, ref: SharedRef, layout: Layout, at: Val | None = None,
                 slot: Val | None = None) -> None:
        self.ctx = ctx
        self.ref = ref
        assert ref.type.layout is not None
        self.size = elem_bytes(elem_of(ref.type.dtype))
        self.offsets = offset_bases(ref.type.layout, layout)
        self.vector, self.vector_bits = access_vector(ref.type.layout, layout, self.size)
        self.bytes = self.size * self.vector
        threads = [*self.offsets.lane, *[0] * (LANE_BITS - len(self.offsets.lane)), *self.offsets.warp]
        contributions = [(bit, o * self.size) for bit, o in enumerate(threads)]
        thread = ctx.once(("shared offset", tuple(contributions)), lambda b: linear(b, ctx.tid, contributions))
        self.moving = 0
        for _, part in contributions:
            self.moving |= part
        # A known place of a sub-tile is a constant like that of a register.
        self.fixed, self.base = 0, thread
        if at is not None and at.const is not None:
            self.fixed = int(at.const)
        elif at is not None:
            self.moving, self.base = -1, ctx.b.xor(thread, at)  # any bit may be set
        self.slot = slot

    def vectors(self, numbers: bool = False) -> Iterator[tuple[list[int], Val]]:
        """(registers, address) of each access; the registers in the order of the addresses, which are 32-bit `numbers`
        where an instruction takes those."""
        bases = self.offsets.register
        within = span([1 << bit for bit in self.vector_bits])
        chooses = within[-1]
        for register in range(1 << len(bases)):
            if register & chooses == 0:
                yield [register | k for k in within], self._address(combine(bases, register) * self.size, numbers)

    def number_of(self, register: int) -> Val:
        """The address of one register's element as a 32-bit number."""
        return self._address(combine(self.offsets.register, register) * self.size, True)

    def _address(self, offset: int, number: bool) -> Val:
        b = self.ctx.b
        offset ^= self.fixed
        mixed = offset & self.moving
        start = b.xor(self.base, mixed)
        start = start if self.slot is None else b.add(start, self.slot)
        rest = (offset ^ mixed) + self.ref.offset
        if number:
            return b.add(b.add(shared_base(self.ctx), start), rest)
        return b.gep(b.gep(Val(SPACE, 0, SYMBOL), start), rest)
