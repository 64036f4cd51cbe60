"""benchmarks.trees: two checkouts' processes in turn, what a line says, and grids that cover the arrays."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.report import Work, works
from benchmarks.trees.__main__ import Pair, lines, summary
from benchmarks.trees.compiling import compare_compilers
from benchmarks.trees.side import Failed, Side

# Stands in for the worker, which needs a GPU: a slow side, and a kernel that fails.
STAND_IN = """
import json, sys
slow = 2.0 if "slow" in sys.argv[0] else 1.0
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("name") == "ends":
        raise SystemExit
    answers = {"time": 10.0 * slow, "compiled": ["add", "other"],
               "compile": {"frontend": 1.0, "ptxas": 8.0 * slow, "total": 1.0 + 8.0 * slow}}
    print(json.dumps({"error": "ValueError: no"} if asked.get("name") == "bad" else
                     {"is": answers.get(asked["do"], 7.0)}), flush=True)
"""


def side(folder: Path, name: str) -> Side:
    (folder / "tools").mkdir(exist_ok=True)
    (folder / "tools/link_tree.py").write_text("")
    worker = folder / f"{name}.py"
    worker.write_text(STAND_IN)
    return Side(folder, worker)


def test_two_sides_take_turns_and_a_kernel_that_fails_is_a_line(tmp_path: Path) -> None:
    with side(tmp_path, "slow") as slow, side(tmp_path, "fast") as fast:
        good, bad, ends = lines((slow, fast), [Work(name, None, (), (1,)) for name in ("good", "bad", "ends")], 4)
    assert isinstance(good, Pair)
    assert (good.ratio, good.itself, good.agrees, len(good.old)) == (2.0, 1.0, True, 4)
    assert bad == f"{'bad':<40} ValueError: no"
    assert ends == f"{'ends':<40} its process ended"


def test_a_line_says_when_results_differ() -> None:
    pair = Pair("relu", (10.0, 11.0, 10.0, 11.0), (5.0, 5.0), (100.0, 101.0))
    assert "old/new 2.100  old/old 0.909  RESULTS DIFFER" in pair.text()
    near = Pair("relu", (10.0, 10.0), (20.0, 20.0), (100.0, 100.1))
    assert "DIFFER" not in near.text()
    assert summary([pair, near]) == ("2 kernels: least 0.500, geometric mean 1.025; old against itself 0.909 to 1.000")


def test_compilers_take_turns(tmp_path: Path) -> None:
    with side(tmp_path, "slow") as slow, side(tmp_path, "fast") as fast:
        [line] = compare_compilers(slow, fast, 0.0, ["add"])
    assert line == (f"{'add':<40} old    17.0 ms  new     9.0 ms  new/old 0.529  own part 1.000  ptxas 0.500  of 2")


def test_a_process_that_ended_is_a_failure_each_time(tmp_path: Path) -> None:
    with side(tmp_path, "one") as one:
        for _ in range(2):
            with pytest.raises(Failed, match="its process ended"):
                one.ask("prepare", name="ends")


@pytest.mark.parametrize("work", [w for w in works() if w.kernel.__name__ in ("softmax", "vector_add", "matmul")],
                         ids=lambda work: work.name)
def test_grids_cover_the_arrays(work: Work) -> None:
    shape = [int(n) for n in work.args[0].split("[")[1].rstrip("]").split(",")]
    sizes = [a for a in work.args if isinstance(a, int) and not isinstance(a, bool)]
    tiles = {"vector_add": shape[0] // sizes[0] if len(shape) == 1 else 0, "softmax": shape[0],
             "matmul": shape[0] // sizes[0] * (shape[-1] // sizes[min(1, len(sizes) - 1)])}
    assert work.grid == (tiles[work.kernel.__name__],)
