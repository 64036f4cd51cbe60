"""Bundles: built from specs, loaded without compiling, matched with launches; what is recorded, and what is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import c_loader, fake_cuda
from support.fake_cuda import FakeCuda

import tilewright as tw
from tilewright.bundles import BundleSpec, building
from tilewright.bundles.loaded import Bundle
from tilewright.cli.main import main
from tilewright.compilation.manifest import ManifestError
from tilewright.compilation.writing import write_folder
from tilewright.launching import shipped
from tilewright.tune import stored

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCuda]:
    """A driver that takes PTX for machine code."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(shipped, "LOADED", [])
    monkeypatch.setattr(building, "assemble", lambda ptx, *rest: ptx.encode())
    yield fake_cuda.install(monkeypatch)
    fake_cuda.uninstall()


def shifted(tile: Any) -> Any:
    return tile + 1.0


@tw.tile_kernel
def affine(x, out, scale: float, tile: tw.Constant[int], shift: tw.Constant[float] = 0.0):
    i = tw.bid(0)
    tw.store(out, i, shifted(tw.load(x, i, tile) * scale + shift))


@tw.tile_kernel(grid="cdiv(1000, tile)")
def copy(x, out, tile: tw.Constant[int]):
    tw.store(out, tw.bid(0), tw.load(x, tw.bid(0), tile))


def array(count: int = 100, dtype: Any = np.float32) -> tw.DeviceArray:
    return tw.to_device(np.zeros(count, dtype))


def built(folder: Path, *entries: tuple[Any, ...], **options: Any) -> Bundle:
    spec = BundleSpec(targets=["sm_90a"])
    for kernel, *arguments in entries:
        spec.add(kernel, *arguments, **options)
    spec.build(folder / "bundle")
    return tw.load_bundle(folder / "bundle")


PROGRAM = """
import sys
import numpy as np
import pytest
from support import fake_cuda
cuda = fake_cuda.install(pytest.MonkeyPatch())
import tilewright as tw

bundle = tw.load_bundle(sys.argv[1])
x, out = (tw.to_device(np.zeros(1000, np.float32)) for _ in range(2))
for shift in range(6):
    bundle["affine"][(4,)](x, out, 2.0, 256, float(shift))
bundle["copy"](x, out, 128)
names = {launch.name for launch in cuda.launches}
assert len(names) == 7 and not cuda.linked, (names, cuda.linked)
print(*sorted(sys.modules))
"""


