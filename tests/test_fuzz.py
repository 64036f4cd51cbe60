"""A fixed sample of `make fuzz`; that its oracles see a defect, and that its reducer keeps no more than the failure."""

from __future__ import annotations

import pytest
from fuzz import damage, mutate, program, work
from fuzz.functions import check_function
from fuzz.generate import generate
from fuzz.oracles import Mismatch, check
from fuzz.reduce import reduce
from oracle import numbers, places

FINE = {"equal", "endless"}
FINDS = {"mismatch", "internal", "hang", "memory", "crash", "refused"}


@pytest.mark.parametrize("seed", range(12))
def test_programs(seed: int) -> None:
    job = work.Job("programs", ("oracle", "single", "text", "passes"), reduces=False)
    _, outcome, text = job(seed)
    assert outcome == "equal", text


@pytest.mark.parametrize("seed", range(2))
def test_programs_in_the_simulator(seed: int) -> None:
    check(generate(seed, 3), ["simulator"])


@pytest.mark.parametrize("seed", range(4))
def test_functions(seed: int) -> None:
    outcome, text = check_function(seed)
    assert outcome == "equal", text


@pytest.mark.parametrize("kind, count", [("tile", 60), ("kernels", 60), ("cli", 40), ("cache", 200)])
def test_mutants(kind: str, count: int) -> None:
    for seed in range(count):
        outcome, text = mutate.KINDS[kind](seed)
        assert outcome not in FINDS, f"seed {seed}: {text}"


def test_a_program_is_that_of_its_seed() -> None:
    assert str(generate(5)) == str(generate(5)) != str(generate(6))


def test_the_evaluator_sees_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    """An evaluator whose results of float32 are one unit too large differs from the interpreter."""
    right = numbers.nearest
    monkeypatch.setattr(numbers, "nearest", lambda x, dtype, *mode: (
        right(x, dtype, *mode) * (1 + 2.0**-23 * (dtype is numbers.F32))))
    with pytest.raises(Mismatch, match="oracle: "):
        for seed in range(10):
            check(generate(seed), ["oracle"])


def test_the_reducer_leaves_endless_loops_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its counter a loop never ends."""
    monkeypatch.setattr(numbers, "nearest", lambda x, dtype, *mode: 1.0)
    monkeypatch.setattr(damage, "SECONDS", 1)
    monkeypatch.setattr(work, "generate", lambda seed: program.Program(
        seed, (1,), [program.Parameter("out", "float32", (1,), output=True)],
        [program.Node("t = ct.float32(2.5)"), program.Node("c = ct.int32(0)"),
         program.Node("while c < 1:", [program.Node("c = c + 1"), program.Node("t = t + 1.0")]),
         program.Node("ct.store(out, (0,), t.reshape((1,)))")]))
    _, outcome, text = work.Job("programs", ("oracle",), reduces=True)(0)
    assert outcome == "mismatch" and "while" not in text


def test_the_reducer_keeps_what_fails() -> None:
    def fails(smaller: program.Program) -> bool:
        text = smaller.source()
        return "atomic_add(" in text and "    while" in text

    whole = next(p for p in map(generate, range(1000)) if fails(p) and p.grid != (1,))
    small = reduce(whole, fails)
    assert fails(small) and len(small.source().splitlines()) <= 6 < len(whole.source().splitlines())
    assert small.grid == (1,)


def test_the_evaluator_takes_nans_for_equal() -> None:
    """Seed 201744: processors give NaNs of either sign, and the language orders them by their places alone."""
    nan = float("nan")
    assert places.order([nan, -nan, 0.0, nan, -0.0], False) == [4, 2, 0, 1, 3]
