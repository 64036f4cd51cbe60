"""Every example checks itself: in the interpreter, and on a GPU where there is one.

Those that are not in the catalogue of kernels are assembled here; with TILEWRIGHT_THOROUGH all of them.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from example_launches import Launch, launches

import tilewright as tw
from tilewright.backend_ptx.runtime.ptxas import assemble
from tilewright.interp.checking.report import DEFAULT_CHECKS
from tilewright.launching import launcher
from tilewright.launching.checking import Checking
from tilewright.launching.collecting import Collector

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))
# The tour shows the interpreter, which needs nothing; all others run wherever `places` says.
HOST_ONLY = {"demo"}
# Those that use several GPUs do so under torchrun alone, with torch.
TORCHRUN = {"distributed_matmul"}
ASSEMBLED = EXAMPLES if os.environ.get("TILEWRIGHT_THOROUGH") else [
    "cholesky", "decode", "fft4096", "fused_block", "gemm", "moe_routing", "one_mma", "segmented_mask"]


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The example as a module; examples import each other from their folder."""
    monkeypatch.syspath_prepend(str(FOLDER))
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", EXAMPLES)
def test_needs_what_tilewright_needs(name: str) -> None:
    """A newcomer has installed nothing else."""
    tree = ast.parse((FOLDER / f"{name}.py").read_text())
    asked = {n.name for node in ast.walk(tree) if isinstance(node, ast.Import) for n in node.names}
    asked |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    others = {"numpy", "ml_dtypes", "tilewright", *(path.stem for path in FOLDER.glob("*.py"))}
    others |= {"torch"} if name in TORCHRUN else set()
    assert {module.partition(".")[0] for module in asked} <= others | sys.stdlib_module_names


def lines_of(place: str, text: str) -> int:
    """How many results were reported for a place: `check` prints the place in a column of its own."""
    return sum(f" {place:<12} " in line for line in text.splitlines())


@pytest.mark.parametrize("name", EXAMPLES)
def test_in_the_interpreter(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    module = load(name, monkeypatch)
    monkeypatch.setattr(tw, "gpu_available", lambda: False)
    module.main()
    out = capsys.readouterr().out
    assert "agrees with NumPy" in out if name in HOST_ONLY else lines_of("interpreter", out) > 0
    assert lines_of("GPU", out) == 0


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name != "tuned_matmul"])  # the kernel of `matmul`
def test_checked(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checked launches have nothing to say of the examples."""
    module, found = load(name, monkeypatch), Collector(lambda: "")
    monkeypatch.setattr(tw, "gpu_available", lambda: False)
    monkeypatch.setattr(launcher, "CHECKED", Checking(DEFAULT_CHECKS, listener=found))
    module.main()
    assert found.launches and not found.found("error", "warning"), "\n".join(str(report) for _, report in found.found())


@pytest.mark.parametrize("name", ASSEMBLED)
def test_assembles(name: str) -> None:
    """The first launch of each kernel, for two targets: registers hold what an example asks them to."""
    first: dict[str, Launch] = {}
    for launch in launches(name):
        first.setdefault(launch.name, launch)
    assert first
    for launch in first.values():
        for target in ("sm_80", "sm_90a"):
            made = launch.stages(target).compiled
            assert assemble(made.ptx, made.target, kernel=made.name).spills == 0, f"{launch.name} for {target} spills"


@pytest.mark.gpu
@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in HOST_ONLY | TORCHRUN])
def test_on_the_gpu(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    load(name, monkeypatch).main()
    out = capsys.readouterr().out
    # What runs in the interpreter runs on the GPU as well, and says so.
    assert lines_of("GPU", out) >= lines_of("interpreter", out) > 0, out


@pytest.mark.gpu
@pytest.mark.parametrize("name", sorted(TORCHRUN))
def test_on_several_gpus(name: str) -> None:
    torch = pytest.importorskip("torch")
    devices = min(torch.cuda.device_count(), 4)
    if devices < 2:
        pytest.skip("one GPU")
    run = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(devices)]
    environment = {**os.environ, "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NCCL_NVLS_ENABLE": "0"}
    run.append(str(FOLDER / f"{name}.py"))
    done = subprocess.run(run, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout.count(" ok, ") == 3, done.stdout + done.stderr


def test_demo_shows_every_stage(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    load("demo", monkeypatch).main()
    out = capsys.readouterr().out
    assert "func @softmax" in out and ".target sm_90a" in out
