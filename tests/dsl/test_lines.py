"""Machine code names the lines of the source: SASS by opcode, launches that ask for it, reports of other tools."""

from __future__ import annotations

import inspect
import linecache
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from benchmarks.counters import find_ncu
from sanitize import find_sanitizer
from support.fake_cuda import FakeCuda, install, uninstall

import tilewright as tw
from tilewright.cli.cachelog import entries
from tilewright.cli.reading import load_kernel
from tilewright.inspecting import sass
from tilewright.inspecting.sass import SassLine, ptx_places, sass_lines
from tilewright.tileir.cache import open_cache

EXAMPLES = Path(__file__).parents[2] / "examples"
MATRIX = tw.spec("bf16[4096,4096]")
ROWS = tw.spec("f32[4096,1000]")
ARGS = {
    "matmul for sm_90a": ("matmul", (MATRIX, MATRIX, MATRIX, 128, 256, 64), "sm_90a"),
    "matmul for sm_80": ("matmul", (MATRIX, MATRIX, MATRIX, 128, 128, 64), "sm_80"),
    "softmax for sm_90a": ("softmax", (ROWS, ROWS, 1024), "sm_90a"),
    "softmax for sm_80": ("softmax", (ROWS, ROWS, 1024), "sm_80"),
}
LOADS = ("tw.load(a,", "tw.load(b,")
MADE_BY: dict[str, dict[str, str | tuple[str, ...]]] = {
    "matmul for sm_90a": {"HGMMA": "tw.mma", "UTMALDG": LOADS, "UTMASTG": "tw.store", "F2FP": "astype(c.dtype)",
                          "CS2R": ("tw.zeros", "place // rows"), "STSM": "tw.store"},
    "matmul for sm_80": {"HMMA": "tw.mma", "LDSM": "tw.mma", "LDGSTS": LOADS, "STG": "tw.store",
                         "F2FP": "astype(c.dtype)", "CS2R": "tw.zeros"},
    "softmax for sm_90a": {"LDG": "tw.load", "STG": "tw.store", "FMNMX": "tw.max", "FADD": "tw.sum",
                           "FFMA": ("tw.exp2", "1.0 / tw.sum"), "MUFU": ("tw.exp2", "1.0 / tw.sum")},
    "softmax for sm_80": {"LDG": "tw.load", "STG": "tw.store", "FMNMX": "tw.max", "FADD": "tw.sum",
                          "MUFU": ("tw.exp2", "1.0 / tw.sum")},
}
"""What the line must hold that an opcode's instructions come from; several: each holds one of them."""


@pytest.fixture(scope="module")
def code() -> dict[str, list[SassLine]]:
    """The instructions of each kernel, without what fills the code up behind its end."""
    try:
        assert Path(sass.find_disassembler()[0]).stem == "nvdisasm"
    except tw.TileError as error:
        pytest.skip(str(error))
    out = {}
    for name, (file, args, target) in ARGS.items():
        stages = load_kernel(f"{EXAMPLES}/{file}.py").lower(*args, target=target, lineinfo=True)
        lines = [line for line in sass_lines(stages.cubin(), stages.compiled.ptx) if line.opcode]
        while lines[-1].place is None:
            assert lines.pop().opcode in ("NOP", "BRA")
        out[name] = lines
    return out


@pytest.mark.parametrize("name", ARGS)
def test_sass_comes_from_the_line_whose_op_made_it(code: dict[str, list[SassLine]], name: str) -> None:
    file = EXAMPLES / f"{ARGS[name][0]}.py"
    source = file.read_text().splitlines()
    for opcode, wanted in MADE_BY[name].items():
        lines = {line.place.line for line in code[name] if line.opcode == opcode and line.place is not None}
        words = (wanted,) if isinstance(wanted, str) else wanted
        assert lines and all(any(w in source[n - 1] for w in words) for n in lines), f"{opcode}: lines {lines}"
        assert all(any(w in source[n - 1] for n in lines) for w in words), f"{opcode}: {lines}"
        assert all(line.place is not None for line in code[name] if line.opcode == opcode)
    places = [line.place for line in code[name]]
    known = Counter(place.line for place in places if place is not None and Path(place.file) == file)
    heads = sum(count for n, count in known.items() if source[n - 1].lstrip().startswith(("def ", "for ", "@")))
    print(f"{name}: {len(places)} instructions, {known.total() / len(places):.1%} have a line, "
          f"{heads / len(places):.1%} that of the def or a for; by line: {dict(sorted(known.items()))}")
    assert known.total() >= 0.95 * len(places), f"{known.total()} of {len(places)} instructions have a line"
    # The loop over blocks, and what finds its place in the grid, stand at the def.
    most = 0.35 if name == "matmul for sm_90a" else 0.1
    assert heads <= most * len(places), f"{heads} of {len(places)} instructions are at the def or for"


