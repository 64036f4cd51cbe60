"""Certificates: what is judged of kernels whose dependences are known, and that no launch contradicts a certificate."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest
from catalogue.all import one_per_kernel
from catalogue.case import Case
from support.certificate_kernels import CASES
from support.certified import Launches
from support.defects.marks import marked

import tilewright as tw
from tilewright.inspecting.certificate import certify_kernel
from tilewright.interp.certifying import Certificate, Judgement

pytest.importorskip("z3")
THOROUGH = "TILEWRIGHT_THOROUGH" in os.environ
NAMES = [function.__name__ for function, _, _ in CASES]


def certificate(function: Any, grid: tuple[int, ...], make: Any) -> Certificate:
    return certify_kernel(tw.tile_kernel(function), make(), grid)


def judged(found: Certificate) -> dict[str, Judgement]:
    out = found.outputs["out"]
    return {"order": out.block_order, "grid": out.grid, "batch": out.batch.along.get(0, out.batch)}


def test_there_are_enough_dependences() -> None:
    counts = Counter(kind for function, _, _ in CASES for kind in {kind for kind, _ in marked(function)})
    assert min(counts[kind] for kind in ("order", "grid", "batch")) >= 8 and len(set(NAMES)) == len(CASES)
    assert sum(bool(marked(function)) for function, _, _ in CASES) >= 35


@pytest.mark.parametrize("function, grid, make", CASES, ids=NAMES)
def test_each_dependence_is_named_with_its_line(function: Any, grid: tuple[int, ...], make: Any) -> None:
    lines = dict(marked(function))
    found = certificate(function, grid, make)
    for kind, judgement in judged(found).items():
        wanted = lines.get(kind, lines.get("order"))
        assert (None if judgement.holds else judgement.place.line) == wanted, f"{kind}: {judgement}\n{found}"


@pytest.mark.parametrize("function, grid, make", CASES, ids=NAMES)
def test_no_launch_contradicts(function: Any, grid: tuple[int, ...], make: Any) -> None:
    wrong = Launches(tw.tile_kernel(function), grid, make()).contradictions(certificate(function, grid, make))
    assert not wrong


# -- The catalogue ----------------------------------------------------------------------------------------------------

ENDLESS = ("collatz",)  # with other rows than its own, its loop does not end


def chosen() -> list[Case]:
    cases = [case for case in one_per_kernel() if not case.name.startswith(ENDLESS)]
    return cases if THOROUGH else cases[3::50]


def launches(case: Case, found: Certificate) -> Launches:
    """Of kernels that multiply matrices, as a GPU does: what BLAS gives depends on the whole product."""
    multiplies = any("mma" in tree.text for out in found.outputs.values() for tree in out.trees)
    return Launches(case.kernel, case.grid, case.args(), "sm_90a" if multiplies else None)


def test_no_launch_of_the_catalogue_contradicts(capsys: pytest.CaptureFixture[str]) -> None:
    shares: Counter[str] = Counter()
    open_: Counter[str] = Counter()
    for case in chosen():
        found = certify_kernel(case.kernel, case.args(), case.grid)
        wrong = launches(case, found).contradictions(found)
        assert not wrong, f"{case.name}: {wrong}"
        for out in found.outputs.values():
            properties = {"order": out.block_order, "grid": out.grid, "batch": out.batch}
            shares.update({"outputs": 1} | {kind: one.holds for kind, one in properties.items()})
            open_.update(f"{kind}: {case.name}, line {one.place.line}: {one.reason}"
                         for kind, one in properties.items() if not one.holds)
    with capsys.disabled():
        if THOROUGH:
            print(f"\n{dict(shares)}; open:", *(f"{count:5} {what}" for what, count in open_.most_common()), sep="\n")
    assert shares["order"] >= 0.8 * shares["outputs"] and shares["batch"] >= 0.5 * shares["outputs"]


# -- What is said -----------------------------------------------------------------------------------------------------


def of(name: str) -> Certificate:
    return next(certificate(*case) for case in CASES if case[0].__name__ == name)


def test_arrays_that_are_read_by_rows_are_named() -> None:
    batch = of("persistent_product").outputs["out"].batch
    assert batch.axes == (0, 1) and batch.rows == {0: {"a": 0}, 1: {"b": 1}} and batch.shared == {0: ("b",), 1: ("a",)}
    assert not batch.tile_size.holds and of("add").outputs["out"].batch.tile_size.holds


def test_scratch_stands_for_what_it_is_made_of() -> None:
    assert of("by_way_of_scratch").outputs["out"].batch.rows == {0: {"x": 0, "scratch": 0}}


def test_trees_say_what_is_combined_in_which_order() -> None:
    texts = [tree.text for tree in of("split_k_by_atomics").outputs["out"].trees]
    assert texts == [
        "acc: in order of k = bid(2), bid(2) + num_blocks(2), ... below cdiv(a.shape[1], 4)",
        "mma of 4x4 and 4x4 float32 tiles: 4 products, one after the other in order of K",
        "atomic_add of blocks: in the order in which blocks come",
    ]


def test_without_z3(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is a function of the element, and arrays of which each block has its own part, need no solver."""
    monkeypatch.setattr("tilewright.interp.certifying.meetings.available", lambda: False)
    assert of("persistent_product").outputs["out"].block_order.holds and of("in_place").outputs["out"].grid.holds
    open_ = of("heat_in_place").outputs["out"].block_order
    assert not open_.holds and "pip install 'tilewright[prove]'" in open_.reason


def test_as_json() -> None:
    data = of("partials_by_block").as_json()
    [out] = data["outputs"]
    assert out["name"] == "out" and out["block_order"]["holds"] and out["batch"]["place"]["line"] > 0
    assert set(out) == {"name", "block_order", "grid", "batch", "trees"} and data["assumptions"] == []
