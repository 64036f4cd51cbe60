"""Memory of the simulator: bounds, alignment, strides, unwritten shared memory, predicated access, atomics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.simulator.text import BAR, per_thread, run

from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.simulator import AddressTable, Misaligned, OutOfRange, Race, UnwrittenRead, simulate_text

SHARED = "@s = internal addrspace(3) global [64 x i32] undef, align 16"
COPY = """
  %p = getelementptr i32, ptr addrspace(1) %a, i32 %tid
  %x = load i32, ptr addrspace(1) %p, align 4
  %q = getelementptr i32, ptr addrspace(1) %b, i32 %tid
  store i32 %x, ptr addrspace(1) %q, align 4
  ret void"""
AB = "ptr addrspace(1) %a, ptr addrspace(1) %b"


def test_copy() -> None:
    a, b = np.arange(64, dtype="i4"), np.zeros(64, "i4")
    run(COPY, AB, [a, b])
    np.testing.assert_array_equal(a, b)


def test_out_of_range_names_array_line_and_threads() -> None:
    with pytest.raises(OutOfRange, match=r"(?s)160 of a, of 160 bytes \(threads 40, 41.*line \d+: %x = load i32"):
        run(COPY, AB, [np.zeros(40, "i4"), np.zeros(64, "i4")])


def test_between_the_elements_of_a_strided_array() -> None:
    a = np.arange(128, dtype="i4")[::2]
    with pytest.raises(OutOfRange, match="between its elements"):
        run(COPY, AB, [a, np.zeros(64, "i4")])


def test_negative_strides() -> None:
    a, b = np.arange(64, dtype="i4")[::-1], np.zeros(64, "i4")
    run(COPY.replace("ptr addrspace(1) %a, i32 %tid", "ptr addrspace(1) %a, i32 %back").replace(
        "%p = ", "%back = sub i32 0, %tid\n  %p = "), AB, [a, b])
    np.testing.assert_array_equal(a, b)


def test_read_only_arrays_are_not_written() -> None:
    b = np.zeros(64, "i4")
    b.flags.writeable = False
    with pytest.raises(OutOfRange, match="writes b, which is read-only"):
        run(COPY, AB, [np.zeros(64, "i4"), b])


def test_misaligned_vector() -> None:
    body = """
  %p = getelementptr i32, ptr addrspace(1) %a, i32 %tid
  %x = load <4 x i32>, ptr addrspace(1) %p, align 16
  ret void"""
    with pytest.raises(Misaligned, match=r"not a multiple of 16 \(threads 1, 2, 3, 5"):
        run(body, "ptr addrspace(1) %a", [np.zeros(80, "i4")])


def test_predicated_load_pads_and_does_not_touch() -> None:
    code = """
  %c = icmp ult i32 %tid, 3
  %p = getelementptr <2 x i32>, ptr addrspace(1) %a, i32 %tid
  %v = call { i32, i32 } asm sideeffect "@$3 ld.global.v2.b32 {$0, $1}, [$2];", "=r,=r,l,b,0,1,~{memory}"(
    ptr addrspace(1) %p, i1 %c, i32 7, i32 8)
  %x = extractvalue { i32, i32 } %v, 0
  %y = extractvalue { i32, i32 } %v, 1
  %r = add i32 %x, %y"""
    code = code.replace("(\n    ptr", "(ptr")
    got = per_thread(code, "i32", params="ptr addrspace(1) %a", args=[np.arange(6, dtype="i4")])
    assert got[:4].tolist() == [1, 5, 9, 15]


def test_unwritten_shared_memory() -> None:
    body = f"""
  %c = icmp ult i32 %tid, 60
  br i1 %c, label %write, label %read
write:
  %p = getelementptr i32, ptr addrspace(3) @s, i32 %tid
  store i32 %tid, ptr addrspace(3) %p
  br label %read
read:
  {BAR}
  %o = sub i32 63, %tid
  %q = getelementptr i32, ptr addrspace(3) @s, i32 %o
  %x = load i32, ptr addrspace(3) %q
  ret void"""
    with pytest.raises(UnwrittenRead, match=r"(?s)which nothing has written \(threads 0, 1, 2, 3"):
        run(body, "", [], more=SHARED)


def test_shared_memory_is_fresh_in_every_block() -> None:
    body = f"""
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %first = icmp eq i32 %b, 0
  %p = getelementptr i32, ptr addrspace(3) @s, i32 %tid
  br i1 %first, label %write, label %read
