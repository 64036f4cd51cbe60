"""ORDER holds every constraint: in any order of the passes that it allows, they make the same kernels.

Two passes that no row of ORDER keeps apart, directly or through others, may change places. A few orders reverse all
such pairs; where a kernel comes out different, the pair is named that ORDER lacks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any

import pytest
from support.pass_kernels import function
from support.shown_passes import SHOWN, Shown

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.pipeline import ORDER, PIPELINE
from tilewright.backend_ptx.targets import get_target
from tilewright.backend_ptx.verifier import verify_machine
from tilewright.tileir.diagnostics import TileError
from tilewright.tileir.passes.manager import PassManager, name_of
from tilewright.tileir.printer import to_text

Pass = Any
Rows = Sequence[tuple[Pass, Pass, str]]
MORE = [Shown("reduce_axes", warps=4, ctas=2), Shown("scaled_rows", warps=4), Shown("chained_products", "sm_80"),
        Shown("block_scaled", ctas=2), Shown("masked_blocks", ctas=2)]
KERNELS = list(dict.fromkeys([*MORE, *SHOWN.values()]))


def before(rows: Rows) -> dict[Pass, set[Pass]]:
    """The passes that must run before each, because of a row or of several."""
    found: dict[Pass, set[Pass]] = {}
    for step in PIPELINE:
        earlier = {a for a, b, _ in rows if b is step}
        found[step] = earlier.union(*(found[a] for a in earlier))
    return found


def latest_first(steps: Sequence[Pass], earlier: dict[Pass, set[Pass]]) -> list[Pass]:
    """The steps, each as early as may be that stands late in the pipeline."""
    out: list[Pass] = []
    left = list(steps)
    while left:
        out.append(next(step for step in reversed(left) if not earlier[step] & set(left)))
        left.remove(out[-1])
    return out


def side_by_side(a: Pass, b: Pass, earlier: dict[Pass, set[Pass]]) -> Iterator[tuple[list[Pass], list[Pass]]]:
    """Orders with a right before b, each with the same order but for these two, reversed.

    Of the passes between them as many as may run after both, then as many as may run before both.
    """
    start, end = PIPELINE.index(a), PIPELINE.index(b)
    between = PIPELINE[start + 1:end]
    for first in ({step for step in between if step in earlier[b]},
                  {step for step in between if a not in earlier[step]}):
        ahead = [*PIPELINE[:start], *(step for step in between if step in first)]
        behind = [*(step for step in between if step not in first), *PIPELINE[end + 1:]]
        yield [*ahead, a, b, *behind], [*ahead, b, a, *behind]


def recipes(rows: Rows) -> Iterator[tuple[list[Pass], list[tuple[Pass, Pass]]]]:
    """Orders that the rows allow, each with the pairs that are reversed in it, until each such pair was."""
    earlier = before(rows)
    left = [(a, b) for a, b in combinations(PIPELINE, 2) if a not in earlier[b]]
    while left:
        b = left[0][1]
        first = [step for step in PIPELINE if step in earlier[b]]
        recipe = [*latest_first(first, earlier), b,
                  *latest_first([step for step in PIPELINE if step is not b and step not in first], earlier)]
        done = [(a, b) for a, b in left if recipe.index(b) < recipe.index(a)]
        yield recipe, done
        left = [pair for pair in left if pair not in done]


def made(recipe: Sequence[Pass], shown: Shown) -> str:
    """The machine function, or why there is none; decisions as a set, as their order says nothing."""
    f = function(shown.kernel)
    f.hints = replace(f.hints, num_worker_warps=shown.warps or f.hints.num_worker_warps,
                      num_ctas=shown.ctas or f.hints.num_ctas, programmatic_dependent_launch=True)
    try:
        PassManager(tuple(recipe), (), verify_machine).run(Compilation(f, get_target(shown.target)), verify=True)
    except TileError as error:
        return str(error)
    f.decisions.sort(key=str)
    return to_text(f)


@cache
def as_it_is(shown: Shown) -> str:
    return made(PIPELINE, shown)


def complaint(recipe: Sequence[Pass], pairs: Sequence[tuple[Pass, Pass]], rows: Rows) -> str | None:
    """The pair for which the rows lack a constraint, if the passes make another kernel in this order: the first that
    some kernel shows alone, so that no kernel after that one is asked."""
    earlier, wrong = before(rows), []
    for shown in KERNELS:
        if made(recipe, shown) == as_it_is(shown):
            continue
        wrong.append(shown)
        alone = next((pair for pair in pairs if differs(pair, shown, earlier)), None)
        if alone is not None:
            break
    if not wrong:
        return None
    (a, b), shown = (alone, wrong[-1]) if alone else (first_wrong_swap(recipe, wrong[0]), wrong[0])
    return (f"{name_of(a)} must run before {name_of(b)}, or {shown.kernel} for {shown.target} becomes another kernel: "
            f"ORDER in backend_ptx/pipeline.py has no row ({name_of(a)}, {name_of(b)}, why)"
            f"{'' if alone else ', or none for a pass between them, in the order ' + ', '.join(map(name_of, recipe))}")


def differs(pair: tuple[Pass, Pass], shown: Shown, earlier: dict[Pass, set[Pass]]) -> bool:
    """Whether the order of these two alone decides: side by side, they make the same kernel and, reversed, another."""
    return any(made(swapped, shown) != as_it_is(shown) and made(kept, shown) == as_it_is(shown)
               for kept, swapped in side_by_side(*pair, earlier))


def first_wrong_swap(recipe: Sequence[Pass], shown: Shown) -> tuple[Pass, Pass]:
    """On the way from the pipeline to this order, by swaps of neighbours, one that changes the kernel."""
    order = list(PIPELINE)
    swaps: list[tuple[tuple[Pass, Pass], tuple[Pass, ...]]] = []
    for place, step in enumerate(recipe):
        for k in range(order.index(step), place, -1):
            order[k - 1], order[k] = order[k], order[k - 1]
            swaps.append(((order[k], order[k - 1]), tuple(order)))
    right, wrong = -1, len(swaps) - 1
    while wrong - right > 1:
        middle = (right + wrong) // 2
        same = made(swaps[middle][1], shown) == as_it_is(shown)
        right, wrong = (middle, wrong) if same else (right, middle)
    return swaps[wrong][0]


def test_no_constraint_is_missing() -> None:
    said = [said for recipe, pairs in recipes(ORDER) if (said := complaint(recipe, pairs, ORDER))]
    assert not said, "\n".join(said)


def test_every_pass_has_a_row() -> None:
    named = {step for row in ORDER for step in row[:2]}
    lacking = [name_of(step) for step in PIPELINE if step not in named]
    assert not lacking, "\n".join(f"{name} has no row in ORDER in backend_ptx/pipeline.py" for name in lacking)


# Rows that follow from others need no kernel. No kernel here shows these:
UNSEEN = {
    ("form_clusters", "mask_paddings"), ("relieve_pressure", "pipeline_loops"), ("hoist_conversions", "split_stores"),
    ("assign_layouts", "share_elements"), ("share_elements", "pipeline_loops"), ("insert_barriers", "await_grids"),
    ("split_reductions", "relieve_pressure"), ("pipeline_loops", "spill_tiles"), ("insert_barriers", "pack_blocks"),
    ("split_stores", "load_before_loops"), ("load_before_loops", "pipeline_loops"),
    ("split_loops", "join_loops"), ("count_before_adding", "loop_over_blocks"),
    ("shorten_exponentials", "share_reciprocals"), ("choose_warps", "merge_logarithms"),
    ("shorten_quotients", "form_clusters"), ("shorten_error_functions", "form_clusters"),
    ("shorten_error_functions", "share_reciprocals"),
}


def needed() -> list[tuple[Pass, Pass]]:
    """The constraints that do not follow from others."""
    pairs = list(dict.fromkeys((a, b) for a, b, _ in ORDER))
    return [pair for pair in pairs if pair[0] not in before([row for row in ORDER if row[:2] != pair])[pair[1]]]


def test_the_unseen_rows_are_rows() -> None:
    assert {(name_of(a), name_of(b)) for a, b, _ in ORDER} >= UNSEEN


@pytest.mark.parametrize("pair", [p for p in needed() if (name_of(p[0]), name_of(p[1])) not in UNSEEN],
                         ids=lambda pair: "-".join(map(name_of, pair)))
def test_a_missing_constraint_is_named(pair: tuple[Pass, Pass]) -> None:
    rows = [row for row in ORDER if row[:2] != pair]
    said = [complaint(swapped, [pair], rows) for _, swapped in side_by_side(*pair, before(rows))]
    assert any(said), "no kernel comes out different without this row: add one to MORE, or the row to UNSEEN"
    a, b = map(name_of, pair)
    for sentence in filter(None, said):
        assert sentence.startswith(f"{a} must run before {b}, or ") and sentence.endswith(f"({a}, {b}, why)")


@pytest.mark.parametrize("number", [0])
def test_orders_that_reverse_many_pairs_name_the_right_one(number: int) -> None:
    """One row is taken away: what is named is that pair, or one that is in order because of it."""
    rows = [row for row in ORDER if row[:2] != ORDER[number][:2]]
    whole, left = before(ORDER), before(rows)
    lost = [f"({name_of(a)}, {name_of(b)}, why)" for b in PIPELINE for a in whole[b] - left[b]]
    said = [sentence for recipe, pairs in recipes(rows) if (sentence := complaint(recipe, pairs, rows))]
    named = [sentence for sentence in said if sentence.endswith("why)")]
    assert all(sentence.endswith(tuple(lost)) for sentence in named), "\n".join(said)
    assert named, "\n".join(said)
