"""Typed records that a function carries: what the user asked for, what the compiler decided, and why.

The text form prints them behind the parameters, and the decisions as the first lines of the body; fields with their
default value are left out:

    func @k(%x: array<?xf32, strides=1>) hints(occupancy=2) plan(warps=8, shared_bytes=16384) {
      decision num_warps = 8, "as the hint num_worker_warps asks"
      ...
"""

from __future__ import annotations

import types
import typing
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from tilewright.tileir.diagnostics import NO_SPAN, Span
from tilewright.tileir.records import record


@record
class Hints:
    """What the user asked for with the decorator. None: the compiler decides."""

    num_ctas: int | None = None
    occupancy: int | None = None
    opt_level: int = 3
    num_worker_warps: int | None = None
    programmatic_dependent_launch: bool = False


@record
class Switches:
    """How a kernel is built, as the launcher, an export or a measurement needs it; no user's hint.

    `linear_grid`: the hardware's grid has one axis (a part of the ABI). `line_info`: PTX with line numbers, for
    profilers and ptxas. `allow_tma_stores`: False keeps stores off TMA. `loop_over_blocks`: the launcher can run the
    blocks of a grid as iterations of fewer (a part of the ABI). `pack_blocks`: it can run several of them in each CTA
    (likewise).
    """

    linear_grid: bool = False
    loop_over_blocks: bool = False
    pack_blocks: bool = False
    line_info: bool = False
    allow_tma_stores: bool = True


PLAIN = Switches()


