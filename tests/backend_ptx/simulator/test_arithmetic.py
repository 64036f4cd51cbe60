"""LLVM's operations in the simulator against NumPy or exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from support.simulator.text import per_thread

from tilewright.backend_ptx.simulator import Undefined, Unsupported
from tilewright.backend_ptx.simulator.numbers import floats

RNG = np.random.default_rng(7)


def values(dtype: str, n: int = 64) -> np.ndarray:
    if dtype[0] == "f":
        return (RNG.standard_normal(n) * np.exp2(RNG.integers(-8, 8, n))).astype(dtype)
    info = np.iinfo(dtype)
    out = RNG.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
    out[:4] = [info.min, info.max, 0, 1]
    return out


def on_values(op: str, llvm: str, a: np.ndarray, b: np.ndarray, out: str | None = None) -> np.ndarray:
    """r = `op` %x, %y with x and y loaded from arrays."""
    code = f"""
  %pa = getelementptr {llvm}, ptr addrspace(1) %a, i32 %tid
  %x = load {llvm}, ptr addrspace(1) %pa
  %pb = getelementptr {llvm}, ptr addrspace(1) %b, i32 %tid
  %y = load {llvm}, ptr addrspace(1) %pb
  {op}"""
    return per_thread(code, out or llvm, params="ptr addrspace(1) %a, ptr addrspace(1) %b", args=[a, b])


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize(
    ("op", "kind", "reference"),
    [
        ("add", "u", np.add), ("sub", "u", np.subtract), ("mul", "u", np.multiply), ("and", "u", np.bitwise_and),
        ("xor", "u", np.bitwise_xor), ("udiv", "u", np.floor_divide), ("urem", "u", np.remainder),
        ("sdiv", "i", lambda a, b: np.trunc(a.astype(object) / b) if a.itemsize < 8 else _exact_div(a, b)),
        ("srem", "i", np.fmod), ("lshr", "u", lambda a, b: a >> b), ("ashr", "i", lambda a, b: a >> b),
        ("shl", "u", lambda a, b: a << b),
    ],
)
def test_integer_operations_wrap(op: str, kind: str, reference: object, bits: int) -> None:
    dtype = f"{kind}{bits // 8}"
    a, b = values(dtype), values(dtype)
    if "div" in op or "rem" in op:
        b[(b == 0) | (b == b.dtype.type(-1 if kind == "i" else 0))] = 3
    if op in ("shl", "lshr", "ashr"):
        b = (b.view(f"u{bits // 8}") % bits).astype(dtype)
    with np.errstate(over="ignore"):
        want = np.asarray(reference(a, b)).astype(dtype)  # type: ignore[operator]
    got = on_values(f"%r = {op} i{bits} %x, %y", f"i{bits}", a, b)
    np.testing.assert_array_equal(got.view(dtype), want)


def _exact_div(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.array([int(x) // int(y) if (x < 0) == (y < 0) else -(abs(int(x)) // abs(int(y)))
                     for x, y in zip(a, b, strict=True)])


@pytest.mark.parametrize(
    ("predicate", "reference"),
    [
        ("slt", np.less), ("sge", np.greater_equal), ("ult", lambda a, b: a.view("u4") < b.view("u4")),
        ("ne", np.not_equal),
    ],
)
def test_icmp(predicate: str, reference: object) -> None:
    a, b = values("i4"), values("i4")
    b[10:20] = a[10:20]
    got = on_values(f"%c = icmp {predicate} i32 %x, %y\n  %r = zext i1 %c to i32", "i32", a, b)
    np.testing.assert_array_equal(got, reference(a, b).astype("u4"))  # type: ignore[operator]


@pytest.mark.parametrize(
    ("predicate", "on_nan"),
    [("oeq", 0), ("une", 1), ("olt", 0), ("ult", 1), ("ord", 0), ("uno", 1), ("ueq", 1), ("one", 0)],
)
def test_fcmp_with_nan(predicate: str, on_nan: int) -> None:
    a, b = values("f4"), values("f4")
    a[5] = np.nan
    got = on_values(f"%c = fcmp {predicate} float %x, %y\n  %r = zext i1 %c to i32", "float", a, b, "i32")
    assert got[5] == on_nan


def test_fma_is_exact_in_every_format() -> None:
    for dtype, bits in (("f2", 11), ("f4", 24), ("f8", 53), (ml_dtypes.bfloat16, 8)):
        a, b = (RNG.standard_normal(500).astype(dtype) for _ in "ab")
        # Products that nearly cancel show a double rounding.
        c = (-(a.astype("f8") * b.astype("f8"))).astype(dtype)
        c[::3] = RNG.standard_normal(len(c[::3])).astype(dtype)
        got = floats.fma(a, b, c)
        for x, y, z, r in zip(a, b, c, got, strict=True):
            exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
            half_step = Fraction(1, 2**25 if dtype == "f2" else 2**127)  # of a subnormal
            assert abs(Fraction(float(r)) - exact) <= max(abs(exact) / 2**bits, half_step)


def test_rounding_of_a_double_to_bfloat16_is_single() -> None:
    # 1 + 2^-8 is a tie; the tiny rest must decide, though float32 cannot hold it.
    value = np.array([1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-8 - 2.0**-40])
    assert floats.round_to(value, floats.BF16).astype("f8").tolist() == [1 + 2.0**-7, 1.0]


@pytest.mark.parametrize("kind", ["e4m3", "e5m2"])
def test_fp8_saturates(kind: str) -> None:
    largest = {"e4m3": 448.0, "e5m2": 57344.0}[kind]
    raw = floats.to_fp8(np.array([1e9, -1e9, np.inf, 1.0], "f4"), kind)
    assert floats.from_fp8(raw, kind).tolist() == [largest, -largest, largest, 1.0]


@pytest.mark.parametrize(
    ("op", "source", "want"),
    [
        ("call i32 @llvm.nvvm.f2i.rz(float %x)", 3e9, 0x7FFFFFFF),
        ("call i32 @llvm.nvvm.f2i.rz(float %x)", -3e9, 0x80000000), ("call i32 @llvm.nvvm.f2i.rz(float %x)", np.nan, 0),
        ("call i32 @llvm.nvvm.f2ui.rz(float %x)", -1.5, 0), ("call i32 @llvm.nvvm.f2ui.rz(float %x)", 1e10, 2**32 - 1),
        ("fptosi float %x to i32", -1.5, 2**32 - 1), ("fptoui float %x to i32", -0.5, 0),
        ("fptosi float %x to i32", -(2.0**31), 0x80000000),
    ],
)
def test_float_to_integer_saturates(op: str, source: float, want: int) -> None:
    a = np.full(64, source, "f4")
    assert on_values(f"%r = {op}", "float", a, a, "i32")[0] == want


@pytest.mark.parametrize(
    ("op", "llvm", "x", "y"),
    [
        ("fptosi float %x to i32", "float", np.nan, 0), ("fptosi float %x to i32", "float", 2.0**31, 0),
        ("fptoui float %x to i32", "float", -1.0, 0), ("udiv i32 %x, %y", "i32", 7, 0),
        ("srem i32 %x, %y", "i32", 7, 0),
        ("shl i32 %x, %y", "i32", 1, 32), ("ashr i32 %x, %y", "i32", 1, 77),
    ],
)
def test_what_llvm_may_take_for_impossible_is_an_error(op: str, llvm: str, x: float, y: int) -> None:
    """Of a thread that takes part; what the others hold is nobody's."""
    kind = "f4" if llvm == "float" else "i4"
    a, b = np.full(64, 5, kind), np.full(64, 3, kind)
    a[9], b[9] = x, y
    with pytest.raises(Undefined, match=r"is undefined \(threads 9"):
        on_values(f"%r = {op}", llvm, a, b, "i32")
    apart = f"""
  %skip = icmp eq i32 %tid, 9
  br i1 %skip, label %join, label %some
some:
  %q = {op}
  br label %join
join:
  %r = phi i32 [ %q, %some ], [ 1, %entry ]"""
    assert on_values(apart.strip(), llvm, a, b, "i32")[9] == 1


