"""The combinations of the sweep: the same list in every run, so that a number names one of them for good."""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

# The targets of the first draw. Numbers name combinations for good, so that every later record of
# backend_ptx/targets.py gets a draw of its own, behind those that were there.
FIRST = ("sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a")
TILES = (16, 32, 64, 128, 256, 512)
DEPTHS = (16, 32, 64, 128, 256)
HINTS = {"occupancy": (None, 1, 2, 3, 4, 8), "num_ctas": (None, 1, 2, 4)}
HEADS, TOKENS, SIDE, GROUPS = 8, 2048, 2048, 4


@dataclass(frozen=True)
class Case:
    """One kernel for arguments given as in `tw.spec`, with hints, for one target."""

    number: int
    family: str
    kernel: str
    args: tuple[Any, ...]
    target: str
    hints: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        args = ", ".join("[...]" if isinstance(a, list) else str(a) for a in self.args)
        hints = "".join(f", {name}={value}" for name, value in self.hints.items())
        return f"{self.kernel}({args}){hints} on {self.target}"


Arguments = Callable[..., tuple[str, tuple[Any, ...]]]


@dataclass(frozen=True)
class Family:
    """`arguments` makes (kernel, args) of one entry of each axis; `count` of all combinations are drawn for the first
    targets."""

    arguments: Arguments
    axes: tuple[Sequence[Any], ...]
    count: int


def attention(variant: str, d: int, dtype: str, tm: int, tn: int) -> tuple[str, tuple[Any, ...]]:
    q = f"{dtype}[{HEADS},{TOKENS},{d}]"
    out = q if dtype != "e5m2" else f"bf16[{HEADS},{TOKENS},{d}]"
    flags = tuple(variant == name for name in ("causal", "capped", "lse"))
    return "attention", (q, q, q, out, f"f32[{HEADS},{TOKENS}]", 1 / math.sqrt(d), tm, tn, d, *flags)


def gemm(kernel: str, dtype: str, tm: int, tn: int, tk: int) -> tuple[str, tuple[Any, ...]]:
    a = f"{dtype}[{SIDE},{SIDE}]"
    return kernel, (a, a, a if dtype != "e5m2" else f"bf16[{SIDE},{SIDE}]", tm, tn, tk)


def grouped(kernel: str, dtype: str, tm: int, tn: int, tk: int) -> tuple[str, tuple[Any, ...]]:
    out = dtype if dtype != "e5m2" else "bf16"
    if kernel == "grouped_gemm_list":
        a, c = f"{dtype}[{SIDE},{SIDE}]", f"{out}[{SIDE},{SIDE}]"
        return kernel, ([a] * GROUPS, [a] * GROUPS, [c] * GROUPS, tm, tn, tk)
    a, b, c = f"{dtype}[{2 * SIDE},{SIDE}]", f"{dtype}[{GROUPS},{SIDE},{SIDE}]", f"{out}[{2 * SIDE},{SIDE}]"
    return kernel, (a, b, f"i32[{GROUPS + 1}]", c, tm, tn, tk)


def rows(kernel: str, dtype: str, height: int, width: int) -> tuple[str, tuple[Any, ...]]:
    x = f"{dtype}[8192,{4 * width if kernel == 'chunked_softmax' else width}]"
    weights = {"rms_norm": 1, "layer_norm": 2, "persistent_layer_norm": 2}.get(kernel, 0)
    return kernel, (x, *[f"{dtype}[{width}]"] * weights, x, height, width)


FAMILIES = {
    "attention": Family(attention, (("plain", "causal", "capped", "lse"), (32, 64, 128, 256), ("f16", "bf16", "e5m2"),
                                    TILES, TILES), 1400),
    "gemm": Family(gemm, (("gemm", "persistent_gemm"), ("f16", "bf16", "e5m2"), TILES, TILES, DEPTHS), 800),
    "grouped": Family(grouped, (("grouped_gemm", "grouped_gemm_list"), ("f16", "bf16", "e5m2"), TILES, TILES, DEPTHS),
                      300),
    "softmax": Family(rows, (("softmax", "persistent_softmax", "chunked_softmax"), ("f32", "f16", "bf16"), TILES,
                             TILES), 300),
    "norms": Family(rows, (("rms_norm", "layer_norm", "persistent_layer_norm"), ("f32", "f16", "bf16"), TILES, TILES),
                    300),
}


