"""Asynchrony is data: outside the places that declare an asynchronous op, or say what it means, none is asked for.

Passes read effects (which engine an op starts or waits for, in which space, for which role) and the records of matrix
units. A question by class would leave out the next engine; the made-up unit of test_made_up_unit.py shows that none is
left on its way, and this file that none comes back.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tilewright.backend_ptx.ops  # noqa: F401
from tilewright.backend_ptx.ops.matmul import Product
from tilewright.tileir.core import Op
from tilewright.tileir.parser import parse
from tilewright.tileir.passes.pipeline import run_pipeline

ROOT = Path(__file__).parents[2]
FOLDERS = ("backend_ptx", "tileir", "frontend", "interp", "dsl")
# The declarations, the rule tables (one rule for each op), and the simulator, which knows instructions and no ops.
EXEMPT = ("backend_ptx/ops", "backend_ptx/lower", "backend_ptx/simulator", "interp/handlers")
WGMMA_FILES = 5


def classes(cls: type[Op] = Op) -> Iterator[type[Op]]:
    for below in cls.__subclasses__():
        yield below
        yield from classes(below)


def is_asynchronous(cls: type[Op]) -> bool:
    unit = getattr(cls, "unit", None) if issubclass(cls, Product) else None
    return bool(cls._engine or cls._waits_for or cls._fence or (unit and unit.asynchronous))


ASYNCHRONOUS = {cls.__name__: cls for cls in classes() if is_asynchronous(cls)}
OPCODES = {cls.opcode for cls in ASYNCHRONOUS.values() if cls.opcode}
TEXTS = OPCODES | ASYNCHRONOUS.keys()
# A helper whose name asks for the kind: is_wgmma, _has_tma_load, are_async_copies.
KINDS = sorted({*OPCODES, "async_copy", "async_copie", "wgmma", "tma", "cp_async", "mbarrier", "bulk_store"})
HELPER = re.compile(rf"_*(?:is|are|has|any)_(?:\w+_)?(?:{'|'.join(KINDS)})s?")


def sources() -> list[Path]:
    found = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    return [p for p in found if not p.relative_to(ROOT).as_posix().startswith(EXEMPT)]


def questions(text: str) -> list[tuple[int, str]]:
    """(line, question) of every test for the class of an asynchronous op, however it is spelt."""
    tree = ast.parse(text)
    aliases = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
    }

    def named(node: ast.AST) -> set[str]:
        """The asynchronous ops that an expression names."""
        names = {n.attr if isinstance(n, ast.Attribute) else aliases.get(n.id, n.id)
                 for n in ast.walk(node) if isinstance(n, (ast.Attribute, ast.Name))}
        return names & ASYNCHRONOUS.keys()

    # A tuple of classes under a name is such a question wherever the name is used.
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple | ast.Set | ast.List):
            for target in node.targets:
                if isinstance(target, ast.Name) and named(node.value):
                    aliases[target.id] = sorted(named(node.value))[0]
    return [(getattr(node, "lineno", 0), what) for node in ast.walk(tree) for what in sorted(_asked(node, named))]


def _asked(node: ast.AST, named: Callable[[ast.AST], set[str]]) -> set[str]:
    """What a node asks; `named` finds the asynchronous ops that an expression names."""
    if isinstance(node, ast.Call):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in ("isinstance", "issubclass"):
            return {f"{called} {name}" for name in named(node.args[1])}
        parts = [n.value for a in node.args for n in ast.walk(a) if isinstance(n, ast.Constant) and n.value]
        of_opcode = ast.unparse(node.func).endswith(("opcode.startswith", "opcode.endswith"))
        hit = {str(part) for part in parts if of_opcode and any(str(part) in name for name in OPCODES)}
        return {f"{called} {part}" for part in hit}
    if isinstance(node, ast.MatchClass):
        return {f"case {name}" for name in named(node.cls)}
    if isinstance(node, ast.MatchValue):
        return {f"case {text}" for text in TEXTS & {n.value for n in ast.walk(node) if isinstance(n, ast.Constant)}}
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        texts = TEXTS & {n.value for side in sides for n in ast.walk(side) if isinstance(n, ast.Constant)}
        types = {name for side in sides for name in named(side)}
        return {f"compares {what}" for what in texts | types}
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and HELPER.fullmatch(node.name):
        return {f"def {node.name}"}
    return set()


def test_there_are_asynchronous_ops() -> None:
    some = ("AsyncCopy", "AsyncLoad", "AsyncWait", "TmaLoad", "TmaStore", "TmaStoreWait", "MbarrierInit",
            "MbarrierWait", "ProxyFence", "Wgmma", "WgmmaWait", "ClusterExchange")
    assert ASYNCHRONOUS.keys() >= set(some)
    assert not {"Load", "MmaSync", "SharedStore", "ConvertLayout"} & ASYNCHRONOUS.keys()


@pytest.mark.parametrize("path", sources(), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_nobody_asks_for_the_class_of_an_asynchronous_op(path: Path) -> None:
    found = questions(path.read_text())
    where = path.relative_to(ROOT)
    advice = "ask its effects (engine, space, role) or its matrix unit instead"
    assert not found, "\n".join(f"{where}:{line}: {what}: {advice}" for line, what in found)


@pytest.mark.parametrize("seeded", [
    "isinstance(op, Wgmma)", "isinstance(op, (Load, TmaLoad))", "isinstance(op, ops.AsyncWait)",
    "issubclass(k, TmaStore)", "type(op) is WgmmaWait", "type(op) in (Load, TmaLoad)", "op.opcode == 'wgmma'",
    "op.opcode in ('load', 'tma_load')", "op.opcode.startswith('tma_')", "type(op).__name__ == 'Wgmma'",
    "op.unit is Wgmma.unit", "match op.opcode:\n    case 'wgmma' | 'mma_sync':\n        pass",
    "from x import Wgmma as W\nisinstance(op, W)", "KINDS = (Load, AsyncCopy)\nisinstance(op, KINDS)",
    "match op:\n    case TmaLoad():\n        pass", "def is_wgmma(op): ...", "def _has_tma(op): ...",
    "def is_any_async_load(op): ...",
])
def test_a_question_is_found_however_it_is_spelt(seeded: str) -> None:
    assert len(questions(seeded)) >= 1


@pytest.mark.parametrize("fine", [
    "isinstance(op, Load)", "b.emit(TmaLoad(buffer=x))", "op.opcode == 'load'", "def is_moved_only(v): ...",
    "s.engine is TMA_LOAD", "def wgmma_layouts(): ...",
])
def test_other_questions_are_none_of_its_business(fine: str) -> None:
    assert questions(fine) == []


def test_wgmma_is_named_in_few_files() -> None:
    """Of the backend outside the simulator: its declaration, its lowering, and who selects it."""
    folder = ROOT / "backend_ptx"
    files = [p.relative_to(folder).as_posix() for p in sorted(folder.rglob("*.py")) if "simulator" not in p.parts]
    naming = [name for name in files if re.search(r"\bWgmma\w*", (folder / name).read_text())]
    assert 0 < len(naming) <= WGMMA_FILES, naming


@pytest.mark.parametrize("line", ["wgmma_wait(accs=())", "async_wait()", "barrier()"])
def test_passes_of_tile_ir_keep_machine_ops_without_results(line: str) -> None:
    """`simplify_ranges` asked an op for its only result, which a wait for nothing does not have."""
    function = parse(f"func @k() {{\n  {line}\n  return()\n}}\n")
    run_pipeline(function, verify=True)
    assert function.body.ops[0].opcode == line.partition("(")[0]
