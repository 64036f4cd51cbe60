"""`--json` of every command: one object on the standard output with the fields of its schema, for an error too."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilewright.cli import doctor
from tilewright.cli.answers import SCHEMAS
from tilewright.cli.main import main, make_parser

ROOT = Path(__file__).parents[2]
KERNEL = str(ROOT / "examples/vector_add.py")
ARGS = "--args=f32[64], f32[64], f32[64], 16"
LOUD = """import tilewright as tw
print("hello")
@tw.kernel
def k(x):
    print("block", tw.bid(0))
    tw.store(x, tw.bid(0), tw.log(tw.load(x, tw.bid(0), 4)))
@tw.kernel
def wrong(x):
    return x.nothing
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loud.py").write_text(LOUD)
    return tmp_path


def ask(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> dict[str, Any]:
    """What a command answers; its fields are those of the table."""
    assert main([*words, "--json"]) == status
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    command = answer["command"]
    schema = SCHEMAS["an error" if "error" in answer else next(key for key in SCHEMAS if command in key.split(", "))]
    assert answer.keys() == {"command", *schema}
    return answer


def commands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    deeper = [verb for action in parser._actions if isinstance(action, argparse._SubParsersAction)
              for verb in action.choices.values()]
    for verb in deeper:
        yield from commands(verb)
    if not deeper:
        yield parser


def test_every_command_has_json_and_a_schema() -> None:
    found = {verb.get_default("command"): verb for verb in commands(make_parser())}
    assert all("--json" in verb._option_string_actions for verb in found.values())
    named = {name for key in SCHEMAS if key != "an error" for name in key.split(", ")}
    assert set(found) == {name.partition(" --")[0] for name in named}


def test_a_proof(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("z3")
    answer = ask(capsys, "check", "--prove", KERNEL, ARGS)
    assert answer["command"] == "check --prove" and answer["race_free"] and "grid[1] == 1" in answer["assumptions"]
    assert {verdict["status"] for verdict in answer["verdicts"]} == {"proved"}


@pytest.mark.parametrize("command, sign", [("ir", "func @vector_add"), ("llvm", "nvptx64"), ("ptx", ".target sm_90a")])
def test_texts(command: str, sign: str, capsys: pytest.CaptureFixture[str]) -> None:
    target = [] if command == "ir" else ["--target=sm_90"]
    answer = ask(capsys, command, KERNEL, ARGS, *target)
    assert sign in answer["text"] and answer["kernel"] == "vector_add" and answer.get("target") in (None, "sm_90a")
    assert main([command, KERNEL, ARGS, *target]) == 0
    assert capsys.readouterr().out == answer["text"] + "\n"


def test_decisions(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["decisions", str(ROOT / "examples/matmul.py"), "--target=sm_90a",
             "--args=bf16[4096,4096], bf16[4096,4096], bf16[4096,4096], 128, 128, 64"]
    answer = ask(capsys, *words)
    made = {decision["name"]: decision for decision in answer["decisions"]}
    assert made["product"]["value"].startswith("wgmma") and made["shared_bytes"]["value"] > 0
    assert {"name", "value", "reason", "place"} == set().union(*answer["decisions"])
    assert any(decision["reason"] for decision in made.values())
    places = [decision["place"] for decision in made.values() if decision["place"]]
    assert all(place["file"].endswith("matmul.py") and place["line"] > 1 for place in places)
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(answer["decisions"]) and lines[0] == f"target: {answer['target']}"


def test_doctor(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "FOR_A_GPU", {"no-such-package-of-ours": "nothing"})
    answer = ask(capsys, "doctor")
    found = {finding["what"]: finding for finding in answer["findings"]}
    assert found["no-such-package-of-ours (nothing)"]["advice"] == "pip install no-such-package-of-ours"
    assert answer["ok"] is False


def test_run(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = ask(capfd, "ir", "loud.py:k", "--args=f32[8]")["text"]
    (folder / "k.tile").write_text(text)
    np.save("x.npy", np.array([1, 0, -1, np.inf, 1, 1, 1, 1], np.float32))
    assert main(["run", "k.tile", "--grid=2", "--args=x.npy", "--out=made", "--json"]) == 0
    printed = capfd.readouterr()
    assert "block 0" in printed.err, "what a kernel prints is no part of the object"
    answer = json.loads(printed.out)
    assert answer["command"] == "run" and answer["function"] == "k" and answer["grid"] == [2, 1, 1]
    array = answer["arrays"]["x"]
    assert array["values"] == [0, "-inf", "nan", "inf", 0, 0, 0, 0] and array["dtype"] == "float32"
    assert array["shape"] == [8] and np.load(array["file"])[0] == 0
    large = ask(capfd, "run", "k.tile", "--grid=1", "--args=f32[8000]")["arrays"]["x"]
    assert large["values"] is large["file"] is None and large["shape"] == [8000]


def test_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from tilewright.tileir.cache import Entry, open_cache

    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    cache = open_cache()
    assert cache is not None
    cache.store("ab" * 8, Entry({"abi": '{"name": "k"}', "threads": 128, "log": "Used 32 registers"}, ".target sm_80"))
    (cache.folder / "ab" / "abcd.twk").write_bytes(b"rubbish")
    answer = ask(capsys, "cache", "log")
    kernels = {kernel["key"]: kernel for kernel in answer["kernels"]}
    whole, damaged = kernels["ab" * 8], kernels["abcd"]
    assert whole["whole"] and (whole["kernel"], whole["target"], whole["threads"], whole["registers"],
                               whole["shared_bytes"]) == ("k", "sm_80", 128, 32, None)
    assert not damaged["whole"] and damaged["kernel"] is None and damaged["bytes"] == 7
    assert ask(capsys, "cache", "clear") == {"command": "cache clear", "folder": answer["folder"], "removed": 2}
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", "off")
    assert ask(capsys, "cache", "log")["folder"] is ask(capsys, "cache", "clear")["folder"] is None


@pytest.mark.parametrize("words, status, kind, message", [
    (["odd"], 2, "UsageError", "invalid choice: 'odd'"),
    (["ir"], 2, "UsageError", "required: FILE.py:kernel"),
    (["ptx", KERNEL, ARGS, "--target=sm_1"], 2, "UsageError", "choose from"),
    (["ir", "nowhere.py:k"], 2, "UsageError", "there is no file nowhere.py"),
    (["ir", "loud.py:wrong", "--args=f32[8]"], 1, "TileTypeError", "nothing"),
    (["ir", "loud.py:k", "--args=f33[8]"], 1, "ValueError", "no dtype 'f33'"),
    (["run", "none.tile", "--grid=1"], 2, "UsageError", "cannot be read"),
])
def test_errors(
    words: list[str], status: int, kind: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = ask(capsys, *words, status=status)["error"]
    assert (told["status"], told["type"]) == (status, kind) and message in told["message"] and told["text"]
    if kind == "TileTypeError":
        assert told["place"]["file"].endswith("loud.py") and told["place"]["line"] == 9


@pytest.mark.parametrize("text, line, message", [
    ("x = 1\ndef f(:\n", 2, "SyntaxError: invalid syntax"), ("\n\nimport no_such_module\n", 3, "ModuleNotFoundError"),
    ("def f():\n    return undefined\n\nf()\n", 2, "NameError: name 'undefined' is not defined"),
    ("raise ValueError('one\\ntwo')\n", 1, "ValueError: one"), ("import beside\n", 2, "ZeroDivisionError"),
    ("import tilewright as tw\n@tw.kernel(color=3)\ndef k(): ...\n", 2, "TypeError: "),
    ("\nexit(3)", 2, "SystemExit: 3"), ("import json\njson.loads('{')\n", 2, "JSONDecodeError: "),
])
def test_a_file_that_cannot_be_imported(
    text: str, line: int, message: str, folder: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delitem(sys.modules, "beside", raising=False)
    Path("user.py").write_text(text)
    Path("beside.py").write_text("\n1 / 0\n")
    assert main(["ir", "user.py:k"]) == 2
    printed = capsys.readouterr()
    file = folder / ("beside.py" if "beside" in text else "user.py")
    assert printed.out == "" and printed.err.count("\n") == 1
    assert printed.err.startswith((f"tilewright: {file}:{line}: ", f"tilewright: {file.name}:{line}: "))
    assert f"cannot be imported: {message}" in printed.err
    told = ask(capsys, "ir", "user.py:k", status=2)["error"]
    assert told["place"]["line"] == line and Path(told["place"]["file"]).name == file.name
