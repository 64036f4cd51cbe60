"""Ahead-of-time compilation: constraints, signatures, mangled names, exported PTX and cubins."""

from __future__ import annotations

import ctypes
import io
import re
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

import tilewright as ct
from tilewright.compilation import (
    ArrayConstraint,
    CallingConvention,
    ConstantConstraint,
    KernelSignature,
    ListConstraint,
    ScalarConstraint,
    TupleConstraint,
    demangle_kernel_name,
    export_kernel,
    mangle_kernel_name,
)

V1, V2 = CallingConvention.cutile_python_v1(), CallingConvention.cutile_python_v2()


def array(dtype: ct.DType = ct.float32, ndim: int = 1, **more: Any) -> ArrayConstraint:
    given: dict[str, Any] = {"index_dtype": ct.int32, "stride_lower_bound_incl": 0, "alias_groups": (),
                             "may_alias_internally": False}
    return ArrayConstraint(dtype, ndim, **{**given, **more})


@ct.tile_kernel
def scale(x, y, s, n: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, i, ct.load(x, i, n) * s)


@ct.tile_kernel
def everything(xs, pair, k: ct.ScalarInt64, flag, wide: ct.IndexedWithInt64, out):
    i = ct.bid(0)
    t = ct.load(xs[len(xs) - 1], i, 16) + ct.load(pair[0], i, 16) * pair[1]
    t = ct.where(flag, t, t + ct.astype(k, ct.float32)) + ct.load(wide, i, 16)
    ct.store(out, i, t)


# ---- constraints ----------------------------------------------------------------------------------------------------


def test_values_per_axis() -> None:
    a = array(ndim=3, stride_constant=[None, None, 8], stride_divisible_by=8, shape_divisible_by=[1, 16, 1])
    assert a.stride_divisible_by == (8, 8, 1), "a constant stride needs no divisor"
    assert a.stride_lower_bound_incl == (0, 0, None) and a.shape_divisible_by == (1, 16, 1)
    assert a.shape_constant == (None, None, None)
    same = array(ndim=3, stride_constant=(None, None, 8), stride_divisible_by=[8, 8, 1], shape_divisible_by=(1, 16, 1))
    assert a == same and hash(a) == hash(same)


@pytest.mark.parametrize("more, error, message", [
    ({"dtype": "f32"}, TypeError, "dtype must be a dtype"),
    ({"dtype": ct.float4_e2m1fn}, ValueError, "pass them as uint8"),
    ({"ndim": -1}, ValueError, "ndim must be at least 0"),
    ({"ndim": 1.0}, TypeError, "ndim must be an int"),
    ({"index_dtype": ct.int16}, ValueError, "index_dtype must be int32 or int64"),
    ({"stride_constant": [1, 2]}, ValueError, "stride_constant has 2 entries, but the array has 1 axes"),
    ({"stride_constant": [1.5]}, TypeError, r"stride_constant\[0\] must be an int"),
    ({"shape_constant": [-1]}, ValueError, r"shape_constant\[0\] must be at least 0"),
    ({"stride_constant": [-1]}, ValueError, "below its stride_lower_bound_incl of 0"),
    ({"shape_constant": [20], "shape_divisible_by": 16}, ValueError, "extent of axis 0 is 20.*no multiple"),
    ({"stride_divisible_by": 0}, ValueError, r"stride_divisible_by\[0\] must be at least 1"),
    ({"base_addr_divisible_by": True}, TypeError, "base_addr_divisible_by must be an int"),
    ({"may_alias_internally": 0}, TypeError, "may_alias_internally must be a bool"),
    ({"alias_groups": "ab"}, TypeError, r"write \('ab',\)"),
    ({"alias_groups": [1]}, TypeError, "holds names"),
    ({"alias_groups": ["a", "a"]}, ValueError, "lists 'a' twice"),
])
def test_bad_arrays(more: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        array(**more)


def test_other_constraints() -> None:
    assert ConstantConstraint(1) != ConstantConstraint(True) != ConstantConstraint(1.0)
    assert ConstantConstraint(float("nan")) == ConstantConstraint(float("nan"))
    assert ConstantConstraint(0.0) != ConstantConstraint(-0.0)
    assert len({ConstantConstraint(1), ConstantConstraint(1.0), ConstantConstraint(True)}) == 3
    assert TupleConstraint([1, (2.0,)]).items == (ConstantConstraint(1), TupleConstraint([2.0]))
    for make in (lambda: ConstantConstraint("a"), lambda: TupleConstraint(["a"]),  # type: ignore[arg-type]
                 lambda: ScalarConstraint(int), lambda: ListConstraint(  # type: ignore[arg-type]
                     ScalarConstraint(ct.int32), alias_groups=(), elements_may_alias=False)):  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            make()
    with pytest.raises(OverflowError):
        ConstantConstraint(1 << 64)


def test_signatures() -> None:
    signature = KernelSignature([array(), 3], V1)
    assert signature.parameters == (array(), ConstantConstraint(3)) and signature.symbol is None
    assert signature.with_symbol("k").symbol == "k" and signature.with_symbol("k").parameters == signature.parameters
    assert repr(V1) == "CallingConvention.cutile_python_v1()" and V1 != V2 and CallingConvention.from_code("t2") == V2
    with pytest.raises(ValueError, match="a tuple needs the calling convention cutile_python_v2"):
        KernelSignature([(1, 2)], V1)
    with pytest.raises(ValueError, match="a constant extent needs the calling convention"):
        KernelSignature([ListConstraint(array(shape_constant=[4]), alias_groups=(), elements_may_alias=False)], V1)
    with pytest.raises(TypeError, match="calling_convention must be"):
        KernelSignature([1], "v1")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="symbol must be a string"):
        KernelSignature([1], V1, 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="only one parameter is in alias group 'a'"):
        KernelSignature([array(alias_groups=["a"]), array()], V1)
    with pytest.raises(ValueError, match="holds an array and a list"):
        KernelSignature([array(alias_groups=["a"]),
                         ListConstraint(array(), alias_groups=["a"], elements_may_alias=True)], V1)


