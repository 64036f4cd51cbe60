"""Predicated loads and stores of global and shared memory, and atomic operations.

LLVM's own load and store are used where no predicate is needed; its masked intrinsics abort in NVPTX, and a branch
per access costs compile time.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tilewright.backend_ptx.instructions.record import Instruction, braced
from tilewright.backend_ptx.llvm.builder import ADDRESS, COPY_ADDRESS
from tilewright.backend_ptx.llvm.constants import BITS

# Bytes of an element -> the LLVM type of its register (PTX has no 8-bit registers).
REGISTER_TYPE = {1: "i16", 2: "i16", 4: "i32", 8: "i64"}
# The same of a predicated load: ptxas merges one into a 16-bit register with its other half, by an instruction more.
LOADED_TYPE = {**REGISTER_TYPE, 2: "i32"}
# Global addresses are pointers, shared addresses 32-bit numbers.
_ADDRESS = {"global": ADDRESS, "shared": "i32"}
MAX_BYTES = 16
PASSING = ".cs"  # what is loaded is the first to leave the caches

SEMANTICS = ("relaxed", "acquire", "release", "acq_rel")
SCOPES = ("cta", "gpu", "sys")
# operation -> PTX types; the type decides the register.
_ATOMIC_TYPES = {"add": ("u32", "u64", "f32", "f64", "noftz.f16", "noftz.bf16"),
                 "min": ("s32", "u32", "s64", "u64"), "max": ("s32", "u32", "s64", "u64"),
                 "and": ("b32", "b64"), "or": ("b32", "b64"), "xor": ("b32", "b64"),
                 "exch": ("b32", "b64"), "cas": ("b16", "b32", "b64")}
_ATOMIC_REGISTER = {"u32": "i32", "s32": "i32", "b32": "i32", "u64": "i64", "s64": "i64", "b64": "i64", "b16": "i16",
                    "f32": "float", "f64": "double", "noftz.f16": "i16", "noftz.bf16": "i16"}


def _lanes(first: int, count: int) -> str:
    return f"${first}" if count == 1 else braced(first, count)


def width_name(size: int, count: int) -> str:
    """How an access of `count` elements of `size` bytes is named."""
    return f"{f'v{count}.' if count > 1 else ''}b{size * 8}"


def _load(space: str, size: int, count: int, path: str = "", **order: str) -> Instruction:
    """Operands: address, predicate, then the padding of each lane, which the result keeps where it is false. `order`:
    the semantics and scope of a load with a memory order, which nothing may move over."""
    kind = LOADED_TYPE[size]
    name = f"{'.'.join(('ld', *order.values()))}.{space}{path}.{width_name(size, count)}"
    return Instruction(
        name, f"@${count + 1} {name} {_lanes(0, count)}, [${count}];", (_ADDRESS[space], "i1", *[kind] * count),
        (kind,) * count, "load", {"space": space, "size": size, "count": count, **order},
        tied={2 + i: i for i in range(count)}, reads=True, writes=bool(order))


def _store(space: str, size: int, count: int, **order: str) -> Instruction:
    """Operands: address, predicate, then the lanes. `order`: as of a load."""
    name = f"{'.'.join(('st', *order.values()))}.{space}.{width_name(size, count)}"
    return Instruction(
        name, f"@$1 {name} [$0], {_lanes(2, count)};", (_ADDRESS[space], "i1", *[REGISTER_TYPE[size]] * count), (),
        "store", {"space": space, "size": size, "count": count, **order}, writes=True)


def _atomic(op: str, kind: str, semantics: str, scope: str, space: str = "global") -> Instruction:
    """Operands: address, predicate, what is returned where it is false, value (cas: expected, then new)."""
    register = _ATOMIC_REGISTER[kind]
    values = 2 if op == "cas" else 1
    needs = (90, 78) if "bf16" in kind else (80, 70)
    return Instruction(
        f"atom.{op}.{kind}.{semantics}.{scope}{'' if space == 'global' else '.' + space}",
        f"@$2 atom.{semantics}.{scope}.{space}.{op}.{kind} $0, [$1], {', '.join(f'${3 + i}' for i in range(values))};",
        (_ADDRESS[space], "i1", register, *[register] * values), (register,), "atomic",
        {"op": op, "kind": kind, "semantics": semantics, "scope": scope, "space": space}, tied={2: 0}, reads=True,
        writes=True, sm=needs[0], ptx=needs[1])


def _reduction(kind: str, scope: str, size: int, count: int) -> Instruction:
    """An addition that returns nothing, to one element or, from sm_90 on, to those of a vector. Operands: address,
    predicate, then registers of `size` bytes: two elements of 16 bits share one."""
    flush, element = "noftz." * ("noftz" in kind), kind.removeprefix("noftz.")
    packed = "x2" * (flush != "" and size == 4)
    vector = f"v{count}." if count > 1 else ""
    needs = (90, 81) if vector else (90, 78) if "bf16" in kind else (80, 70)
    return Instruction(
        f"red.add.{kind}.relaxed.{scope}.{width_name(size, count)}",
        f"@$1 red.relaxed.{scope}.global.add.{flush}{vector}{element}{packed} [$0], {_lanes(2, count)};",
        (ADDRESS, "i1", *[REGISTER_TYPE[size]] * count), (), "reduction",
        {"kind": kind, "scope": scope}, reads=True, writes=True, sm=needs[0], ptx=needs[1])


# Bytes of an element and number of elements of the accesses that there are.
_WIDTHS = tuple((size, count) for size in (1, 2, 4, 8) for count in (1, 2, 4) if size * count <= MAX_BYTES)


def records() -> Iterator[Instruction]:
    # What the builder writes for a base that LLVM shall not see through (`Builder.gep`).
    yield Instruction("mov.address", COPY_ADDRESS, (ADDRESS,), (ADDRESS,), "copy")
    # A number that LLVM shall not know.
    yield Instruction("mov.number", "mov.b32 $0, $1;", ("float",), ("float",), "copy")
    # A division that stays where it is: LLVM would sink one below a loop if only the store behind it needs the result.
    yield Instruction("div.u32", "div.u32 $0, $1, $2;", ("i32", "i32"), ("i32",), "divide", ordered=True)
    # Both halves of a product: LLVM would make an instruction of each.
    yield Instruction("mul.wide.u32", "mul.wide.u32 $0, $1, $2;", ("i32", "i32"), ("i64",), "wide_product")
    for space in ("global", "shared"):
        for size, count in _WIDTHS:
            yield _load(space, size, count)
            yield _store(space, size, count)
    # ".nc": the read-only path, for arrays that nothing writes while the kernel runs.
    for (size, count), path in product(_WIDTHS, (".nc", PASSING, f"{PASSING}.nc")):
        yield _load("global", size, count, path)
    for size, scope in product((1, 2, 4, 8), SCOPES):
        for semantics in ("relaxed", "acquire"):
            yield _load("global", size, 1, semantics=semantics, scope=scope)
        for semantics in ("relaxed", "release"):
            yield _store("global", size, 1, semantics=semantics, scope=scope)
    for op, kinds in _ATOMIC_TYPES.items():
        for kind, semantics, scope in product(kinds, SEMANTICS, SCOPES):
            yield _atomic(op, kind, semantics, scope)
    yield _atomic("add", "u32", "relaxed", "cta", "shared")
    for kind, scope in product(_ATOMIC_TYPES["add"], SCOPES):
        own, wide = BITS[_ATOMIC_REGISTER[kind]] // 8, (1, 2, 4) if "16" in kind else (2, 4) if kind == "f32" else ()
        for size, count in ((own, 1), *((4, count) for count in wide)):
            yield _reduction(kind, scope, size, count)