write:
  store i32 %tid, ptr addrspace(3) %p
  br label %read
read:
  {BAR}
  %x = load i32, ptr addrspace(3) %p
  ret void"""
    run(body, "", [], more=SHARED, grid=1)
    with pytest.raises(UnwrittenRead, match=r"block \(1, 0, 0\)"):
        run(body, "", [], more=SHARED, grid=2)


def test_outside_of_shared_memory() -> None:
    body = """
  %p = getelementptr i32, ptr addrspace(3) @s, i32 %tid
  %q = getelementptr i8, ptr addrspace(3) %p, i32 16
  store i32 %tid, ptr addrspace(3) %q
  ret void"""
    with pytest.raises(OutOfRange, match=r"offset 256 of shared memory"):
        run(body, "", [], more=SHARED)


def test_dynamic_shared_memory_starts_after_the_static_part() -> None:
    more = SHARED + "\n@d = external addrspace(3) global [0 x i8], align 1024"
    body = """
  %base = ptrtoint ptr addrspace(3) @d to i32
  %low = and i32 %base, 1023
  %aligned = icmp eq i32 %low, 0
  call void @llvm.assume(i1 %aligned)
  %o = mul i32 %tid, 4
  %a = add i32 %base, %o
  call void asm sideeffect "@$1 st.shared.b32 [$0], $2;", "r,b,r,~{memory}"(i32 %a, i1 %aligned, i32 %tid)
  %x = call i32 asm sideeffect "@$2 ld.shared.b32 $0, [$1];", "=r,r,b,0,~{memory}"(i32 %a, i1 %aligned, i32 -1)
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  store i32 %x, ptr addrspace(1) %p
  ret void"""
    out = np.zeros(64, "u4")
    run(body, "ptr addrspace(1) %out", [out], more=more, shared_bytes=256)
    np.testing.assert_array_equal(out, np.arange(64))
    with pytest.raises(OutOfRange):
        run(body, "ptr addrspace(1) %out", [out], more=more, shared_bytes=252)


def test_local_memory_is_private() -> None:
    code = """
  %p = alloca [4 x i32], align 4
  %low = and i32 %tid, 3
  %q = getelementptr [4 x i32], ptr %p, i32 0, i32 %low
  store i32 %tid, ptr %q, align 4
  %r = load i32, ptr %q, align 4"""
    np.testing.assert_array_equal(per_thread(code, "i32"), np.arange(64))
    with pytest.raises(UnwrittenRead):
        per_thread(code.replace("%r = load i32, ptr %q", "%r = load i32, ptr %p"), "i32")


def test_atomics() -> None:
    body = """
  %bin = and i32 %tid, 3
  %p = getelementptr i32, ptr addrspace(1) %a, i32 %bin
  %old = atomicrmw add ptr addrspace(1) %p, i32 1 monotonic
  %x = cmpxchg ptr addrspace(1) %lock, i32 0, i32 1 monotonic monotonic
  %won = extractvalue { i32, i1 } %x, 1
  %f = getelementptr i32, ptr addrspace(1) %a, i32 4
  %c = call i32 asm sideeffect "@$2 atom.relaxed.gpu.global.max.s32 $0, [$1], $3;", "=r,l,b,r,0,~{memory}"(""" + (
        "ptr addrspace(1) %f, i1 %won, i32 %tid, i32 -5)\n  ret void")
    a, lock = np.array([0, 0, 0, 0, -7], "i4"), np.zeros(1, "i4")
    run(body, "ptr addrspace(1) %a, ptr addrspace(1) %lock", [a, lock], seed=3)
    assert a[:4].tolist() == [16] * 4 and lock[0] == 1
    assert 0 <= a[4] < 64  # of the one thread that won


def test_two_threads_store_different_values_to_one_place() -> None:
    body = """
  %h = lshr i32 %tid, 1
  %p = getelementptr i32, ptr addrspace(1) %a, i32 %h
  store i32 VALUE, ptr addrspace(1) %p
  ret void"""
    run(body.replace("VALUE", "%h"), "ptr addrspace(1) %a", [np.zeros(64, "i4")])
    with pytest.raises(Race, match="one instruction|writes too"):
        run(body.replace("VALUE", "%tid"), "ptr addrspace(1) %a", [np.zeros(64, "i4")])


def test_blocks_do_not_share_global_memory() -> None:
    with pytest.raises(Race, match="between blocks"):
        run("""
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %x = add i32 %b, 5
  %p = getelementptr i32, ptr addrspace(1) %a, i32 %tid
  store i32 %x, ptr addrspace(1) %p
  ret void""", "ptr addrspace(1) %a", [np.zeros(64, "i4")], grid=2)


def test_read_only_path_and_stores_do_not_mix() -> None:
    body = COPY.replace("%p, align 4", "%p, align 4, !invariant.load !0")
    a = np.zeros(64, "i4")
    run(body, AB, [a, np.zeros(64, "i4")])
    with pytest.raises(Race, match="read-only path"):
        run(body, AB, [a, a])


def test_table_of_arrays() -> None:
    body = """
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %row = getelementptr i64, ptr addrspace(1) %t, i32 %b3
  %at = load i64, ptr addrspace(1) %row, align 8
  %a = inttoptr i64 %at to ptr addrspace(1)
  %p = getelementptr i32, ptr addrspace(1) %a, i32 %tid
  store i32 %b, ptr addrspace(1) %p, align 4
  ret void""".replace("  %row", "  %b3 = mul i32 %b, 3\n  %row")
    arrays = [np.full(64, 9, "i4"), np.full(64, 9, "i4")]
    run(body, "ptr addrspace(1) %t", [AddressTable(arrays)], grid=2)
    assert (arrays[0] == 0).all() and (arrays[1] == 1).all()


@pytest.mark.parametrize("how", [{}, {"schedule": "random", "seed": 1}])
@pytest.mark.parametrize(("scope", "right"), [("gpu", True), ("sys", True), ("cta", False)])
def test_ordered_stores_and_loads_join_blocks_as_wide_as_their_scope(
    scope: str, right: bool, how: dict[str, Any]
) -> None:
    """Block 0 stores a word and then a flag; block 1, which runs later, reads the flag and then the word."""
    b = Builder()
    words, flag = (Val("ptr addrspace(1)", 0, name) for name in ("%words", "%flag"))
    yes, no_word = Val("i1", 0, "true"), b.const("i32", 0)
    first, second, end = b.label("first"), b.label("second"), b.label("end")
    b.cbr(b.icmp("eq", b.call("llvm.nvvm.read.ptx.sreg.ctaid.x", "i32", []), 0), first, second)
    b.start(first)
    instruction("st.global.b32").emit(b, words, yes, b.const("i32", 7))
    instruction(f"st.release.{scope}.global.b32").emit(b, flag, yes, b.const("i32", 1))
    b.br(end)
    b.start(second)
    instruction(f"ld.acquire.{scope}.global.b32").emit(b, flag, yes, no_word)
    (seen,) = instruction("ld.global.b32").emit(b, words, yes, no_word)
    instruction("st.global.b32").emit(b, b.gep(words, 4), yes, seen)
    b.br(end)
    b.start(end)
    b.ret()
    head = "\n".join(b.head())
    text = f"{head}\ndefine ptx_kernel void @k(ptr addrspace(1) %words, ptr addrspace(1) %flag) #0 {{\n{b.text()}}}\n"
    given = np.zeros(2, np.uint32)
    if right:
        simulate_text(text, "k", 2, 1, [given, np.zeros(1, np.uint32)], **how)
        assert given.tolist() == [7, 7]
        return
    with pytest.raises(Race):
        simulate_text(text, "k", 2, 1, [given, np.zeros(1, np.uint32)], **how)


def test_registers_of_loads_are_floats_behind_a_phi() -> None:
    """LLVM carries the results of an asm as one value, whose record says that they are words."""
    load = ('call { float, float } asm sideeffect "@$3 ld.global.nc.v2.b32 {$0, $1}, [$2];", "=r,=r,l,b,0,1,~{memory}"'
            "(ptr addrspace(1) %from, i1 true, float 0.0, float 0.0)")
    code = f"""
  %from = getelementptr [2 x float], ptr addrspace(1) %a, i32 %tid
  %odd = trunc i32 %tid to i1
  br i1 %odd, label %one, label %other
one:
  %v = {load}
  br label %done
other:
  %w = {load}
  br label %done
done:
  %p = phi {{ float, float }} [ %v, %one ], [ %w, %other ]
  %x = extractvalue {{ float, float }} %p, 0
  %y = extractvalue {{ float, float }} %p, 1
  %r = fadd float %x, %y"""
    a = np.arange(128, dtype=np.float32)
    got = per_thread(code, "float", params="ptr addrspace(1) %a", args=[a])
    np.testing.assert_array_equal(got, a.reshape(-1, 2).sum(1))
