"""wgmma: D = A * B + D by the four warps of a warpgroup, asynchronously (PTX ISA, "Asynchronous Warpgroup Level").

Products come in thousands of forms, so `wgmma` makes them on demand, with A in shared memory or in registers. One
record holds several steps along k. B, and A in shared memory, are named by 64-bit descriptors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial

from tilewright.backend_ptx.instructions.record import Instruction, braced

M = 64
MAX_N = 256
MAX_PENDING = 7
A_REGISTERS = 4  # of 32 bits per thread and step
_INTEGER_N = frozenset((8, 16, 24, *range(32, MAX_N + 1, 16)))

_Record = partial(Instruction, reads=True, writes=True, convergent=True, sm=90, exact=True)


@dataclass(frozen=True)
class Kind:
    """Element types of a product, its depth per step, and the register that holds `per_register` accumulators."""

    k: int
    acc: str
    a: str
    b: str
    register: str = "float"
    per_register: int = 1
    ptx: int = 80

    @property
    def transposes(self) -> bool:
        """Whether the rows of an operand in shared memory may run along m or n: for 16-bit elements only."""
        return self.k == 16

    @property
    def integer(self) -> bool:
        return self.acc == "s32"

    def registers(self, n: int) -> int:
        """Registers per thread of an accumulator [64, n]."""
        return n // 2 // self.per_register


FENCE = "wgmma.fence.sync.aligned;"
KINDS: dict[str, Kind] = {"bf16": Kind(16, "f32", "bf16", "bf16"), "f16": Kind(16, "f32", "f16", "f16"),
                          "f16acc": Kind(16, "f16", "f16", "f16", "i32", 2), "tf32": Kind(8, "f32", "tf32", "tf32")}
for _a in ("e4m3", "e5m2"):
    for _b in ("e4m3", "e5m2"):
        KINDS[_a if _a == _b else f"{_a}.{_b}"] = Kind(32, "f32", _a, _b)
for _a in ("s8", "u8"):
    for _b in ("s8", "u8"):
        KINDS[_a if _a == _b else f"{_a}.{_b}"] = Kind(32, "s32", _a, _b, "i32", ptx=80 if _a == _b else 84)


def valid_n(n: int, kind: str) -> bool:
    """Whether there is an instruction for accumulators [64, n]."""
    return n in _INTEGER_N if KINDS[kind].integer else n % 8 == 0 and 8 <= n <= MAX_N


@cache
def wgmma(n: int, kind: str, a_trans: bool | None = False, b_trans: bool = False, steps: int = 1,
          fenced: bool = False) -> Instruction:
    """Accumulators [64, n] += A B, `steps` times. `fenced`: after a `wgmma.fence`, which orders it behind what wrote
    the registers that it takes.

    Operands: the accumulators (tied to the results), per step the descriptors of A and of B, then i32 scale_d (0: the
    first step ignores the accumulators). `trans`: rows of the operand in memory run along m (n), not along k; None: A
    is in registers, four i32 per step in place of its descriptor.
    """
    found = KINDS[kind]
    shared_a = a_trans is not None
    assert valid_n(n, kind), f"no wgmma of {kind} has n = {n}"
    assert found.transposes or not (a_trans or b_trans), f"wgmma of {kind} does not transpose"
    assert steps > 0
    a = ("i64",) if shared_a else ("i32",) * A_REGISTERS
    flags = [str(int(t)) for t in (a_trans, b_trans) if t is not None]
    accumulators = (found.register,) * found.registers(n)
    operands = []
    for first in range(len(accumulators), len(accumulators) + (len(a) + 1) * steps, len(a) + 1):
        operands.append(f"{f'${first}' if shared_a else braced(first, len(a))}, ${first + len(a)}")
    return _Record(
        f"wgmma.{'ss' if shared_a else 'rs'}.m{M}n{n}k{found.k}.{kind}.{''.join(flags)}.x{steps}{'.fenced' * fenced}",
        _steps(found, n, operands, flags, FENCE if fenced else ""),
        accumulators + (*a, "i64") * steps + ("i32",), accumulators, "wgmma",
        {"n": n, "kind": kind, "a_trans": bool(a_trans), "b_trans": b_trans, "steps": steps, "shared_a": shared_a,
         "fenced": fenced},
        tied={i: i for i in range(len(accumulators))}, ptx=found.ptx)


def _steps(kind: Kind, n: int, operands: list[str], flags: list[str], fence: str) -> str:
    """The assembly: one instruction per step, after a fence if there is one. The first obeys scale_d, which comes last;
    the others always add."""
    words = braced(0, kind.registers(n))
    head = f"wgmma.mma_async.sync.aligned.m{M}n{n}k{kind.k}.{kind.acc}.{kind.a}.{kind.b} {words}, "
    transposes = ", ".join(["", *flags]) if kind.transposes else ""
    tail = ";" if kind.integer else f", 1, 1{transposes};"
    lines = [f"{head}{o}, {'p' if i == 0 else '1'}{tail}" for i, o in enumerate(operands)]
    scale = int(operands[-1].rpartition("$")[2]) + 1
    return " ".join([f"{{ .reg .pred p; setp.ne.b32 p, ${scale}, 0;", *filter(None, (fence, *lines)), "}"])


@cache
def wgmma_wait_tied(pending: int, floats: int, words: int = 0) -> Instruction:
    """`wgmma.wait.{pending}` with some floats and then some i32 passing through: accumulators (or A in registers) that
    products in flight own until this wait, so that LLVM moves none of their readers or writers over it."""
    types = ("float",) * floats + ("i32",) * words
    name = f"wgmma.wait.{pending}" + (f".tied.{floats}.{words}" if types else "")
    return _Record(name, f"wgmma.wait_group.sync.aligned {pending};", types, types, "wgmma_wait", {"pending": pending},
                   tied={i: i for i in range(len(types))}, ptx=80)


def records() -> Iterator[Instruction]:
    """The forms without registers; the others are made on demand."""
    yield _Record("wgmma.fence", FENCE, (), (), "wgmma_fence", ptx=80)
    yield _Record("wgmma.commit", "wgmma.commit_group.sync.aligned;", (), (), "wgmma_commit", ptx=80)
    for pending in range(MAX_PENDING + 1):
        yield wgmma_wait_tied(pending, 0)
