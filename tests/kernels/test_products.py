"""Products of tilewright.kernels: the tiles, parts and rests that they choose, and their results in the interpreter."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from support.library_cases import check

import tilewright as tw
from tilewright.inspecting.decisions import decisions
from tilewright.kernels import launching, tiles
from tilewright.kernels.device import matmul
from tilewright.tileir.dtypes import bfloat16, float32


def test_products_alone_are_looped_over_by_the_compiler() -> None:
    """By two teams of warps, in an order of the compiler's."""
    for x in (tw.spec("bf16[2048,2048]"), tw.spec("bf16[4,2048,2048]")):
        found = decisions(matmul.multiply, (x, x, x, False, 128, 128, 64), "sm_90a")
        assert any(line.startswith("block_loop: as many CTAs as fit the GPU") for line in found), found
        assert any(line.startswith("block_order: about 8 of axis 0 at a time, along axis 1") for line in found), found
        assert any(line.startswith("ping_pong: two teams of warps") for line in found), found
        assert any(line.startswith("stores: out by TMA") for line in found), found


@pytest.mark.parametrize(("shape", "alone", "tile"), [
    ((1024, 1024, 1024), True, (64, 128, 64)), ((4096, 4096, 4096), True, (128, 256, 64)),
    ((6144, 3072, 5120), True, (128, 128, 64)), ((6144, 3072, 5120), False, (128, 256, 64)),
    ((4000, 4104, 4200), True, (256, 256, 64)), ((3000, 5008, 776), False, (256, 256, 64)),  # rows between sectors
    ((4096, 4096, 4000), True, (256, 256, 64)), ((6144, 3104, 5024), False, (128, 256, 64)),  # and between lines
    ((16, 4096, 4096), True, (16, 32, 256)), ((5, 11008, 4096), False, (16, 64, 128)), ((5, 7, 9), True, (16, 16, 16)),
    ((64, 4096, 4096), True, (64, 32, 128)), ((4096, 16, 4096), True, (32, 16, 256)),
    ((300, 40, 72), True, (16, 64, 64)),
])
def test_tiles_of_products(shape: tuple[int, int, int], alone: bool, tile: tuple[int, int, int]) -> None:
    assert tiles.matmul_tiles(np.zeros(0, np.float32), bfloat16, *shape, alone=alone) == tile


