"""What fuzzing has found, by the smallest program that shows it: each once more through every oracle but a GPU."""

from __future__ import annotations

import pytest
from fuzz.oracles import check
from fuzz.program import Node, Parameter, Program

INPUT, OUTPUT = Parameter("x", "int32", (256,)), Parameter("out", "int32", (256,), output=True)
FINDS = {
    # `take` from shared memory took its first row for a slot of a ring in the interpreter.
    "take from shared memory": [
        "t = ct.load(x, 0, 256)",
        "ct.store(out, 0, ct.roll(t // 3, -1, 0) | t)"],
    "take of rows from shared memory": [
        "t = ct.load(x, 0, 256).reshape((4, 64))",
        "i = ct.load(x, 0, 16).reshape((2, 8)) % 9",
        "ct.store(out, 0, ct.take(t.reshape((4, 8, 8)), i[:, None, :], 0).reshape((128,)))"],
}


@pytest.mark.parametrize("name", FINDS)
def test_find(name: str) -> None:
    program = Program(0, (1,), [INPUT, OUTPUT], [Node(text) for text in FINDS[name]])
    check(program, ["oracle", "single", "text", "passes", "simulator"])
