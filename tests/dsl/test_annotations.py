"""Annotations of kernel parameters and what they do to arguments."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.arguments.annotations import read_params
from tilewright.arguments.bind import ArrayArgument, Const, Scalar, Tuple, bind


def bound(function: Any, *args: Any) -> list[Any]:
    return bind(read_params(function), args)


def test_constants() -> None:
    def kernel(
        a: tw.Constant,  # type: ignore[type-arg]
        b: tw.Constant[int], c: tw.Constant[float], d: tw.Constant[bool],
    ) -> None: ...

    out = bound(kernel, 1, 2, 3.0, True)
    assert [type(x) for x in out] == [Const] * 4 and [x.value for x in out] == [1, 2, 3.0, True]
    values = [1, True, 1.0, 0.0, -0.0, float("nan"), 2]
    keys = {x.key(True) for v in values for x in bound(kernel, v, 0, 0.0, False)[:1]}
    assert len(keys) == len(values)
    assert bound(kernel, float("nan"), 0, 0.0, False)[0].key(True) in keys


def test_constant_refusals() -> None:
    def kernel(n: tw.Constant[int]) -> None: ...

    for bad in ({}, np.zeros(3), [1], object()):
        with pytest.raises(TypeError, match="argument 'n' is a Constant"):
            bound(kernel, bad)
    for huge in (1 << 64, -(1 << 63) - 1):
        with pytest.raises(OverflowError, match="neither int64 nor uint64"):
            bound(kernel, huge)
    assert bound(kernel, (1 << 64) - 1)[0].value == (1 << 64) - 1


def test_scalars() -> None:
    def kernel(a: int, b: tw.ScalarInt64, c: float, d: bool) -> None: ...

    out = bound(kernel, 7, 1 << 40, 2.5, True)
    assert [x.dtype for x in out] == [tw.int32, tw.int64, tw.float32, tw.bool_]
    with pytest.raises(OverflowError, match="'a': 2147483648 does not fit int32; annotate .* ScalarInt64"):
        bound(kernel, 1 << 31, 0, 0.0, False)
    with pytest.raises(OverflowError, match="'b': .* does not fit int64"):
        bound(kernel, 0, 1 << 63, 0.0, False)
    with pytest.raises(TypeError, match="'b' is annotated with ScalarInt64, but a float"):
        bound(kernel, 0, 1.0, 0.0, False)
    with pytest.raises(TypeError, match="'b' is annotated with ScalarInt64, but a float16 was given"):
        bound(kernel, 0, np.float16(1), 0.0, False)
    out = bound(kernel, np.int16(3), np.int16(4), np.float64(1), np.bool_(True))
    assert [x.dtype for x in out] == [tw.int16, tw.int64, tw.float32, tw.bool_]


def test_other_annotations_are_ignored() -> None:
    def kernel(a: np.ndarray, b: int, c: list[int], d: str) -> None: ...

    assert isinstance(bound(kernel, np.zeros(3, np.float32), 1.5, 2, True)[0], ArrayArgument)


def test_unknown_names_fail_at_decoration() -> None:
    with pytest.raises(NameError):

        @tw.tile_kernel
        def kernel(a: no_such_module.Type) -> None: ...  # type: ignore[name-defined]  # noqa: F821


def test_int64_index() -> None:
    def kernel(a: tw.IndexedWithInt64, b: Any) -> None: ...

    a, b = bound(kernel, np.zeros(3, np.float32), np.zeros(3, np.float32))
    assert (a.type(True).index, b.type(True).index) == (tw.int64, tw.int32)


def test_static_dims() -> None:
    def kernel(
        a: Annotated[tw.DeviceArray, tw.ArrayAnnotation(static_shape_dims=(-1,), static_stride_dims=(0,))],
    ) -> None: ...

    [a] = bound(kernel, np.zeros((3, 32), np.float32))
    type_ = a.type(True)
    assert type_.extents == (None, 32) and type_.extent_div == (1, 1)
    assert type_.strides == (32, None), "static strides switch off the inference of unit strides"
    assert a.type(False).extents == (None, 32)


@pytest.mark.parametrize("dims, message", [((2,), "names axis 2, but the array has 2 axes"), ((0, -2), "axis 0 twice")])
def test_static_dims_out_of_range(dims: tuple[int, ...], message: str) -> None:
    def kernel(a: Any) -> None: ...

    kernel.__annotations__["a"] = Annotated[Any, tw.ArrayAnnotation(static_shape_dims=dims)]
    [a] = bound(kernel, np.zeros((3, 4), np.float32))
    with pytest.raises(ValueError, match=f"argument 'a': .*{message}"):
        a.type(True)


def test_bad_annotations() -> None:
    with pytest.raises(ValueError, match="index_dtype"):
        tw.ArrayAnnotation(index_dtype=tw.int16)
    for dims in ([0], (True,), ("0",), 0):
        with pytest.raises(TypeError, match="static_shape_dims"):
            tw.ArrayAnnotation(static_shape_dims=dims)  # type: ignore[arg-type]
    for element in (int, Annotated[int, 3], Annotated[int, tw.ArrayAnnotation(), tw.ArrayAnnotation()]):
        with pytest.raises(TypeError, match="exactly one ArrayAnnotation"):
            tw.ListAnnotation(element=element)

    def kernel(a: Any) -> None: ...

    kernel.__annotations__["a"] = Annotated[tw.Constant[int], tw.ArrayAnnotation()]
    with pytest.raises(TypeError, match="a Constant and as an array"):
        tw.tile_kernel(kernel)


def test_annotation_of_another_kind() -> None:
    def kernel(a: tw.IndexedWithInt64) -> None: ...

    for value in (3, np.int32(3), [np.zeros(3, np.float32)], (1,)):
        with pytest.raises(TypeError, match="'a' is annotated with ArrayAnnotation"):
            bound(kernel, value)

    def scalar(a: tw.ScalarInt64) -> None: ...

    with pytest.raises(TypeError, match="an array was given"):
        bound(scalar, np.zeros(3, np.float32))


def test_tuples() -> None:
    def kernel(a: tuple[tw.Constant[int], int], b: tuple[tw.Constant[Any], ...], c: tw.Constant[tuple[int, int]],
               d: Any) -> None: ...

    a, b, c, d = bound(kernel, (1, 2), (3, 4, 5), (6, 7), (8, (9.0, np.zeros(2, np.int8))))
    assert [type(x) for x in a.items] == [Const, Scalar]
    assert [type(x) for x in b.items] == [Const] * 3 and [type(x) for x in c.items] == [Const] * 2
    assert isinstance(d.items[1], Tuple) and isinstance(d.items[1].items[1], ArrayArgument)
    with pytest.raises(TypeError, match="'a' must be a tuple of 2, as its annotation says, not of 1"):
        bound(kernel, (1,), (), (6, 7), ())
    with pytest.raises(TypeError, match="'a' must be a tuple, as its annotation says"):
        bound(kernel, 1, (), (6, 7), ())
    deep: Any = 1
    for _ in range(70):
        deep = (deep,)
    with pytest.raises(TypeError, match="'d': tuples are nested more than 64"):
        bound(kernel, (1, 2), (), (6, 7), deep)


def test_lists() -> None:
    def kernel(xs: Any) -> None: ...

    a, b = np.zeros((4, 16), np.float32), np.zeros((5, 32), np.float32)
    [xs] = bound(kernel, [a, b])
    element = xs.type(True).element
    assert element.strides == (None, 1) and element.extent_div == (1, 16) and element.stride_div == (4, 1)
    with pytest.raises(TypeError, match="'xs' is an empty list"):
        bound(kernel, [])
    with pytest.raises(TypeError, match="'xs': element 1 of the list is an object of type int"):
        bound(kernel, [a, 3])
    for other in (np.zeros(3, np.float32), np.zeros((3, 3), np.float64)):
        with pytest.raises(TypeError, match="same dtype and number of axes"):
            bound(kernel, [a, other])[0].type(True)


ONE_COLUMN = tw.ArrayAnnotation(static_shape_dims=(1,))


def test_static_dims_of_lists() -> None:
    def kernel(xs: Annotated[list[Any], tw.ListAnnotation(element=ONE_COLUMN)]) -> None: ...

    a = np.zeros((4, 16), np.float32)
    for facts in (True, False):
        element = bound(kernel, [a, a[1:]])[0].type(facts).element
        assert element.extents == (None, 16) and element.declared == ((1,), ())
    with pytest.raises(ValueError, match="the extent of axis 1 is static, but the arrays of the list have 16, 8"):
        bound(kernel, [a, a[:, :8]])[0].type(True)


@pytest.mark.parametrize("value", [{}, 1j, object(), np.complex64(1)])
def test_other_objects(value: Any) -> None:
    def kernel(a: Any) -> None: ...

    with pytest.raises(TypeError, match="argument 'a' is .* which a kernel cannot take"):
        bound(kernel, value)


MODULE = '''
from __future__ import annotations
import typing
from typing import TYPE_CHECKING, Optional
import tilewright as tw
if TYPE_CHECKING:
    import torch_that_is_not_there as torch
    from numpy.typing import NDArray
    from somewhere import Rows as R
    from tilewright import Constant as C

@tw.tile_kernel
def kernel(a: torch.Tensor, b: NDArray[torch.float32] | None, c: Optional[R], n: tw.Constant[R.size], m: C[int]):
    tw.store(a, 0, tw.full((n,), m, tw.float32) + tw.load(b, 0, n) + c)
'''


def module_of(text: str, path: Any) -> dict[str, Any]:
    path.write_text(text)
    names: dict[str, Any] = {"__name__": "some_module"}
    exec(compile(text, str(path), "exec"), names)
    return names


def test_names_that_only_a_type_checker_imports(tmp_path: Any) -> None:
    """They are no obstacle, and what else the annotation says holds: Constant of a type that is not there."""
    kernel = module_of(MODULE, tmp_path / "module.py")["kernel"]
    out = np.zeros(4, np.float32)
    kernel[(1,)](out, np.ones(4, np.float32), 2.0, 4, 3)
    assert (out == 6).all()


INSIDE = """
from __future__ import annotations

def make():
    import tilewright as ct

    @ct.tile_kernel
    def kernel(out, n: ct.Constant[int]):
        ct.store(out, 0, ct.full((n,), 2.0, ct.float32))
    return kernel
"""


def test_annotations_name_what_the_function_around_the_kernel_imports(tmp_path: Any) -> None:
    kernel = module_of(INSIDE, tmp_path / "module.py")["make"]()
    out = np.zeros(4, np.float32)
    kernel[(1,)](out, 4)
    assert (out == 2).all()


def test_a_name_that_nobody_imports_is_told_with_its_place(tmp_path: Any) -> None:
    text = MODULE.replace("torch.Tensor", "Tonsor")
    with pytest.raises(NameError, match=r"module.py:1\d: an annotation of kernel says 'Tonsor', which is not defined"):
        module_of(text, tmp_path / "module.py")