def test_first_launches_compile_nothing(cuda: FakeCuda, tmp_path: Path) -> None:
    """Not even LLVM, the passes or the frontend are loaded; the driver assembles no text."""
    spec = BundleSpec()
    for shift in range(6):
        spec.add(affine, "f32[?]", "f32[?]", "f32", 256, float(shift))
    spec.add(copy, "f32[?]", "f32[?]", 128)
    spec.build(tmp_path / "bundle")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), shipped.NO_JIT: "1"}
    command = [sys.executable, str(program), str(tmp_path / "bundle")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    heavy = "llvmlite", "tilewright.backend_ptx.passes", "tilewright.backend_ptx.lower", "tilewright.frontend"
    assert not [name for name in done.stdout.split() if name.startswith(heavy)]


def test_kernels_of_this_process_take_code_from_a_bundle(cuda: FakeCuda, tmp_path: Path,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = built(tmp_path, (affine, "f32[?]", "f32[?]", "f32", 64))
    monkeypatch.setenv(shipped.NO_JIT, "1")
    for _ in range(3):
        affine[(2,)](array(), array(), 2.0, 64)
    assert len(cuda.launches) == 3 and not cuda.linked
    with pytest.raises(tw.TileUnsupportedFeatureError, match=(
            r"no code for affine\(x=f32\[100\], out=f32\[100\], scale=f32, tile=32, shift=0.0\) on sm_90a, and "
            "TILEWRIGHT_NO_JIT forbids compiling")) as caught:
        affine[(2,)](array(), array(), 2.0, 32)
    assert "argument 'tile' must be the constant 64" in caught.value.notes[0]
    bundle.unload()
    with pytest.raises(tw.TileUnsupportedFeatureError, match="f16") as caught:
        affine[(2,)](array(dtype=np.float16), array(dtype=np.float16), 2.0, 64)
    assert caught.value.notes == ["no bundle is loaded"]
    monkeypatch.delenv(shipped.NO_JIT)
    affine[(2,)](array(), array(), 2.0, 32)
    assert len(cuda.linked) == 1


def doubled(helper: Any) -> Any:
    @tw.tile_kernel
    def double(x):
        tw.store(x, 0, helper(tw.load(x, 0, 16) * 2.0))

    return double


def test_another_version_of_a_kernel_is_not_taken(
    cuda: FakeCuda, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    built(tmp_path, (doubled(shifted), "f32[?]"))
    doubled(shifted)[(2,)](array())
    assert not cuda.linked and len(cuda.launches) == 1
    other = doubled(lambda tile: tile + 2.0)
    other[(2,)](array())
    assert len(cuda.linked) == 1
    monkeypatch.setenv(shipped.NO_JIT, "1")
    with pytest.raises(tw.TileUnsupportedFeatureError) as caught:
        doubled(lambda tile: tile + 3.0)[(2,)](array())
    assert "it was built from another version of the kernel" in caught.value.notes[0]


def test_the_most_special_code_is_taken(cuda: FakeCuda, tmp_path: Path) -> None:
    bundle = built(tmp_path, (affine, "f32[?] align=4", "f32[?] align=4", "f32", 64),
                   (affine, "f32[1024]", "f32[1024]", "f32", 64))
    for count in (1024, 1000):
        bundle["affine"][(2,)](array(count), array(count), 2.0, 64)
    special, general = (launch.name for launch in cuda.launches)
    assert special != general
    texts = {name: (tmp_path / "bundle" / f"{name}.sm_90a.cubin").read_text() for name in (special, general)}
    assert "v2.b32" in texts[special] or "v4.b32" in texts[special] or "v2.f32" in texts[special]
    assert texts[special] != texts[general]


def test_arguments_that_share_memory(cuda: FakeCuda, tmp_path: Path) -> None:
    spec = BundleSpec()
    spec.add(affine, "f32[?]", "f32[?]", "f32", 64, same=[("x", "out")], symbol="in_place")
    spec.add(affine, "f32[?]", "f32[?]", "f32", 64, symbol="apart")
    spec.build(tmp_path / "bundle")
    kernel = tw.load_bundle(tmp_path / "bundle")["affine"]
    x = array()
    kernel[(2,)](x, x, 2.0, 64)
    kernel[(2,)](x, array(), 2.0, 64)
    assert [launch.name for launch in cuda.launches] == ["in_place", "apart"]
    if c_loader.COMPILER is not None:
        probe = c_loader.build(tmp_path / "bundle" / "kernels.h", tmp_path / "probe")
        one, other, third = c_loader.run(probe, tmp_path / "bundle", [
            "in_place 1 1 1 c 4096 1 64 c 4096 1 64 f 1", "in_place 1 1 1 c 4096 1 64 c 8192 1 64 f 1",
            "apart 1 1 1 c 4096 1 64 c 4096 1 64 f 1"])
        assert one.startswith("in_place") and other == "refused: argument 'out' must be the same array as 'x'"
        assert third.startswith("refused: arguments 'x' and 'out' overlap")


def test_each_gpu_gets_its_own_code(cuda: FakeCuda, tmp_path: Path) -> None:
    spec = BundleSpec(targets=["sm_80", "sm_90a"])
    spec.add(affine, "f32[?]", "f32[?]", "f32", 64, symbol="k")
    manifest = spec.build(tmp_path / "bundle")
    assert [code.target for code in manifest.code] == ["sm_80", "sm_90a"]
    tw.load_bundle(tmp_path / "bundle")["affine"][(2,)](array(), array(), 2.0, 64)
    assert ".target sm_90a" in cuda_text(cuda, tmp_path)
    if c_loader.COMPILER is not None:
        for major in (8, 9):
            probe = c_loader.build(tmp_path / "bundle" / "kernels.h", tmp_path / "probe", major)
            [line] = c_loader.run(probe, tmp_path / "bundle", ["k 1 1 1 c 4096 1 64 c 8192 1 64 f 1"])
            assert line.startswith("k 1 1 1 ")


@pytest.mark.skipif(c_loader.COMPILER is None, reason="there is no C compiler here")
def test_the_c_example_compiles(cuda: FakeCuda, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    assert main(["build", str(EXAMPLES / "shipping.py"), "-o", str(tmp_path / "bundle"), "--target", "sm_90a"]) == 0
    command = [str(c_loader.COMPILER), *c_loader.FLAGS, f"-I{c_loader.STUB}", f"-I{tmp_path / 'bundle'}", "-c",
               str(EXAMPLES / "c" / "gemm.c"), "-o", str(tmp_path / "gemm.o")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def cuda_text(cuda: FakeCuda, folder: Path) -> str:
    return (folder / "bundle" / "k.sm_90a.cubin").read_text()


def test_damaged_bundles_are_refused(cuda: FakeCuda, tmp_path: Path) -> None:
    built(tmp_path, (affine, "f32[?]", "f32[?]", "f32", 64))
    [code] = (tmp_path / "bundle").glob("*.cubin")
    whole = code.read_bytes()
    code.write_bytes(whole[:-1] + b"!")
    with pytest.raises(ManifestError, match="was damaged or changed after it was made"):
        tw.load_bundle(tmp_path / "bundle")
    code.write_bytes(whole)
    manifest = tmp_path / "bundle" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"shared_bytes": 0', '"shared_bytes": 64'))
    with pytest.raises(ManifestError, match="its digest does not fit"):
        tw.load_bundle(tmp_path / "bundle")


def test_bundles_appear_whole(cuda: FakeCuda, tmp_path: Path) -> None:
    built(tmp_path, (affine, "f32[?]", "f32[?]", "f32", 64))
    before = {path.name: path.read_bytes() for path in (tmp_path / "bundle").iterdir()}
    with pytest.raises(FileNotFoundError):
        write_folder(tmp_path / "bundle", {"a": b"", "no/such/folder": b""}, "manifest.json")
    assert {path.name: path.read_bytes() for path in (tmp_path / "bundle").iterdir()} == before
    bundle = built(tmp_path, (copy, "f32[?]", "f32[?]", 128))
    assert list(bundle) == ["copy"] and not list(tmp_path.glob(".tmp*"))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(FileExistsError, match="has no manifest.json"):
        BundleSpecOf(copy).build(tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").exists()


def BundleSpecOf(kernel: Any) -> BundleSpec:
    spec = BundleSpec()
    spec.add(kernel, "f32[?]", "f32[?]", 128)
    return spec


def test_tuned_choices_come_along(cuda: FakeCuda, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configs: Any = ["tile=64", "tile=128"]
    choices = tmp_path / "choices.json"
    choices.write_text(json.dumps({"format": 1, "choices": {"key": {"config": "tile=128", "index": 1, "us": 3.5}}}))
    spec = BundleSpec(tuned=choices, licences={"copy": "MIT"})
    spec.add(copy, "f32[?]", "f32[?]", 128)
    spec.build(tmp_path / "bundle")
    monkeypatch.setattr(stored, "_brought", {})
    assert stored.load("key", configs) is None
    bundle = tw.load_bundle(tmp_path / "bundle")
    assert stored.load("key", configs) == "tile=128"
    assert bundle.about["licences"]["copy"] == "MIT" and bundle.tuned.keys() == {"key"}
    bundle.unload()
    assert stored.load("key", configs) is None


@pytest.mark.parametrize("options, arguments, error, message", [
    ({"targets": "sm_90a"}, (), TypeError, "targets is a list of names"),
    ({"targets": ["sm_70"]}, (), tw.TileValueError, "unknown target 'sm_70'"),
    ({"code": "elf"}, (), ValueError, "code must be 'cubin', 'ptx' or None"),
    ({}, (3,), TypeError, "must be made with @tile_kernel"),
    ({}, (copy, "f32[?]"), TypeError, "takes 3 arguments"),
    ({}, (copy, "f33[?]", "f32[?]", 64), ValueError, "no dtype 'f33'"),
])
def test_specs_that_are_refused(
    options: dict[str, Any], arguments: tuple[Any, ...], error: type[Exception], message: str,
) -> None:
    with pytest.raises(error, match=message):
        BundleSpec(**options).add(*arguments)


def test_what_cannot_be_built(tmp_path: Path) -> None:
    @tw.tile_kernel
    def apply(x, f: tw.Constant[Any]):
        tw.store(x, 0, f(tw.load(x, 0, 16)))

    def refused(message: str, *arguments: Any, **options: Any) -> None:
        spec = BundleSpec()
        spec.add(*arguments, **options)
        with pytest.raises(ValueError, match=message):
            spec.build(tmp_path / "bundle")

    refused("argument 'f': the constant <function", apply, "f32[?]", shifted)
    refused("no place of a kernel", "nothing", "f32[?]")
    refused("there is no kernel path in os", "os:path", "f32[?]")
    refused("there is no Python file", "nothing.py:kernel", "f32[?]")
    with pytest.raises(ValueError, match="no run-time argument 'y'"):
        BundleSpec().add(apply, "f32[?]", tw.exp, same=[("x", "y")])
    with pytest.raises(ValueError, match="the spec has no entries"):
        BundleSpec().build(tmp_path / "bundle")
    assert not list(tmp_path.iterdir())


SCRIPT = """
import sys
import numpy as np
import tilewright as tw

@tw.tile_kernel
def scale(x, out, factor, tile: tw.Constant[int], dtype: tw.Constant = tw.float32, limit: tw.Constant[float] = 0.5):
    i = tw.bid(0)
    tw.store(out, i, tw.minimum(tw.load(x, i, tile) * factor, limit).astype(dtype).astype(out.dtype))

@tw.tile_kernel
def total(xs, pair, out):
    acc = tw.zeros((16,), tw.float32)
    for k in range(len(xs)):
        acc = acc + tw.load(xs[k], 0, 16)
    tw.store(out, 0, acc * pair[1] + tw.load(pair[0], 0, 16))

def make():
    @tw.tile_kernel
    def hidden(x):
        tw.store(x, 0, 1.0)
    return hidden

if __name__ == "__main__":
    x = np.ones(256, np.float32)
    for factor in (1.0, 2.0):
        scale[(2,)](x, np.zeros_like(x), factor, 128)
    scale[(2,)](x, x, 3.0, 128, limit=float("inf"))
    scale.replace_hints(occupancy=2)[(2,)](x, np.zeros_like(x), 3.0, 128, tw.float16)
    total[(1,)]([x, x[:16]], (x, 2.0), np.zeros(16, np.float32))
    make()[(1,)](x)
    if len(sys.argv) > 1:
        raise RuntimeError(sys.argv[1])
"""


def test_a_run_is_recorded(cuda: FakeCuda, tmp_path: Path, capsys: pytest.CaptureFixture[str],
                           monkeypatch: pytest.MonkeyPatch) -> None:
    script, spec = tmp_path / "script.py", tmp_path / "spec.py"
    script.write_text(SCRIPT)
    assert main(["build", "--record", str(script), "-o", str(spec), "--target", "sm_90a"]) == 0
    assert spec.read_text() == '''"""What a run has launched."""

import tilewright as tw

spec = tw.bundles.BundleSpec(targets=["sm_90a"])
spec.add("script.py:scale", "f32[256]", "f32[256]", "f32", 128, tw.float32, 0.5)
spec.add("script.py:scale", "f32[256]", "f32[256]", "f32", 128, tw.float32, float('inf'), same=[('out', 'x')])
spec.add("script.py:scale", "f32[256]", "f32[256]", "f32", 128, tw.float16, 0.5, hints={'occupancy': 2})
spec.add("script.py:total", ["f32[256]", "f32[16]"], ("f32[256]", "f32"), "f32[16]")
# left out: make.<locals>.hidden is made inside a function ("f32[256]")
'''
    capsys.readouterr()
    assert main(["build", "--record", str(script), "-o", str(spec), "--args", "oh", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["launches"] == 5 and answer["stopped"]["message"] == "oh"
    assert main(["build", str(spec), "-o", str(tmp_path / "bundle")]) == 0
    assert "2 kernels, 4 binaries" in capsys.readouterr().out
    bundle = tw.load_bundle(tmp_path / "bundle")
    x = array(512)
    bundle["scale"][(2,)](x, array(512), 1.0, 128)
    bundle["total"][(1,)]([array(32), array(48)], (array(16), 2.0), array(16))
    assert len(cuda.launches) == 2 and not cuda.linked


def test_the_command_line(cuda: FakeCuda, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "my_spec.py"
    spec.write_text("import tilewright as tw\n\n@tw.tile_kernel\ndef fill(x):\n    tw.store(x, 0, tw.full((16,), 1.0, "
                    "tw.float32))\n\nspec = tw.bundles.BundleSpec()\nspec.add(fill, 'f32[?]', symbol='fill')\n")
    assert main(["build", str(spec), "-o", str(tmp_path / "b"), "--target", "sm_80", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["kernels"] == ["fill"] and answer["binaries"][0]["symbol"] == "fill"
    assert answer["binaries"][0]["target"] == "sm_80"
    spec.write_text("x = 1\n")
    assert main(["build", str(spec), "-o", str(tmp_path / "c")]) == 2
    assert "has no BundleSpecs; write one at its top level" in capsys.readouterr().err
    assert main(["build", str(tmp_path / "none.py"), "-o", str(tmp_path / "c")]) == 2
