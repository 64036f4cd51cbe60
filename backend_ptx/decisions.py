"""The words of every decision of the backend: one function each, which passes call with numbers and names.

`tilewright decisions` prints these, dumps show them in front of the ops.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tilewright.backend_ptx.targets import KIB
from tilewright.tileir.diagnostics import Span
from tilewright.tileir.plan import Decision, Role

# ---- warps ------------------------------------------------------------------------------------------------------


def num_warps(count: int, why: str) -> Decision:
    """`why` is one of the reasons below."""
    return Decision("num_warps", count, why)


WARPS_ASKED = "as num_worker_warps asks"
WARPS_OF_TWO = "two CTAs share an SM: threads compute with accumulators for as long as tensor cores multiply"
WARPS_OF_LADDER = "the ladder of plans asks for it"
NO_TILES = "no tiles"
LIVE_TILES = "tiles of {} bytes are live together: {} in each thread"


def warps_by_vectors(elements: int, width: int, vector: int) -> str:
    return f"{_largest(elements, width)}: a vector of {vector} bytes for each thread"


def warps_by_bytes(elements: int, width: int, each: int, reduces: bool) -> str:
    return f"{_largest(elements, width)}{', and a reduction' if reduces else ''}: {each} bytes in each thread"


def warps_by_accumulators(count: int, words: int, held: bool, each: int) -> str:
    what = "an accumulator takes" if count == 1 else f"{count} accumulators take"
    return f"{what}{', with tiles held beside,' if held else ''} {words} registers: {each} in each thread"


def _largest(elements: int, width: int) -> str:
    return f"the largest tile has {elements} elements of {width} bytes"


# ---- matrix multiplies ------------------------------------------------------------------------------------------


def multiply_adds(sizes: Sequence[int], why: str, span: Span) -> Decision:
    """An MMA by multiply-adds of each thread, not by tensor cores."""
    return Decision("multiply_adds", "x".join(map(str, sizes)), why, span)


FEWER_CYCLES = "{:.0f} cycles, {:.0f} by {}"
FLOAT32_OPERANDS = "float32 operands, which tensor cores would round to tfloat32"


# ---- block-scaled multiplies ------------------------------------------------------------------------------------


def scaled_by_instruction(name: str, span: Span) -> Decision:
    return Decision("scales", "applied by the MMA", name, span)


def scaled_operands(exact: bool, why: str, span: Span) -> Decision:
    """`exact`: whatever the operands are."""
    range_ = "exact" if exact else "exact from 2**-133 on"
    return Decision("scales", f"multiplied into bfloat16 operands, {range_}", why, span)


def no_block_scaled_mma(target: str, name: str, shape: tuple[int, int, int] | None) -> str:
    """`shape`: of the instruction, where the target has it."""
    return f"{target} has no {name}" if shape is None else "a tile below the m{}n{}k{} of {}".format(*shape, name)


# ---- clusters ---------------------------------------------------------------------------------------------------


CTAS_ASKED = "as num_ctas asks"
REGISTERS_DO_NOT_HOLD = "the registers of one CTA do not hold its tiles"
FIT = "so that {} CTAs with rings of the loop's rows fit an SM"


def cluster(ctas: int, why: str) -> Decision:
    return Decision("cluster", ctas, why)


def no_cluster(why: str) -> Decision:
    return Decision("cluster", 1, f"num_ctas has no effect: {why}")


def multicast(names: Iterable[str], ctas: int) -> Decision:
    return Decision("rings", f"{_and(names)} shared by {ctas} CTAs", "TMA multicast")


# ---- blocks -----------------------------------------------------------------------------------------------------


def longest_first(axis: int) -> Decision:
    return Decision("block_order", f"from the last block of axis {axis}", "later blocks have more iterations")


def together(first: int, size: int | None, second: int | None, share: float | None) -> Decision:
    """`share`: of the bytes that blocks that run together would read and write in the order of numbers; None where the
    longest blocks come first instead."""
    if share is None:
        how = f"those of axis {first} that run at once, along axis {second}"
        return Decision("block_order", how, "the longest first")
    how = f"axis {first} fastest" if second is None else f"about {size} of axis {first} at a time, along axis {second}"
    return Decision("block_order", how, f"blocks that run together move {share:.2f} of the bytes")


# CTAs that run several blocks, one after another; teams of warps that run blocks in turns.
LOOPED = Decision("block_loop", "as many CTAs as fit the GPU", "a block's first tiles come while the last is stored")
LOOPED_BY_LENGTH = Decision("block_loop", "as many CTAs as fit the GPU, each with long and short blocks",
                            "a block's first tiles come while the last is stored")
LOOPED_TO_COUNT = Decision("block_loop", "as many CTAs as fit the GPU", "each adds what its blocks count once")
WALKED = Decision("block_walk", "one for every few tiles where these are many", "SMs that have time take more of them")
SHARED = Decision("shared_loop", "by the CTAs of clusters in launches of few blocks", "most SMs would be idle")
TEAMS = Decision("ping_pong", "two teams of warps run a block each", "one stores its block while the other multiplies")


def packed(blocks: int) -> Decision:
    """Several blocks, each with warps of its own, in a CTA."""
    return Decision("block_pack", f"{blocks} in each CTA", "they are short, and SMs start few CTAs at a time")


# ---- grids ------------------------------------------------------------------------------------------------------


def waits_for_grids(opcode: str | None, span: Span) -> Decision:
    """`opcode` and `span`: of the first access to memory that other launches see; None: there is none."""
    where = f"before the {opcode}, the first access to what they may use" if opcode else "at its end: it has no access"
    return Decision("dependent_launch", "waits for earlier grids", where, span)


def no_grid_control(target: str) -> Decision:
    return Decision("dependent_launch", "no effect", f"{target} has no griddepcontrol")


# ---- loops ------------------------------------------------------------------------------------------------------


def loop_split(conditions: Sequence[str], span: Span) -> Decision:
    """`conditions`: the comparisons that one part of the loop is without."""
    return Decision("loops", "split", f"one part has {_and(conditions)}", span)


def settled(span: Span, name: str, value: bool) -> str:
    """A comparison that is the same for all elements, in all iterations of a part of a loop."""
    where = f"of line {span.line}" if span.line else f"%{name}" if name else ""
    return " ".join(filter(None, ("the condition", where, f"always {str(value).lower()}")))


# ---- software pipelining ----------------------------------------------------------------------------------------


def rings(slots: Sequence[int], room: int, each: int) -> Decision:
    return Decision("rings", f"{_and(map(str, slots))} slots", f"{kib(room)} free, {kib(each)} for one of each")


def no_rings(room: int, each: int) -> Decision:
    return Decision("rings", "no ring", f"two slots of {kib(each)} do not fit {kib(room)}")


def stays(ring: str, name: str, what: str, why: str, span: Span) -> Decision:
    """`ring`: "rings" for those that a producer fills by TMA, "pipeline" for those that threads fill by cp.async.
    `what`: "load" or "gather"."""
    return Decision(ring, f"{name} stays a {what}", why, span)


def pipeline(names: Sequence[tuple[str, bool]], stages: int, each: int, why: str, span: Span) -> Decision:
    """`names`: the loads, and whether threads read what others copied."""
    loads = _and(name if exchanged else f"{name} (each thread its own part)" for name, exchanged in names)
    return Decision("pipeline", f"{loads} in {stages} slots of {kib(each)}", why, span)


def no_pipeline(why: str, span: Span) -> Decision:
    return Decision("pipeline", "no ring", why, span)


def depth(asked: int | None, iterations: int | None, room: int | None, ctas: int) -> str:
    """What decides the number of slots: the hint `latency`, the trip count, or the memory of each CTA."""
    if room is not None:
        why = f"{kib(room)} for each CTA"
    elif iterations is not None:
        why = f"{iterations} iterations at most"
    else:
        why = "enough to hide latency" if asked is None else f"as latency={asked} asks"
    return f"{why}, {_ctas(ctas)} per SM"


def slots_do_not_fit(count: int, room: int) -> str:
    return f"{'two' if count == 2 else count} slots do not fit {kib(room)}"


RUNS_ONCE = "the loop runs at most once"
TOO_LITTLE = "too little to load in each iteration"
BOUNDS_OVERFLOW = "the loop's trip count may overflow"


def staged(slots: int, each: int, span: Span) -> Decision:
    return Decision("staged", f"{slots} slots of {kib(each)}", "", span)


def roles(found: Sequence[Role]) -> Decision:
    told = [f"{role.warps} {role.name} warp{'s' if role.warps > 1 else ''}"
            + ("" if role.registers is None else f" with {role.registers} registers per thread") for role in found]
    return Decision("roles", ", ".join(told))


# ---- registers --------------------------------------------------------------------------------------------------


def rematerialized(size: int, before: tuple[int, int], after: tuple[int, int],
                   kept: Iterable[tuple[int, str]]) -> Decision:
    """`before` and `after`: occupancy (0: registers spill) and registers per thread. `kept`: how many registers of
    which value stay live."""
    was = f"occupancy {before[0]}" if before[0] else "spills"
    return Decision(
        "rematerialized", f"{kib(size)} from shared memory",
        f"{was} -> {_ctas(after[0])} per SM, {before[1]} -> {after[1]} registers per thread"
        + "".join(f"; {count} registers of {name or 'what is computed'} stay" for count, name in kept))


# ---- pipes ------------------------------------------------------------------------------------------------------


def initiation_interval(cycles: Mapping[str, float], binding: str, span: Span) -> Decision:
    """`cycles` of each pipe in an iteration of one CTA; those of the `binding` pipe are a lower bound of the initiation
    interval."""
    others = sorted((pipe for pipe in cycles if pipe != binding and cycles[pipe] >= 1), key=lambda pipe: -cycles[pipe])
    return Decision(
        "initiation_interval", f"at least {cycles[binding]:.0f} cycles",
        ", ".join([f"bound by the {binding}", *(f"{pipe} {cycles[pipe]:.0f}" for pipe in others)]), span)


# ---- the ladder of plans ----------------------------------------------------------------------------------------


def rung(words: str) -> Decision:
    """One step down the ladder: what was lowered, and why."""
    what, _, why = words.partition(": ")
    return Decision("ladder", what, why)


TOO_MUCH_SHARED = "{} of shared memory too much"


# ---- stores, ping-pong ------------------------------------------------------------------------------------------


def tma_store(name: str, box: Sequence[int], each_warp: bool, span: Span) -> Decision:
    size = "x".join(map(str, box))
    return Decision("stores", f"{name} by TMA", f"{size} at a time{' from each warp' if each_warp else ''}", span)


def thread_store(name: str, why: str, span: Span) -> Decision:
    return Decision("stores", f"{name} by threads", why, span)


def epilogue(names: Sequence[str], shape: Sequence[int], ahead: int, count: int, span: Span) -> Decision:
    parts = f"{' and '.join(names)} in sub-tiles of {'x'.join(map(str, shape))}"
    return Decision("epilogue", parts, f"registers hold {ahead} of {count} beside the one that is stored", span)


def early_mmas(carried: int) -> Decision:
    kept = f", {carried} outstanding into the next iteration" if carried else ""
    return Decision("mmas", f"started early{kept}", "what does not need their results runs meanwhile")


STEPWISE_MMAS = Decision("mmas", "started part by part", "parts of the last iteration run while words of A are written")


PING_PONG = Decision("ping_pong", "two warpgroups alternate", "one multiplies while the other computes")


# Reasons with numbers or names in their gaps are filled in by `format`.

# ---- why not: clusters ------------------------------------------------------------------------------------------

NOTHING_TO_SHARE = "there is no matrix multiply, whose operands CTAs could share, and no reduction"
NOT_BY_WARPGROUPS = "a matrix multiply does not use wgmma, the only instruction that reads operands shared by a cluster"
NO_CLUSTERS = "{} has no clusters"
NO_SHARED_OPERANDS = "{} has no instruction that multiplies operands shared by a cluster"
ACCUMULATORS_TOO_SMALL = "{} sub-tiles of an accumulator would be too small for wgmma"
TILES_TOO_SMALL = "tiles are too small for {} sub-tiles"
TOO_MUCH_TO_EXCHANGE = "CTAs would exchange {} elements"
NEEDS_WHOLE_TILE = "{} in line {} needs the whole tile"
CUT_ALONG_TWO_AXES = "{} would have to be cut along two axes"
ORDERS_WHOLE_BLOCK = "the {} in line {} orders all accesses of its block"
ACCESSED_IN_TWO_WAYS = "{} is also accessed in another way than by the {} in line {}"


# ---- why not: TMA -----------------------------------------------------------------------------------------------

ALLOW_TMA_FALSE = "allow_tma=False"
NO_PARAMETER = "its array is no parameter, nor an entry of a list, nor a slice of these"
OLD_DRIVER = "the driver is too old for tensor maps of a list's arrays"
SLICED_ALONG_ROWS = "its array is sliced along the axis along which its elements are contiguous"
BEFORE_SLICE = "its tiles may begin before the slice and overlap"
ORDERED_ACCESSES = "the kernel orders memory accesses"
ACCESSED_ELSEWHERE = "the kernel accesses the array elsewhere"
DIFFERENT_TILES = "the array is stored in different tiles"
HELD_BY_SEVERAL_WARPS = "several warps hold the same elements"
NO_SHARED_MEMORY_LEFT = "other tiles leave no shared memory"
LONG_INDEX = "its array is indexed with int64"
NOT_SIDE_BY_SIDE = "its elements are not contiguous in memory"
AXES_MAY_OVERLAP = "its array's axes may overlap"
RANK_OF_TENSOR_MAPS = "a tile has {} axes, a tensor map 1 to {}"
SHORT_ROWS = "rows of {} bytes, below {}"
SMALL_TILE = "a tile of {} bytes, below {}"
UNALIGNED_START = "its array is not known to start at a multiple of {} bytes"
UNALIGNED_STEPS = "its tiles begin at multiples of {} bytes along rows, not of {}"
UNALIGNED_STRIDE = "the stride of axis {} is not known to be a multiple of {} bytes"


# ---- why not: software pipelining -------------------------------------------------------------------------------

ONE_ELEMENT = "one element"
LATENCY_ONE = "latency=1"
MEMORY_ORDER = "its memory order"
KERNEL_WRITES = "the kernel writes its array, or waits for others that may"
LOOP_WRITES = "the loop writes its array"
ARRAY_CHANGES = "its array changes in the loop"
WHILE_CONDITION = "it is in the condition of a while loop"
PLACE_FROM_THREADS = "its address depends on what other threads compute"
RUNS_FROM_THREADS = "whether its iteration executes depends on what other threads compute"
INDEX_TOO_LATE = "its index is not known early enough"
FETCHED_FOR_ITSELF = "its index comes from an array, and each thread needs its own part"
INDEX_CARRIED = "its index is carried from one iteration to the next"
SAME_TILE = "the same tile in every iteration"
SEVERAL_THREADS = "several threads need the same elements"
NOT_KNOWN_SIDE_BY_SIDE = "its elements are not known to be contiguous"
ITERATION_TOO_LATE = "whether its iteration executes is not known early enough"
MASK_ENDS_BETWEEN = "its mask may end within a vector"
PADDING = "padding {}"
FEW_BYTES = "only {} bytes"
FEW_BYTES_SIDE_BY_SIDE = "only {} contiguous bytes"


# ---- numbers and names ------------------------------------------------------------------------------------------

# What has no name in the kernel.
A_LOAD, AN_OPERAND, AN_ARRAY, A_TILE = "a load", "an operand", "an array", "a tile"


def kib(size: int) -> str:
    return f"{size / KIB:g} KiB"


def _ctas(count: int) -> str:
    return f"{count} CTA{'s' if count != 1 else ''}"


def _and(names: Iterable[str]) -> str:
    return " and ".join(names)
