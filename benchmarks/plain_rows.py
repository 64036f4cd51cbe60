"""Kernels over rows worded plainly, beside a copy of the same bytes, torch and Triton: even, padded and odd widths.

A block has one row, or walks over rows in a loop; the number of its blocks is the fastest of a few, as a tuner finds.
Words of the command line after `python -m benchmarks.plain_rows` choose lines by their name. `--compile` launches each
kernel once with few rows, which fills the disk caches (processes side by side share the work by `--part 3/16`).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks._check import near, require, sample_rows, spoil
from benchmarks._timing import Row, alternate, copier, fastest, triton_kernels

EPS = 1e-5
BYTES = 1 << 28  # of the rows that are read, where a case does not say how many there are
# (columns, rows or None): even widths, padded ones, and rows that start at odd addresses
SHAPES = ((512, None), (1024, None), (1024, 8192), (4096, None), (16384, None), (32768, None), (65536, None),
          (1000, None), (5000, None), (12288, None), (50257, None))
BLOCKS_PER_SM = (1, 2, 4, 8, 16)
Choices = dict[str, Callable[[], Any]]


@dataclass(frozen=True)
class Case:
    kind: str
    dtype: str
    rows: int
    columns: int

    @property
    def name(self) -> str:
        return f"{self.kind} {self.dtype} {self.rows}x{self.columns}"

    @property
    def width(self) -> int:
        """Of the tile: the next power of two."""
        return 1 << (self.columns - 1).bit_length()


def cases() -> Iterator[Case]:
    for dtype, size in (("bfloat16", 2), ("float32", 4)):
        for columns, count in SHAPES:
            for kind in ("softmax", "masked softmax", "layer norm", "rms norm", "row sum", "cumsum"):
                if kind == "masked softmax" and columns & (columns - 1) == 0:
                    continue
                yield Case(kind, dtype, count or BYTES // size // columns // 16 * 16, columns)


class Arrays:
    """The operands of a case, its launches, and what others do in its place."""

    def __init__(self, case: Case, rows: int) -> None:
        import torch

        dtype = getattr(torch, case.dtype)
        self.case = case
        self.x = torch.randn(rows, case.columns, device="cuda", dtype=dtype) + (0.25 if "norm" in case.kind else 0)
        weight, bias = torch.randn(2, case.columns, device="cuda", dtype=dtype).contiguous()
        self.out = torch.empty(rows, device="cuda") if case.kind == "row sum" else torch.empty_like(self.x)
        # Clones, because the second row of the two would start wherever the first ends.
        self.extra = {"layer norm": (weight.clone(), bias.clone()), "rms norm": (weight.clone(),)}.get(case.kind, ())

    @property
    def bytes(self) -> int:
        return int(self.x.nbytes + (0 if self.case.kind == "row sum" else self.out.nbytes))

    def run(self, kernel: Any, blocks: int) -> Callable[[], Any]:
        eps = (EPS,) if self.extra else ()
        return lambda: kernel[(blocks,)](self.x, *self.extra, self.out, *eps, self.case.width)

    def one_row(self) -> Callable[[], Any]:
        return self.run(kernel_of(self.case), self.x.shape[0])

    def walking(self) -> Choices:
        """By number of blocks; a masked softmax is not written as a loop here."""
        kernel = kernel_of(self.case, "persistent_")
        if kernel is None:
            return {}
        return {f"{k} blocks an SM": self.run(kernel, k * _multiprocessors()) for k in BLOCKS_PER_SM}

    def others(self) -> Choices:
        """A copy, torch, and Triton's kernels by numbers of warps."""
        import torch
        from torch.nn import functional

        x, n, rival = self.x, self.case.columns, triton_kernels()
        kind = self.case.kind.removeprefix("masked ")
        if kind == "softmax":
            torchs, tritons = lambda: torch.softmax(x, 1), rival and rival.softmax_choices(x, self.out)
        elif kind == "layer norm":
            torchs = lambda: functional.layer_norm(x, (n,), *self.extra, EPS)  # noqa: E731
            tritons = rival and rival.norm_choices(x, *self.extra, self.out, EPS)
        elif kind == "rms norm":
            torchs = lambda: functional.rms_norm(x, (n,), *self.extra, EPS)  # noqa: E731
            tritons = rival and rival.norm_choices(x, *self.extra, None, self.out, EPS)
        else:
            return {}
        return {"torch": torchs, **(tritons or {})}

    def check(self) -> None:
        """Stop unless rows of `out` are what they must be, and all of it is there."""
        import torch

        some = sample_rows(self.x, 32)
        x = self.x[some].double()
        match self.case.kind.removeprefix("masked "):
            case "softmax":
                want, slack = torch.softmax(x, 1), 1e-9
            case "row sum":
                want, slack = x.sum(1), 1e-6 * x.abs().sum(1)
            case "cumsum":
                want, slack = x.cumsum(1), 1e-6 * x.abs().cumsum(1)
            case _:
                want, slack = self._norm(x), 1e-5
        require(self.case.name, near(self.out[some], want, slack))
        require(self.case.name, not self.out.isnan().any())

    def _norm(self, t: Any) -> Any:
        import torch

        if len(self.extra) == 2:
            t = t - t.mean(1, keepdim=True)
        t = t * torch.rsqrt((t * t).mean(1, keepdim=True) + EPS) * self.extra[0].double()
        return t + self.extra[1].double() if len(self.extra) == 2 else t


def kernel_of(case: Case, prefix: str = "") -> Any:
    from benchmarks import plain_kernels

    return getattr(plain_kernels, prefix + case.kind.replace(" ", "_"), None)


def rows(words: tuple[str, ...] = ()) -> Iterator[Row]:
    for case in cases():
        if not words or any(word in case.name for word in words):
            yield from measured(case)


def measured(case: Case) -> Iterator[Row]:
    arrays = Arrays(case, case.rows)
    others = arrays.others()
    tritons = {name: run for name, run in others.items() if name != "torch"}
    peers = {"copy": copier(arrays.bytes), **{name: run for name, run in others.items() if name == "torch"}}
    if tritons:
        peers["triton"] = fastest(tritons, queued=True)
    ways = {"ours": arrays.one_row()}
    if walking := arrays.walking():
        ways["walking"] = fastest(walking, queued=True)
    for run in ways.values():
        spoil(arrays.out)
        run()
        arrays.check()
    times = alternate({**ways, **peers}, rounds=7, warmup=1, inner=4, queued=True)
    for name in ways:
        kept = {"ours": times[name], **{who: times[who] for who in peers}}
        yield Row(f"plain {case.name}{', persistent' if name == 'walking' else ''}", kept, bytes=arrays.bytes)


def compile_part(part: int, parts: int, words: tuple[str, ...]) -> None:
    """Launch every kernel of one part of the cases with few rows."""
    chosen = [case for case in cases() if not words or any(word in case.name for word in words)]
    for case in chosen[part::parts]:
        arrays = Arrays(case, 16)
        for run in (arrays.one_row(), *arrays.walking().values(), *arrays.others().values()):
            try:
                run()
            except Exception as error:  # shown where it is measured
                print(f"  {case.name}: {type(error).__name__}: {error}")


def _multiprocessors() -> int:
    import torch

    return int(torch.cuda.get_device_properties(0).multi_processor_count)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plain_rows", description=__doc__)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--part", default="0/1")
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    if options.compile:
        compile_part(part, parts, tuple(options.words))
        return
    for row in rows(tuple(options.words)):
        print(row.text(), flush=True)


if __name__ == "__main__":
    main()