def _named() -> Iterator[tuple[str, tuple[Any, ...], dict[str, int]]]:
    """Plans that ptxas once refused, or that once asked for more shared memory than there is."""
    def attend(*shape: Any, **hints: int) -> tuple[str, tuple[Any, ...], dict[str, int]]:
        return *attention(*shape), hints

    two = {"occupancy": 2}
    yield attend("plain", 128, "bf16", 256, 128)
    for variant, dtype in itertools.product(("plain", "causal", "capped", "lse"), ("f16", "bf16", "e5m2")):
        yield attend(variant, 128, dtype, 128, 128, **two)
    yield attend("plain", 128, "e5m2", 256, 128)
    for tk in (32, 64):
        yield *gemm("gemm", "bf16", 512, 256, tk), {"num_ctas": 2}
    q, k, out = "bf16[16,2048,576]", "bf16[2048,576]", "bf16[16,2048,512]"
    for tm, tn in ((128, 64), (64, 64)):
        yield "latent_attention", (q, k, out, 0.07, tm, tn, 576, 512), two
    x, v = f"bf16[{SIDE},{SIDE}]", f"bf16[{SIDE}]"
    for tn, weight in itertools.product((128, 256), ("bf16", "f32")):
        w = f"{weight}[{SIDE}]"
        yield "norm_linear_gelu_dropout", (x, w, w, x, v, x, 3, 0.25, 128, tn, 64), {}
    for tm, tn, tk in ((64, 128, 1024), (128, 128, 1024), (64, 64, 2048)):
        yield "whole_product", (f"bf16[{SIDE},{tk}]", f"bf16[{tk},{SIDE}]", x, tm, tn, tk), {}
    for dtype, tile in (("f32", 256), ("f32", 128), ("bf16", 512)):
        yield "transpose", (f"{dtype}[{SIDE},{SIDE}]", f"{dtype}[{SIDE},{SIDE}]", tile, tile), {}


@functools.cache
def cases() -> tuple[Case, ...]:
    """All combinations: of the first targets together, then of each other record by itself."""
    from tilewright.backend_ptx.targets import TARGETS

    out: list[Case] = []
    for targets in (FIRST, *([name] for name in TARGETS if name not in FIRST)):
        out += (replace(case, number=number) for number, case in enumerate(_drawn(targets), len(out)))
    return tuple(out)


def _drawn(targets: Sequence[str]) -> Iterator[Case]:
    """The named combinations on every target, then what is drawn of each family."""
    for kernel, args, hints in _named():
        yield from (Case(0, "named", kernel, args, target, hints) for target in targets)
    for name, family in FAMILIES.items():
        axes = (*family.axes, *HINTS.values(), targets)
        draw = random.Random(name if targets is FIRST else f"{name} {targets}")
        for number in sorted(draw.sample(range(math.prod(map(len, axes))), family.count * len(targets) // len(FIRST))):
            *shape, occupancy, ctas, target = _entry(number, axes)
            hints = {k: v for k, v in zip(HINTS, (occupancy, ctas), strict=True) if v is not None}
            yield Case(0, name, *family.arguments(*shape), target, hints)


def _entry(number: int, axes: Sequence[Sequence[Any]]) -> list[Any]:
    """Combination `number` of the product of the axes."""
    out = []
    for axis in reversed(axes):
        number, place = divmod(number, len(axis))
        out.append(axis[place])
    return out[::-1]


def sample(count: int, seed: int = 0) -> tuple[Case, ...]:
    """`count` of the combinations, drawn from all families alike."""
    everything = cases()
    chosen = random.Random(seed).sample(range(len(everything)), min(count, len(everything)))
    return tuple(everything[i] for i in sorted(chosen))
