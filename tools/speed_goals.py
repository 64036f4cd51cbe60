"""The goals of speed of docs/performance.md: which rows of the benchmarks show each, and the bounds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

# How contenders of the benchmarks are called in the table; `limit` is the time of the product alone.
NAMES = {"limit": "the product alone by cuBLAS", "copy": "a copy", "triton": "Triton",
         "plain": "the kernel without a loop"}


@dataclass(frozen=True)
class Goal:
    """`rows` matches names of benchmark rows; its first group (or all of the match) names the work, for which the best
    of the ways that were measured counts. `bounds`: the least speed against each contender; all of them, or with
    `either` one of them, must be reached. `special`: other bounds for work that matches."""

    work: str
    rows: str
    bounds: Mapping[str, float]
    either: bool = False
    special: tuple[str, Mapping[str, float]] | None = None

    def _bounds(self, work: str) -> Mapping[str, float]:
        if self.special is not None and re.search(self.special[0], work):
            return self.special[1]
        return self.bounds

    def text(self, work: str) -> str:
        """The bound in words."""
        word = " or " if self.either else " and "
        return word.join(f"{bound:.2f} of {NAMES.get(who, who)}" for who, bound in self._bounds(work).items())

    def met(self, work: str, ratios: Mapping[str, float]) -> bool | None:
        """Whether it is reached; None where nothing was asked, or what is asked for was not measured."""
        known = [ratios[who] >= bound for who, bound in self._bounds(work).items() if who in ratios]
        if not known or (not self.either and len(known) < len(self._bounds(work))):
            return None
        return any(known) if self.either else all(known)


def _memory(work: str, rows: str) -> Goal:
    """Work that is bound by memory; rows above 16384 columns have a goal of their own."""
    wide = r"\d+x(32768|65536)\b", {"copy": 0.85}
    return Goal(work, rows, {"copy": 0.93, "triton": 0.98}, either=True, special=wide)


GOALS = (
    Goal("GEMM bfloat16 and float16, 2048^3", r"matmul (?:b?float16) 2048\^3.*", {"cuBLAS": 0.93}),
    Goal("GEMM bfloat16 and float16, 4096^3", r"matmul (?:b?float16) 4096\^3, b as.*", {"cuBLAS": 0.97}),
    Goal("GEMM bfloat16 and float16, 8192^3", r"matmul (?:b?float16) 8192\^3.*", {"cuBLAS": 0.97}),
    Goal("GEMM 4000x4104x4200", r"matmul bfloat16 4000x4104x4200.*", {"cuBLAS": 0.9}),
    Goal("GEMM 1000x1032x520", r"matmul bfloat16 1000x1032x520.*", {"cuBLAS": 0.75}),
    Goal("GEMM 4095x4097x4099", r"matmul bfloat16 4095x4097x4099.*", {"cuBLAS": 0.5}),
    Goal("GEMM of every second row", r"matmul bfloat16 4096\^3, every second row", {"cuBLAS": 0.5}),
    Goal("GEMM float8_e4m3 8192^3", r"matmul float8_e4m3 8192\^3.*", {"cuBLAS": 0.9}),
    Goal("GEMM tfloat32 4096^3", r"matmul tfloat32 4096\^3.*", {"cuBLAS": 0.9}),
    Goal("batched GEMM 64 x 1024^3", r"bmm bfloat16 64 x 1024\^3.*", {"cuBLAS": 0.9}),
    Goal("GEMM + bias + GELU", r"gelu\(a @ b \+ bias\).*", {"torch": 1.0}),
    Goal("gated double GEMM", r"\(a @ b\) \* sigmoid\(a @ g\).*", {"torch": 1.0}),
    Goal("the steps of the worked example", r"step of a matmul.*", {}),
    Goal("GEMM of dequantised int8", r"\(int8 a \* scales\) @ b.*", {}),
    Goal("GEMM of gathered rows", r"a @ table\[rows\].*", {}),
    Goal("chained products", r"relu\(a @ b\) @ d.*", {}),
    Goal("GEMV bfloat16", r"(gemv bf16 \S+, w\[\w,\w\]), tile.*", {"cuBLAS": 0.97, "copy": 0.9}),
    Goal("skinny GEMM bfloat16", r"(gemm bf16 (?:16|64)x\S+, w\[\w,\w\]), tile.*", {"cuBLAS": 0.97, "copy": 0.9}),
    _memory("vector add", r"(vector add f32 2\^27), tile.*"),
    _memory("relu(x) * 0.5 + 1", r"(relu\(x\)\*0\.5\+1 f32 \S+), tile.*"),
    _memory("row sums", r"(row sum f32 \S+), .*"),
    _memory("softmax", r"(softmax b?float\d+ [\dx]+).*"),
    _memory("RMS norm", r"(rms norm bf16 \S+), .*"),
    _memory("layer norm", r"(layer norm bf16 \S+), .*"),
    Goal("softmax and norms in a persistent loop", r"(persistent .* bf16 \S+)", {"plain": 0.97}),
    _memory("transpose", r"(transpose b?float\d+ 16384\^2), tile.*"),
    Goal("attention forward", r"attention.*", {"cuDNN": 0.75}),
)

# Milliseconds from a function to machine code, in a warm process.
COMPILE = re.compile(r"^(?P<name>\S.*?)\s{2,}(?P<ms>[\d.]+) ms to (?P<what>machine code|cubin|SASS)")
COMPILE_BOUNDS = (("matmul", 180.0), ("vector add", 60.0))
LAUNCH = re.compile(r"^(host cost of a launch, .*?)\s+([\d.]+) us$")

LIMIT = re.compile(r"^(limit: .*?)\s{2,}\S+\s+[\d.]+ us\s+([\d.]+ \S+)", re.MULTILINE)


def other_rows(record: str) -> Iterator[tuple[str, str, str, str]]:
    """(work, measured, goal, met) of what has no contender."""
    found = {match["name"]: match for line in record.splitlines() if (match := COMPILE.match(line))}
    for name, match in found.items():
        bound = next((ms for start, ms in COMPILE_BOUNDS if name.startswith(start)), None)
        goal, met = ("", "") if bound is None else (f"{bound:.0f} ms", "yes" if float(match["ms"]) <= bound else "no")
        yield f"function to {match['what']}, {name}", f"{float(match['ms']):.0f} ms", goal, met
    for name, rate in LIMIT.findall(record):
        yield name, rate, "", ""
    launches = {m[1]: m[2] for line in record.splitlines() if (m := LAUNCH.match(line))}
    for name, took in launches.items():
        yield name, f"{took} us", "", ""
