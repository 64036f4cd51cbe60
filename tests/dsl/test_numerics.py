"""`numerics=`: products of the interpreter are those of a GPU, bit for bit; the simulator's always are.

CI runs some of the 60 products, `make target-numerics` all for every target; those marked `gpu` compare with the GPU.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from support.target_products import PRODUCTS, Product, bits, loop

import tilewright as tw
from tilewright.backend_ptx.simulator import simulate
from tilewright.backend_ptx.targets import TARGETS

THOROUGH = bool(os.environ.get("TILEWRIGHT_THOROUGH"))
# Each pair of dtypes once, and each kind of tile.
SOME = [PRODUCTS[number] for number in (0, 8, 14, 21, 24, 29, 30, 40, 46, 53, 59)]


def differing(product: Product, target: str) -> int:
    """Bytes in which the interpreter and the simulator differ; -1 where the target has no such product."""
    left, right = product.arguments(), product.arguments()
    try:
        product.kernel.interpret((2,), *left, numerics=target)
        simulate(product.kernel, (2,), right, target, races=False)
    except tw.TileUnsupportedFeatureError as error:
        assert target in str(error)
        return -1
    assert np.isfinite(left[2].astype(np.float64)).any()
    return int((bits(left[2]) != bits(right[2])).sum())


@pytest.mark.parametrize("product", PRODUCTS if THOROUGH else SOME, ids=str)
def test_simulator_and_interpreter_agree(product: Product) -> None:
    assert differing(product, "sm_90a") == 0


@pytest.mark.parametrize("target", [name for name in TARGETS if name != "sm_90a"])
def test_other_targets(target: str) -> None:
    for product in PRODUCTS if THOROUGH else SOME[1:3]:
        assert differing(product, target) <= 0, str(product)


@pytest.mark.gpu
@pytest.mark.parametrize("product", PRODUCTS, ids=str)
def test_the_gpu_agrees(product: Product) -> None:
    from tilewright.backend_ptx.runtime.driver import get_device

    target = get_device(0).target
    if not target.tensor_cores.confirmed:
        pytest.skip(f"what the tensor cores of {target} compute is not confirmed")
    host = product.arguments()
    there = [tw.to_device(x) if isinstance(x, np.ndarray) else x for x in host]
    product.kernel.interpret((2,), *host, numerics=target.name)
    product.kernel[2](*there)
    differ = bits(one_nan(there[2].to_host())) != bits(one_nan(host[2]))
    assert not differ.any(), f"{differ.sum()} of {differ.size} bytes differ"


def one_nan(x: Any) -> Any:
    """With one code for every NaN: threads make others than x86 processors, and the language promises none."""
    if x.dtype.kind in "iu":
        return x
    return np.where(np.isnan(x.astype(np.float64)), x.dtype.type(np.nan), x)


def half_precision() -> list[Any]:
    return Product(np.float16, np.float32, (32, 16, 32), "wide").arguments()


def test_it_is_not_what_is_rounded_once() -> None:
    plain, there, older = half_precision(), half_precision(), half_precision()
    loop.interpret((2,), *plain)
    loop.interpret((2,), *there, numerics="sm_90a")
    loop.interpret((2,), *older, numerics="sm_80")
    assert (plain[2] != there[2]).mean() > 0.5 and (older[2] != there[2]).any()
    np.testing.assert_allclose(plain[2], there[2], rtol=1e-4, atol=1e-2)


def test_launches_take_it_too() -> None:
    by_method, by_launch = half_precision(), half_precision()
    loop.interpret((2,), *by_method, numerics="sm_90")
    assert tw.launch(None, (2,), loop, tuple(by_launch), numerics="sm_90a") is None
    assert (bits(by_method[2]) == bits(by_launch[2])).all()


@pytest.mark.parametrize("mode", ["chunked", "single"])
def test_every_mode_agrees(mode: str) -> None:
    """Later launches too, which run other code."""
    one = half_precision()
    loop.interpret((2,), *one, numerics="sm_90a")
    for _ in range(4):
        other = half_precision()
        loop.interpret((2,), *other, numerics="sm_90a", mode=mode)
        assert (bits(one[2]) == bits(other[2])).all()


def test_mistakes() -> None:
    args = half_precision()
    with pytest.raises(tw.TileValueError) as caught:
        loop.interpret((2,), *args, numerics="hopper")
    assert str(caught.value).splitlines() == [
        "error: numerics: there is no target 'hopper'",
        f"  = hint: name the GPU whose tensor cores multiply: {', '.join(TARGETS)}",
        "  = hint: without numerics, products are exact, and their sums are rounded as NumPy rounds them",
    ]
    number: Any = 90
    with pytest.raises(TypeError, match="numerics must be the name of a target, not int; there are sm_80"):
        loop.interpret((2,), *args, numerics=number)
    with pytest.raises(ValueError, match="check and numerics cannot go together: .*; run it twice"):
        tw.launch(None, (2,), loop, tuple(args), check=True, numerics="sm_90a")