def test_vectors() -> None:
    code = """
  %v0 = insertelement <4 x i32> poison, i32 %tid, i32 0
  %v1 = shufflevector <4 x i32> %v0, <4 x i32> poison, <4 x i32> zeroinitializer
  %v2 = add <4 x i32> %v1, <i32 1, i32 2, i32 3, i32 4>
  %v3 = mul <4 x i32> %v2, splat (i32 10)
  %c = icmp ugt <4 x i32> %v3, splat (i32 25)
  %v4 = select <4 x i1> %c, <4 x i32> %v3, <4 x i32> zeroinitializer
  %e0 = extractelement <4 x i32> %v4, i32 0
  %e3 = extractelement <4 x i32> %v4, i32 3
  %two = shufflevector <4 x i32> %v4, <4 x i32> %v2, <2 x i32> <i32 1, i32 7>
  %t1 = extractelement <2 x i32> %two, i32 1
  %b = bitcast <2 x i32> %two to i64
  %hi = lshr i64 %b, 32
  %h = trunc i64 %hi to i32
  %s = add i32 %e0, %e3
  %d = sub i32 %h, %t1
  %r = add i32 %s, %d"""
    tid = np.arange(64)
    first, last = (tid + 1) * 10, (tid + 4) * 10
    np.testing.assert_array_equal(per_thread(code, "i32"), np.where(first > 25, first, 0) + last)


