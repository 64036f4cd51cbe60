"""The goals of speed of docs/performance.md: which rows of the benchmarks show each, and the bounds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

# How contenders of the benchmarks are called in the table; `limit` is the time of the product alone.
NAMES = {"limit": "the product alone by cuBLAS", "copy": "a copy", "triton": "Triton",
         "plain": "the kernel without a loop", "by_loops": "loops split by hand",
         "one product": "one product of all, ours", "library": "the one written by hand", "apart": "kernel by kernel"}


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


def _plain_rows(kind: str) -> tuple[Goal, ...]:
    """Rows in plain wording: even widths, those that a tile is longer than, and rows that start at odd addresses."""
    small = r"\b8192x1024\b", {"triton": 1.0}  # where the start of a launch counts
    start, end = rf"plain {kind} b?float\d+ \d+x", "(?:, persistent)?$"
    return tuple(Goal(f"{kind} in plain wording, {which}", f"{start}(?:{widths}){end}", {"copy": bound}, special=small)
                 for which, widths, bound in (("512 to 65536 columns", "512|1024|4096|16384|32768|65536", 0.93),
                                              ("1000, 5000, 12288 columns", "1000|5000|12288", 0.88),
                                              ("50257 columns", "50257", 0.70)))


PRODUCTS = (
    Goal("GEMM bfloat16 and float16, 2048^3", r"matmul (?:b?float16) 2048\^3.*", {"cuBLAS": 1.0}),
    Goal("GEMM bfloat16 and float16, 4096^3", r"matmul (?:b?float16) 4096\^3, b as.*", {"cuBLAS": 0.97}),
    Goal("GEMM bfloat16 and float16, 8192^3", r"matmul (?:b?float16) 8192\^3.*", {"cuBLAS": 0.97}),
    Goal("GEMM 4000x4104x4200", r"matmul bfloat16 4000x4104x4200.*", {"cuBLAS": 0.95}),
    Goal("GEMM 6144x3072x5120", r"matmul bfloat16 6144x3072x5120.*", {"cuBLAS": 0.98}),
    Goal("GEMM 1000x1032x520", r"matmul bfloat16 1000x1032x520.*", {"cuBLAS": 0.97}),
    Goal("GEMM 4095x4097x4099", r"matmul bfloat16 4095x4097x4099.*", {"cuBLAS": 0.5}),
    Goal("GEMM of every second row", r"matmul bfloat16 4096\^3, every second row", {"cuBLAS": 0.5}),
    Goal("GEMM float8_e4m3 8192^3", r"matmul float8_e4m3 8192\^3.*", {"cuBLAS": 0.95}),
    Goal("GEMM float8_e4m3, b as [K, N]", r"float8_e4m3 matmul with b as \[K, N\].*", {"cuBLAS": 0.85}),
    Goal("GEMM tfloat32 4096^3", r"matmul tfloat32 4096\^3.*", {"cuBLAS": 0.9}),
    Goal("batched GEMM 64 x 1024^3", r"bmm bfloat16 64 x 1024\^3.*", {"cuBLAS": 0.9}),
    Goal("GEMM + bias + GELU", r"gelu\(a @ b \+ bias\).*", {"torch": 1.0}),
    Goal("gated double GEMM", r"\(a @ b\) \* sigmoid\(a @ g\).*", {"torch": 1.0}),
    Goal("the steps of the worked example", r"step of a matmul.*", {}),
    Goal("GEMM of dequantised int8", r"\(int8 a \* scales\) @ b.*", {"limit": 0.95}),
    Goal("GEMM of gathered rows", r"a @ table\[rows\].*", {"limit": 0.92}),
    Goal("chained products", r"relu\(a @ b\) @ d.*", {}),
    Goal("4 products from lists", r"4 products .* from lists", {"one product": 0.93, "torch's loop": 0.95}),
    Goal("64 products from lists", r"64 products .* from lists", {"one product": 0.93, "torch's loop": 1.25}),
    Goal("products of packed rows", r"\d+ groups of packed rows", {"one product": 0.95}),
    Goal("GEMV bfloat16", r"(gemv bf16 \S+, w\[\w,\w\]), tile.*", {"cuBLAS": 0.97, "copy": 0.9}),
    Goal("skinny GEMM bfloat16", r"(gemm bf16 (?:16|64)x\S+, w\[\w,\w\]), tile.*", {"cuBLAS": 0.97, "copy": 0.9}),
)
ROWS = (
    _memory("vector add", r"(vector add f32 2\^27), tile.*"),
    _memory("relu(x) * 0.5 + 1", r"(relu\(x\)\*0\.5\+1 f32 \S+), tile.*"),
    _memory("row sums", r"(row sum f32 \S+), [14] row.*"),
    _memory("softmax", r"(softmax b?float\d+ [\dx]+)(?:, \d+ rows.*|, chunks.*|)$"),
    _memory("RMS norm", r"(rms norm bf16 \S+), .*"),
    _memory("layer norm", r"(layer norm bf16 \S+), .*"),
    Goal("softmax and norms in a persistent loop", r"(persistent .* bf16 \S+)", {"plain": 0.97}),
    _memory("transpose", r"(transpose b?float\d+ 16384\^2), tile.*"),
    *(goal for kind in ("softmax", "masked softmax", "layer norm", "rms norm", "row sum", "cumsum")
      for goal in _plain_rows(kind)),
)
ATTENTION = (
    *(Goal(f"{how}attention forward{which}", rf"{how}attention \d+x\d+x\d+x{d}{mask}(?:, .*)?$", {"cuDNN": bound})
      for how in ("", "plain ") for which, d, mask, bound in (
          ("", 128, "", 1.01), (", causal", 128, " causal", 1.05), (", D = 64", 64, "(?: causal)?", 0.98))),
    Goal("attention with a soft cap or a window", r"plain attention .* (cap|window) .*", {"by_loops": 0.98}),
    Goal("decode of grouped query heads", r"decode \d+x.*", {"copy": 0.85}),
    Goal("the same from pages", r"paged decode.*", {"copy": 0.85}),
)
GOALS = (*PRODUCTS, *ROWS, *ATTENTION)

# Milliseconds from a function to machine code, in a warm process; of a process until its first result.
COMPILE = re.compile(r"^(?P<name>\S.*?)\s{2,}(?P<ms>[\d.]+) ms to (?P<what>machine code|cubin|SASS)")
COMPILE_BOUNDS = (("matmul", 130.0), ("vector add", 11.0))
COLD = re.compile(r"^first result of a process: .*; (\d+) beyond it$", re.MULTILINE)
COLD_BOUND = 100.0
# A launch, in microseconds and beside one from compiled code.
LAUNCH = re.compile(r"^(host cost of a launch, .*?)\s+([\d.]+) us(?:, ([\d.]+) of raw)?$")
LAUNCH_BOUNDS = {"kernel[grid](...)": 1.2, "bound()": 1.05}

LIMIT = re.compile(r"^(limit: .*?)\s{2,}\S+\s+[\d.]+ us\s+([\d.]+ \S+)", re.MULTILINE)


def other_rows(record: str) -> Iterator[tuple[str, str, str, str]]:
    """(work, measured, goal, met) of what has no contender."""
    found = {match["name"]: match for line in record.splitlines() if (match := COMPILE.match(line))}
    for name, match in found.items():
        bound = next((ms for start, ms in COMPILE_BOUNDS if name.startswith(start)), None)
        took = float(match["ms"])
        yield f"function to {match['what']}, {name}", f"{took:.0f} ms", *_at_most(took, bound)
    for beyond in COLD.findall(record)[-1:]:
        work = "a process until its first result, beyond one with a stored cubin"
        yield work, f"{beyond} ms", *_at_most(float(beyond), COLD_BOUND)
    for name, rate in LIMIT.findall(record):
        yield name, rate, "", ""
    for launch in {m[1]: m for line in record.splitlines() if (m := LAUNCH.match(line))}.values():
        name, us, of_raw = launch.groups()
        bound = next((most for start, most in LAUNCH_BOUNDS.items() if name.endswith(f", {start}")), None)
        beside = "" if of_raw is None else f", {of_raw} of one from compiled code"
        goal, met = ("", "") if of_raw is None else _at_most(float(of_raw), bound, " of that")
        yield name, f"{us} us{beside}", goal, met


def _at_most(measured: float, bound: float | None, unit: str = " ms") -> tuple[str, str]:
    """The goal and whether it is met."""
    return ("", "") if bound is None else (f"{bound:g}{unit}", "yes" if measured <= bound else "no")