def test_lines_at_the_end_of_instructions(code: dict[str, list[SassLine]]) -> None:
    text = load_kernel(f"{EXAMPLES}/softmax.py").sass(ROWS, ROWS, 1024, target="sm_90a", lines=True)
    [line] = {part.split("// ")[1] for part in text.splitlines() if "STG.E" in part}
    assert line == f"softmax.py:{number_of('softmax.py', 'tw.store')}"
    plain = load_kernel(f"{EXAMPLES}/softmax.py").sass(ROWS, ROWS, 1024, target="sm_90a")
    assert instructions(text) == instructions(plain), "the lines change no instruction"


def number_of(file: str, words: str) -> int:
    return next(n for n, line in enumerate((EXAMPLES / file).read_text().splitlines(), 1) if words in line)


def instructions(text: str) -> list[str]:
    lines = (line.partition("  //")[0].strip() for line in text.splitlines())
    return [line for line in lines if line.startswith("/*")]


@tw.tile_kernel
def divided(x, y, out):
    t = tw.load(x, 0, 128)
    quotient = t / tw.load(y, 0, 128)
    other = tw.sqrt(t) / 3.1
    tw.store(out, 0, quotient + 1.0 / other)


def test_a_subroutine_of_ptxas_has_the_line_of_its_calls() -> None:
    """The slow path of one root; that of divisions at two lines has none."""
    x = tw.spec("f32[128]")
    stages = divided.lower(x, x, x, target="sm_90a", lineinfo=True)
    lines = sass_lines(stages.cubin(), stages.compiled.ptx)
    held = {}
    for n, line in enumerate(lines):
        if line.text.startswith("$__internal") and line.text.endswith(":"):
            [place] = {one.place for one in lines[n + 1:n + 8] if one.opcode}
            what = "root" if "sqrt" in line.text else "division"
            held[what] = linecache.getline(place.file, place.line).strip() if place else ""
    assert held == {"root": "other = tw.sqrt(t) / 3.1", "division": ""}


def test_only_nvdisasm_knows_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sass, "find_disassembler", lambda: ("/usr/bin/cuobjdump", ()))
    with pytest.raises(tw.TileUnsupportedFeatureError, match="need nvdisasm"):
        sass_lines(b"", "")


# ---- through helpers ------------------------------------------------------------------------------------------------


def inner(t):
    return tw.exp(t)


def outer(t):
    return inner(t) - t


@tw.tile_kernel
def helped(x, out):
    t = tw.load(x, 0, 128)
    tw.store(out, 0, outer(t))


def test_the_chain_of_calls() -> None:
    """LLVM's text says at which call a helper was inlined; PTX has the innermost line."""
    x = tw.spec("f32[128]")
    made = helped.compiled(x, x, target="sm_80", lineinfo=True)
    assert 'name: "inner"' in made.llvm_text and 'name: "outer"' in made.llvm_text
    assert made.llvm_text.count("inlinedAt: ") >= 3
    innermost = inspect.getsourcelines(inner)[1] + 1
    assert innermost in {place.line for place in ptx_places(made.ptx).values()}


@tw.tile_kernel
def past_the_end(out):
    write(out)


def write(out):
    tw.scatter(out, tw.bid(0) * 128 + tw.arange(128, dtype=tw.int32), 1.0, check_bounds=False)  # the seeded store


def test_the_simulator_shows_the_call() -> None:
    with pytest.raises(tw.TileError, match="OutOfRange") as caught:
        past_the_end.simulate((1,), np.zeros(100, np.float32), target="sm_80")
    call = caught.value.loc.call_site
    assert caught.value.loc.function == "write" and call is not None and call.function == "past_the_end"
    assert "called from here" in str(caught.value)


# ---- launches --------------------------------------------------------------------------------------------------------


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCuda]:
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    yield install(monkeypatch)
    uninstall()


