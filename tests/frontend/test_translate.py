"""From a Python function to Tile IR: where sources come from, spans, specialisation, fused products."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import FunctionType
from typing import Annotated, Any

import numpy as np
import pytest
from support.frontend import ir, result

import tilewright as ct
from tilewright.frontend import ConstArg, translate
from tilewright.tileir.core import Function
from tilewright.tileir.dtypes import float32, int32
from tilewright.tileir.plan import Hints
from tilewright.tileir.types import ArrayType, TileType

X = np.zeros(16, np.float32)
STATIC = ct.ArrayAnnotation(static_shape_dims=(-1,), static_stride_dims=(0,))
ARRAY = ArrayType(float32, (None,), (1,))


def plain(kernel: Callable[..., Any]) -> FunctionType:
    """A kernel as `translate` takes it."""
    assert isinstance(kernel, FunctionType)
    return kernel


def opcodes(function: Function) -> list[str]:
    return [op.opcode for op in function.walk()]


def test_the_entry_takes_plain_functions() -> None:
    def kernel(x, n, flag):
        if flag:
            ct.store(x, (n,), 1.0)

    arguments = (ARRAY, TileType(int32), ConstArg(True))
    function = translate(plain(kernel), arguments, name="shown", hints=Hints(occupancy=2))
    assert (function.name, function.hints) == ("shown", Hints(occupancy=2))
    assert [(p.hint, p.type) for p in function.params] == [("x", ARRAY), ("n", TileType(int32))]
    assert "store" not in opcodes(translate(plain(kernel), (ARRAY, TileType(int32), ConstArg(False))))


def test_every_op_knows_its_place() -> None:
    def helper(t):
        return t * 2.0

    def kernel(x):
        t = ct.load(x, (0,), (16,))
        ct.store(x, (0,), helper(t))

    first = kernel.__code__.co_firstlineno
    function = translate(plain(kernel), (ARRAY,))
    spans = {op.opcode: op.span for op in function.walk()}
    call_site = spans["mul"].call_site
    assert spans["load"].line == first + 1 and spans["load"].function == "kernel"
    assert spans["mul"].function == "helper" and call_site is not None and call_site.line == first + 2
    assert all(op.span.line for op in function.walk())


def test_lambdas_and_indented_text() -> None:
    kernel = ct.tile_kernel(lambda x: ct.store(x, (0,), 3.0))
    x = X.copy()
    kernel[(1,)](x)
    assert x[0] == 3

    if x is not None:
        @ct.tile_kernel
        def indented(x):
            """A text