# ---- mangled names --------------------------------------------------------------------------------------------------

ALL_SCALARS = [ct.bool_, ct.uint8, ct.uint16, ct.uint32, ct.uint64, ct.int8, ct.int16, ct.int32, ct.int64, ct.float16,
               ct.float32, ct.float64, ct.bfloat16, ct.tfloat32, ct.float8_e4m3fn, ct.float8_e5m2, ct.float8_e8m0fnu]


@pytest.mark.parametrize("convention, parameters, text", [
    (V1, [ScalarConstraint(d) for d in ALL_SCALARS],
     "_Sb8_Su8_Su16_Su32_Su64_Si8_Si16_Si32_Si64_Sf16_Sf32_Sf64_Sbf16_Stf32_Sf8m3fn_Sf8m2_Sf8m0fnu"),
    (V1, [True, False, 42, -7, 0, -0.0, float("inf")], "_B1_B0_I42_I_7_I0_F8000000000000000_F7ff0000000000000"),
    (V1, [array(ndim=2)], "_A2f32_3l0"),
    (V1, [array(index_dtype=ct.int64)], "_A1f32_1l0_w"),
    (V1, [array(ndim=3, stride_constant=[None, None, 1], stride_divisible_by=[8, 1, 1], shape_divisible_by=[16, 16, 1],
                base_addr_divisible_by=16)], "_A3f32_1v8_3i16l0_4t1_p16"),
    (V1, [array(alias_groups=["ab"]), array(alias_groups=["ab", "bc"], may_alias_internally=True),
          array(alias_groups=["bc"])], "_A1f32_1l0_g0_A1f32_1l0_g0g1i_A1f32_1l0_g1"),
    (V1, [ListConstraint(array(alias_groups=["y"]), alias_groups=["x"], elements_may_alias=True),
          ListConstraint(array(alias_groups=["y"]), alias_groups=["x"], elements_may_alias=False)],
     "_Lg0iA1f32_1l0_g1_Lg0A1f32_1l0_g1"),
    (V1, [array(stride_lower_bound_incl=-5, stride_divisible_by=3)], "_A1f32_1v3l_5"),
    (V2, [TupleConstraint([]), (array(ndim=2), ScalarConstraint(ct.int32)), ((1,), 2.5)],
     "_T0_T2A2f32_3l0Si32_T2T1I1F4004000000000000"),
    (V2, [array(ndim=2, shape_constant=[16, None], shape_divisible_by=[16, 1])], "_A2f32_1s16_3l0"),
    (V2, [], ""),
])
def test_mangled_names(convention: CallingConvention, parameters: list[Any], text: str) -> None:
    signature = KernelSignature(parameters, convention)
    symbol = mangle_kernel_name("my_Kernel", signature)
    assert symbol == f"my_Kernel_K{convention.code}{text}"
    assert signature.with_mangled_symbol("my_Kernel").symbol == symbol
    name, again = demangle_kernel_name(symbol)
    assert name == "my_Kernel" and again.symbol == symbol and again.calling_convention == convention
    assert mangle_kernel_name(name, again) == symbol
    if "g0" not in text:  # names of alias groups are lost
        assert again.parameters == signature.parameters