def test_launches_that_ask_for_lines(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver is told, and the cache keeps both kinds apart; code with lines is made anew where a line moves."""
    asked: list[bool] = []
    load = FakeCuda.cuModuleLoadDataEx

    def watched(self: FakeCuda, image: bytes, count: int, keys: list[str], values: list[object]) -> object:
        asked.append("CU_JIT_GENERATE_LINE_INFO" in keys)
        return load(self, image, count, keys, values)

    monkeypatch.setattr(FakeCuda, "cuModuleLoadDataEx", watched)
    x = tw.to_device(np.ones(128, np.float32))

    def launch(above: int, lines: str) -> None:
        space: dict[str, object] = {"tw": tw}
        file = tmp / f"kernel{above}.py"
        file.write_text("\n" * above + "@tw.tile_kernel\ndef k(x):\n    tw.store(x, 0, tw.load(x, 0, 128) * 2.0)\n")
        exec(compile(file.read_text(), str(tmp / "kernel.py"), "exec"), space)
        shutil.copy(file, tmp / "kernel.py")
        linecache.checkcache()
        monkeypatch.setenv("TILEWRIGHT_LINEINFO", lines)
        space["k"][(1,)](x)  # type: ignore[index]

    cache = open_cache()
    assert cache is not None
    tmp = cache.folder.parent
    counts = []
    for above, lines in ((0, "0"), (3, "0"), (0, "1"), (0, "1"), (3, "1")):
        launch(above, lines)
        counts.append(len(list(entries(cache))))
    assert counts == [1, 1, 2, 2, 3]
    assert asked == [".loc" in text for text in cuda.linked] and asked.count(True) >= 2 and not asked[0]


SCALES = """
import numpy as np, tilewright as tw

@tw.tile_kernel
def scale(x, out):
    i = tw.bid(0)
    t = tw.load(x, i, 1024)
    tw.store(out, i, t * 2.0)

x, out = tw.to_device(np.ones(1 << 16, np.float32)), tw.to_device(np.zeros(1 << 16, np.float32))
scale[(64,)](x, out)
"""


@pytest.mark.gpu
def test_the_source_page_of_ncu_names_the_lines(tmp_path: Path) -> None:
    try:
        ncu = find_ncu()
    except RuntimeError as error:
        pytest.skip(str(error))
    file, report = tmp_path / "program.py", tmp_path / "report.ncu-rep"
    file.write_text(SCALES)
    done = subprocess.run(
        [ncu, "--clock-control", "none", "--section", "SourceCounters", "--import-source", "yes", "-o", str(report),
         sys.executable, str(file)], capture_output=True, text=True,
        env={**os.environ, "TILEWRIGHT_LINEINFO": "1", "PYTHONPATH": os.pathsep.join(sys.path)})
    assert report.exists(), done.stdout[-2000:] + done.stderr[-2000:]
    page = subprocess.run([ncu, "--import", str(report), "--page", "source", "--print-source", "cuda,sass", "--csv"],
                          capture_output=True, text=True, check=True).stdout
    assert f'"{file}"' in page and '"scale"' in page
    rows = [line.split('","') for line in page.splitlines()]
    lines = {row[0].strip('"'): (row[1], ",".join(row)) for row in rows if row[0].strip('"').isdigit()}
    for n, text in enumerate(SCALES.splitlines(), 1):
        if "tw.load" in text or "tw.store" in text:
            said, counters = lines[str(n)]
            assert said == text.strip() and ("Load(" if "tw.load" in text else "Store(") in counters, page[:4000]


PROGRAM = """
import numpy as np, tilewright as tw

@tw.tile_kernel
def past_the_end(out):
    i = tw.bid(0) * 128 + tw.arange(128, dtype=tw.int32)
    tw.scatter(out, i + (1 << 24), 1.0, check_bounds=False)

out = tw.to_device(np.zeros(100, np.float32))
past_the_end[(1,)](out)
out.to_host()
"""


@pytest.mark.gpu
def test_compute_sanitizer_names_the_line(tmp_path: Path) -> None:
    try:
        sanitizer = find_sanitizer()
    except SystemExit as error:
        pytest.skip(str(error))
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    done = subprocess.run(
        [sanitizer, "--tool", "memcheck", sys.executable, str(file)], capture_output=True, text=True,
        env={**os.environ, "TILEWRIGHT_LINEINFO": "1", "PYTHONPATH": os.pathsep.join(sys.path)})
    line = next(n for n, text in enumerate(PROGRAM.splitlines(), 1) if "tw.scatter" in text)
    assert "Invalid __global__ write" in done.stdout and f"program.py:{line}" in done.stdout, done.stdout[-3000:]
