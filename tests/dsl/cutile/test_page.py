"""docs/coming-from-cutile.md shows what the compiler makes of Blackwell's usual tiles on Hopper."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import matmul

import tilewright as ct
from tilewright.inspecting.decisions import find

PAGE = Path(__file__).parents[3] / "docs" / "coming-from-cutile.md"
START, END = "<!-- tiles on Hopper: run the tests with --update-golden -->\n", "<!-- end of the tiles -->\n"
INV_LOG_2 = 1 / math.log(2)


@ct.tile_kernel
def attention(q, k, v, out, scale: float, tm: ct.Constant[int], tn: ct.Constant[int], d: ct.Constant[int]):
    i, head = ct.bid(0), ct.bid(1)
    rows = ct.load(q, (head, i, 0), (1, tm, d)).reshape((tm, d))
    top, total = ct.full((tm, 1), -math.inf, ct.float32), ct.zeros((tm, 1), ct.float32)
    acc = ct.zeros((tm, d), ct.float32)
    for j in range(ct.num_tiles(k, 1, (1, tn, d))):
        keys = ct.load(k, (head, 0, j), (1, d, tn), order=(0, 2, 1)).reshape((d, tn))
        scores = ct.mma(rows, keys, ct.zeros((tm, tn), ct.float32)) * (scale * INV_LOG_2)
        new = ct.maximum(top, ct.max(scores, 1, keepdims=True))
        weights, shrink = ct.exp2(scores - new), ct.exp2(top - new)
        total = total * shrink + ct.sum(weights, 1, keepdims=True)
        values = ct.load(v, (head, j, 0), (1, tn, d)).reshape((tn, d))
        acc = ct.mma(weights.astype(v.dtype), values, acc * shrink)
        top = new
    ct.store(out, (head, i, 0), (acc / total).astype(out.dtype).reshape((1, tm, d)))


GEMM_TILES = {"bf16": ((128, 128, 64), (128, 256, 64), (256, 128, 64), (256, 256, 64), (256, 256, 128)),
              "e4m3": ((128, 256, 128), (256, 256, 128))}
ATTENTION_TILES = ((128, 128), (256, 64), (256, 128), (128, 256))


def rows() -> list[tuple[str, str, dict[str, list[Any]]]]:
    """Kernel, tiles and decisions by name."""
    out = []
    c, q = ct.spec("bf16[8192,8192]"), ct.spec("bf16[64,8192,128]")
    for dtype, tiles in GEMM_TILES.items():
        a = ct.spec(f"{dtype}[8192,8192]")
        out += [(f"GEMM, {dtype}", "x".join(map(str, tile)), decided(matmul.matmul, (a, a, c, *tile)))
                for tile in tiles]
    return out + [("attention, bf16, heads of 128", f"{tm}x{tn}", decided(attention, (q, q, q, q, 0.1, tm, tn, 128)))
                  for tm, tn in ATTENTION_TILES]


def decided(kernel: Any, args: tuple[Any, ...]) -> dict[str, list[Any]]:
    made: dict[str, list[Any]] = {}
    for decision in find(kernel, args, "sm_90a")[1]:
        made.setdefault(decision.name, []).append(decision)
    return made


def table() -> str:
    lines = ["| kernel | tiles | CTAs per cluster | warps | stages of the loads | a rung down |",
             "|---|---|---|---|---|---|"]
    for kernel, tiles, made in rows():
        assert all(str(found.value).startswith("wgmma") for found in made["product"]), (kernel, tiles)
        [warps] = made["num_warps"]
        cluster = made["cluster"][0].value if "cluster" in made else 1
        stages = str(made["rings"][0].value).removesuffix(" slots").replace("no ring", "none")
        rungs = "; ".join(f"{found.value}: {found.reason}" for found in made.get("ladder", ())) or "no"
        lines.append(f"| {kernel} | {tiles} | {cluster} | {warps.value} | {stages} | {rungs} |")
    return "\n".join(lines) + "\n"


def test_the_table_is_what_the_compiler_decides(update_golden: bool) -> None:
    text = PAGE.read_text()
    before, rest = text.split(START)
    made = before + START + table() + END + rest.split(END)[1]
    if update_golden:
        PAGE.write_text(made)
    assert PAGE.read_text() == made, "run this test with --update-golden"