@record
class Aliases:
    """Which parameters share memory in the launches that a function is made for, by position. All others share none,
    but for the arrays of one list.

    `same`: pairs; the first has the same elements at the same place as the second, an earlier one, which stands for
    both in the body. `groups`: the arrays of a group may overlap in any way; they are one alias class.
    """

    same: tuple[tuple[int, ...], ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()


NO_ALIASES = Aliases()


@record
class Limits:
    """A rung of the ladder of plans: what the passes must stay within, because the assembler refused more. None: no
    limit.

    `warps` is the number of warps that a plan must have, `ctas` that of CTAs per cluster. `matrix_unit` is the unit
    that multiplies, unless it cannot; those that the target prefers to it are left out. `max_exchange` is in bytes:
    what one layout conversion may take of shared memory; `max_depth` is the K of one multiply. `cap_registers`: whether
    the registers of each thread may be capped for the sake of occupancy, `split_loops`: whether a loop may become
    several, `early_mmas` whether MMAs may start early and stay outstanding into the next iteration, `defer_reductions`
    whether loops may carry partial results of reductions, `loop_over_blocks` whether CTAs may loop over the blocks of a
    launch, `teams` whether teams of warps may run them in turns, `producer_ease` whether producers may keep registers
    that they can do without, `order_blocks` whether blocks may run in another order, `hoist_conversions` whether
    layouts may change where tiles are loaded, `extras` whether other passes may run that only make a kernel faster.
    """

    max_stages: int | None = None
    warps: int | None = None
    matrix_unit: str | None = None
    allow_cluster: bool = True
    allow_register_reallocation: bool = True
    producer_ease: bool = True
    max_occupancy: int | None = None
    ctas: int | None = None
    max_exchange: int | None = None
    max_depth: int | None = None
    cap_registers: bool = True
    split_loops: bool = True
    early_mmas: bool = True
    defer_reductions: bool = True
    loop_over_blocks: bool = True
    teams: bool = True
    order_blocks: bool = True
    hoist_conversions: bool = True
    extras: bool = True

    def met(self, hints: Hints) -> Hints:
        """The hints as far as the limits let them be met."""
        occupancy = hints.occupancy if self.max_occupancy is None else self.max_occupancy
        ctas = hints.num_ctas if self.ctas is None else self.ctas
        return replace(hints, occupancy=occupancy, num_ctas=ctas if self.allow_cluster else 1)


class Role(NamedTuple):
    """The warps of a CTA that run one part of a kernel, and the registers of each of their threads (None: as ptxas
    allocates them)."""

    name: str
    warps: int
    registers: int | None = None


@record
class Launching:
    """What a launch must know of a kernel beside its parameters.

    `cluster` CTAs run each block of a launch: the grid is so many times longer along its axis 0. `dependent`: the
    kernel waits for the grids before it, so that it may be launched while they run. `looped`: as many CTAs as fit the
    GPU loop over the blocks of a launch. `packed`: so many blocks, side by side along axis 0, have warps of their own
    in a CTA. `walked`: any number of blocks may walk over the tiles of so many elements along an axis of a parameter,
    of which a launch gives each block several (the parameter, the axis, the elements, the tiles; or nothing). `shares`:
    CTAs of clusters, which the launch may ask for by the hint `num_ctas`, share the iterations of each block.
    """

    cluster: int = 1
    dependent: bool = False
    looped: bool = False
    packed: int = 1
    walked: tuple[int, ...] = ()
    shares: bool = False


def launching(source: Any) -> dict[str, Any]:
    """The fields of `Launching` that a plan or a compiled kernel has."""
    return {field.name: getattr(source, field.name) for field in fields(Launching)}


@dataclass(slots=True)
class MachinePlan:
    """How a kernel runs on the machine; each field is set by the pass that decides it.

    `warps` compute a block's tiles (0: not decided yet); a CTA has so many `teams` of them, which run blocks in turns.
    `cluster` CTAs run each block of a launch: the grid is so many times longer along its axis 0. `roles` is empty where
    all warps run the same code. `stages` holds the slots of each ring of shared memory. `occupancy` is the number of
    CTAs per SM for which registers must suffice (0: any). `split`: some loop became several, of which one lacks a
    branch or a mask; `early`: some MMA is outstanding for longer than in the order of the program; `deferred`: some
    loop carries partial results, which threads combine after it; `dependent`: it waits for the grids before it, so that
    it may be launched while they run; `falling`: blocks have fewer and fewer iterations along axis 0, and no order yet;
    `looped`: as many CTAs as fit the GPU loop over the blocks of a launch; `packed`: so many blocks, side by side along
    axis 0, have warps of their own in a CTA; `walked` and `shares`: as of `Launching`.
    """

    warps: int = 0
    teams: int = 1
    cluster: int = 1
    roles: tuple[Role, ...] = ()
    stages: tuple[int, ...] = ()
    occupancy: int = 0
    shared_bytes: int = 0
    split: bool = False
    early: bool = False
    deferred: bool = False
    dependent: bool = False
    falling: bool = False
    looped: bool = False
    packed: int = 1
    walked: tuple[int, ...] = ()
    shares: bool = False

    def role(self, name: str) -> Role | None:
        return next((role for role in self.roles if role.name == name), None)

    def first_warp(self, name: str) -> int:
        """The number of a role's first warp in the CTA: roles follow each other in this order."""
        number = [role.name for role in self.roles].index(name)
        return sum(role.warps for role in self.roles[:number])

    @property
    def all_warps(self) -> int:
        """The warps of a CTA, those of all roles."""
        return sum(role.warps for role in self.roles) or self.warps


@record
class Decision:
    """One decision, its value and why; `span` is the user's line that it is about."""

    name: str
    value: int | str
    reason: str = ""
    span: Span = NO_SPAN

    def __str__(self) -> str:
        return f"{self.name}: {self.value}" + (f" ({self.reason})" if self.reason else "")


RECORDS: dict[str, type[Any]] = {
    "aliases": Aliases, "hints": Hints, "switches": Switches, "limits": Limits, "plan": MachinePlan}
"""The records in the text form, by the attribute of a function that holds each."""


def settings(record: Any) -> dict[str, Any]:
    """The fields of a record that differ from their defaults."""
    default = type(record)()
    return {f.name: value for f in fields(record) if (value := getattr(record, f.name)) != getattr(default, f.name)}


def complaint(kind: type[Any], name: str, value: Any) -> str | None:
    """What is wrong with a value for a field of a record, None if nothing is."""
    types_ = _types(kind)
    if name not in types_:
        return f"there is no {name}, only {', '.join(types_)}"
    if not _fits(types_[name], value):
        return f"{name} cannot be {value!r}"
    # These numbers count things.
    if isinstance(value, int) and value < (name in ("cluster", "teams", "packed")):
        return f"{name} cannot be {value}"
    return None


def read(kind: type[Any], given: dict[str, Any]) -> Any:
    """The record of these fields, of which `complaint` has none."""
    if "roles" in given:
        given = {**given, "roles": tuple(Role(*role) for role in given["roles"])}
    return kind(**given)


def _types(kind: type[Any]) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _fits(type_: Any, value: Any) -> bool:
    """Whether a value of the text form has a field's type: int, bool, str, None, a tuple or a union of these."""
    if isinstance(type_, types.UnionType):
        return any(_fits(part, value) for part in typing.get_args(type_))
    if typing.get_origin(type_) is tuple:
        item = typing.get_args(type_)[0]
        return isinstance(value, tuple) and all(_fits(item, v) for v in value)
    if type_ is Role:
        wanted = [str, int, int | None]
        return isinstance(value, tuple) and len(value) in (2, 3) and all(map(_fits, wanted, value))
    if type_ is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, type_)
