"""Vectors known by their parts: they cost no text where nobody reads them whole, and mean the same everywhere."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.llvm.compile import llvm_to_ptx
from tilewright.backend_ptx.simulator import simulate_text
from tilewright.backend_ptx.targets import get_target

N = 8
SIZES = {"float": 4, "bfloat": 2, "i32": 4, "i16": 2}
DTYPES = {"float": np.float32, "bfloat": ml_dtypes.bfloat16, "i32": np.int32, "i16": np.uint16}
A, OUT = Val("ptr addrspace(1)", 0, "%a"), Val("ptr addrspace(1)", 0, "%out")


def scalars(b: Builder) -> list[Val]:
    return [b.load("float", 0, b.gep(A, 4 * i), 4) for i in range(N)]


def body(make: Callable[[Builder], Val]) -> tuple[str, Val]:
    """The text of a kernel of one thread that stores a vector made of the eight floats at %a."""
    b = Builder()
    value = make(b)
    b.store(value, OUT, 2)
    b.ret()
    head = "\n".join(b.head())
    return f"{head}\ndefine ptx_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %out) {{\n{b.text()}}}\n", value


def run(make: Callable[[Builder], Val]) -> np.ndarray:
    """The vector, for eight random floats, after LLVM has accepted the text too."""
    text, value = body(make)
    head = 'target triple = "nvptx64-nvidia-cuda"\n'
    assert "st.global" in llvm_to_ptx(head + text, get_target("sm_90a"))[0]
    out = np.zeros(max(1, value.n), DTYPES[value.elem])
    simulate_text(text, "k", 1, 1, [INPUT, out])
    return out


INPUT = np.random.default_rng(0).standard_normal(N).astype(np.float32)
ROUNDED = INPUT.astype(ml_dtypes.bfloat16)
WORDS = ROUNDED.view(np.int32)


def halves(b: Builder) -> Val:
    """bfloat16 in pairs."""
    return b.cast("fptrunc", b.vector(scalars(b)), "bfloat")


def fours(b: Builder) -> Val:
    """Two vectors of four."""
    return b.concat([b.load("float", 4, b.gep(A, 4 * i), 4) for i in (0, 4)])


def loaded(b: Builder) -> Val:
    """A vector known by nothing else."""
    return b.load("float", 4, A, 4)


CASES: dict[str, tuple[Callable[[Builder], Val], np.ndarray]] = {
    "whole": (lambda b: b.vector(scalars(b)), INPUT),
    "lanes in another order": (lambda b: b.shuffle(b.vector(scalars(b)), [3, 1, 0, 7]), INPUT[[3, 1, 0, 7]]),
    "lanes of two": (lambda b: b.shuffle(b.vector(scalars(b)), [0, 9], b.vector(scalars(b))), INPUT[[0, 1]]),
    "pairs": (halves, ROUNDED),
    "pairs chosen": (lambda b: b.shuffle(halves(b), [6, 7, 2, 3]), ROUNDED[[6, 7, 2, 3]]),
    "one pair": (lambda b: b.shuffle(halves(b), [4, 5]), ROUNDED[4:6]),
    "inside a pair": (lambda b: b.shuffle(halves(b), [5, 4]), ROUNDED[[5, 4]]),
    "across pairs": (lambda b: b.shuffle(halves(b), [1, 2, 5, 6]), ROUNDED[[1, 2, 5, 6]]),
    "three pairs": (lambda b: b.shuffle(halves(b), [0, 1, 4, 5, 2, 3]), ROUNDED[[0, 1, 4, 5, 2, 3]]),
    "words of pairs": (lambda b: b.bitcast(halves(b), "i32", 4), WORDS),
    "pairs of words": (lambda b: b.bitcast(b.bitcast(halves(b), "i32", 4), "bfloat", 8), ROUNDED),
    "pairs as i16": (lambda b: b.bitcast(halves(b), "i16", 8), ROUNDED.view(np.uint16)),
    "a lane of a pair": (lambda b: b.vector([b.extract(halves(b), i) for i in (7, 0)]), ROUNDED[[7, 0]]),
    "vectors": (fours, INPUT),
    "one vector": (lambda b: b.shuffle(fours(b), range(4, 8)), INPUT[4:]),
    "a part of a vector": (lambda b: b.shuffle(fours(b), [6, 5]), INPUT[[6, 5]]),
    "vectors again": (lambda b: b.concat([fours(b), fours(b)]), np.tile(INPUT, 2)),
    "three vectors": (lambda b: b.concat([b.shuffle(fours(b), range(4))] * 3), np.tile(INPUT[:4], 3)),
    "vectors and lanes": (lambda b: b.concat([fours(b), b.vector(scalars(b))]), np.tile(INPUT, 2)),
    "narrow vectors": (lambda b: b.cast("fptrunc", fours(b), "bfloat"), ROUNDED),
    "wide again": (lambda b: b.cast("fpext", halves(b), "float"), ROUNDED.astype(np.float32)),
    "lanes of lanes": (lambda b: b.shuffle(b.shuffle(loaded(b), [3, 1, 2, 2]), [2, 0, 0, 1]), INPUT[[2, 3, 3, 1]]),
    "lanes read whole": (lambda b: b.fadd(b.shuffle(loaded(b), [3, 0, 1, 2]), loaded(b)),
                         INPUT[[3, 0, 1, 2]] + INPUT[:4]),
    "lanes of a splat": (lambda b: b.shuffle(b.splat(scalars(b)[5], 8), [7, 0]), INPUT[[5, 5]]),
    "lanes joined": (lambda b: b.concat([b.shuffle(loaded(b), [1, 0]), b.shuffle(loaded(b), [3, 2])]),
                     INPUT[[1, 0, 3, 2]]),
    "read whole by arithmetic": (lambda b: b.fadd(b.vector(scalars(b)), fours(b)), INPUT + INPUT),
}


@pytest.mark.parametrize(("lanes", "whole"), [
    ([0, 4, 8, 12, 1, 5, 9, 13], True), ([0, 2, 4, 6, 1, 3, 5, 7], False), ([4, 5, 6, 7, 0, 1, 2, 3], False)], ids=str)
def test_bytes_of_many_words_are_put_together_at_once(lanes: list[int], whole: bool) -> None:
    """Taken where each word is used, all words would stay in registers until the last use."""
    text, _ = body(lambda b: b.shuffle(b.shuffle(b.load("i8", 16, A, 4), lanes), range(4)))
    assert text.count("shufflevector") == 1 + whole


@pytest.mark.parametrize("name", CASES)
def test_meaning(name: str) -> None:
    make, want = CASES[name]
    np.testing.assert_array_equal(run(make).view(np.uint8), np.ascontiguousarray(want).view(np.uint8))


def loop(b: Builder, first: Val, step: Callable[[Val], Val]) -> Val:
    """step(step(step(first))) by a loop; the result of a further phi behind it."""
    b.br("again")
    b.start("again")
    count, value = b.phis([b.const("i32", 0), first])
    after, following = b.add(count.value, 1), step(value.value)
    b.cbr(b.icmp("ult", after, 3), "again", "done")
    for phi, start, end in ((count, b.const("i32", 0), after), (value, first, following)):
        phi.add(start, "entry")
        phi.add(end, "again")
    b.start("done")
    [result] = b.phis([first])
    result.add(following, "again")
    return result.value


def turned(b: Builder, v: Val) -> Val:
    return b.vector([b.fadd(b.extract(v, (i + 1) % N), 1.0) for i in range(N)])


LOOPS: dict[str, tuple[Callable[[Builder], Val], np.ndarray, int]] = {
    # Name: the vector, what it is, phis of vectors in the text.
    "lanes": (lambda b: loop(b, b.vector(scalars(b)), lambda v: turned(b, v)), np.roll(INPUT, -3) + 1 + 1 + 1, 0),
    "zeros": (lambda b: loop(b, b.const("float", 0, N), lambda v: turned(b, v)), np.full(N, 3, np.float32), 0),
    "whole": (lambda b: loop(b, fours(b), lambda v: b.fadd(v, 1.0)), INPUT + 1 + 1 + 1, 2),
    "whole into lanes": (lambda b: loop(b, fours(b), lambda v: turned(b, v)), np.roll(INPUT, -3) + 1 + 1 + 1, 2),
    "lanes into whole": (
        lambda b: loop(b, b.vector(scalars(b)), lambda v: b.fadd(v, 1.0)), INPUT + 1 + 1 + 1, 2),
}


@pytest.mark.parametrize("name", LOOPS)
def test_phis(name: str) -> None:
    """One for each lane where the lanes are known on all ways; a vector's otherwise."""
    make, want, wide = LOOPS[name]
    np.testing.assert_array_equal(run(make), want.astype(np.float32))
    text, _ = body(make)
    # What arrives behind the loop is known by lanes wherever the loop ends with lanes.
    assert text.count("phi <8 x float>") == wide - (name == "whole into lanes")