def test_pairs_walk_over_matrices_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler runs the blocks of a batch."""
    assert tiles.matmul_tiles(np.zeros(0), bfloat16, 4096, 4096, 4000, 2, alone=True) == (128, 256, 64)
    rng, launched = np.random.default_rng(6), list[Any]()
    module = sys.modules["tilewright.kernels.matmul"]
    monkeypatch.setattr(module, "matmul_tiles", lambda *given: (256, 256, 64))

    def launch(kernel: Any, *given: Any) -> None:
        launched.append(kernel)
        launching.launch(kernel, *given)

    monkeypatch.setattr(module, "launch", launch)
    for batch in ((), (2,)):
        check("matmul", tuple(rng.standard_normal((*batch, 264, 264)).astype(np.float16) for _ in range(2)), np.float16)
    assert launched == [matmul.multiply_walking, matmul.multiply]


@pytest.mark.parametrize(("shape", "along_m", "tile"), [
    ((32000, 2048, 8192), True, (128, 256, 64)), ((32000, 2048, 8192), False, (128, 128, 64)),
    ((2048, 2048, 2048), True, (128, 128, 64)),  # stays in L2
])
def test_tiles_of_gradients_of_weights(shape: tuple[int, int, int], along_m: bool, tile: tuple[int, int, int]) -> None:
    assert tiles.matmul_tiles(np.zeros(0, np.float32), bfloat16, *shape, alone=True, along_m=along_m) == tile


@pytest.mark.parametrize(("tf32", "tile"), [(True, (256, 128, 32)), (False, (64, 64, 32))])
def test_tiles_of_float32(tf32: bool, tile: tuple[int, int, int]) -> None:
    """Threads multiply float32, tensor cores tfloat32."""
    assert tiles.matmul_tiles(np.zeros(0, np.float32), float32, 2048, 2048, 2048, alone=True, tf32=tf32) == tile


@pytest.mark.parametrize(("batches", "shape", "expected"), [
    (1, (2000, 2056, 1032), ((256, 256, 64), 8)), (1, (8192, 2080, 2080), ((256, 256, 64), 32)),
    (64, (520, 520, 520), ((128, 256, 64), 8)), (1, (1000, 1032, 520), ((128, 128, 64), 0)),
    (1, (6144, 3104, 5024), ((256, 256, 64), 0)), (1, (2000, 2051, 1032), ((256, 256, 64), 0)),
])
def test_rests_of_columns(batches: int, shape: tuple[int, int, int], expected: tuple[Any, int]) -> None:
    tile = tiles.matmul_tiles(np.zeros(0, np.float32), bfloat16, *shape, batches, alone=True)
    assert tiles.with_rest(2, *shape, batches, tile) == expected


@pytest.mark.parametrize("batch", [(), (2,)])
def test_products_with_a_rest_of_columns(batch: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["tilewright.kernels.matmul"], "with_rest", lambda *given: ((64, 128, 32), 16))
    rng = np.random.default_rng(8)
    a, b = rng.standard_normal((*batch, 140, 72)), rng.standard_normal((*batch, 72, 264))
    check("matmul", (a.astype(np.float16), b.astype(np.float16)), np.float16)


def test_a_rest_of_columns_leaves_pairs_their_rings() -> None:
    a, b, c = tw.spec("bf16[2000,1032]"), tw.spec("bf16[1032,2056]"), tw.spec("bf16[2000,2056]")
    found = decisions(matmul.multiply_with_rest, (a, b, c, False, 256, 256, 64, 8, 8, 8), "sm_90a")
    assert any(line.startswith("cluster: 2") for line in found), found
    assert any(line.startswith("rings: 4 and 3 slots") for line in found), found
    assert any(line.startswith("stores: out by TMA") for line in found), found


@pytest.mark.parametrize(("dtype", "shape", "expected"), [
    (bfloat16, (64, 64, 16384), ((64, 64, 64), 0, 64)), (bfloat16, (512, 512, 16384), ((128, 128, 64), 0, 8)),
    (bfloat16, (512, 768, 8192), ((128, 128, 64), 0, 5)), (bfloat16, (1000, 520, 4104), ((128, 128, 64), 8, 4)),
    (bfloat16, (16, 4096, 4096), ((16, 32, 256), 0, 1)), (bfloat16, (1024, 1024, 1024), ((64, 128, 64), 0, 1)),
    (bfloat16, (4096, 4096, 4096), ((128, 256, 64), 0, 1)), (bfloat16, (0, 64, 16384), ((16, 16, 512), 0, 1)),
    (float32, (16, 4096, 4096), ((16, 128, 32), 0, 4)), (float32, (1024, 1024, 1024), ((64, 64, 32), 0, 1)),
])
def test_parts_of_deep_products(dtype: Any, shape: tuple[int, int, int], expected: tuple[Any, int, int]) -> None:
    tile = tiles.matmul_tiles(np.zeros(0, np.float32), dtype, *shape, alone=True)
    assert tiles.in_parts(dtype.bytes, *shape, tile) == expected


@pytest.mark.parametrize(("shape", "more"), [
    ((3000, 776, 3000), 32), ((2000, 2056, 1032), 0), ((4096, 4096, 4000), 0), ((4096, 4096, 4096), 0),
])
def test_columns_beside_tiles(shape: tuple[int, int, int], more: int) -> None:
    tile = tiles.matmul_tiles(np.zeros(0, np.float32), bfloat16, *shape, alone=True)
    assert tiles.columns_beside(2, *shape, tile) == more


@pytest.mark.parametrize("parts", [1, 3])
def test_products_with_columns_beside_tiles(parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    module, rng = sys.modules["tilewright.kernels.matmul"], np.random.default_rng(8)
    monkeypatch.setattr(module, "in_parts", lambda *given: ((64, 64, 32), 16, parts))
    monkeypatch.setattr(module, "columns_beside", lambda *given: 16)
    a, b = rng.standard_normal((140, 72)), rng.standard_normal((300, 72)).T
    check("matmul", (a.astype(np.float16), b.astype(np.float16)), np.float16)


def test_columns_beside_tiles_leave_pairs_their_rings() -> None:
    a, b, c = tw.spec("bf16[3000,3000]"), tw.spec("bf16[3000,776]"), tw.spec("bf16[3000,776]")
    found = decisions(matmul.multiply_beside, (a, b, c, 256, 128, 64, 32, 8), "sm_90a")
    assert any(line.startswith("cluster: 2") for line in found), found
    assert any(line.startswith("rings: 5 slots") for line in found), found
    assert {"load of a: TMA", "load of b: TMA"} <= set(found), found


@pytest.mark.parametrize(("m", "n", "k"), [(5, 70, 2100), (64, 16, 4096)])
def test_products_in_parts_of_k(m: int, n: int, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, launched = np.random.default_rng(7), list[Any]()
    module = sys.modules["tilewright.kernels.matmul"]

    def launch(kernel: Any, *given: Any) -> None:
        launched.append(kernel)
        launching.launch(kernel, *given)

    monkeypatch.setattr(module, "launch", launch)
    check("matmul", (rng.standard_normal((m, k)).astype(np.float32), rng.standard_normal((n, k)).astype(np.float32).T),
          np.float32)
    assert launched == [matmul.multiply_parts, matmul.add_parts]
