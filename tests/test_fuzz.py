"""A fixed sample of `make fuzz`; that its oracles see a defect, and that its reducer keeps no more than the failure."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from fuzz import damage, mutate, program, work
from fuzz.functions import check_function
from fuzz.generate import generate
from fuzz.oracles import Mismatch, Run, check
from fuzz.reduce import reduce
from oracle import numbers, places

from tilewright.kernel import tile_kernel

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


@pytest.mark.parametrize("kind, oracle", [("integers", "oracle"), ("integers", "checked"), ("products", "simulator")])
def test_programs_of_one_kind(kind: str, oracle: str) -> None:
    for seed in range(6):
        check(generate(seed, kind=kind), [oracle])


def test_integers_compute_no_floats() -> None:
    for seed in range(100):
        whole = generate(seed, kind="integers")
        text = "\n".join(line for node in whole.body for line in node.lines(""))
        used = {p.dtype for p in whole.parameters if re.search(rf"\b{p.name}\b", text)}
        assert not {d for d in used if "float" in d} and "float" not in text, text


def test_products_show_how_they_are_added() -> None:
    """Most differ from the interpreter's own sums, and few of their elements are NaN."""
    differ = 0
    for seed in range(12):
        whole = generate(seed, kind="products")
        plain, held = whole.arguments(), Run(whole)
        whole.kernel()[whole.grid](*plain)
        differ += bool((plain[-1] != held.want[-1]).any())
        assert (held.want[-1] == held.want[-1]).mean() > 0.5
    assert differ >= 6


def test_the_checked_mode_is_held_to_no_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    report = SimpleNamespace(severity="error", kind="race", values={})
    monkeypatch.setattr(tile_kernel, "interpret", lambda *args, check=False, **more: [report] * check)
    with pytest.raises(Mismatch, match="checked race"):
        check(generate(1), ["checked"])


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
    monkeypatch.setattr(work, "generate", lambda seed, kind: program.Program(
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
