"""Command lines of likely and unlikely words, and cache entries with other bytes."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import random
import struct
import tempfile
import traceback
from typing import Any

import numpy as np

from fuzz.damage import ROOT, Hang, damaged, limited
from tilewright.backend_ptx.abi import KernelAbi
from tilewright.cli.cachelog import Stored, line_of
from tilewright.cli.main import main
from tilewright.tileir.cache import MAGIC, Entry, decode, encode

EXAMPLE = str(ROOT / "examples/vector_add.py")
WORDS = [
    *"ir llvm ptx decisions run cache log clear --args --target sm_80 sm_1 --grid 4 1,2 x -1 --seed --out".split(),
    *"/dev/null /nonexistent/a --no-passes . f32[16] f32[16],f32[16],f32[16],16 i32 f32[?] f32[-1] f32[[] (((".split(),
    *"--help --one-by-one f32[8]:zeros f32[99999999999]:ones /dev/full none.npy".split(),
    "", "\x00", "\u00e9", "[" * 300, "bf16[4,4] strides=[1,4] align=3", EXAMPLE, f"{EXAMPLE}:vector_add",
    f"{EXAMPLE}:none", str(ROOT / "tests/tileir/passes/fold.tile")]
ABIS: list[Any] = [1, None, [], {}, "{", "[]",
                   '{"name": 3, "params": 4}', '{"name": "k", "params": [[1]], "linear_grid": 1}']


def command_line(rng: random.Random) -> list[str]:
    verb = rng.choice(["ir", "ptx", "run", "decisions", "cache"])
    words = [rng.choice(WORDS) for _ in range(rng.randint(0, 6))]
    if rng.random() < 0.4:
        return [verb, *words]
    given = damaged(rng, "f32[16], f32[16], f32[16], 16", WORDS)
    return [verb, f"{EXAMPLE}:vector_add", "--args", given, *words[:2]]


def cli(seed: int) -> tuple[str, str]:
    """A status, and no traceback."""
    argv = command_line(random.Random(seed))
    text, said = repr(argv), io.StringIO()
    try:
        with limited(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said), \
                tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
            os.environ["TILEWRIGHT_CACHE_DIR"] = folder  # `cache clear` is one of the words
            status: Any = main(argv)
    except SystemExit as end:
        status = end.code
    except Hang:
        return "hang", text
    except Exception:
        return "internal", f"{traceback.format_exc(limit=-6)}\n{text}"
    if "internal error" in said.getvalue() or status not in (0, 1, 2):
        return "internal", f"status {status}: {said.getvalue()}\n{text}"
    return f"status {status}", ""


def entry_bytes(rng: random.Random, key: str) -> bytes:
    """An entry with other bytes, under a right digest."""
    abi = json.dumps({"name": "k", "params": [], "linear_grid": False})
    data = bytearray(encode(Entry({"abi": abi, "threads": 128, "limits": {"warps": 4}}, ".target sm_80\n"), key))
    start = len(MAGIC) + 32
    for _ in range(rng.choice([1, 2, 8])):
        at = rng.randrange(start if rng.random() < 0.9 else 0, len(data))
        bytes_ = [b"", b"\xff", b"[", b"9", b'"', b"{", b"null", bytes([rng.randrange(256)])]
        data[at: at + rng.choice([0, 1, 1, 4])] = rng.choice(bytes_)
    if rng.random() < 0.5:
        odd = json.dumps({"key": key, "abi": rng.choice(ABIS)}).encode()
        meta = rng.choice([b"[]", b"null", b"1", b'{"key": []}', odd, odd, odd])
        data[start:] = struct.pack("<II", len(meta), 3) + meta + b"ptx"
    data[len(MAGIC): start] = hashlib.sha256(data[start:]).digest()
    return bytes(data)


def cache(seed: int) -> tuple[str, str]:
    """No entry, or one that can be shown and whose ABI is read or refused as its reader says."""
    key = hashlib.sha256(b"key").hexdigest()
    data = entry_bytes(random.Random(seed), key)
    try:
        with limited():
            entry = decode(data, key)
            line_of(Stored(key, len(data), 0.0, entry))
            if entry is None:
                return "no entry", ""
            with contextlib.suppress(ValueError, KeyError, TypeError):  # what its reader says it raises
                KernelAbi.from_json(str(entry.meta["abi"]))
            return "entry", ""
    except (Exception, Hang):
        return "internal", f"{traceback.format_exc(limit=-6)}\n{data!r}"