@pytest.mark.parametrize("symbol", [
    "plain", "k_Kt3", "k_Kt1_Q1", "k_Kt1_Sx32", "k_Kt1_A1f32_9l0", "k_Kt1_A1f32_0l0", "k_Kt1_LSi32", "k_Kt1_B2",
    "k_Kt1_Fabc", "k_Kt1S", "k_Kt1_T1Si32", "k_Kt1_A1f32_1s8",
])
def test_names_that_are_not_mangled(symbol: str) -> None:
    with pytest.raises(ValueError):
        demangle_kernel_name(symbol)


# ---- signatures from arguments --------------------------------------------------------------------------------------


def test_from_arguments() -> None:
    x = np.zeros((64, 48), np.float16)
    signature = KernelSignature.from_kernel_args(scale, (x, ct.spec("f32[?]"), 2.0, 16))
    first, second, s, n = signature.parameters
    assert isinstance(first, ArrayConstraint) and isinstance(second, ArrayConstraint)
    assert (first.dtype, first.ndim, first.stride_constant, first.stride_divisible_by) == (
        ct.float16, 2, (None, 1), (8, 1))
    assert first.shape_divisible_by == (16, 16) and not first.may_alias_internally
    assert second.shape_divisible_by == (1,)
    assert (s, n) == (ScalarConstraint(ct.float32), ConstantConstraint(16))
    assert signature.calling_convention == V1
    assert signature.symbol == mangle_kernel_name("scale", signature)
    assert KernelSignature.from_kernel_args(scale, (x, x, 1, 1), V2, symbol="a").symbol == "a"
    with pytest.raises(TypeError, match="takes 4 arguments"):
        KernelSignature.from_kernel_args(scale, (x,))


def test_the_signature_of_a_launch_gives_its_code() -> None:
    args = ct.spec("f32[1024]"), ct.spec("f32[1000]"), 2.0, 256
    out = io.BytesIO()
    [info] = export_kernel(scale, [KernelSignature.from_kernel_args(scale, args, symbol="scale")], out,
                           gpu_code="sm_80", output_format="ptx")
    body = re.compile(r"\.entry.*", re.DOTALL)
    ours, launched = (body.search(text) for text in (out.getvalue().decode(), scale.ptx(*args, target="sm_80")))
    assert ours is not None and launched is not None
    # A launch also knows that the arrays are small, which saves 64-bit arithmetic.
    assert abs(len(ours[0].splitlines()) - len(launched[0].splitlines())) < 12
    assert info.threads == scale.compiled(*args, target="sm_80").threads


def test_tuples_and_static_extents_need_version_2() -> None:
    @ct.tile_kernel
    def fixed(x: Annotated[ct.Array, ct.ArrayAnnotation(static_shape_dims=(0,))], out):
        ct.store(out, 0, ct.load(x, 0, x.shape[0]))

    signature = KernelSignature.from_kernel_args(fixed, (ct.spec("f32[16]"), ct.spec("f32[16]")))
    assert signature.calling_convention == V2
    assert isinstance(signature.parameters[0], ArrayConstraint) and signature.parameters[0].shape_constant == (16,)
    with pytest.raises(ValueError, match="constant extent needs"):
        KernelSignature.from_kernel_args(fixed, (ct.spec("f32[16]"), ct.spec("f32[16]")), V1)
    export_kernel(fixed, [signature], io.BytesIO(), gpu_code="sm_80", output_format="ptx")
    with pytest.raises(ValueError, match="'x': axis 0 is static.*shape_constant"):
        export_kernel(fixed, [KernelSignature([array(), array()], V2)], io.BytesIO(), gpu_code="sm_80")


