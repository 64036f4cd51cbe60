"""Every function of the math library on the GPU: float32 over all 2**32 inputs, pairs and float64 sampled densely.

As a program it prints the table: python tests/backend_ptx/mathlib/test_gpu_accuracy.py [name ...]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.llvm.compile import llvm_to_ptx
from tilewright.backend_ptx.llvm.module import KernelText
from tilewright.backend_ptx.mathlib import emit, rounded
from tilewright.backend_ptx.runtime import driver as cuda
from tilewright.backend_ptx.runtime.link import link_ptx
from tilewright.tileir.enums import RoundingMode

THREADS, LANES = 128, 4
CHUNK = 1 << 26
DEVICE = "cuda"
GLOBAL = "ptr addrspace(1)"
BYTES = {"float": 4, "double": 8}

# The bound of each function in ulp: its result against the correctly rounded one.
BOUNDS32 = {
    "exp": 2, "exp2": 2, "log": 2, "log2": 2, "sqrt": 0, "rsqrt": 2, "sin": 2, "cos": 2, "tanh": 2, "tan": 4,
    "sinh": 4, "cosh": 4, "asin": 2, "acos": 2, "atan": 2, "asinh": 4, "acosh": 4, "atanh": 4, "log1p": 2, "expm1": 2,
    "erf": 2, "erfc": 4, "sigmoid": 4,
}
PAIRS32 = {"pow": 4, "atan2": 4, "truediv": 0}
BOUNDS64 = {
    "exp": 2, "exp2": 2, "log": 2, "log2": 2, "sqrt": 0, "rsqrt": 2, "sin": 2, "cos": 2, "tanh": 4, "tan": 4,
    "sinh": 4, "cosh": 4, "asin": 4, "acos": 4, "atan": 4, "asinh": 4, "acosh": 4, "atanh": 4, "log1p": 4, "expm1": 4,
    "sigmoid": 4,
}
PAIRS64 = {"pow": 4, "atan2": 4, "truediv": 0}


def kernel_text(function: Callable[..., Val], elem: str, inputs: int) -> str:
    """LLVM IR of `out[i] = function(in0[i], ...)`, four elements a thread."""
    b = Builder()
    block = b.call("llvm.nvvm.read.ptx.sreg.ctaid.x", "i32", [])
    thread = b.call("llvm.nvvm.read.ptx.sreg.tid.x", "i32", [])
    index = b.cast("zext", b.mul(b.add(b.mul(block, THREADS), thread), LANES), "i64")
    offset = b.mul(index, BYTES[elem])
    names = [*(f"in{i}" for i in range(inputs)), "out"]
    *sources, target = (b.gep(Val(GLOBAL, 0, f"%{name}"), offset) for name in names)
    align = BYTES[elem] * LANES
    value = function(b, *(b.load(elem, LANES, s, min(align, 16)) for s in sources))
    b.store(value, target, min(align, 16))
    b.ret()
    return KernelText("sweep", [(GLOBAL, name) for name in names], THREADS).text(b)


class Launcher:
    """A function as a kernel on device 0; call it with torch tensors."""

    def __init__(self, function: Callable[..., Val], elem: str, inputs: int) -> None:
        self.device = cuda.get_device(0)
        self.device.make_current()
        ptx, _ = llvm_to_ptx(kernel_text(function, elem, inputs), self.device.target)
        cubin, _ = link_ptx(ptx, "sweep")
        self.driver = cuda.driver()
        self.module = cuda.check(self.driver.cuModuleLoadData(cubin), "cuModuleLoadData")
        self.handle = cuda.check(self.driver.cuModuleGetFunction(self.module, b"sweep"), "cuModuleGetFunction")

    def __call__(self, *inputs: Any) -> Any:
        import torch

        out = torch.empty_like(inputs[0])
        count = out.numel()
        assert count % (THREADS * LANES) == 0
        pointers = [np.array([t.data_ptr()], np.uint64) for t in (*inputs, out)]
        args = np.array([p.ctypes.data for p in pointers], np.uint64)
        stream = torch.cuda.current_stream().cuda_stream
        cuda.check(self.driver.cuLaunchKernel(
            self.handle, count // (THREADS * LANES), 1, 1, THREADS, 1, 1, 0, stream, args.ctypes.data, 0), "launch")
        return out


@dataclass
class Errors:
    """The worst of what was seen."""

    name: str
    distance: int = 0  # steps between the result and the correctly rounded one
    ulp: float = 0.0  # distance from the exact value
    at: tuple[float, ...] = ()
    wrong: int = 0  # NaN for a number or the reverse, a zero of the wrong sign
    wrong_at: tuple[float, ...] = ()
    count: int = 0

    def __str__(self) -> str:
        text = f"{self.name:20} {self.count:>11} inputs: {self.distance} steps, {self.ulp:.3f} ulp at {self.at}"
        return text + (f"; {self.wrong} wrong values, as at {self.wrong_at}" if self.wrong else "")


def measure(errors: Errors, got: Any, exact: Any, inputs: tuple[Any, ...]) -> None:
    """Fold one chunk into `errors`: float32 results against float64 values, torch tensors."""
    import torch

    best = exact.float()
    nan = torch.isnan(best)
    wrong = (torch.isnan(got) != nan) | ((got == 0) & (best == 0) & (torch.signbit(got) != torch.signbit(best)))
    errors.count += got.numel()
    bad = int(wrong.sum())
    if bad:
        errors.wrong += bad
        i = int(wrong.nonzero()[0])
        errors.wrong_at = tuple(float(x[i]) for x in inputs)
    steps = (ordered(got) - ordered(best)).abs().masked_fill_(nan | torch.isnan(got), 0)
    worst = int(steps.max())
    if worst > errors.distance:
        i = int(steps.argmax())
        errors.distance, errors.at = worst, tuple(float(x[i]) for x in inputs)
    _, exponent = torch.frexp(exact)
    unit = torch.ldexp(torch.ones_like(exact), exponent.clamp(min=-125) - 24)
    ulp = torch.nan_to_num((got.double() - exact).abs() / unit, nan=0.0, posinf=0.0)
    ulp.masked_fill_(torch.isinf(got) | torch.isinf(best), 0.0)
    errors.ulp = max(errors.ulp, float(ulp.max()))


def ordered(x: Any) -> Any:
    """float32 as int64 in the order of the values."""
    import torch

    bits = x.view(torch.int32).long()
    return torch.where(bits < 0, -(bits & 0x7FFFFFFF), bits)


def all_floats() -> Iterator[Any]:
    """All 2**32 floats, CHUNK at a time."""
    import torch

    for start in range(-(1 << 31), 1 << 31, CHUNK):
        yield torch.arange(start, start + CHUNK, dtype=torch.int32, device=DEVICE).view(torch.float32)


def references() -> dict[str, Callable[..., Any]]:
    import torch

    same = ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tanh", "tan", "sinh", "cosh", "atan2", "pow",
            "asin", "acos", "atan", "asinh", "acosh", "atanh", "log1p", "expm1", "erf", "erfc", "sigmoid")
    return {name: getattr(torch, name) for name in same} | {"truediv": torch.true_divide}


def sweep(name: str) -> Errors:
    """A function of one float32 over all inputs."""
    launch = Launcher(lambda b, x: emit(b, name, x), "float", 1)
    errors, reference = Errors(name), references()[name]
    for x in all_floats():
        measure(errors, launch(x), reference(x.double()), (x,))
    return errors


SPECIAL = (
    0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, 1.5, -1.5, math.inf, -math.inf, math.nan, 2.0**-149,
    -(2.0**-149), 2.0**-126, 3.4028234663852886e38, -3.4028234663852886e38, 16777216.0, 16777217.0, -8388607.5, 1e30,
    -1e-30, 1 - 2.0**-24, 1 + 2.0**-23, 127.0, 128.0, -149.0, -126.0, 1e-45,
)


def pairs(count: int) -> Iterator[tuple[Any, Any]]:
    """Pairs of float32: any bits; powers of moderate size; a base near 1; nearby values; special values."""
    import torch

    torch.manual_seed(7)

    def bits() -> Any:
        return torch.randint(-(1 << 31), 1 << 31, (count,), dtype=torch.int64, device=DEVICE).to(torch.int32).view(
            torch.float32)

    def exponents(base: Any) -> Any:
        wanted = (torch.rand(count, device=DEVICE, dtype=torch.float64) * 2 - 1) * 150
        return (wanted / torch.log2(base.double().abs())).float()

    x = bits()
    yield x, bits()
    yield x, exponents(x)
    yield x, exponents(x).round()
    near = torch.rand(count, device=DEVICE) * 1.5 + 0.5
    yield near, exponents(near)
    yield x, x * torch.rand(count, device=DEVICE) * 4
    special = torch.tensor(SPECIAL, device=DEVICE)
    grid = torch.cartesian_prod(special, special).repeat(THREADS * LANES, 1)
    yield grid[:, 0].contiguous(), grid[:, 1].contiguous()


def sweep_pairs(name: str, count: int = 1 << 24) -> Errors:
    launch = Launcher(lambda b, x, y: emit(b, name, x, y), "float", 2)
    errors, reference = Errors(name), references()[name]
    for x, y in pairs(count):
        measure(errors, launch(x, y), reference(x.double(), y.double()), (x, y))
    return errors


def samples64() -> Any:
    """float64 arguments: random bits, and moderate numbers of all sizes."""
    rng = np.random.default_rng(5)
    anything = rng.integers(0, 1 << 64, 1 << 17, np.uint64).view(np.float64)
    moderate = rng.uniform(-1, 1, 1 << 17) * np.exp2(rng.integers(-40, 11, 1 << 17))
    near_one = 1 + rng.uniform(-0.5, 0.5, 1 << 16) * np.exp2(-rng.integers(0, 40, 1 << 16).astype(float))
    special = np.resize(np.array(SPECIAL), 1 << 10)
    return np.concatenate([anything, moderate, near_one, special])


def ulp64(got: Any, exact: Any) -> Any:
    """|got - exact| in units of the last place of float64; `exact` is long double."""
    _, exponent = np.frexp(exact)
    unit = np.ldexp(np.longdouble(1), np.maximum(exponent, -1021) - 53)
    return np.abs(got.astype(np.longdouble) - exact) / unit


def sweep64(name: str, inputs: int) -> Errors:
    import torch

    launch = Launcher(lambda b, *args: emit(b, name, *args), "double", inputs)
    x = samples64()
    args = [x] if inputs == 1 else [x, np.random.default_rng(6).permutation(x)]
    if name == "pow":
        with np.errstate(all="ignore"):
            wanted = np.random.default_rng(8).uniform(-1080, 1080, len(x))
            args[1][::2] = (wanted / np.log2(np.abs(x)))[::2]
    got = launch(*(torch.from_numpy(a).cuda() for a in args)).cpu().numpy()
    reference: Callable[..., Any] = {
        "rsqrt": lambda v: 1 / np.sqrt(v), "pow": np.power, "atan2": np.arctan2, "truediv": np.divide,
        "sigmoid": lambda v: np.where(v < 0, np.exp(-np.abs(v)), 1) / (1 + np.exp(-np.abs(v))),
        **{f"a{word}": getattr(np, f"arc{word}") for word in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    }.get(name) or getattr(np, name)
    with np.errstate(all="ignore"):
        exact = reference(*(a.astype(np.longdouble) for a in args))
        best = exact.astype(np.float64)
        error = ulp64(got, exact)
    wrong = np.isnan(best) != np.isnan(got)
    wrong |= (got == 0) & (best == 0) & (np.signbit(got) != np.signbit(best))
    plain = np.isfinite(best) & np.isfinite(got)
    wrong |= ~plain & ~np.isnan(best) & ~np.isnan(got) & (best != got)
    error = np.where(plain, error, 0)
    i, j = int(error.argmax()), int(wrong.argmax())
    worst = float(error[i])
    return Errors(
        f"{name} f64", math.ceil(max(worst - 0.5, 0)), worst, tuple(float(a[i]) for a in args), int(wrong.sum()),
        tuple(float(a[j]) for a in args), len(x))


def directed(word: str, mode: RoundingMode) -> Errors:
    """mul, div and sqrt in a direction: the exact value must lie on the right side, less than a step away."""
    import torch

    inputs = 1 if word == "sqrt" else 2
    launch = Launcher(lambda b, *args: rounded(b, word, mode, False, *args), "float", inputs)
    torch.manual_seed(3)
    args = [torch.rand(1 << 22, device=DEVICE) * 3 + 0.1 for _ in range(inputs)]
    if inputs == 2:
        args[0] *= torch.randint(0, 2, (1 << 22,), device=DEVICE) * 2 - 1
    got = launch(*args)
    x, *more = (a.double() for a in args)
    exact = {"mul": torch.mul, "div": torch.true_divide, "sqrt": torch.sqrt}[word](x, *more)
    if mode is RoundingMode.RZ:
        got, exact = got.abs(), exact.abs()
    if mode is RoundingMode.RP:
        got, exact = -got, -exact
    following = torch.nextafter(got, torch.full_like(got, math.inf)).double()
    right = (got.double() <= exact) & (following > exact)
    return Errors(f"{word} {mode.name}", wrong=int((~right).sum()), count=got.numel())


def torch_gpu() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no GPU")


@pytest.mark.gpu
@pytest.mark.parametrize("name", BOUNDS32)
def test_float32_over_all_inputs(name: str) -> None:
    torch_gpu()
    errors = sweep(name)
    print(errors)
    assert not errors.wrong and errors.distance <= BOUNDS32[name], str(errors)


@pytest.mark.gpu
@pytest.mark.parametrize("name", PAIRS32)
def test_float32_pairs(name: str) -> None:
    torch_gpu()
    errors = sweep_pairs(name)
    print(errors)
    assert not errors.wrong and errors.distance <= PAIRS32[name], str(errors)


@pytest.mark.gpu
@pytest.mark.parametrize("name", [*BOUNDS64, *PAIRS64])
def test_float64_sampled(name: str) -> None:
    torch_gpu()
    errors = sweep64(name, 2 if name in PAIRS64 else 1)
    print(errors)
    assert not errors.wrong and errors.distance <= (BOUNDS64 | PAIRS64)[name], str(errors)


@pytest.mark.gpu
@pytest.mark.parametrize("word", ["mul", "div", "sqrt"])
@pytest.mark.parametrize("mode", [RoundingMode.RZ, RoundingMode.RM, RoundingMode.RP], ids=lambda m: m.name)
def test_directed_rounding(word: str, mode: RoundingMode) -> None:
    torch_gpu()
    errors = directed(word, mode)
    assert not errors.wrong, str(errors)


def main() -> None:
    """Print the table of all functions, or of those named."""
    chosen = sys.argv[1:] or [*BOUNDS32, *PAIRS32]
    for name in chosen:
        print(sweep_pairs(name) if name in PAIRS32 else sweep(name), flush=True)
    for name in chosen:
        print(sweep64(name, 2 if name in PAIRS64 else 1), flush=True)


if __name__ == "__main__":
    main()
