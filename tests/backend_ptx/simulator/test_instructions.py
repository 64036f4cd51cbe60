"""Meanings of the instruction table: every record has one; copies, matrices and tensor-core products are right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.simulator.text import BAR, TID, run

from tilewright.backend_ptx.instructions.record import Instruction
from tilewright.backend_ptx.instructions.table import instruction, instructions
from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.simulator import PendingCopy, SimError, simulate_text
from tilewright.backend_ptx.simulator.assembly import MEANINGS
from tilewright.backend_ptx.simulator.numbers.floats import from_fp8
from tilewright.backend_ptx.targets import DEFAULT
from tilewright.tileir.dtypes import BY_IR
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.fused_sums import multiply_add, operand, scaled_operand
from tilewright.tileir.rounding import fma_float64


def test_every_record_has_a_meaning() -> None:
    # Made by functions, so not in the table: that of warpgroup.py and that of support/simulator/exchange.py.
    on_demand = {"wgmma", "cluster_store"}
    assert {r.meaning for r in instructions().values()} | on_demand == set(MEANINGS)


def simulate_record(record: Instruction, operands: list[np.ndarray], threads: int = 32) -> list[np.ndarray]:
    """Execute one instruction: operand i of thread t is operands[i][t]; returns the results per thread."""
    b = Builder()
    args, params, given = [], [], list(operands)
    for i, (kind, array) in enumerate(zip(record.operands, operands, strict=True)):
        params.append(f"ptr addrspace(1) %a{i}")
        at = b.emit("ptr addrspace(1)", 0, f"getelementptr i8, ptr addrspace(1) %a{i}, i32 %o{array.itemsize}")
        args.append(b.emit(kind, 0, f"load {kind}, {at}, align 1"))
    sizes = {"i16": 2, "i32": 4, "i64": 8, "float": 4, "double": 8}
    results = []
    for i, value in enumerate(record.emit(b, *args)):
        params.append(f"ptr addrspace(1) %r{i}")
        size = sizes[value.elem]
        results.append(np.zeros(threads, {"float": "f4", "double": "f8"}.get(value.elem, f"u{size}")))
        at = b.emit("ptr addrspace(1)", 0, f"getelementptr i8, ptr addrspace(1) %r{i}, i32 %o{size}")
        b.raw(f"store {value}, {at}, align 1")
    b.ret()
    offsets = "".join(f"\n  %o{s} = mul i32 %tid, {s}" for s in (1, 2, 4, 8))
    body = b.text().replace("entry:\n", f"entry:\n  {TID}{offsets}\n", 1)
    text = f"define ptx_kernel void @k({', '.join(params)}) {{\n{body}}}\n"
    simulate_text(text, "k", 1, threads, [*given, *results])
    return results


# (kind, NumPy type of an element, elements in a 32-bit register)
ELEMENTS: dict[str, tuple[Any, int]] = {
    "f16": (np.float16, 2), "bf16": (ml_dtypes.bfloat16, 2), "tf32": (np.float32, 1), "s8": (np.int8, 4),
    "u8": (np.uint8, 4), "e4m3": (np.uint8, 4), "e5m2": (np.uint8, 4), "f64": (np.float64, 1), "f32": (np.float32, 1),
    "s32": (np.int32, 1),
}


def value_of(matrix: np.ndarray, kind: str) -> np.ndarray:
    return from_fp8(matrix, kind) if kind in ("e4m3", "e5m2") else matrix


def random_matrix(rng: np.random.Generator, rows: int, columns: int, kind: str) -> np.ndarray:
    dtype = ELEMENTS[kind][0]
    if kind in ("s8", "u8", "s32"):
        info = np.iinfo(np.int8 if kind != "u8" else np.uint8)
        return rng.integers(info.min, info.max, (rows, columns), endpoint=True).astype(dtype)
    if kind in ("e4m3", "e5m2"):
        return (rng.integers(0x28, 0x48, (rows, columns)) | rng.integers(0, 2, (rows, columns)) << 7).astype(np.uint8)
    if kind == "tf32":  # few mantissa bits, so that nothing is cut off
        return rng.integers(-50, 50, (rows, columns)).astype(np.float32)
    return rng.standard_normal((rows, columns)).astype(dtype)


def lanes_of(matrix: np.ndarray, which: str, kind: str) -> list[np.ndarray]:
    """The registers of a fragment, written down lane by lane as the PTX manual's figures state it."""
    dtype, per = ELEMENTS[kind]
    rows, columns = matrix.shape
    registers: list[list[list[Any]]] = []
    if which == "A":
        for start in range(0, columns, 4 * per):
            for top in range(0, rows, 8):
                registers.append([
                    [matrix[top + lane // 4, start + lane % 4 * per + e] for e in range(per)] for lane in range(32)
                ])
    elif which == "B":
        for start in range(0, rows, 4 * per):
            registers.append([
                [matrix[start + lane % 4 * per + e, lane // 4] for e in range(per)] for lane in range(32)
            ])
    else:
        for top in range(0, rows, 8):
            pairs = [[matrix[top + lane // 4, lane % 4 * 2 + e] for e in range(2)] for lane in range(32)]
            registers += [pairs] if per == 2 else [[[p[e]] for p in pairs] for e in range(2)]
    arrays = [np.array(r, dtype) for r in registers]
    return [a[:, 0] if kind in ("f64", "f32") else a.view(np.uint32)[:, 0] for a in arrays]


@pytest.mark.parametrize("name", [n for n in instructions() if n.startswith("mma.m")])
def test_mma(name: str) -> None:
    record = instruction(name)
    facts = record.facts
    (m, n, k), acc = facts["shape"], facts["acc"]
    rng = np.random.default_rng(1)
    a, b = random_matrix(rng, m, k, facts["a"]), random_matrix(rng, k, n, facts["b"])
    c = random_matrix(rng, m, n, acc)
    operands = lanes_of(a, "A", facts["a"]) + lanes_of(b, "B", facts["b"]) + lanes_of(c, "C", acc)
    got = simulate_record(record, operands)
    left, right = value_of(a, facts["a"]).astype("f8"), value_of(b, facts["b"]).astype("f8")
    if acc == "s32":
        d = left @ right + c
    elif acc == "f64":
        d = c
        for i in range(k):
            d = fma_float64(left[:, i, None], right[i], d, RoundingMode.RN)
    else:
        rule = DEFAULT.tensor_cores.summation("mma.sync", BY_IR[facts["a"]], k)
        factors = operand(left, BY_IR[facts["a"]]), operand(right, BY_IR[facts["b"]])
        d = multiply_add(*factors, c.astype("f4"), rule, half=acc == "f16")
    want = lanes_of(d.astype(ELEMENTS[acc][0]), "C", acc)
    for g, w in zip(got, want, strict=True):
        np.testing.assert_array_equal(g, w)


E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def scale_words(codes: np.ndarray, row_of: Callable[[int], int | None]) -> np.ndarray:
    """For each lane the word of the scales of a row, lowest byte first, with other bytes set behind them.

    Lanes that the instruction does not read hold NaNs.
    """
    rows = [row_of(lane) for lane in range(32)]
    behind = 0x71717171 << 8 * codes.shape[1] & 0xFFFFFFFF
    words = [0xFFFFFFFF if r is None else int.from_bytes(codes[r].tobytes(), "little") | behind for r in rows]
    return np.array(words, np.uint32)


@pytest.mark.parametrize("name", [n for n in instructions() if n.startswith("mma.block_scale.")])
def test_mma_with_scales(name: str) -> None:
    """As the PTX manual has it for thread-id 0 and byte-id 0: lanes 4r and 4r + 1 hold scales of A, lanes 4c of B."""
    record = instruction(name)
    facts = record.facts
    (m, n, k), runs, kind = facts["shape"], facts["scales"], facts["a"]
    rng = np.random.default_rng(3)
    if kind == "e2m1":
        codes = [rng.integers(0, 16, shape).astype(np.uint8) for shape in ((m, k), (n, k))]
        a, b = (E2M1[x & 7] * (1 - 2.0 * (x >> 3)) for x in codes)
        packed = [np.bitwise_or.reduce([x[:, e::8].astype(np.uint32) << 4 * e for e in range(8)]) for x in codes]
        left = [packed[0][np.arange(32) // 4 + 8 * h, np.arange(32) % 4 + 4 * w] for w in (0, 1) for h in (0, 1)]
        right = [packed[1][np.arange(32) // 4, np.arange(32) % 4 + 4 * w] for w in (0, 1)]
    else:
        ma, mb = random_matrix(rng, m, k, kind), random_matrix(rng, k, n, kind)
        a, b = value_of(ma, kind), value_of(mb, kind).T
        left, right = lanes_of(ma, "A", kind), lanes_of(mb, "B", kind)
    low = 120 if facts["scale"] == "e8m0" else 0x30
    scales = [rng.integers(low, low + 12, (rows, runs)).astype(np.uint8) for rows in (m, n)]
    c = random_matrix(rng, m, n, "f32")
    words = [scale_words(scales[0], lambda lane: lane // 4 + 8 * (lane % 4) if lane % 4 < 2 else None),
             scale_words(scales[1], lambda lane: None if lane % 4 else lane // 4)]
    got = simulate_record(record, [*left, *right, *words, *lanes_of(c, "C", "f32")])
    values = [2.0 ** (s - 127.0) if low == 120 else value_of(s, "e4m3") for s in scales]
    wide = [np.repeat(v, k // runs, 1) for v in values]
    of = BY_IR[facts["scale"]]
    rows, columns = (scaled_operand(x, BY_IR[kind], s, of) for x, s in ((a, wide[0]), (b.T, wide[1].T)))
    want = multiply_add(rows, columns, c, DEFAULT.tensor_cores.summation("mma.sync", BY_IR[kind], k))
    for g, w in zip(got, lanes_of(want, "C", "f32"), strict=True):
        np.testing.assert_array_equal(g, w)


def test_tf32_operands_lose_their_low_bits() -> None:
    record = instruction("mma.m16n8k8.f32.tf32")
    a = np.full(32, np.float32(1 + 2.0**-12)).view(np.uint32)
    one = np.full(32, np.float32(1)).view(np.uint32)
    zero = np.zeros(32, np.float32)
    got = simulate_record(record, [a] * 4 + [one] * 2 + [zero] * 4)
    assert got[0][0] == 8.0


def test_conversions() -> None:
    tie = np.full(32, 1 + 2.0**-11, "f4")
    (away,) = simulate_record(instruction("cvt.rna.tf32.f32"), [tie])
    (even,) = simulate_record(instruction("cvt.rn.tf32.f32"), [tie])
    assert (away.view("f4")[0], even.view("f4")[0]) == (1 + 2.0**-10, 1)


COPY = """
  %base = ptrtoint ptr addrspace(3) @s to i32
  %o16 = mul i32 %tid, 16
  %to = add i32 %base, %o16
  %from = getelementptr i8, ptr addrspace(1) %a, i32 %o16
  %c = icmp ult i32 %tid, 10
  %n = select i1 %c, i32 16, i32 LENGTH
  call void asm sideeffect "cp.async.cg.shared.global.L2::128B [$0], [$1], 16, $2;", "r,l,r,~{memory}"(""" + (
    "i32 %to, ptr addrspace(1) %from, i32 %n)") + """
  call void asm sideeffect "cp.async.commit_group;", "~{memory}"()
  MIDDLE
  WAIT
  BARRIER
  %other = xor i32 %o16, 48
  %q = getelementptr i8, ptr addrspace(3) @s, i32 %other
  %x = load <4 x i32>, ptr addrspace(3) %q, align 16
  %p = getelementptr i8, ptr addrspace(1) %out, i32 %other
  store <4 x i32> %x, ptr addrspace(1) %p, align 16
  ret void"""
SHARED = "@s = internal addrspace(3) global [256 x i32] undef, align 1024"


def copy(length: int = 16, middle: str = "", wait: str = "0", barrier: str = BAR) -> np.ndarray:
    a, out = np.arange(256, dtype="i4") + 1, np.zeros(256, "i4")
    waits = f'call void asm sideeffect "cp.async.wait_group {wait};", "~{{memory}}"()' if wait else ""
    body = COPY.replace("LENGTH", str(length)).replace("MIDDLE", middle).replace("WAIT", waits)
    run(body.replace("BARRIER", barrier), "ptr addrspace(1) %a, ptr addrspace(1) %out", [a, out], more=SHARED)
    return out


def test_asynchronous_copy() -> None:
    np.testing.assert_array_equal(copy(), np.arange(256) + 1)


def test_asynchronous_copy_fills_with_zero() -> None:
    np.testing.assert_array_equal(copy(length=0)[40:], 0)
    np.testing.assert_array_equal(copy(length=8).reshape(64, 4)[10:, 2:], 0)


@pytest.mark.parametrize("how", [{"wait": ""}, {"wait": "1"}, {"barrier": ""}])
def test_asynchronous_copy_must_be_waited_for(how: dict[str, str]) -> None:
    with pytest.raises(SimError, match="asynchronous copy|no barrier between"):
        copy(**how)  # type: ignore[arg-type]


def test_nothing_may_touch_a_copy_in_flight() -> None:
    store = "store i32 1, ptr addrspace(3) @s"
    with pytest.raises(PendingCopy, match="while an asynchronous copy is in flight"):
        copy(middle=store)


@pytest.mark.parametrize("trans", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_ldmatrix_and_stmatrix(count: int, trans: bool) -> None:
    tail = f"x{count}{'.trans' if trans else ''}"
    load, store = instruction(f"ldmatrix.{tail}"), instruction(f"stmatrix.{tail}")
    b = Builder()
    address = Val("i32", 0, "%addr")
    values = load.emit(b, address)
    store.emit(b, Val("i32", 0, "%back"), *values)
    middle = b.text().replace("entry:\n", "")
    results = "".join(
        f"\n  %i{n} = add i32 %tid32, {n}\n  %p{n} = getelementptr i32, ptr addrspace(1) %out, i32 %i{n}"
        f"\n  store i32 {v.text}, ptr addrspace(1) %p{n}" for n, v in enumerate(values)
    )
    body = f"""
  %base = ptrtoint ptr addrspace(3) @s to i32
  %o16 = mul i32 %tid, 16
  %to = add i32 %base, %o16
  %addr = add i32 %to, 0
  %back = add i32 %to, 512
  %tid32 = mul i32 %tid, 4
  %from = getelementptr i8, ptr addrspace(1) %a, i32 %o16
  %v = load <4 x i32>, ptr addrspace(1) %from, align 16
  %sp = inttoptr i32 %to to ptr addrspace(3)
  store <4 x i32> %v, ptr addrspace(3) %sp, align 16
  {BAR}
{middle}{results}
  %small = icmp ult i32 %tid, {8 * count}
  {BAR}
  br i1 %small, label %more, label %end
more:
  %sq = inttoptr i32 %back to ptr addrspace(3)
  %w = load <4 x i32>, ptr addrspace(3) %sq, align 16
  %to2 = getelementptr i8, ptr addrspace(1) %again, i32 %o16
  store <4 x i32> %w, ptr addrspace(1) %to2, align 16
  br label %end
end:
  ret void"""
    matrices = np.arange(4 * 64, dtype=np.uint16).reshape(4, 8, 8)
    again = np.zeros_like(matrices)
    out = np.zeros((32, 4), np.uint32)
    params = "ptr addrspace(1) %a, ptr addrspace(1) %out, ptr addrspace(1) %again"
    run(body, params, [matrices, out, again], more=SHARED, threads=32)
    seen = matrices.swapaxes(1, 2) if trans else matrices
    for lane in range(32):
        for n in range(count):
            low, high = seen[n, lane // 4, lane % 4 * 2], seen[n, lane // 4, lane % 4 * 2 + 1]
            assert out[lane, n] == int(low) | int(high) << 16
    np.testing.assert_array_equal(again[:count], matrices[:count])


def test_mma_of_half_a_warp_is_refused() -> None:
    from tilewright.backend_ptx.simulator import Divergence

    record = instruction("mma.m16n8k8.f32.tf32")
    b = Builder()
    record.emit(b, *[Val("i32", 0, "%tid")] * 6, *[Val("float", 0, "0.0")] * 4)
    body = "\n  %c = icmp ult i32 %tid, 16\n  br i1 %c, label %a, label %b\na:\n" + b.text().replace("entry:\n", "")
    with pytest.raises(Divergence, match="mma.sync: 16 threads"):
        run(body + "  br label %b\nb:\n  ret void", "", [], threads=32)