# ---- export ---------------------------------------------------------------------------------------------------------


def everything_signature(symbol: str | None = None) -> KernelSignature:
    a = array(base_addr_divisible_by=16, stride_constant=1)
    return KernelSignature(
        [ListConstraint(a, alias_groups=(), elements_may_alias=False), (a, ScalarConstraint(ct.float32)),
         ScalarConstraint(ct.int64), ScalarConstraint(ct.bool_), array(index_dtype=ct.int64), a], V2, symbol)


def test_parameters_of_the_binary() -> None:
    out = io.BytesIO()
    [info] = export_kernel(everything, [everything_signature("k")], out, gpu_code="sm_90", output_format="ptx")
    ptx = out.getvalue().decode()
    assert [p.c_type for p in info.parameters] == [
        "const int64_t*", "int32_t", "void*", "int32_t", "int32_t", "float", "int64_t", "bool", "void*", "int64_t",
        "int64_t", "void*", "int32_t", "int32_t"]
    entry = re.search(r"\.entry k\((.*?)\)", ptx, re.DOTALL)
    assert entry is not None
    bits = [int(n) // 8 for n in re.findall(r"\.param \.[a-z](\d+)", entry[1])]
    assert bits == [p.size for p in info.parameters]
    assert [p.name for p in info.parameters][:4] == ["xs", "xs.length", "pair.0", "pair.0.n0"]
    assert f"// k: {info.threads} threads per block, {info.shared_bytes} bytes of dynamic shared memory" in ptx
    assert f".maxntid {info.threads}" in ptx


@pytest.mark.parametrize("gpu", ["sm_80", "sm_89", "sm_90", "sm_100", "sm_120"])
def test_cubins_of_several_signatures(gpu: str, tmp_path: Path) -> None:
    pytest.importorskip("nvidia")
    signatures = [KernelSignature([array(d), array(d), ScalarConstraint(d), 64], V1) for d in (ct.float32, ct.float16)]
    path = tmp_path / "scale.cubin"
    infos = export_kernel(scale, signatures, path, gpu_code=gpu)
    data = path.read_bytes()
    assert data[:4] == b"\x7fELF" and len(infos) == 2
    for info, signature in zip(infos, signatures):
        assert info.symbol == mangle_kernel_name("scale", signature) and info.symbol.encode() in data


def test_private_names_do_not_meet() -> None:
    @ct.tile_kernel
    def talk(x, n: ct.Constant[int]):
        print("value", ct.load(x, 0, n))

    out = io.BytesIO()
    export_kernel(talk, [KernelSignature([array(), n], V1) for n in (1, 2)], out, gpu_code="sm_80")
    assert out.getvalue()[:4] == b"\x7fELF"


def test_products_of_matrices_need_no_tensor_maps() -> None:
    @ct.tile_kernel
    def product(a, b, c):
        i, j = ct.bid(0), ct.bid(1)
        acc = ct.zeros((128, 128), ct.float32)
        for k in range(ct.num_tiles(a, 1, (128, 64))):
            acc = ct.mma(ct.load(a, (i, k), (128, 64)), ct.load(b, (k, j), (64, 128)), acc)
        ct.store(c, (i, j), acc)

    m = array(ct.float16, 2, stride_constant=[None, 1], stride_divisible_by=[8, 1], shape_divisible_by=16,
              base_addr_divisible_by=16)
    [info] = export_kernel(product, [KernelSignature([m, m, array(ndim=2)], V1)], io.BytesIO(), gpu_code="sm_90")
    assert {p.kind for p in info.parameters} == {"pointer", "extent", "stride"} and len(info.parameters) == 15
    assert info.shared_bytes > 0


def test_outputs(tmp_path: Path) -> None:
    signature = KernelSignature([array(), array(), ScalarConstraint(ct.float32), 64], V1, "scale")
    paths: list[Any] = [tmp_path / "a.ptx", str(tmp_path / "b.ptx"), str(tmp_path / "c.ptx").encode()]
    for path in paths:
        export_kernel(scale, [signature], path, gpu_code="sm_80", output_format="ptx")
    text = io.StringIO()
    export_kernel(scale, [signature], text, gpu_code="sm_80", output_format="ptx")
    assert {(tmp_path / f"{n}.ptx").read_text() for n in "abc"} == {text.getvalue()}
    with pytest.raises(TypeError, match="a cubin is binary"):
        export_kernel(scale, [signature], io.StringIO(), gpu_code="sm_80")
    with pytest.raises(TypeError, match="output_file must be a path or a file"):
        export_kernel(scale, [signature], 3, gpu_code="sm_80", output_format="ptx")  # type: ignore[call-overload,arg-type]


def test_nothing_is_written_on_failure(tmp_path: Path) -> None:
    path = tmp_path / "old.ptx"
    path.write_text("old")
    two_axes = KernelSignature([array(ndim=2), array(), ScalarConstraint(ct.float32), 64], V1)
    with pytest.raises(ct.TileTypeError, match="load"):
        export_kernel(scale, [two_axes], path, gpu_code="sm_80", output_format="ptx")
    assert path.read_text() == "old"


GOOD = [array(), array(), ScalarConstraint(ct.float32), 64]


@pytest.mark.parametrize("signatures, more, error, message", [
    ([], {}, ValueError, "no signature"),
    ([GOOD], {}, TypeError, "must hold KernelSignatures"),
    ([KernelSignature(GOOD[:3], V1)], {}, TypeError, "takes 4 parameters"),
    ([KernelSignature(GOOD, V1), KernelSignature(GOOD, V1)], {}, ValueError, "two signatures have the symbol"),
    ([KernelSignature(GOOD, V1, "a b")], {}, ValueError, "'a b' cannot be the name"),
    ([KernelSignature(GOOD, V1)], {"output_format": "elf"}, ValueError, "must be 'cubin' or 'ptx'"),
    ([KernelSignature(GOOD, V1)], {"output_format": "tileir_bytecode"}, ct.TileUnsupportedFeatureError, "no bytecode"),
    ([KernelSignature(GOOD, V1)], {"bytecode_version": "13.1"}, ct.TileUnsupportedFeatureError, "bytecode_version"),
    ([KernelSignature(GOOD, V1)], {"gpu_code": "sm_70"}, ct.TileValueError, "unknown target 'sm_70'"),
    ([KernelSignature(GOOD, V1)], {"gpu_code": 90}, TypeError, "gpu_code must be a name"),
    ([KernelSignature([*GOOD[:3], ScalarConstraint(ct.int32)], V1)], {}, TypeError,
     "'n' is annotated as Constant and needs a constant, not a ScalarConstraint"),
    ([KernelSignature([array(), array(), 2.0, 64], V1)], {}, TypeError, "'s' gets a constant, but is not annotated"),
])
def test_bad_exports(signatures: Any, more: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        export_kernel(scale, signatures, io.BytesIO(), **{"gpu_code": "sm_80", **more})


def test_constraints_that_contradict_annotations() -> None:
    good = list(everything_signature().parameters)

    def refused(position: int, constraint: Any, message: str) -> None:
        changed = [*good[:position], constraint, *good[position + 1:]]
        with pytest.raises(TypeError, match=message):
            export_kernel(everything, [KernelSignature(changed, V2)], io.BytesIO(), gpu_code="sm_80")

    refused(2, ScalarConstraint(ct.int32), "'k' is annotated as a scalar of int64.*int32")
    refused(2, array(), "'k' is annotated with ScalarInt64, but the signature has an ArrayConstraint")
    refused(4, array(), "'wide' is annotated with index_dtype int64.*int32")
    refused(4, ScalarConstraint(ct.int32), "'wide' is annotated with ArrayAnnotation.*a ScalarConstraint")
    refused(1, TupleConstraint([good[0], 3]), r"'pair\[1\]' gets a constant")


def test_overlapping_arrays() -> None:
    @ct.tile_kernel
    def add(x, y, z):
        ct.store(z, 0, ct.load(x, 0, 16) + ct.load(y, 0, 16))

    shared = array(alias_groups=["g"])
    read_only = KernelSignature([shared, shared, array()], V1)
    export_kernel(add, [read_only], io.BytesIO(), gpu_code="sm_80", output_format="ptx")
    with pytest.raises(ct.TileUnsupportedFeatureError, match="writes z, which may overlap y"):
        export_kernel(add, [KernelSignature([array(), shared, shared], V1)], io.BytesIO(), gpu_code="sm_80")


def test_without_a_gpu_it_must_be_named() -> None:
    if ct.gpu_available():
        pytest.skip("there is a GPU")
    with pytest.raises(ValueError, match="no GPU here to compile for"):
        export_kernel(scale, [KernelSignature(GOOD, V1)], io.BytesIO())


def test_without_an_assembler(monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.backend_ptx.runtime import ptxas

    def missing() -> str:
        raise FileNotFoundError("ptxas was not found")

    monkeypatch.setattr(ptxas, "find_ptxas", missing)
    with pytest.raises(ct.TileUnsupportedFeatureError, match="no assembler here for sm_120a"):
        export_kernel(scale, [KernelSignature(GOOD, V1)], io.BytesIO(), gpu_code="sm_120")


@ct.tile_kernel
def sums(x, out, n: ct.Constant[int]):
    i = ct.bid(0)
    t = ct.load(x, (i, 0), (4, n), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, i, ct.sum(t, 1))


@pytest.mark.parametrize("promises", [
    {}, {"stride_constant": [None, 1], "base_addr_divisible_by": 16, "stride_divisible_by": [4, 1]},
    {"stride_lower_bound_incl": None, "may_alias_internally": True, "index_dtype": ct.int64},
])
def test_one_export_serves_all_arrays_that_keep_its_promises(promises: dict[str, Any]) -> None:
    """What export_kernel compiles, in the simulator: ragged, transposed and repeated arrays through one binary."""
    from sim.lowered import run_lowered

    from tilewright.backend_ptx.module import compile_module
    from tilewright.backend_ptx.targets import get_target
    from tilewright.compilation.export import exported_function

    signature = KernelSignature([array(ndim=2, **promises), array(), 32], V1, "sums")
    [lowered] = compile_module([exported_function(sums, signature)], get_target("sm_90"), options={}).kernels
    base = np.random.default_rng(1).random((12, 32), dtype=np.float32)
    arrays = [base, base[:9, :20], base[1:2]]
    if "stride_constant" not in promises:
        arrays += [base.T[:7], base[::2, 1::3]]
    if promises.get("may_alias_internally"):
        arrays += [np.broadcast_to(base[0], (5, 32)), base[::-1, ::-1]]
    for x in arrays:
        out = np.zeros(len(x), np.float32)
        run_lowered(lowered, (-(-len(x) // 4),), [x, out])
        assert np.allclose(out, x[:, :32].sum(axis=1), rtol=1e-6)


@pytest.mark.gpu
@pytest.mark.parametrize("output_format", ["cubin", "ptx"])
def test_launch_without_us(output_format: Any) -> None:
    """The binary, launched through the driver alone by what export_kernel says of it."""
    from tilewright.backend_ptx.runtime.driver import check, driver, get_device

    get_device(0).make_current()
    out = io.BytesIO()
    [info] = export_kernel(everything, [everything_signature("k")], out, output_format=output_format)
    random = np.random.default_rng(0)
    host = [random.random(40, dtype=np.float32) for _ in range(5)]
    xs = [ct.to_device(a) for a in host[:2]]
    p, wide, z = (ct.to_device(a) for a in host[2:])
    table = ct.to_device(np.array([[x.pointer, 40, 1] for x in xs], np.int64))
    cuda = driver()
    module = check(cuda.cuModuleLoadData(out.getvalue() + b"\0"), "load")
    function = check(cuda.cuModuleGetFunction(module, info.symbol.encode()), "find")
    values = [table.pointer, 2, p.pointer, 40, 1, 0.5, 7, False, wide.pointer, 40, 1, z.pointer, 40, 1]
    kinds = {"void*": ctypes.c_void_p, "const int64_t*": ctypes.c_void_p, "int32_t": ctypes.c_int32,
             "int64_t": ctypes.c_int64, "float": ctypes.c_float, "bool": ctypes.c_bool}
    cells = [kinds[param.c_type](value) for param, value in zip(info.parameters, values, strict=True)]
    addresses = (ctypes.c_void_p * len(cells))(*(ctypes.addressof(c) for c in cells))
    check(cuda.cuLaunchKernel(function, 3, 1, 1, info.threads, 1, 1, info.shared_bytes, 0,
                              ctypes.addressof(addresses), 0), "launch")
    want = host[1] + host[2] * np.float32(0.5) + np.float32(7) + host[3]
    assert np.allclose(z.to_host(), want, rtol=1e-6)
