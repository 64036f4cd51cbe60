"""Compile parsed functions into closures over register slots. What each opcode does stands in the tables of ops/."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping
from typing import cast

import numpy as np

from tilewright.backend_ptx.simulator.errors import Unsupported
from tilewright.backend_ptx.simulator.machine.code import Call, Code, CompiledFunction, Finish, Operation, Targets
from tilewright.backend_ptx.simulator.machine.state import Array, Machine, Registers, Value, merge
from tilewright.backend_ptx.simulator.machine.tracked_registers import guard, uses_mmas, watched
from tilewright.backend_ptx.simulator.text.instructions import TERMINATORS
from tilewright.backend_ptx.simulator.text.ir import (
    Bits,
    Block,
    Const,
    ConstExpr,
    Function,
    Global,
    LlvmInstruction,
    LlvmModule,
    Local,
    Operand,
)
from tilewright.backend_ptx.simulator.text.types import (
    I1,
    Struct,
    Type,
    VectorType,
    bits_of,
    numpy_type,
)

Build = Callable[["FunctionCompiler", LlvmInstruction], Operation]
POISON = 0xA5A5A5A5A5A5A5A5


class OperationTable(dict[str, Build]):
    """How to compile instructions, by opcode."""

    def define(self, *opcodes: str) -> Callable[[Build], Build]:
        """Enter the decorated function for these opcodes."""

        def register(build: Build) -> Build:
            self.update(dict.fromkeys(opcodes, build))
            return build

        return register


def constant(t: Type, bits: Bits) -> Value:
    """The value of a constant, with a first axis of 1."""
    if isinstance(t, Struct):
        members = bits if isinstance(bits, tuple) else (None,) * len(t.elems)
        return tuple(constant(e, b) for e, b in zip(t.elems, members, strict=True))
    if isinstance(t, VectorType):
        lanes = bits if isinstance(bits, tuple) else (None,) * t.count
        return np.concatenate([_scalar(t.elem, b) for b in lanes])[None, :] if t.count else None
    return _scalar(t, bits)


def _scalar(t: Type, bits: Bits) -> Array:
    number = POISON if bits is None else bits
    assert isinstance(number, int)
    if t == I1:
        return np.array([bool(number & 1)])
    width = bits_of(t)
    return np.array([number & ((1 << width) - 1)], f"u{width // 8}").view(numpy_type(t))


class ModuleCompiler:
    """Compiles functions on demand; knows the addresses of globals, [1] or [threads].

    `strict`: what gives poison is an error.
    """

    def __init__(
        self, module: LlvmModule, symbols: dict[str, Value], operations: Mapping[str, Build], strict: bool = True
    ) -> None:
        self.module = module
        self.strict = strict
        self.symbols = symbols
        self.operations = operations
        self.local_size = 0
        self.watches_registers = uses_mmas(module)
        self._done: dict[str, CompiledFunction] = {}

    def function(self, name: str) -> CompiledFunction:
        if name not in self._done:
            source = self.module.functions[name]
            compiled = CompiledFunction(name, [], [], [])
            self._done[name] = compiled  # before its body, which may call it
            FunctionCompiler(self, source, compiled).compile()
        return self._done[name]

    def alloca(self, size: int, align: int) -> int:
        """Offset of a new piece of each thread's local memory."""
        offset = -(-self.local_size // align) * align
        self.local_size = offset + size
        return offset


class FunctionCompiler:
    """Compiles one function."""

    def __init__(self, parent: ModuleCompiler, source: Function, out: CompiledFunction) -> None:
        self.parent, self.source, self.out, self.strict = parent, source, out, parent.strict
        words = source.attributes.split()
        attributes = source.attributes + "".join(parent.module.attributes.get(w, "") for w in _groups(words))
        self.ftz = '"denormal-fp-math-f32"="preserve-sign' in attributes.replace(" ", "")
        self._slots: dict[str, int] = {}
        self._constants: dict[Operand, int] = {}
        self.uses: Counter[str] = Counter()
        self.defined: dict[str, LlvmInstruction] = {}
        self.watch: frozenset[str] = frozenset()  # registers that wgmma takes

    # ---- slots ----

    def _new(self, value: Value = None) -> int:
        self.out.registers.append(value)
        return len(self.out.registers) - 1

    def slot(self, operand: Operand) -> int:
        """The register that holds an operand; constants get one with their value in it."""
        if isinstance(operand, Local):
            return self.name(operand.name)
        found = self._constants.get(operand) if not isinstance(operand, ConstExpr) else None
        if found is None:
            found = self._new(self._value(operand))
            if not isinstance(operand, ConstExpr):
                self._constants[operand] = found
        return found

    def name(self, name: str) -> int:
        if name not in self._slots:
            self._slots[name] = self._new()
        return self._slots[name]

    def _value(self, operand: Operand) -> Value:
        if isinstance(operand, Const):
            return constant(operand.type, operand.bits)
        if isinstance(operand, Global):
            if operand.name not in self.parent.symbols:
                raise Unsupported(f"unknown global @{operand.name}")
            return self.parent.symbols[operand.name]
        assert isinstance(operand, ConstExpr)
        # A constant expression is an instruction on constants: run it once.
        inner = operand.instruction
        inner.result = f"const {id(inner)}"
        operation = self.parent.operations[inner.opcode](self, inner)
        slot = self.name(inner.result)
        operation(cast(Machine, _NoThreads()), self.out.registers)
        return self.out.registers[slot]

    def result(self, instruction: LlvmInstruction) -> int:
        assert instruction.result is not None
        return self.name(instruction.result)

    # ---- compiling ----

    def compile(self) -> None:
        for _, name in self.source.params:
            self.out.params.append(self.name(name))
        for block in self.source.blocks:
            for instruction in block.instructions:
                self.uses.update(o.name for o in instruction.operands if isinstance(o, Local))
                if instruction.result is not None:
                    self.defined[instruction.result] = instruction
        if self.parent.watches_registers:
            self.watch = watched(self.source, self.defined)
        index = {block.label: i for i, block in enumerate(self.source.blocks)}
        self.out.blocks.extend(Code(block.label) for block in self.source.blocks)
        for block, code in zip(self.source.blocks, self.out.blocks, strict=True):
            self._block(block, code, index)

    def _block(self, block: Block, code: Code, index: dict[str, int]) -> None:
        for instruction in block.instructions:
            if instruction.opcode == "phi":
                continue
            if instruction.opcode in TERMINATORS:
                code.finish = self._terminator(block, instruction, index)
                code.sources.append((instruction.line, instruction.text))
                return
            operation = self._operation(instruction)
            if operation is not None:
                code.operations.append(operation)
                code.sources.append((instruction.line, instruction.text))
        raise Unsupported(f"block {block.label} of {self.source.name} has no terminator")

    def _operation(self, instruction: LlvmInstruction) -> Operation | None:
        if instruction.opcode == "call" and instruction.extra["callee"] in self.parent.module.functions:
            return self._call(instruction)
        try:
            operation = self.parent.operations[instruction.opcode](self, instruction)
            if not self.parent.watches_registers:
                return operation
            return guard(instruction, [self.slot(o) for o in instruction.operands], operation, self.watch)
        except Unsupported as error:
            error.where, error.line = f"\n  at line {instruction.line}: {instruction.text}", instruction.line
            raise

    def _call(self, instruction: LlvmInstruction) -> Operation:
        callee = self.parent.function(instruction.extra["callee"])
        slots = [self.slot(o) for o in instruction.operands]
        result = None if instruction.result is None else self.result(instruction)

        def run(m: Machine, r: Registers) -> Call:
            return Call(callee, [r[s] for s in slots], result)

        return run

    # ---- control flow ----

    def _moves(self, block: Block, label: str) -> list[tuple[int, int]]:
        """(target, source) of the phis of `label` on the edge from `block`."""
        moves = []
        target = next(b for b in self.source.blocks if b.label == label)
        for instruction in target.instructions:
            if instruction.opcode != "phi":
                break
            if block.label not in instruction.extra["labels"]:
                raise Unsupported(f"phi %{instruction.result} has no value for the edge from {block.label}")
            at = instruction.extra["labels"].index(block.label)
            moves.append((self.result(instruction), self.slot(instruction.operands[at])))
        return moves

    def _terminator(self, block: Block, instruction: LlvmInstruction, index: dict[str, int]) -> Finish:
        labels = instruction.extra["labels"]
        edges = [(index[label], self._moves(block, label)) for label in labels]
        if instruction.opcode == "ret":
            return self._ret(instruction)
        if instruction.opcode == "unreachable":
            return _unreachable
        if instruction.opcode == "switch":
            cases = np.array(instruction.extra["cases"], numpy_type(instruction.operands[0].type))
            return _branch_many(self.slot(instruction.operands[0]), cases, edges)
        if len(edges) == 1:
            return _jump(*edges[0])
        return _branch(self.slot(instruction.operands[0]), edges)

    def _ret(self, instruction: LlvmInstruction) -> Finish:
        slot = self.slot(instruction.operands[0]) if instruction.operands else None

        def finish(m: Machine, r: Registers) -> Targets:
            if slot is not None:
                m.returned = r[slot]
            return []

        return finish


class _NoThreads:
    """Stands for the machine while a constant expression is evaluated."""

    @staticmethod
    def put(registers: Registers, slot: int, value: Value) -> None:
        registers[slot] = value


def _groups(words: list[str]) -> list[str]:
    """The attribute groups (#0) among the tokens of a function's tail."""
    return [f"#{b}" for a, b in itertools.pairwise(words) if a == "#"] + [w for w in words if w[0] == "#"]


def _take(r: Registers, moves: list[tuple[int, int]], mask: Array | None) -> None:
    """Perform the phi moves of an edge for the threads of `mask`, all at once."""
    values = [r[source] for _, source in moves]
    for (target, _), value in zip(moves, values, strict=True):
        old = r[target]
        r[target] = value if mask is None or old is None else merge(mask, value, old)


def _unreachable(m: Machine, r: Registers) -> Targets:
    raise Unsupported("reached `unreachable`")


def _jump(block: int, moves: list[tuple[int, int]]) -> Finish:
    def finish(m: Machine, r: Registers) -> Targets:
        _take(r, moves, m.mask)
        return [(block, m.mask)]

    return finish


def _branch(slot: int, edges: list[tuple[int, list[tuple[int, int]]]]) -> Finish:
    (then, then_moves), (other, other_moves) = edges

    def finish(m: Machine, r: Registers) -> Targets:
        condition = m.of_active(r[slot])
        if condition.all():
            _take(r, then_moves, m.mask)
            return [(then, m.mask)]
        if not condition.any():
            _take(r, other_moves, m.mask)
            return [(other, m.mask)]
        yes = np.zeros(m.threads, bool)
        yes[m.active[condition]] = True
        no = np.zeros(m.threads, bool)
        no[m.active[~condition]] = True
        _take(r, then_moves, yes)
        _take(r, other_moves, no)
        return [(then, yes), (other, no)]

    return finish


def _branch_many(slot: int, cases: Array, edges: list[tuple[int, list[tuple[int, int]]]]) -> Finish:
    def finish(m: Machine, r: Registers) -> Targets:
        value = m.of_active(r[slot])
        chosen = np.zeros(len(value), np.int64)
        for i, case in enumerate(cases):
            chosen[value == case] = i + 1
        targets: Targets = []
        for way in np.unique(chosen):
            mask = np.zeros(m.threads, bool)
            mask[m.active[chosen == way]] = True
            block, moves = edges[int(way)]
            _take(r, moves, mask)
            targets.append((block, None if mask.all() else mask))
        return targets

    return finish
