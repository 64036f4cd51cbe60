"""The mutation test: what its operators change, which tests its records lead to, and how a test's end is judged."""

from __future__ import annotations

import ast
import builtins
import itertools
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest
from mutants import coverage, probes, recorder, report, runner, sites, tokens, tree
from mutants.runner import KILLED, SURVIVED, TIMEOUT
from mutants.sites import Mutant

SOURCE = '''
"""Of a module: x < y."""
TABLE = {"a": 1}


def f(x, y):
    """Less: x < y."""
    if x < y and not y:
        return min(x, 3)
    for i in range(y):
        x |= i << 1
    return f"shl i32 {x - 1}, {y}"
'''


def mutants_of(source: str, without: tuple[str, ...] = ()) -> list[Mutant]:
    return [m for place in sites.Finder("m.py", source, without).found for m in place]


def test_what_changes() -> None:
    found = {(m.kind, m.before, m.after) for m in mutants_of(SOURCE)}
    assert {
        ("constant", "1", "2"), ("comparison", "x < y", "(x <= y)"), ("dropped operator", "not y", "y"),
        ("and, or", "x < y and not y", "(x < y or not y)"), ("dropped condition", "x < y and not y", "(x < y)"),
        ("negated condition", "x < y and not y", "(not (x < y and (not y)))"),
        ("other function", "min(x, 3)", "max(x, 3)"), ("dropped return", "return min(x, 3)", "pass"),
        ("shifted bound", "range(y)", "range(y - 1)"), ("removed statement", "x |= i << 1", "pass"),
        ("arithmetic", "i << 1", "(i >> 1)"), ("swapped operands", "i << 1", "(1 << i)"),
    } <= found
    texts = {m.after for m in mutants_of(SOURCE) if m.before.startswith("f")}
    assert {"f'lshr i32 {x - 1}, {y}'", "f'shl i32 {x + 1}, {y}'", "f'shl i32 {x - 2}, {y}'"} <= texts


def test_every_mutant_is_another_program() -> None:
    tree_ = ast.dump(ast.parse(SOURCE))
    for mutant in mutants_of(SOURCE):
        assert ast.dump(ast.parse(mutant.applied(SOURCE))) != tree_, mutant


def test_words_for_people_do_not_change() -> None:
    source = ("def f(x):\n    raise ValueError(f'{x + 1} or less')\n"
              "def __str__(x):\n    return x + 1\ny: 1 + 1 = decide(1)\n")
    assert not mutants_of(source)
    assert not mutants_of("def f(x):\n    note = f'block {x - 1} and {x} do not agree'\n    h = g(x, reason=x + 1)\n")
    assert not list(tokens.changed("add one and the other"))
    assert list(tokens.changed("atom.acquire")) == ["atom.monotonic"]
    assert len(mutants_of("def f(e, x):\n    return e(f'fcmp olt double {x}, {x}')\n")) == 1


def test_that_lengths_agree_is_an_assertion() -> None:
    assert not mutants_of("c = [x for x, y in zip(a, b, strict=True)]\n")


def test_names_can_be_left_out() -> None:
    source = "class A:\n    def f(self):\n        return 1\n    def g(self):\n        return 2\nLIMIT = 3\n"
    assert {m.before for m in mutants_of(source, ("A.f", "LIMIT"))} == {"2"}


def test_what_is_left_out_exists() -> None:
    for path, exclusion in tree.exclusions().items():
        module = ast.parse((tree.ROOT / path).read_text())
        defined = {name for name in exclusion.names if _defines(module, name.split("."))}
        assert defined == set(exclusion.names) and exclusion.reason, path


def _defines(scope: ast.Module | ast.ClassDef, name: list[str]) -> bool:
    for node in scope.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name[0]:
            return len(name) == 1 or (isinstance(node, ast.ClassDef) and _defines(node, name[1:]))
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(
            node, ast.AnnAssign) else []
        if any(isinstance(n, ast.Name) and [n.id] == name for target in targets for n in ast.walk(target)):
            return True
    return False


def test_a_draw_is_that_of_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "files", lambda: ["interp/access.py", "tileir/passes/dce.py"])
    first, again, other = ([m.name for m in itertools.islice(sites.drawn(seed), 20)] for seed in (1, 1, 2))
    assert first == again != other and len(set(first)) == 20


def entered(source: str, *calls: str) -> set[int]:
    """The lines on which the blocks begin that some calls enter."""
    module, count = ast.parse(source), probes.Probes(0)
    code = compile(ast.fix_missing_locations(count.visit(module)), "m.py", "exec")
    hits = bytearray(count.next)
    setattr(builtins, probes.NAME, hits)
    names: dict[str, object] = {}
    try:
        exec(code, names)
        for call in calls:
            eval(call, names)
    finally:
        delattr(builtins, probes.NAME)
    return {span.start[0] for span in count.spans if hits[span.probe]}


