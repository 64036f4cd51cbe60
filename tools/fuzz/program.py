"""A random kernel as a tree of statements with its arguments: what the generator makes and the reducer cuts."""

from __future__ import annotations

import copy
import functools
import linecache
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

SLOT = 256  # elements of an output for each store
NUMPY = {"bool_": np.bool_, "bfloat16": ml_dtypes.bfloat16, "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
         "float8_e5m2": ml_dtypes.float8_e5m2}
FLOATS = [*map(float, "0.0 -0.0 1.0 -1.0 0.5 2.5 -3.75 1e-3 300.7 -7e4 3e9 1e-40 inf -inf nan".split())]


@dataclass
class Node:
    """A statement, with a body if its text ends with a colon."""

    text: str
    body: list[Node] = field(default_factory=list)

    def lines(self, indent: str) -> Iterator[str]:
        yield indent + self.text
        for node in self.body:
            yield from node.lines(indent + "    ")
        if self.text.endswith(":") and not self.body:
            yield indent + "    pass"


@dataclass(frozen=True)
class Parameter:
    """`shape`: of an array, None for a scalar; `count`: of a list of arrays; `behind`: a parameter of the same shape in
    whose memory this one lies, each row `by` elements later; `spread`: of floats, the binary orders of magnitude above
    and below one, with few infinities and NaNs."""

    name: str
    dtype: str
    shape: tuple[int, ...] | None = None
    count: int = 0
    output: bool = False
    behind: str = ""
    by: int = 0
    spread: int = 0


@dataclass
class Program:
    """`numerics`: the target whose arithmetic the interpreter takes, "" for its own."""

    seed: int
    grid: tuple[int, ...]
    parameters: list[Parameter]
    body: list[Node]
    helpers: str = ""
    numerics: str = ""

    def source(self) -> str:
        names = ", ".join(p.name for p in self.parameters)
        head = f"{self.helpers}@ct.tile_kernel\ndef kernel({names}):\n"
        return head + "\n".join(line for node in self.body for line in node.lines("    ")) + "\n"

    def arguments(self) -> list[Any]:
        """The same ones at each call: inputs of all sorts, outputs that hold no zeros."""
        out = copy.deepcopy(_arguments(self.seed, tuple(self.parameters)))
        names = [p.name for p in self.parameters]
        for k, p in enumerate(self.parameters):
            if p.behind in names and p.by:
                other, length = names.index(p.behind), out[k].shape[1]
                wide = np.pad(out[other], [(0, 0), (0, p.by)], constant_values=1)
                out[other], out[k] = wide[:, :length], wide[:, p.by:]
            elif p.behind in names:
                out[k] = out[names.index(p.behind)]
        return out

    def dtypes(self) -> list[str]:
        return [p.dtype for p in self.parameters]

    def kernel(self) -> Any:
        """The kernel as a user would define it, in a file of its own."""
        import tilewright

        name = f"<fuzz {self.seed}>"
        text = "import tilewright as ct\n" + self.source()
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        names: dict[str, Any] = {"__name__": "fuzz_kernel"}
        exec(compile(text, name, "exec", dont_inherit=True), names)
        assert tilewright.tile_kernel is not None
        return names["kernel"]

    def __str__(self) -> str:
        parameters = "\n".join(f"# {p}" for p in self.parameters)
        return f"# seed {self.seed}, grid {self.grid}\n{parameters}\n{self.source()}"


@functools.lru_cache(8)
def _arguments(seed: int, parameters: tuple[Parameter, ...]) -> list[Any]:
    # By its name, so that an argument stays the same where the reducer drops others.
    return [_argument(random.Random(f"{seed} {p.name}"), p) for p in parameters]


def _argument(rng: random.Random, p: Parameter) -> Any:
    if p.count:
        return [_array(rng, p) for _ in range(p.count)]
    if p.shape is None:
        return 1.5 if p.dtype == "float32" else rng.choice([0, 1, 2, 5, 7])
    return _array(rng, p)


def _array(rng: random.Random, p: Parameter) -> np.ndarray[Any, Any]:
    assert p.shape is not None
    dtype = np.dtype(NUMPY.get(p.dtype, p.dtype))
    size = int(np.prod(p.shape))
    if p.output:
        return np.full(p.shape, 1, dtype)
    with np.errstate(all="ignore"):
        drawn = _scaled(rng, p.spread, size) if p.spread and dtype.kind not in "iu" else _elements(rng, dtype, size)
        return np.array(drawn).astype(dtype).reshape(p.shape)


def _elements(rng: random.Random, dtype: np.dtype[Any], size: int) -> Sequence[Any]:
    if dtype.kind == "b":
        return [rng.random() < 0.5 for _ in range(size)]
    if dtype.kind in "iu":
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        edges = [low, low + 1, -1, 0, 1, 2, 3, 7, high - 1, high]
        drawn = [rng.choice(edges) if rng.random() < 0.4 else rng.randint(-20, 60) for _ in range(size)]
        return np.array([min(max(v, low), high) for v in drawn], dtype)  # type: ignore[return-value]
    return [rng.choice(FLOATS) if rng.random() < 0.4 else rng.randint(-999, 999) / 64 for _ in range(size)]


def _scaled(rng: random.Random, spread: int, size: int) -> Sequence[float]:
    rare = [math.inf, -math.inf, math.nan] if rng.random() < 0.2 else [0.0]
    return [rng.choice(rare) if rng.random() < 0.005 else rng.gauss(0, 1) * 2.0 ** rng.randint(-spread, spread)
            for _ in range(size)]
