"""What all blocks of a launch share: the grid, the extents of arrays, scalar arguments."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from tilewright.interp.proving.solver import Formula, z3
from tilewright.tileir.analysis.effects import Dependences
from tilewright.tileir.analysis.facts import Facts, facts
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.arrays import BlockId, ListItem
from tilewright.tileir.types import ArrayType

AXES = 3


class World:
    """The function, and a symbol for everything that a launch chooses."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.abstract = False
        self.grid = [z3().Int(f"grid[{axis}]") for axis in range(AXES)]
        self._symbols: dict[Any, Formula] = {}
        self._limits: list[Formula] = []

    @cached_property
    def facts(self) -> Facts:
        return facts(self.function)

    @cached_property
    def dependences(self) -> Dependences:
        return Dependences(self.function)

    @cached_property
    def enclosing(self) -> dict[Op, tuple[tuple[Op, Block], ...]]:
        """The structured ops around each op, outermost first, each with the body that the op is in."""
        out: dict[Op, tuple[tuple[Op, Block], ...]] = {}

        def visit(block: Block, around: tuple[tuple[Op, Block], ...]) -> None:
            for op in block.ops:
                out[op] = around
                for inner in op.blocks:
                    visit(inner, (*around, (op, inner)))

        visit(self.function.body, ())
        return out

    @cached_property
    def bodies(self) -> dict[Value, tuple[Op, Block, int]]:
        """For each parameter of a body: the structured op, the body, and the parameter's position."""
        return {param: (op, block, position) for op in self.function.walk() for block in op.blocks
                for position, param in enumerate(block.params)}

    @cached_property
    def asked_axes(self) -> frozenset[int]:
        """The axes of the grid whose block number the kernel asks for."""
        return frozenset(op.axis for op in self.function.walk() if isinstance(op, BlockId))

    def name(self, value: Value) -> str:
        op = value.op
        if isinstance(op, ListItem) and isinstance(op.index.op, Constant):
            return f"{self.name(op.list)}[{op.index.op.value}]"
        return value.hint or "?"

    def is_chosen(self, array: Value) -> bool:
        """Whether a launch chooses the array's extents: an argument, or an item of a list."""
        return array in self.function.params or isinstance(array.op, ListItem)

    def chosen_array(self, array: Value) -> Any:
        """What stands for the array: items of one list at the same constant position are the same."""
        op = array.op
        if isinstance(op, ListItem) and isinstance(op.index.op, Constant):
            return op.list, op.index.op.value
        return array

    def extent(self, array: Value, axis: int) -> Formula:
        """The extent of an array that is an argument, or of one that is not followed to an argument."""
        type_: ArrayType = array.type
        known = type_.extents[axis]
        if known is not None:
            return z3().IntVal(known)
        key = self.chosen_array(array), axis
        if key not in self._symbols:
            symbol = self._symbols[key] = z3().Int(f"{self.name(array)}.shape[{axis}]")
            self._limits += [symbol >= 1, symbol < 2**31]
            if type_.extent_div[axis] > 1:
                self._limits.append(symbol % type_.extent_div[axis] == 0)
        return self._symbols[key]

    def scalar(self, param: Value) -> Formula:
        """An integer or bool argument."""
        if param not in self._symbols:
            dtype = param.type.dtype
            make = z3().Bool if dtype.is_bool else z3().Int
            symbol = self._symbols[param] = make(self.name(param))
            if not dtype.is_bool:
                low, high = dtype.int_range
                self._limits += [low <= symbol, symbol <= high]
        return self._symbols[param]

    def product(self, a: Formula, b: Formula) -> Formula:
        """Their product; while `abstract`, of two unknowns a function of them of which only that is known. What then
        cannot be cannot be with real products either, and z3 sees it at once."""
        if not self.abstract or z3().is_int_value(a) or z3().is_int_value(b):
            return a * b
        integer = z3().IntSort()
        return z3().Function("product", integer, integer, integer)(a, b)

    @property
    def limits(self) -> list[Formula]:
        """What holds in every launch: at least one block along each axis, arrays that are not empty."""
        return [*(size >= 1 for size in self.grid), *(size < 2**31 for size in self.grid), *self._limits]

    @property
    def sizes(self) -> list[Formula]:
        """What a counterexample should keep small."""
        extents = [symbol for key, symbol in self._symbols.items() if isinstance(key, tuple)]
        return [*self.grid, *extents]

    def chosen(self) -> dict[str, Formula]:
        """Everything that a launch chooses, by the user's names."""
        named = {f"{self.name(key)}": symbol for key, symbol in self._symbols.items() if not isinstance(key, tuple)}
        return {str(symbol): symbol for symbol in self.sizes} | named