def test_probes_say_which_blocks_run() -> None:
    source = ("def f(x):\n    'Doc.'\n    if x:\n        return 1\n    y = lambda: 2\n    try:\n"
              "        z = y() if x else 3\n    except ValueError:\n        z = 4\n    return z\n")
    assert entered(source) == set()
    assert entered(source, "f(1)") == {3, 4}
    assert entered(source, "f(0)") == {3, 5, 7, 10}
    assert probes.with_probes(Path(__file__), 0)[1].spans


def test_a_mutant_is_run_by_the_tests_that_enter_it_the_fastest_of_each_function_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(coverage, "CLOSEST", 0)
    spans = {"a.py": [probes.Span((1, 0), (9, 0), 0), probes.Span((3, 0), (4, 0), 1)], "b.py": []}
    tests = [coverage.Test("t::f[1]", 1.0, 0b10), coverage.Test("t::f[2]", 2.0, 0b10), coverage.Test("t::g", 3.0, 0b10),
             coverage.Test("t::h", 0.5, 0b01)]
    found = coverage.Coverage(tests * 4, 0, probes.Map(spans, 2), {"b.py": ["a.py"]})

    def names(path: str, line: int, budget: float) -> list[str]:
        return list(dict.fromkeys(t.name for t in found.chosen(Mutant(path, line, 5, "", 0, 0, "", ""), budget)))

    assert names("a.py", 3, 99.0) == ["t::f[1]", "t::g", "t::f[2]"]
    assert names("a.py", 3, 1.5) == ["t::f[1]"]
    assert names("a.py", 1, 99.0) == ["t::h", "t::f[1]", "t::g", "t::f[2]"]  # few enter it: then others
    assert len(names("b.py", 1, 99.0)) == 4  # those of the file that imports it


def test_tests_of_little_else_come_first() -> None:
    spans = {"a.py": [probes.Span((1, 0), (9, 0), 0)], "b.py": [probes.Span((1, 0), (9, 0), n) for n in (1, 2, 3)]}
    tests = [coverage.Test("t::fast", 1.0, 0b1111), coverage.Test("t::slow", 2.0, 0b0001),
             *(coverage.Test(f"t::other{n}", 0.5, 0b0111) for n in range(30))]
    found = coverage.Coverage(tests, 0, probes.Map(spans, 4), {})
    names = [t.name for t in found.chosen(Mutant("a.py", 3, 5, "", 0, 0, "", ""), 99.0)]
    assert names[0] == "t::slow" and len(names) == len(tests)


def test_records_are_packed() -> None:
    hits = bytearray(20)
    hits[0] = hits[3] = hits[19] = 1
    assert recorder.unpacked(recorder.packed(hits)) == 1 | 1 << 3 | 1 << 19


def test_what_is_cached_is_forgotten() -> None:
    from tilewright.backend_ptx.instructions import table

    first = table.instructions()
    assert table.instructions() is first
    recorder.forget([table.__name__])
    assert table.instructions() is not first


def test_the_sample_is_even() -> None:
    def item(name: str) -> SimpleNamespace:
        return SimpleNamespace(nodeid=name, get_closest_marker=lambda marker: None)

    items = [item(f"tests/a.py::f[{i}]") for i in range(10)] + [item("tests/a.py::g"), item("tests/test_layout.py::h")]
    kept = [i.nodeid for i in recorder.sampled(items, 3)]  # type: ignore[arg-type]
    assert kept == ["tests/a.py::f[0]", "tests/a.py::f[3]", "tests/a.py::f[6]", "tests/a.py::g"]


def test_a_run_that_is_cut_off_has_seen_something_of_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "FIRST", 1)
    items = [SimpleNamespace(nodeid=f"tests/a.py::{f}[{i}]", get_closest_marker=lambda marker: None)
             for f in "fg" for i in range(2)]
    kept = [i.nodeid[-4:] for i in recorder.sampled(items, 9)]  # type: ignore[arg-type]
    assert kept == ["f[0]", "g[0]", "f[1]", "g[1]"]


def test_how_an_end_is_judged() -> None:
    output = "..F\nFAILED tests/a.py::test_b[x - y] - AssertionError: 1 - 2\n1 failed\n"
    assert runner.judged(1, output, 9) == (KILLED, "tests/a.py::test_b[x - y]", "AssertionError: 1 - 2")
    assert runner.judged(2, "ERROR tests/a.py - NameError: x\n", 9) == (KILLED, "tests/a.py", "NameError: x")
    assert runner.judged(0, "", 9)[0] == SURVIVED
    assert runner.judged(-signal.SIGXCPU, "", 9)[0] == TIMEOUT
    assert runner.judged(-signal.SIGSEGV, "", 9)[0] == KILLED


def test_equivalent_mutants_are_known_by_their_line() -> None:
    known = report.equivalent()
    for key in known:
        path, line, *_ = key.split("\n")
        assert line in [text.strip() for text in (tree.ROOT / path).read_text().splitlines()], f"{path}: {line}"
