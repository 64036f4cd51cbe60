"""Every interleaving of the protocols that the backend emits; seeded defects are found."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

import pytest
from catalogue import clusters, hopper
from support.protocols import Kernel, edges_of_trip_counts, explored, kernels, machine_ir

from tilewright.backend_ptx import ops
from tilewright.backend_ptx.passes.pressure import choose_warps
from tilewright.backend_ptx.simulator.protocols import (
    Act,
    Action,
    Process,
    Protocol,
    UnfollowedError,
    ViolationError,
    explore,
)
from tilewright.backend_ptx.simulator.protocols.follower import RULES
from tilewright.tileir.core import Op

CASES = {case.name.removeprefix("hopper-"): case for case in (*hopper.cases(), *clusters.cases())}
# Large clusters have too many states for every run of the tests; `make protocols` takes all trip counts.
MOST = {1: None, 2: None, 4: 8, 8: 3}


@functools.cache
def distinct() -> dict[str, Kernel]:
    """The kernels that have a protocol of their own."""
    return {kernel.name: kernel for kernel in kernels(CASES.values())}


@pytest.mark.parametrize("case", CASES)
def test_no_interleaving_fails(case: str) -> None:
    kernel = distinct().get(CASES[case].name)
    if kernel is not None:
        count, states = explored(kernel, edges_of_trip_counts(kernel, MOST[kernel.function.plan.cluster]))
        assert count > 1 and states >= count


def test_kinds_of_protocols_are_there() -> None:
    found = distinct().values()
    clusters = {kernel.function.plan.cluster for kernel in found}
    warps = {kernel.function.plan.warps for kernel in found}
    kinds = {a.kind for kernel in found for p in kernel.protocol(4).processes for a in p.actions}
    assert len(found) > 20 and clusters == {1, 2, 4, 8} and warps >= {4, 8} and kinds == set(Act)


SMALL = ("bfloat16-kn", "float8_e4m3-kn", "gathered", "attention-8-warps", "stored-float16", "rows-kn-in-2")


def one(name: str) -> Kernel:
    return Kernel(name, machine_ir(CASES[name]))


@pytest.mark.parametrize("name", SMALL)
def test_reductions_leave_the_verdict(name: str) -> None:
    """More states without reductions, and with a warp of each warpgroup on its own; none fails."""
    kernel = one(name)
    for n in range(4):
        few = explore(kernel.protocol(n)).states
        assert explore(kernel.protocol(n), thorough=True).states >= few
        if kernel.function.plan.cluster == 1 and kernel.function.plan.warps == 4:
            assert explore(kernel.protocol(n, split=True)).states >= few


@pytest.mark.parametrize(("name", "unknown"), [
    ("gathered", ops.async_copy.AsyncCopy), ("gathered", ops.async_copy.AsyncWait), ("gathered", ops.shared.Barrier),
    ("gathered", ops.warpgroup.ProxyFence), ("bfloat16-kn", ops.bulk.TmaLoad), ("bfloat16-kn", ops.bulk.MbarrierWait),
    ("bfloat16-kn", ops.warpgroup.WgmmaWait), ("stored-float16", ops.bulk.TmaStore),
])
def test_an_asynchronous_op_without_a_rule_is_an_error(
    monkeypatch: pytest.MonkeyPatch, name: str, unknown: type[Op]
) -> None:
    kernel = one(name)
    monkeypatch.delitem(RULES, unknown)
    with pytest.raises(UnfollowedError, match=r"in line \d+ starts, awaits or orders asynchronous accesses.*no rule"):
        kernel.protocol(4)


# Seeded defects

Edit = Callable[[list[Action]], list[Action]]


def edited(protocol: Protocol, role: str, edit: Edit) -> Protocol:
    """The protocol with other actions of a role, in every CTA."""
    def of(process: Process) -> Process:
        return replace(process, actions=tuple(edit(list(process.actions)))) if process.role == role else process

    return replace(protocol, processes=tuple(map(of, protocol.processes)))


def without(kind: Act, which: int = -1) -> Edit:
    """Without one action of a kind (the last, or the one of that number)."""
    def edit(actions: list[Action]) -> list[Action]:
        places = [i for i, a in enumerate(actions) if a.kind is kind]
        del actions[places[which]]
        return actions
    return edit


def changed(kind: Act, change: Callable[[Action], Action], which: int = -1) -> Edit:
    def edit(actions: list[Action]) -> list[Action]:
        i = [i for i, a in enumerate(actions) if a.kind is kind][which]
        actions[i] = change(actions[i])
        return actions
    return edit


def early_release(actions: list[Action]) -> list[Action]:
    """Each arrival comes before the wait for the MMAs that read the slot."""
    for i in range(1, len(actions)):
        if actions[i].kind is Act.ARRIVE and actions[i - 1].kind is Act.READ_WAIT:
            actions[i - 1], actions[i] = actions[i], actions[i - 1]
    return actions


def next_slot(action: Action) -> Action:
    (name, slot), *rest = action.places
    return replace(action, places=((name, (slot + 1) % 6), *rest))


DEFECTS: dict[str, tuple[str, Edit, str]] = {
    "no wait for an empty slot": ("producer", without(Act.WAIT), "has not finished reading|phases ahead"),
    "no wait for a full slot": ("consumer", without(Act.WAIT), "fill have landed|has not finished reading the first"),
    "the wrong parity of full": (
        "consumer", changed(Act.WAIT, lambda a: replace(a, a=1 - a.a)), "deadlock|have landed|finished reading"),
    "the wrong parity of empty": (
        "producer", changed(Act.WAIT, lambda a: replace(a, a=1 - a.a)), "deadlock|finished reading|2 phases ahead"),
    "a release before the MMAs are done": ("consumer", early_release, "has not finished reading"),
    "no release of a slot": ("consumer", without(Act.ARRIVE, 0), "deadlock"),
    "a release of the next slot": (
        "consumer", changed(Act.ARRIVE, next_slot, 0), "deadlock|finished reading|2 phases ahead"),
    "a copy into the next slot": (
        "producer", changed(Act.COPY, next_slot, 2), "finished reading|landed|in flight|again"),
    "an MMA on the next slot": ("consumer", changed(Act.READ, next_slot, 2), "landed|filled again|finished reading"),
    "too few bytes expected": (
        "producer", changed(Act.EXPECT, lambda a: replace(a, a=a.a // 2)), "more bytes in phase|have landed"),
    "too many bytes expected": ("producer", changed(Act.EXPECT, lambda a: replace(a, a=2 * a.a)), "deadlock"),
    "no bytes expected": ("producer", without(Act.EXPECT), "deadlock|landed|more bytes"),
    "no final wait for MMAs": ("consumer", without(Act.READ_WAIT), "ends without waiting|finished reading"),
    "a copy that nobody awaits": ("consumer", lambda actions: [
        a for a in actions if a.kind not in (Act.WAIT, Act.READ, Act.ARRIVE)], "in flight|deadlock"),
}


@pytest.mark.parametrize("defect", DEFECTS)
@pytest.mark.parametrize("thorough", [False, True])
def test_defects_are_found(defect: str, thorough: bool) -> None:
    role, edit, message = DEFECTS[defect]
    protocol = one("bfloat16-kn").protocol(10)
    explore(protocol, thorough=thorough)
    with pytest.raises(ViolationError, match=message) as caught:
        explore(edited(protocol, role, edit), thorough=thorough)
    assert len(caught.value.trace) > 2 and caught.value.what in str(caught.value)


@pytest.mark.parametrize("count", [3, 5])
def test_another_count_of_arrivals_is_found(count: int) -> None:
    protocol = one("bfloat16-kn").protocol(10)
    counts = tuple((name, count if name.startswith("empty") else n) for name, n in protocol.counts)
    with pytest.raises(ViolationError, match="more arrivals|deadlock"):
        explore(replace(protocol, counts=counts))


def test_defects_of_threads_and_turns_are_found() -> None:
    gathered, turns = one("gathered").protocol(8, split=True), one("attention-8-warps").protocol(4)
    for protocol, kind, message in (
        (gathered, Act.SYNC, "before the .* fill by"), (gathered, Act.ASYNC_WAIT, "before the .* fill by"),
        (gathered, Act.FENCE, "before the .* fill by"), (turns, Act.PASS, "deadlock"),
    ):
        with pytest.raises(ViolationError, match=message):
            explore(edited(protocol, "consumer", without(kind, 1)))


def early_pass(actions: list[Action]) -> list[Action]:
    """Each turn is yielded as soon as it is taken. The last team yields the first one before all."""
    first, rest = (actions[:1], actions[1:]) if actions[0].kind is Act.PASS else ([], actions)
    passes = iter([a for a in rest if a.kind is Act.PASS])
    kept = [a for a in rest if a.kind is not Act.PASS]
    return first + [b for a in kept for b in ((a, next(passes)) if a.kind is Act.TAKE else (a,))]


TEAMS: dict[str, tuple[Edit, str]] = {
    "no turns": (
        lambda actions: [a for a in actions if a.kind is not Act.TAKE], "have landed|second time|phases ahead"),
    "turns that end too early": (early_pass, "have landed|phases ahead"),
    "a turn that is kept": (without(Act.PASS), "deadlock|ends"),
    "a slot of the other team": (changed(Act.READ, next_slot, 2), "landed|filled again|finished reading"),
    "a slot of the other team is released": (changed(Act.ARRIVE, next_slot, 0), "deadlock|finished reading|2 phases"),
}


@pytest.fixture(params=[None, 8], ids=str)
def teams(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """A kernel with small tiles whose blocks are run in turns by two teams of four or eight warps."""
    monkeypatch.setattr(choose_warps, "_turns_pay", lambda c, products, much: True)
    case = CASES["int8-nk"]
    kernel = case.kernel.replace_hints(num_worker_warps=request.param)
    found = Kernel("teams", machine_ir(replace(case, kernel=kernel)))
    assert (found.function.plan.teams, found.function.plan.warps) == (2, request.param or 4)
    return found


def test_no_interleaving_of_teams_fails(teams: Kernel) -> None:
    """For numbers of blocks and of iterations of each; parities come again after twelve."""
    for trips in ((0,), (1,), (1, 9), (2, 3), (3, 5), (4, 6), (5, 7), (3, 12), (3, 0)):
        explore(teams.protocol(*trips, split=trips == (2, 3)))


@pytest.mark.parametrize("defect", TEAMS)
def test_defects_of_teams_are_found(defect: str, teams: Kernel) -> None:
    edit, message = TEAMS[defect]
    with pytest.raises(ViolationError, match=message):
        explore(edited(teams.protocol(5, 8), "consumer", edit))


def until_last(kind: Act) -> Edit:
    """Leaves after the last action of a kind."""
    return lambda actions: actions[:max(i for i, a in enumerate(actions) if a.kind is kind) + 1]


def test_defects_of_clusters_are_found() -> None:
    protocol = one("rows-kn-in-2").protocol(8)
    alone = edited(protocol, "consumer", lambda actions: [replace(a, ctas=1) for a in actions])
    with pytest.raises(ViolationError, match="deadlock"):
        explore(alone)
    with pytest.raises(ViolationError, match="has left"):
        explore(edited(protocol, "producer", until_last(Act.COPY)))


def test_a_trace_is_readable() -> None:
    with pytest.raises(ViolationError) as caught:
        explore(edited(one("bfloat16-kn").protocol(7), "consumer", early_release))
    assert "has not finished reading" in caught.value.what
    text = "\n".join(caught.value.trace)
    for words in ("producer waits for phase parity 1 empty[0]", "producer starts a TMA load ta_ring[0]", "(line ",
                  "bytes land in", "phase 0 of full[0] is complete", "consumer starts an MMA on ta_ring[0]"):
        assert words in text, text
