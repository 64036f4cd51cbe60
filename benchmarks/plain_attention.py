"""Attention forward worded plainly, beside the same kernel with its loop split by hand and beside cuDNN.

Words of the command line after `python -m benchmarks.plain_attention` choose lines by their name. `--compile` launches
each kernel once, which fills the disk cache (processes side by side share the work by `--part 3/16`).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks._check import require, spoil
from benchmarks._timing import Row, alternate, graph_of

TILES = ((128, 128), (64, 128), (256, 64))
NARROW_TILES = ((128, 64), (128, 128), (128, 256), (256, 64))  # of heads of 64 channels at most
# The wordings of the mask, and how they are called; the last is the kernel whose loop is split by hand.
KERNELS = {"by_where": "a mask by where", "by_branch": "a mask in a branch", "by_loops": "loops split by hand"}
SAMPLE = 64  # rows of a head that are checked


@dataclass(frozen=True)
class Case:
    batch: int
    heads: int
    tokens: int
    d: int
    causal: bool = False
    window: int = 0
    cap: float = 0.0
    eight: bool = False  # float8_e4m3, stored as bfloat16

    @property
    def name(self) -> str:
        extra = f" window {self.window}" if self.window else f" cap {self.cap:g}" if self.cap else ""
        extra += " float8_e4m3" if self.eight else ""
        return f"{self.batch}x{self.heads}x{self.tokens}x{self.d}{' causal' if self.causal else ''}{extra}"

    @property
    def tiles(self) -> tuple[tuple[int, int], ...]:
        return NARROW_TILES if self.d <= 64 else TILES

    @property
    def flops(self) -> float:
        """Of the pairs of queries and keys that are seen."""
        seen = self.tokens * self.tokens / 2 if self.causal else self.tokens * self.tokens
        if self.window:
            seen = self.tokens * self.window - self.window * self.window / 2
        return 4.0 * self.batch * self.heads * seen * self.d


CASES = (
    *(Case(*size, causal) for size in ((4, 32, 4096, 128), (1, 32, 16384, 128), (4, 32, 4096, 64), (1, 32, 16384, 64))
      for causal in (False, True)),
    *(Case(4, 32, 4000, d, causal) for d in (128, 64) for causal in (False, True)),
    Case(4, 32, 4096, 128, True, cap=30.0), Case(4, 32, 4096, 128, True, window=1024),
    *(Case(*size, causal, eight=True)
      for size in ((4, 32, 4096, 128), (1, 32, 16384, 128)) for causal in (False, True)),
)


class Arrays:
    """The operands of a case, and launches of the kernels."""

    def __init__(self, case: Case, heads: int) -> None:
        import torch

        self.case = case
        self.q, self.k, self.v = (
            torch.randn(heads, case.tokens, case.d, device="cuda", dtype=torch.bfloat16) for _ in range(3))
        self.out = torch.empty_like(self.q)
        if case.eight:
            self.q, self.k, self.v = (x.to(torch.float8_e4m3fn) for x in (self.q, self.k, self.v))
        self.lse = torch.empty(heads, case.tokens, device="cuda")

    def run(self, kernel: Any, tm: int, tn: int) -> Callable[[], Any]:
        case = self.case
        grid = (-(-case.tokens // tm), self.q.shape[0])
        rest = (case.d**-0.5, tm, tn, case.d, case.causal, case.window, case.cap)
        return lambda: kernel[grid](self.q, self.k, self.v, self.out, self.lse, *rest)

    def cudnn(self) -> Callable[[], Any] | None:
        """None for what torch does not ask of cuDNN."""
        from torch.nn.attention import SDPBackend, sdpa_kernel
        from torch.nn.functional import scaled_dot_product_attention

        case = self.case
        if case.window or case.cap or case.eight:
            return None
        q, k, v = (x.view(case.batch, -1, case.tokens, case.d) for x in (self.q, self.k, self.v))

        def run() -> object:
            with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                return scaled_dot_product_attention(q, k, v, is_causal=case.causal)

        return run

    def check(self, run: Callable[[], Any], what: str) -> None:
        """Stop unless some rows are those of float32 arithmetic, and all of the output is there."""
        import torch

        spoil(self.out)
        spoil(self.lse)
        run()
        for head in (0, self.q.shape[0] - 1):
            rows = torch.randint(0, self.case.tokens, (SAMPLE,), device="cuda")
            rows[0], rows[-1] = 0, self.case.tokens - 1
            score = self._scores(head, rows)
            want = torch.softmax(score, dim=1) @ self.v[head].float()
            wrong = self.out[head, rows].float() - want
            if self.case.eight:  # weights have 3 fractional bits
                require(what, wrong.norm() <= 0.06 * want.norm())
            else:
                require(what, (wrong.abs() <= 1e-2 + 2.0**-7 * want.abs()).all())
            require(what, (self.lse[head, rows] - torch.logsumexp(score, dim=1)).abs().max() < 1e-2)
        require(what, not self.out.isnan().any() and not self.lse.isnan().any())

    def _scores(self, head: int, rows: Any) -> Any:
        import torch

        case = self.case
        score = self.q[head, rows].float() @ self.k[head].float().T * case.d**-0.5
        if case.cap:
            score = case.cap * torch.tanh(score / case.cap)
        behind = rows[:, None] - torch.arange(case.tokens, device="cuda")[None, :]
        hidden = (behind < 0) & case.causal
        if case.window:
            hidden |= behind >= case.window
        return score.masked_fill(hidden, float("-inf"))


def kernels() -> dict[str, Any]:
    from benchmarks import attention_kernels

    return {name: getattr(attention_kernels, name) for name in KERNELS}


def rows(words: tuple[str, ...] = ()) -> Iterator[Row]:
    for case in CASES:
        if not words or any(word in case.name for word in words):
            yield from measured(case)


def measured(case: Case) -> Iterator[Row]:
    """A row for each wording with its best tile, beside the one whose loop is split by hand, and cuDNN."""
    arrays = Arrays(case, case.batch * case.heads)
    runs = {}
    for name, kernel in kernels().items():
        ways = {}
        for tile in case.tiles:
            what = f"{case.name} {name} {tile[0]}x{tile[1]}"
            ways[what] = arrays.run(kernel, *tile)
            arrays.check(ways[what], what)
        times = alternate({what: graph_of(way) for what, way in ways.items()}, rounds=5, warmup=1, inner=1)
        best = min(times, key=lambda what: times[what])
        runs[name] = ways[best]
    theirs = arrays.cudnn()
    if theirs is not None:
        runs["cuDNN"] = theirs
    # As graphs: the host takes longer to launch what torch has than ours, and the GPU would wait for it.
    times = alternate({who: graph_of(run) for who, run in runs.items()}, rounds=7, warmup=1, inner=2)
    others = "by_loops", "cuDNN"
    for name, said in KERNELS.items():
        peers: dict[str, float] = {who: took for who, took in times.items() if who in others and who != name}
        yield Row(f"plain attention {case.name}, {said}", {"ours": times[name], **peers}, flops=case.flops)


def works(words: tuple[str, ...] = ()) -> Iterator[tuple[Case, Any, tuple[int, int]]]:
    for case in CASES:
        if not words or any(word in case.name for word in words):
            for kernel in kernels().values():
                yield from ((case, kernel, tile) for tile in case.tiles)


def compile_part(part: int, parts: int) -> None:
    """Launch every kernel of one part of the cases."""
    for case, kernel, tile in list(works())[part::parts]:
        try:
            Arrays(case, case.batch * case.heads).run(kernel, *tile)()
        except Exception as error:  # shown where it is measured
            print(f"  {case.name} {tile}: {type(error).__name__}: {error}")


def made(case: Case, kernel: Any, tile: tuple[int, int]) -> str:
    """What the compiler made of a kernel: registers, spilled bytes, loops, turns."""
    import tilewright as tw
    from benchmarks.report import Work, examine
    from tilewright.inspecting.decisions import decisions

    heads = case.batch * case.heads
    size, sums = f"[{heads},{case.tokens},{case.d}]", f"f32[{heads},{case.tokens}]"
    array, out = ("e4m3" if case.eight else "bf16") + size, "bf16" + size
    args = (array, array, array, out, sums, 0.1, *tile, case.d, case.causal, case.window, case.cap)
    grid = (-(-case.tokens // tile[0]), heads)
    found = examine(Work(f"{case.name} {tile[0]}x{tile[1]}", kernel, args, grid))
    specs = tuple(tw.spec(a) if isinstance(a, str) else a for a in args)
    said = [d for d in decisions(kernel, specs, found.target) if d.startswith(("loops", "ping_pong", "ladder"))]
    return (f"{kernel.__name__} {found.name}: {found.registers} registers, {found.spill_bytes} bytes spilled; "
            + "; ".join(said))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plain_attention", description=__doc__)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--made", action="store_true", help="say what the compiler makes of each kernel")
    parser.add_argument("--part", default="0/1")
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    if options.compile:
        compile_part(part, parts)
        return
    if options.made:
        for work in list(works(tuple(options.words)))[part::parts]:
            print(made(*work), flush=True)
        return
    for row in rows(tuple(options.words)):
        print(row.text(), flush=True)


if __name__ == "__main__":
    main()
