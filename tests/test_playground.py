"""The playground, as far as it needs no browser: its Python and its build; `make playground` tries it under Node."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest
from docs_site.playground import build
from docs_site.playground.session import answer

SAMPLES = sorted((build.HERE / "samples").glob("*.py"))
PRINTED = {"add": "[1. 2. 3. 4.] 1000.0", "softmax": "[1. ", "matmul": "80.0 80.0"}


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def ask(question: str, source: str, arguments: str = "", kernel: str = "") -> str:
    return answer(question, source, kernel, arguments, "sm_90a")


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_a_sample_is_compiled_explained_and_run(sample: Path) -> None:
    text = sample.read_text()
    found = re.match(r"# arguments: (.*)\n", text)
    assert found is not None
    ir = ask("ir", text, found[1])
    assert ir.startswith(f"func @{sample.stem}(") and "store(array=" in ir
    assert ir == ask("ir", text, found[1], sample.stem)
    assert re.match(r"target: sm_90a\n(.*\n)*num_warps: \d+ \(", ask("decisions", text, found[1]))
    assert ask("run", text).startswith(PRINTED[sample.stem])


def test_a_mistake_is_shown_with_its_line() -> None:
    text = (build.HERE / "samples" / "add.py").read_text()
    told = ask("ir", text, "f32[8], f32[8], f32[8], 3")
    assert "the lengths of a tile are powers of two" in told and "hint: take 4" in told and "program.py" in told
    assert ask("ir", text, "f32[8]").count("\n") < 8


def test_an_exception_is_shown_from_the_programs_line_on() -> None:
    assert ask("run", "print(1)\nx = 1 / 0\n").splitlines() == [
        "1", "Traceback (most recent call last):", '  File "program.py", line 2, in <module>', "    x = 1 / 0",
        "        ~~^~~", "ZeroDivisionError: division by zero"]
    assert "SyntaxError" in ask("run", "x = (\n")


def test_versions_say_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert re.match(r"Python 3\..*, Tilewright .*\nnumpy: here\nml_dtypes: here$", ask("versions", ""))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert ask("versions", "").count("not in this build, so kernels are compiled and not run") == 2


def test_a_wheel_is_the_one_that_pyodide_names(tmp_path: Path) -> None:
    record = {"file_name": "numpy.whl", "sha256": hashlib.sha256(b"right").hexdigest()}
    assert build.from_folder(record, tmp_path) is None
    (tmp_path / "numpy.whl").write_bytes(b"right")
    assert build.from_folder(record, tmp_path) == tmp_path / "numpy.whl"
    (tmp_path / "numpy.whl").write_bytes(b"wrong")
    with pytest.raises(SystemExit, match="is not the file that Pyodide"):
        build.from_folder(record, tmp_path)


def test_the_page_has_what_its_script_asks_for() -> None:
    page, script = ((build.HERE / name).read_text() for name in ("index.html", "page.js"))
    assert set(re.findall(r'at\("(\w+)"\)', script)) <= set(re.findall(r'id="(\w+)"', page))
    assert re.findall(r'<button value="(\w+)"', page) == ["ir", "decisions", "run"]
    [samples] = re.findall(r'id="sample">(.*?)</select>', page)
    assert sorted(re.findall(r"<option>(\w+)", samples)) == [path.stem for path in SAMPLES]
    assert all((build.HERE / name).is_file() for name in build.FILES)
    assert "http" not in page + script + (build.HERE / "worker.mjs").read_text()