def test_what_nobody_reads_whole_costs_nothing() -> None:
    def lanes(b: Builder) -> Val:
        whole = b.vector(scalars(b))
        return b.fadd(b.extract(whole, 0), b.extract(b.shuffle(whole, [7, 6, 5, 4]), 0))

    text, _ = body(lanes)
    assert "insertelement" not in text and "shufflevector" not in text and "extractelement" not in text


def test_lanes_of_lanes_are_taken_from_the_first_vector() -> None:
    """No wide vector stands between, which LLVM would take apart and put together again."""
    def strips(b: Builder) -> Val:
        wide = b.shuffle(loaded(b), [i % 4 for i in range(64)])
        return b.fadd(b.shuffle(wide, range(2)), b.splat(b.extract(wide, 5), 2))

    text, _ = body(strips)
    assert "64 x" not in text and "extractelement <4 x float>" in text


def test_long_struct_types_are_named() -> None:
    b = Builder()
    results = "{ " + ", ".join(["float"] * 40) + " }"
    first = b.asm("// $0", ",".join(["=f"] * 40), (), results)
    second = b.asm("// $0 again", ",".join(["=f"] * 40), (), results)
    assert first is not None and second is not None and first.type == second.type == "%pack0"
    assert b.head() == [f"%pack0 = type {results}"]
    assert b.asm("// $0", "=f,=f", (), "{ float, float }").type == "{ float, float }"  # type: ignore[union-attr]
