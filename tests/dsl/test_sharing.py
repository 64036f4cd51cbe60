"""Arguments that share memory: what each executor makes of them, what the specialisation says, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.sharing_kernels import CASES, Shared, add, memory, ramp, scale

import tilewright as tw
from tilewright.backend_ptx.simulator import simulate

EVERY = pytest.mark.parametrize("name", CASES)


def output(args: tuple[Any, ...]) -> np.ndarray[Any, Any]:
    """The memory behind the last array."""
    return memory([a for a in args if isinstance(a, np.ndarray)][-1])


def check(case: Shared, got: np.ndarray[Any, Any]) -> None:
    wanted = np.asarray(case.wanted(*case.make())).reshape(got.shape)
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


@EVERY
def test_interpreter(name: str) -> None:
    case = CASES[name]
    results = []
    for mode, order in (("single", "asc"), ("single", "desc"), ("chunked", None)):
        args = case.make()
        case.kernel.interpret(case.grid, *args, mode=mode, order=order)
        results.append(output(args))
    check(case, results[0])
    assert all(np.array_equal(results[0], other) for other in results[1:]), "no block races with another"


@EVERY
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_simulator(name: str, target: str) -> None:
    case = CASES[name]
    args = case.make()
    simulate(case.kernel, case.grid, args, target, schedule="random")
    check(case, output(args))


class View:
    """A view of device memory."""

    def __init__(self, base: tw.DeviceArray, of: np.ndarray[Any, Any], view: np.ndarray[Any, Any]) -> None:
        distance = view.__array_interface__["data"][0] - of.__array_interface__["data"][0]
        self.__cuda_array_interface__ = {
            "shape": view.shape, "typestr": view.dtype.str, "data": (base.pointer + distance, False),
            "strides": view.strides, "version": 3}


@pytest.mark.gpu
@EVERY
def test_gpu(name: str) -> None:
    case = CASES[name]
    for _ in range(4):  # the long way, the long way that makes a key, the short way twice
        args = case.make()
        bases: dict[int, tw.DeviceArray] = {}

        def there(value: Any, bases: dict[int, tw.DeviceArray] = bases) -> Any:
            if isinstance(value, list):
                return [there(v) for v in value]
            if not isinstance(value, np.ndarray):
                return value
            of = memory(value)
            base = bases.setdefault(id(of), tw.to_device(of))
            return base if value is of else View(base, of, value)

        case.kernel[case.grid](*map(there, args))
        of = output(args)
        check(case, bases[id(of)].to_host())


def aliases(kernel: Any, *args: Any) -> str:
    """What the text form says of the arguments that share memory."""
    head = kernel.ir(*args).splitlines()[0]
    return head[head.index("aliases"):].rpartition(" ")[0] if "aliases" in head else ""


def test_what_the_specialisation_knows() -> None:
    x, y, z = (ramp(100) for _ in range(3))
    assert aliases(add, x, y, z, 32) == ""
    assert aliases(add, x, x, z, 32) == "", "nobody writes what two names share"
    assert aliases(add, x, y, x[...], 32) == "aliases(same=((2, 0)))"
    assert aliases(add, x, x, x, 32) == "aliases(same=((1, 0), (2, 0)))"
    assert aliases(add, x[1:], y, x[:-1], 32) == "aliases(groups=((0, 2)))"
    assert aliases(add, x[1:], x[:-1], x[:-1], 32) == "aliases(same=((2, 1)), groups=((0, 1)))"
    assert aliases(add, x[1:], x[:-2], x[:-1], 32) == "aliases(groups=((0, 1, 2)))"
    assert aliases(scale, x[::2], x[1::2], 32) == ""
    frozen = x.view()
    frozen.flags.writeable = False
    assert aliases(add, frozen, y, x, 32) == "aliases(groups=((0, 2)))", "one of the names may be written"


def test_what_ptx_promises() -> None:
    x = ramp(128)
    apart, same = (scale.llvm(x, out, 32, target="sm_90a") for out in (ramp(128), x))
    over = scale.llvm(x[:-1], x[1:], 32, target="sm_90a")
    assert "noalias" in apart and "ld.global.nc" in apart
    assert "ld.global.nc" not in same
    assert "noalias" not in over and "ld.global.nc" not in over


def test_an_array_under_two_names_needs_no_barrier() -> None:
    """Each thread writes the elements that it has read."""
    x = ramp(4096)
    assert "bar.sync" not in scale.ptx(x, x, 1024, target="sm_90a")
    assert "bar.sync" in scale.ptx(x[:-4], x[4:], 1024, target="sm_90a")


@tw.tile_kernel
def two_outputs(x, one, two):
    t = tw.load(x, 0, 16)
    tw.store(one, 0, t + 1.0)
    tw.store(two, 0, t + 2.0)


def test_two_outputs() -> None:
    x, out = ramp(16), np.zeros(32, np.float32)
    two_outputs[(1,)](x, out[:16], out[16:])
    assert np.array_equal(out, np.append(x + 1, x + 2))
    two_outputs[(1,)](x, out[:16], out[:16])
    assert np.array_equal(out[:16], x + 2), "program order holds"
    with pytest.raises(ValueError, match="writes to 'one' and to 'two', which overlap in memory without being equal"):
        two_outputs[(1,)](x, out[:16], out[8:24])
    with pytest.raises(ValueError, match="writes to 'one' and to 'two'"):
        two_outputs.ptx(x, out[:16], out[15::-1], target="sm_80")


def test_read_only_names_of_writable_memory() -> None:
    x = ramp(100)
    frozen = x.view()
    frozen.flags.writeable = False
    scale[(4,)](frozen, x, 32)
    assert np.array_equal(x, 2 * ramp(100))
    for args in ((x, frozen), (frozen, frozen)):
        with pytest.raises(ValueError, match="'out' is read-only"):
            scale[(4,)](*args, 32)


def test_arrays_of_jax_never_change() -> None:
    class Array:
        """As versions of JAX export theirs: without a word that it is read-only."""

        def __init__(self, values: np.ndarray[Any, Any]) -> None:
            self._values = values

        def __dlpack__(self, **options: Any) -> Any:
            return self._values.__dlpack__()

        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

    Array.__module__ = "jaxlib._jax"
    x = ramp(100)
    with pytest.raises(ValueError, match="'out' is read-only.*arrays of JAX never change: pass an array of NumPy"):
        scale[(4,)](x, Array(ramp(100)), 32)
    out = np.zeros(100, np.float32)
    scale[(4,)](Array(x), out, 32)
    assert np.array_equal(out, 2 * x)
