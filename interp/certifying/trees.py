"""In which order the elements behind a store are combined: the evidence of a certificate, read from the IR."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tilewright.interp.certifying.certificate import Tree
from tilewright.interp.certifying.slices import Code
from tilewright.tileir.analysis.determinism import what_order_changes
from tilewright.tileir.carried import carried
from tilewright.tileir.core import Op, Value
from tilewright.tileir.ops import arith, arrays, convert
from tilewright.tileir.ops.atomics import AtomicRmw
from tilewright.tileir.ops.control import For, While
from tilewright.tileir.ops.fold import Fold
from tilewright.tileir.ops.matmul import Mma, MmaScaled
from tilewright.tileir.ops.reduce import ArgReduction, ReduceProd, ReduceSum, Reduction
from tilewright.tileir.rules import RuleTable
from tilewright.tileir.tensor_cores import TensorCores
from tilewright.tileir.types import TileType

SHORT = 4  # a product of so small a K may be made by multiply-adds, which the tile's shape decides
Targets = Mapping[str, TensorCores]
Rule = Callable[[Any, Targets], Tree]
_TREES: RuleTable[Rule] = RuleTable("tree of a combination")


def trees(code: Code, stores: list[Any], targets: Targets) -> tuple[Tree, ...]:
    """Of all that a value of an array is combined of, in the order of the kernel."""
    behind = set(code.ops_behind(v for op in stores for v in op.operands))
    wanted = {v for op in stores for v in code.behind([*op.operands])}
    out: list[Tree] = []
    for op in code.function.walk():
        rule = _TREES.of(op)
        if op in stores and isinstance(op, AtomicRmw):
            out.append(_updates(op))
        elif rule is not None and op in behind:
            out.append(rule(op, targets))
        elif isinstance(op, For | While):
            out += _carried(code, op, wanted)
    return tuple(dict.fromkeys(out))


def _shape(value: Value) -> str:
    return "x".join(map(str, value.type.shape))


def _along(axes: tuple[int, ...]) -> str:
    return f"along {'axis' if len(axes) == 1 else 'axes'} {', '.join(map(str, axes))}"


@_TREES.register(Reduction)
def _reduction(op: Reduction, targets: Targets) -> Tree:
    axes = tuple(axis for axis in op.axes if op.src.type.shape[axis] > 1)
    what = f"{op.kind} of a {_shape(op.src)} tile {_along(axes or op.axes)}"
    if not axes or not op.src.type.dtype.is_float or not isinstance(op, ReduceSum | ReduceProd):
        return Tree(f"{what}: the same in any order", op.span)
    return Tree(f"{what}: one tree for each row, which the target chooses by the tile's shape", op.span, False,
                shared_out=True)


@_TREES.register(ArgReduction)
def _arg(op: ArgReduction, targets: Targets) -> Tree:
    return Tree(f"{op.opcode} of a {_shape(op.src)} tile {_along((op.axis,))}: the first of equal ones, in any order",
                op.span)


@_TREES.register(Fold)
def _fold(op: Fold, targets: Targets) -> Tree:
    exact = all(not v.type.dtype.is_float for v in op.srcs)
    return Tree(f"{op.opcode} of a {_shape(op.srcs[0])} tile {_along((op.axis,))}: elements in order, grouped as the "
                "target chooses by the tile's shape", op.span, exact, shared_out=not exact)


@_TREES.register(Mma, MmaScaled)
def _product(op: Any, targets: Targets) -> Tree:
    depth, dtype = op.a.type.shape[-1], op.a.type.dtype
    what = f"{op.opcode} of {_shape(op.a)} and {_shape(op.b)} {dtype.name} tiles"
    if not dtype.is_float:
        return Tree(f"{what}: the same in any order", op.span)
    if dtype.bitwidth >= 32 and dtype.name != "tfloat32":
        return Tree(f"{what}: {depth} products, one after the other in order of K", op.span, False,
                    f"{op.opcode} of {dtype.name}, K {depth}, one after the other")
    at_once: dict[int, list[str]] = {}
    for name, cores in targets.items():
        at_once.setdefault(cores.summation("", dtype, depth).together, []).append(name)
    of_targets = "; ".join(f"{n} at once on {', '.join(names)}" for n, names in at_once.items())
    return Tree(f"{what}: {depth} products in order of K{', ' * bool(of_targets)}{of_targets}", op.span, False,
                f"{op.opcode} of {dtype.name}, K {depth}, {of_targets}" if depth > SHORT else "")


def _updates(op: AtomicRmw) -> Tree:
    exact = what_order_changes(op) is None
    order = "the same in any order" if exact else "in the order in which blocks come"
    return Tree(f"atomic_{op.kind} of blocks: {order}", op.span)


def _carried(code: Code, op: For | While, wanted: set[Value]) -> Iterator[Tree]:
    """The values that a loop accumulates."""
    for group in carried(op):
        if len(group) < 3 or wanted.isdisjoint((group[1], group[-1])):
            continue
        given, handed = group[1], group[2]
        if given is handed or not _is_number(given) or given not in code.behind([handed]) or (
                isinstance(op, While) and given not in op.before.params):
            continue
        yield Tree(f"{given.hint or 'a value'}: {_turns(op)}", op.span if handed.op is None else handed.op.span)


def _is_number(value: Value) -> bool:
    return isinstance(value.type, TileType) and bool(value.type.dtype.is_float)


def _turns(op: For | While) -> str:
    if isinstance(op, While):
        return "one iteration of `while` after the other"
    step = text_of(op.step)
    first, variable = text_of(op.lower), op.loop.params[0].hint or "i"
    second = step if first == "0" else f"{first} + {step}"
    return f"in order of {variable} = {first}, {second}, ... below {text_of(op.upper)}"


_BETWEEN: dict[type[Op], str] = {arith.Add: " + ", arith.Sub: " - ", arith.Mul: " * ", arith.FloorDiv: " // ",
                                 arith.Mod: " % "}
_CALLS: dict[type[Op], str] = {arith.CeilDiv: "cdiv", arith.Min: "min", arith.Max: "max"}


def text_of(value: Value) -> str:
    """A scalar as a user would write it."""
    op: Any = value.op
    kind = type(op)
    if isinstance(op, arith.Constant):
        return str(op.value)
    if isinstance(op, arrays.Extent):
        return f"{op.array.hint or 'array'}.shape[{op.axis}]"
    if isinstance(op, arrays.BlockId | arrays.NumBlocks):
        return f"{'bid' if isinstance(op, arrays.BlockId) else 'num_blocks'}({op.axis})"
    if isinstance(op, convert.Cast | arrays.AssumeDivisible):
        return text_of(op.src)
    if kind in _CALLS:
        return f"{_CALLS[kind]}({text_of(op.lhs)}, {text_of(op.rhs)})"
    if kind in _BETWEEN:
        left, right = (f"({text_of(v)})" if type(v.op) in _BETWEEN else text_of(v) for v in (op.lhs, op.rhs))
        return f"{left}{_BETWEEN[kind]}{right}"
    return value.hint or "..."
