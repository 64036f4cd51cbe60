"""Exports with a manifest: what it says, that Python's loader and the C loader launch alike, and what both refuse."""

from __future__ import annotations

import ctypes
import io
import json
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support import c_loader, fake_cuda
from support.compilation import V1, V2, array, scale
from support.fake_cuda import FakeCuda

import tilewright as tw
from tilewright.compilation import ExportedKernel, KernelSignature, ScalarConstraint, export_kernel, manifest
from tilewright.compilation.manifest import ManifestError
from tilewright.launching import shipped

needs_compiler = pytest.mark.skipif(c_loader.COMPILER is None, reason="there is no C compiler here")


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCuda]:
    monkeypatch.setattr(shipped, "LOADED", [])
    yield from fake_cuda.in_place(monkeypatch, tmp_path / "cache")


@tw.tile_kernel(num_ctas=2)
def product(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        x = tw.load(a, (i, k), (tm, tk), padding_mode=tw.PaddingMode.ZERO)
        y = tw.load(b, (k, j), (tk, tn), padding_mode=tw.PaddingMode.ZERO)
        acc = tw.mma(x, y, acc)
    tw.store(c, (i, j), acc.astype(c.dtype))


@tw.tile_kernel
def products(xs, ys, zs, flag, k: tw.ScalarInt64, factor):
    for number in range(len(xs)):
        acc = tw.zeros((128, 128), tw.float32)
        for j in range(tw.num_tiles(xs[number], 1, (128, 64))):
            x = tw.load(xs[number], (tw.bid(0), j), (128, 64))
            acc = tw.mma(x, tw.load(ys[number], (j, tw.bid(1)), (64, 128)), acc)
        acc = tw.where(flag, acc * factor, acc + tw.astype(k, tw.float32))
        tw.store(zs[number], (tw.bid(0), tw.bid(1)), acc.astype(tw.bfloat16))


@tw.tile_kernel
def rows(x, w, offsets, out, n: tw.Constant[int]):
    """A product of slices, of which the kernel computes the bounds."""
    i = tw.bid(0)
    part = x.slice(0, tw.gather(offsets, i), tw.gather(offsets, i + 1))
    acc = tw.zeros((128, n), tw.float32)
    for k in range(tw.num_tiles(w, 0, (64, n))):
        x_tile = tw.load(part, (0, k), (128, 64), padding_mode=tw.PaddingMode.ZERO)
        acc = tw.mma(x_tile, tw.load(w, (k, 0), (64, n), padding_mode=tw.PaddingMode.ZERO), acc)
    tw.store(out, (i, 0), acc)


def exported(folder: Path, kernel: Any, *args: Any, signature: KernelSignature | None = None) -> ExportedKernel:
    signature = signature or KernelSignature.from_kernel_args(kernel, args, symbol=kernel.__name__)
    [info] = export_kernel(kernel, [signature], folder / f"{kernel.__name__}.ptx", gpu_code="sm_90a",
                           output_format="ptx", manifest=folder / f"{kernel.__name__}.json")
    return info


def matrix(*shape: int) -> tw.DeviceArray:
    return tw.to_device(np.zeros(shape, ml_dtypes.bfloat16))


def both(
    cuda: FakeCuda, folder: Path, info: ExportedKernel, grid: tuple[int, ...], *args: Any, flags: Sequence[str] = (),
) -> tuple[str, list[str]]:
    """A launch as Python's loader makes it, and as the C loader does."""
    kernel = tw.load_bundle(folder / f"{info.symbol}.json")[info.symbol]
    kernel[grid](*args)
    values = [a for a, p in zip(args, kernel.specialiser.params, strict=True) if not p.constant]
    table = folder / f"{info.symbol}.h"
    line = f"{info.symbol} {' '.join(map(str, (*grid, 1, 1)[:3]))} {' '.join(map(c_loader.spelled, values))}"
    printed = c_loader.run(c_loader.build(table, folder / "probe", 9, *flags), folder, [line])
    return c_loader.as_printed(cuda.launches[-1], [p.size for p in info.parameters]), printed


@needs_compiler
def test_tensor_maps_and_clusters(cuda: FakeCuda, tmp_path: Path) -> None:
    a, b, c = matrix(512, 1024), matrix(1024, 768), matrix(512, 768)
    info = exported(tmp_path, product, a, b, c, 128, 256, 64)
    assert info.cluster == 2 and [p.kind for p in info.parameters].count("tensor_map") == 3
    python, [c_made] = both(cuda, tmp_path, info, (4, 3), a, b, c, 128, 256, 64)
    assert python == c_made and cuda.launches[-1].grid == (8, 3, 1)
    assert len(cuda.encoded) == 3


@needs_compiler
def test_fewer_blocks_that_loop_over_those_of_the_grid(cuda: FakeCuda, tmp_path: Path) -> None:
    """As many as run at once: two on each of 132 SMs."""
    args = matrix(512, 1024), matrix(1024, 768), matrix(512, 768)
    info = exported(tmp_path, product.replace_hints(num_ctas=None), *args, 128, 256, 64)
    assert info.looped and info.cluster == 1 and [p.kind for p in info.parameters[-3:]] == ["grid"] * 3
    kernel = tw.load_bundle(tmp_path / "product.json")["product"]
    grids = (4, 3, 1), (66, 4, 1), (2, 3, 44), (70000, 2, 1), (2, 70000, 1), (1, 2, 70000)
    python = []
    for grid in grids:
        kernel[grid](*args, 128, 256, 64)
        assert cuda.launches[-1].grid == (min(math.prod(grid), 264), 1, 1)
        assert cuda.launches[-1].params[-3:] == list(grid)
        python.append(c_loader.as_printed(cuda.launches[-1], [p.size for p in info.parameters]))
    refused = "more blocks than this kernel can number, 2147483383"
    with pytest.raises(ValueError, match=refused):
        kernel[1 << 20, 60000](*args, 128, 256, 64)
    probe = c_loader.build(tmp_path / "product.h", tmp_path / "probe")
    values = " ".join(map(c_loader.spelled, args))
    large = (1 << 20, 60000, 1), (1 << 20, 2000, 2), ((1 << 24) - 1, (1 << 24) - 1, 1)
    lines = [f"product {x} {y} {z} {values}" for x, y, z in (*grids, (0, 3, 1), *large)]
    assert c_loader.run(probe, tmp_path, lines) == [*python, *[f"refused: the grid has {refused}"] * 3]


@needs_compiler
def test_what_older_versions_wrote(cuda: FakeCuda, tmp_path: Path) -> None:
    """Their kernels have a block of the hardware for each block of the grid."""
    a, b, c = matrix(512, 1024), matrix(1024, 768), matrix(512, 768)
    info = exported(tmp_path, product, a, b, c, 128, 256, 64)
    listing, table = tmp_path / "product.json", tmp_path / "product.h"
    content = json.loads(listing.read_text())
    content["version"] = 1
    for binary in content["binaries"]:
        del binary["looped"]
    del content["sha256"]
    listing.write_text(json.dumps({**content, "sha256": manifest._digest(content)}))
    old = table.read_text().replace("product = {2,", "product = {1,")
    table.write_text(re.sub(r"(product_0_parameters, \d+), 0}", r"\1}", old))
    assert len(table.read_text()) == len(old) - len(", 0")
    short = ["-Wno-missing-field-initializers"]
    python, [c_made] = both(cuda, tmp_path, info, (4, 3), a, b, c, 128, 256, 64, flags=short)
    assert python == c_made and cuda.launches[-1].grid == (8, 3, 1)


@needs_compiler
def test_launches_that_may_start_early(cuda: FakeCuda, tmp_path: Path) -> None:
    early = scale.replace_hints(programmatic_dependent_launch=True)
    x, y = (tw.to_device(np.zeros(128, np.float32)) for _ in range(2))
    info = exported(tmp_path, early, x, y, 2.0, 64)
    python, [c_made] = both(cuda, tmp_path, info, (2,), x, y, 2.0, 64)
    assert c_made == f"dependent {python}" and cuda.launches[-1].dependent


@needs_compiler
def test_slices_wrap_around(cuda: FakeCuda, tmp_path: Path) -> None:
    x, w, offsets = matrix(500, 256), matrix(256, 128), tw.to_device(np.zeros(5, np.int32))
    out = tw.to_device(np.zeros((512, 128), np.float32))
    info = exported(tmp_path, rows, x, w, offsets, out, 128)
    python, [c_made] = both(cuda, tmp_path, info, (4,), x, w, offsets, out, 128)
    assert python == c_made and max(len(made.dims) for made in cuda.encoded) == 4


@needs_compiler
def test_lists_and_scalars(cuda: FakeCuda, tmp_path: Path) -> None:
    xs, ys = [matrix(256, 128), matrix(128, 64)], [matrix(128, 128), matrix(64, 256)]
    zs = [matrix(256, 128), matrix(128, 256)]
    info = exported(tmp_path, products, xs, ys, zs, True, 1 << 40, 0.5)
    kinds = [p.kind for p in info.parameters]
    assert kinds.count("table") == 3 and kinds.count("map_table") >= 2
    python, [c_made, *tables] = both(cuda, tmp_path, info, (2, 2), xs, ys, zs, True, 1 << 40, 0.5)
    addresses = [k for k, kind in enumerate(kinds) if kind in ("table", "map_table")]
    assert c_made.startswith("products "), c_made
    for k, (ours, theirs) in enumerate(zip(python.split()[6:], c_made.split()[6:], strict=True)):
        assert ours == theirs or k in addresses  # the memory of the tables is each loader's own
    memory = [ctypes.string_at(int.from_bytes(bytes.fromhex(python.split()[6 + k]), "little"), 256) for k in addresses]
    for held, table in zip(memory, tables, strict=True):
        assert held.hex().startswith(table.removeprefix("table "))


@needs_compiler
def test_empty_arrays_have_maps(cuda: FakeCuda, tmp_path: Path) -> None:
    a = tw.to_device(np.zeros((512, 1024), ml_dtypes.bfloat16)[:, :0], keep_strides=True)
    b, c = tw.to_device(np.zeros((1024, 768), ml_dtypes.bfloat16)[:0], keep_strides=True), matrix(512, 768)
    info = exported(tmp_path, product, tw.spec("bf16[512,1024]"), tw.spec("bf16[1024,768]"), c, 128, 256, 64)
    python, [c_made] = both(cuda, tmp_path, info, (4, 3), a, b, c, 128, 256, 64)
    sizes = [p.size for p in info.parameters]
    ours, theirs = (line.split()[6:] for line in (python, c_made))
    for one, other, size in zip(ours, theirs, sizes, strict=True):
        assert one[16 if size == 128 else 0:] == other[16 if size == 128 else 0:]  # a map begins with an address


REFUSED = {
    "argument 'c': the extent of axis 1 is 1000, no multiple of 16":
        "product 1 1 1 c 4096 2 512 512 c 1052672 2 512 1008 a 8388608 2 512 1000 1000 1",
    "argument 'a': its address 0x1008 is no multiple of 16":
        "product 1 1 1 c 4104 2 64 64 c 65536 2 64 64 c 131072 2 64 64",
    "argument 'b': the stride of axis 1 is 64; the code is for 1":
        "product 1 1 1 c 4096 2 64 64 a 65536 2 64 64 64 64 c 131072 2 64 64",
    "arguments 'a' and 'c' overlap in memory; the code is for arrays that do not":
        "product 1 1 1 c 4096 2 64 64 c 65536 2 64 64 c 4112 2 64 64",
    "argument 'b' takes tw_array_of": "product 1 1 1 c 4096 2 64 64 i 3 c 131072 2 64 64",
    "kernel product takes 3 arguments, but 2 were given": "product 1 1 1 c 4096 2 64 64 c 65536 2 64 64",
    "argument 'a': its strides may reach an element twice; the code is for arrays that do not":
        "product 1 1 1 a 4096 2 64 64 0 1 c 65536 2 64 64 c 131072 2 64 64",
    "argument 'a': the extent 4294967296 of axis 0 does not fit int32":
        "product 1 1 1 c 4096 2 4294967296 64 c 65536 2 64 64 c 131072 2 64 64",
    "the grid has more than 65535 blocks along y or z":
        "product 1 70000 1 c 4096 2 64 64 c 65536 2 64 64 c 131072 2 64 64",
    "the grid has more than 16777215 blocks along x":
        "product 16777216 1 1 c 4096 2 64 64 c 65536 2 64 64 c 131072 2 64 64",
    "there is no kernel nothing": "nothing 1 1 1",
}


@needs_compiler
def test_the_c_loader_refuses(tmp_path: Path) -> None:
    m = tw.spec("bf16[512,512]")
    exported(tmp_path, product, m, m, m, 128, 256, 64)
    probe = c_loader.build(tmp_path / "product.h", tmp_path / "probe", 9, "-O2")  # GCC warns of more, then
    assert c_loader.run(probe, tmp_path, list(REFUSED.values())) == [f"refused: {why}" for why in REFUSED]
    code = tmp_path / "product.ptx"
    code.write_text(code.read_text() + " ")
    assert "product.ptx was damaged or changed" in c_loader.run(probe, tmp_path, [])[0]
    code.unlink()
    assert "product.ptx cannot be read" in c_loader.run(probe, tmp_path, [])[0]
    old = c_loader.build(tmp_path / "product.h", tmp_path / "old", major=8)
    assert c_loader.run(old, tmp_path, []) == ["refused: there is no code for this GPU, of compute capability 8.0"]


def test_the_python_loader_refuses(cuda: FakeCuda, tmp_path: Path) -> None:
    exported(tmp_path, product, *[tw.spec("bf16[512,512]")] * 3, 128, 256, 64)
    kernel = tw.load_bundle(tmp_path / "product.json")["product"]
    a, odd = matrix(512, 512), matrix(512, 1000)

    def refused(message: str, grid: tuple[int, ...], *args: Any) -> None:
        with pytest.raises(tw.TileUnsupportedFeatureError, match=message):
            kernel[grid](*args)

    refused("argument 'c': the extent of axis 1 must be a multiple of 16", (1,), a, a, odd, 128, 256, 64)
    refused("argument 'tm' must be the constant 128", (1,), a, a, matrix(512, 512), 64, 256, 64)
    refused("arguments that share memory in another way", (1,), a, a, a, 128, 256, 64)
    refused("grids of at most 65535 blocks along y and z", (1, 70000), a, a, matrix(512, 512), 128, 256, 64)
    refused(r"no code for product\(a=bf16\[512,512\], b=bf16\[512,512\], c=f32\[512,512\], tm=128, tn=256, "
            r"tk=64\) on sm_90a", (1,), a, a, tw.to_device(np.zeros((512, 512), np.float32)), 128, 256, 64)
    assert not cuda.launches
    with pytest.raises(tw.TileUnsupportedFeatureError, match="comes from a bundle, which has its code for GPUs"):
        kernel[(1,)](*[np.zeros((512, 512), np.float32)] * 2, np.zeros((512, 512), np.float32), 128, 256, 64)


def test_exact_shapes_decide(cuda: FakeCuda, tmp_path: Path) -> None:
    """What code asks for may be more than the facts that launches are told apart by."""
    a = array(shape_divisible_by=64, stride_constant=1, base_addr_divisible_by=16)
    exported(tmp_path, scale, signature=KernelSignature([a, a, ScalarConstraint(tw.float32), 64], V1, "scale"))
    kernel = tw.load_bundle(tmp_path / "scale.json")["scale"]
    for count in range(3):  # the long way, then the short one
        x, y = (tw.to_device(np.zeros(128, np.float32)) for _ in range(2))
        kernel[(2,)](x, y, 2.0, 64)
        assert len(cuda.launches) == count + 1
    x, y = (tw.to_device(np.zeros(48, np.float32)) for _ in range(2))
    with pytest.raises(tw.TileUnsupportedFeatureError, match="the extent of axis 0 must be a multiple of 64"):
        kernel[(1,)](x, y, 2.0, 64)


def test_alias_groups_allow_overlap(cuda: FakeCuda, tmp_path: Path) -> None:
    a = array(alias_groups=["g"])
    exported(tmp_path, scale, signature=KernelSignature([a, a, ScalarConstraint(tw.float32), 64], V1, "scale"))
    kernel = tw.load_bundle(tmp_path / "scale.json")["scale"]
    x = tw.to_device(np.zeros(128, np.float32))
    kernel[(2,)](x, tw.to_device(np.zeros(128, np.float32)), 2.0, 64)
    assert len(cuda.launches) == 1
    if c_loader.COMPILER is not None:
        probe = c_loader.build(tmp_path / "scale.h", tmp_path / "probe")
        [line] = c_loader.run(probe, tmp_path, ["scale 2 1 1 c 4096 1 64 c 4100 1 64 f 2"])
        assert line.startswith("scale 2 1 1 ") and line.endswith(" 00000040")


def test_the_manifest(tmp_path: Path) -> None:
    exported(tmp_path, product, *[tw.spec("bf16[512,512]")] * 3, 128, 256, 64)
    path = tmp_path / "product.json"
    content = json.loads(path.read_text())
    [binary] = content["binaries"]
    assert content["version"] == 2 and not binary["looped"] and binary["cluster"] == 2 and binary["writes"] == [2]
    [a_map, b_map, c_map] = [p["tensor_map"] for p in binary["parameters"] if p["kind"] == "tensor_map"]
    assert a_map["axes"] == [1, 0] and a_map["encoding"]["swizzle"] == "SWIZZLE_128B" and c_map["stored"]
    assert b_map["encoding"]["type"] == "DATA_TYPE_UINT16"
    assert binary["arguments"][0]["type"]["extent_divisors"] == [16, 16]
    assert binary["arguments"][3] == {"name": "tm", "kind": "constant", "value": 128}


@pytest.mark.parametrize("spoil, message", [
    (lambda text: text.replace('"threads": ', '"threads": 1'), "was changed after it was made"),
    (lambda text: text.replace('"version": 2', '"version": 3'), "has version 3; this Tilewright reads versions 1 to 2"),
    (lambda text: text[: len(text) // 2], "is no manifest"),
    (lambda text: "[]", "is no manifest"),
    (lambda text: '{"format": "something else"}', "is no manifest"),
])
def test_manifests_that_are_refused(tmp_path: Path, spoil: Any, message: str) -> None:
    exported(tmp_path, scale, tw.spec("f32[64]"), tw.spec("f32[64]"), 2.0, 64)
    path = tmp_path / "scale.json"
    text = spoil(path.read_text())
    assert text != path.read_text()
    path.write_text(text)
    with pytest.raises(ManifestError, match=message):
        tw.load_bundle(path)


def test_code_that_is_refused(tmp_path: Path) -> None:
    exported(tmp_path, scale, tw.spec("f32[64]"), tw.spec("f32[64]"), 2.0, 64)
    code = tmp_path / "scale.ptx"
    code.write_bytes(code.read_bytes().replace(b"mul", b"add", 1))
    with pytest.raises(ManifestError, match="scale.ptx was damaged or changed after it was made"):
        tw.load_bundle(tmp_path / "scale.json")
    code.unlink()
    with pytest.raises(ManifestError, match="scale.ptx cannot be read"):
        tw.load_bundle(tmp_path / "scale.json")
    with pytest.raises(ManifestError, match="nowhere cannot be read"):
        tw.load_bundle(tmp_path / "nowhere")


def test_where_a_manifest_may_be(tmp_path: Path) -> None:
    signature = KernelSignature([array(), array(), ScalarConstraint(tw.float32), 64], V2, "scale")

    def refused(error: type[Exception], message: str, output: Any, manifest: Path) -> None:
        with pytest.raises(error, match=message):
            export_kernel(scale, [signature], output, gpu_code="sm_80", output_format="ptx", manifest=manifest)
        assert not list(tmp_path.iterdir())

    refused(TypeError, "output_file must be a path", io.StringIO(), tmp_path / "a.json")
    refused(ValueError, "must lie beside the output", tmp_path / "a.ptx", tmp_path / "b" / "a.json")
    refused(ValueError, "must lie beside the output", tmp_path / "a.h", tmp_path / "a.json")