def test_mask_vector_as_bits() -> None:
    code = """
  %v0 = insertelement <8 x i32> poison, i32 %tid, i32 0
  %v1 = shufflevector <8 x i32> %v0, <8 x i32> poison, <8 x i32> zeroinitializer
  %c = icmp ugt <8 x i32> %v1, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %r = bitcast <8 x i1> %c to i8"""
    np.testing.assert_array_equal(per_thread(code, "i8"), [(1 << min(t, 8)) - 1 for t in range(64)])


def test_bfloat_constants_and_conversion() -> None:
    code = """
  %f = uitofp i32 %tid to float
  %h = fptrunc float %f to bfloat
  %g = fadd bfloat %h, 0xR3F80
  %r = fpext bfloat %g to float"""
    bf = ml_dtypes.bfloat16
    want = (np.arange(64).astype(bf) + bf(1)).astype("f4")
    np.testing.assert_array_equal(per_thread(code, "float"), want)


def test_structs_switch_and_intrinsics() -> None:
    code = """
  %o = call { i32, i1 } @llvm.uadd.with.overflow.i32(i32 %tid, i32 -10)
  %sum = extractvalue { i32, i1 } %o, 0
  %over = extractvalue { i32, i1 } %o, 1
  %low = and i32 %tid, 3
  switch i32 %low, label %other [
    i32 0, label %zero
    i32 1, label %one
  ]
zero:
  br label %join
one:
  br label %join
other:
  br label %join
join:
  %p = phi i32 [ 100, %zero ], [ 200, %one ], [ %sum, %other ]
  %z = zext i1 %over to i32
  %m = call i32 @llvm.umin.i32(i32 %p, i32 1000)
  %r = add i32 %m, %z"""
    tid = np.arange(64)
    total = (tid - 10).astype("u4")
    picked = np.where(tid % 4 == 0, 100, np.where(tid % 4 == 1, 200, total))
    np.testing.assert_array_equal(per_thread(code, "i32"), np.minimum(picked, 1000) + (tid >= 10))


def test_functions_with_divergent_returns() -> None:
    from support.simulator.text import run

    more = """
define internal i32 @f(i32 %x) {
  %c = icmp ult i32 %x, 20
  br i1 %c, label %a, label %b
a:
  %p = mul i32 %x, 2
  ret i32 %p
b:
  %q = call i32 @g(i32 %x)
  ret i32 %q
}
define internal i32 @g(i32 %x) {
  %p = add i32 %x, 1000
  ret i32 %p
}"""
    body = """
  %r = call i32 @f(i32 %tid)
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  store i32 %r, ptr addrspace(1) %at, align 4
  ret void"""
    for schedule in ("inorder", "random"):
        out = np.zeros(64, "u4")
        run(body, "ptr addrspace(1) %out", [out], more=more, schedule=schedule)
        tid = np.arange(64)
        np.testing.assert_array_equal(out, np.where(tid < 20, 2 * tid, tid + 1000))


def test_unknown_function_and_assembly_are_refused() -> None:
    with pytest.raises(Unsupported, match="llvm.exp.f32"):
        per_thread("%f = uitofp i32 %tid to float\n  %r = call float @llvm.exp.f32(float %f)", "float")
    with pytest.raises(Unsupported, match="not in the instruction table"):
        per_thread('%r = call i32 asm "brev.b32 $0, $1;", "=r,r"(i32 %tid)', "i32")
