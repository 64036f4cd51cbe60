"""Ahead-of-time compilation: exported PTX and cubins, what is refused, what a launch without us needs to know."""

from __future__ import annotations

import ctypes
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.compilation import V1, V2, array, scale

import tilewright as ct
from tilewright.backend_ptx.targets import TARGETS
from tilewright.compilation import (
    KernelSignature,
    ListConstraint,
    ScalarConstraint,
    TupleConstraint,
    export_kernel,
    mangle_kernel_name,
)
from tilewright.tileir.plan import Hints


@ct.tile_kernel
def everything(xs, pair, k: ct.ScalarInt64, flag, wide: ct.IndexedWithInt64, out):
    i = ct.bid(0)
    t = ct.load(xs[len(xs) - 1], i, 16) + ct.load(pair[0], i, 16) * pair[1]
    t = ct.where(flag, t, t + ct.astype(k, ct.float32)) + ct.load(wide, i, 16)
    ct.store(out, i, t)


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


@pytest.mark.parametrize("gpu", [name.rstrip("a") for name in TARGETS])
def test_cubins_of_several_signatures(gpu: str, tmp_path: Path) -> None:
    pytest.importorskip("nvidia")
    signatures = [KernelSignature([array(d), array(d), ScalarConstraint(d), 64], V1) for d in (ct.float32, ct.float16)]
    path = tmp_path / "scale.cubin"
    infos = export_kernel(scale, signatures, path, gpu_code=gpu)
    data = path.read_bytes()
    assert data[:4] == b"\x7fELF" and len(infos) == 2
    for info, signature in zip(infos, signatures, strict=True):
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
        export_kernel(scale, [signature], 3, gpu_code="sm_80", output_format="ptx")  # type: ignore[arg-type]


def test_nothing_is_written_on_failure(tmp_path: Path) -> None:
    path = tmp_path / "old.ptx"
    path.write_text("old")
    two_axes = KernelSignature([array(ndim=2), array(), ScalarConstraint(ct.float32), 64], V1)
    with pytest.raises(ct.TileTypeError, match="load"):
        export_kernel(scale, [two_axes], path, gpu_code="sm_80", output_format="ptx")
    assert path.read_text() == "old"


GOOD: list[Any] = [array(), array(), ScalarConstraint(ct.float32), 64]


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
    read_alone, written = io.StringIO(), io.StringIO()
    for signature, file in ((read_only, read_alone), (KernelSignature([array(), shared, shared], V1), written)):
        export_kernel(add, [signature], file, gpu_code="sm_80", output_format="ptx")
    assert read_alone.getvalue().count("ld.global.nc") == 2 * written.getvalue().count("ld.global.nc") > 0


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
    from tilewright.backend_ptx.simulator import simulate_lowered
    from tilewright.backend_ptx.targets import get_target
    from tilewright.compilation.export import exported_function
    from tilewright.compilation.modules import compile_module

    signature = KernelSignature([array(ndim=2, **promises), array(), 32], V1, "sums")
    [lowered] = compile_module([exported_function(sums, signature)], get_target("sm_90"), None, Hints()).kernels
    base = np.random.default_rng(1).random((12, 32), dtype=np.float32)
    arrays = [base, base[:9, :20], base[1:2]]
    if "stride_constant" not in promises:
        arrays += [base.T[:7], base[::2, 1::3]]
    if promises.get("may_alias_internally"):
        arrays += [np.broadcast_to(base[0], (5, 32)), base[::-1, ::-1]]
    for x in arrays:
        out = np.zeros(len(x), np.float32)
        simulate_lowered(lowered, (-(-len(x) // 4),), [x, out])
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
    kinds: dict[str, Any] = {"void*": ctypes.c_void_p, "const int64_t*": ctypes.c_void_p, "int32_t": ctypes.c_int32,
             "int64_t": ctypes.c_int64, "float": ctypes.c_float, "bool": ctypes.c_bool}
    cells = [kinds[param.c_type](value) for param, value in zip(info.parameters, values, strict=True)]
    addresses = (ctypes.c_void_p * len(cells))(*(ctypes.addressof(c) for c in cells))
    check(cuda.cuLaunchKernel(function, 3, 1, 1, info.threads, 1, 1, info.shared_bytes, 0,
                              ctypes.addressof(addresses), 0), "launch")
    want = host[1] + host[2] * np.float32(0.5) + np.float32(7) + host[3]
    assert np.allclose(z.to_host(), want, rtol=1e-6)