that is not indented."""
            ct.store(x, (0,), 4.0)

    indented[(1,)](x)
    assert x[0] == 4


def test_a_source_that_cannot_be_read() -> None:
    space: dict[str, Any] = {"ct": ct}
    exec("def kernel(x):\n    ct.store(x, (0,), 1.0)\n", space)
    with pytest.raises(ct.TileSyntaxError, match="cannot be read"):
        translate(space["kernel"], (ARRAY,))


def test_a_kernel_takes_no_star_arguments() -> None:
    def kernel(*xs):
        pass

    with pytest.raises(ct.TileSyntaxError, match="cannot have the parameter"):
        translate(plain(kernel), (ARRAY,))


def test_declared_dimensions_are_constants() -> None:
    @ct.tile_kernel
    def kernel(x: Annotated[ct.Array, STATIC], out):
        ct.ensure_constant(x.shape[1])
        t = ct.zeros((x.shape[1], x.strides[0]), ct.float32)
        ct.store(out, (0,), ct.sum(t + 1))
        ct.ensure_constant(x.shape[0])

    with pytest.raises(ct.TileStaticAssertionError, match="int32 scalar is not a constant"):
        ir(kernel, np.zeros((4, 8), np.float32), X)


def test_known_extents_do_not_change_types() -> None:
    @ct.tile_kernel
    def kernel(x, out):
        ct.store(out, (0,), x.shape[0] * ct.ones((1,), ct.int8))

    with pytest.raises(ct.TileTypeError, match="int32 is not converted to int8"):
        ir(kernel, np.zeros(1, np.int8), np.zeros(1, np.int8))


@pytest.mark.parametrize("compute,fused,negated", [
    (lambda a, b, c: a * b + c, 1, 0), (lambda a, b, c: c + a * b, 1, 0), (lambda a, b, c: a * b - c, 1, 1),
    (lambda a, b, c: c - a * b, 1, 1), (lambda a, b, c: a * b + b * c, 1, 0),
    (lambda a, b, c: ct.mul(a, b, rounding_mode=ct.RoundingMode.RZ) + c, 0, 0),
    (lambda a, b, c: ct.astype(a, ct.int32) * ct.astype(b, ct.int32) + ct.astype(c, ct.int32), 0, 0),
])
def test_products_are_fused_before_anyone_sees_them(compute: Any, fused: int, negated: int) -> None:
    @ct.tile_kernel
    def kernel(x):
        a, b, c = (ct.load(x, (0,), (16,)), ct.load(x, (1,), (16,)), ct.load(x, (2,), (16,)))
        ct.store(x, (0,), ct.astype(compute(a, b, c), ct.float32))

    found = opcodes(ir(kernel, X))
    assert (found.count("fma"), found.count("neg")) == (fused, negated)


def narrow(t: Any) -> Any:
    return t.astype(ct.float8_e4m3fn)


@pytest.mark.parametrize(("compute", "adds"), [
    (lambda a, b, c: c + ct.mma(a, b, ct.zeros((16, 16), ct.float32)), 0),
    (lambda a, b, c: c * 0.5 + ct.mma(a, b, ct.zeros((16, 16), ct.float32)), 0),  # before the multiplication
    (lambda a, b, c: c - ct.mma(a, b, ct.zeros((16, 16), ct.float32)), 0),
    (lambda a, b, c: c + ct.mma(a, b, c), 1),
    (lambda a, b, c: c + ct.mma(narrow(a), narrow(b), ct.zeros((16, 16), ct.float32), use_fast_acc=True), 1),
    (lambda a, b, c: ct.add(c, ct.mma(a, b, ct.zeros((16, 16), ct.float32)), flush_to_zero=True), 1),
    (lambda a, b, c: c + (a @ b).astype(ct.float32), 1),  # a rounded product
])
def test_a_product_of_matrices_begins_with_what_it_is_added_to(compute: Any, adds: int) -> None:
    @ct.tile_kernel
    def kernel(x, y):
        a, b = ct.load(x, (0, 0), (16, 16)), ct.load(x, (1, 0), (16, 16))
        ct.store(y, (0, 0), compute(a, b, ct.load(y, (0, 0), (16, 16))))

    arrays = np.zeros((32, 16), np.float16), np.zeros((16, 16), np.float32)
    found = opcodes(ir(kernel, *arrays))
    assert (found.count("add"), found.count("mma"), found.count("fma")) == (adds, 1, 0)
    exact = opcodes(translate(plain(kernel.__wrapped__), kernel.arg_specs(*arrays), math="exact"))
    assert {"add", "sub"} & {*exact}


def test_what_is_broadcast_is_negated_once() -> None:
    @ct.tile_kernel
    def kernel(x):
        a, row = ct.load(x, (0, 0), (16, 16)), ct.load(x, (0, 0), (1, 16))
        ct.store(x, (0, 0), a * 2.0 - row)

    [negated] = [op for op in ir(kernel, np.zeros((16, 16), np.float32)).walk() if op.opcode == "neg"]
    assert negated.results[0].type.shape == (1, 16)


def test_a_product_that_is_used_twice_stays() -> None:
    @ct.tile_kernel
    def kernel(x):
        p = ct.load(x, (0,), (16,)) * 3.5
        ct.store(x, (0,), p + 1.0)
        ct.store(x, (1,), p)

    assert "fma" not in opcodes(ir(kernel, X))


def test_fused_values() -> None:
    got = result(lambda a, b, c: c - ct.float64(a) * b, 3.0, 4.0, 20.0)
    assert got[0] == 8.0


def test_many_threads_translate_at_once() -> None:
    def kernel(x, n):
        total = 0.0
        for i in range(n):
            total += ct.sum(ct.load(x, (i,), (16,)))
        ct.store(x, (0,), total)

    texts: list[str] = []

    def work() -> None:
        texts.append(str(translate(plain(kernel), (ARRAY, TileType(int32)))))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(texts) == 8 and len(set(texts)) == 1
