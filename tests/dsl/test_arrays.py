"""Host arrays of every origin: their facts, and that writes reach the caller's memory."""

from __future__ import annotations

from typing import Any, ClassVar

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
from tilewright.arguments.arrays import HOST, describe, host_view
from tilewright.arguments.facts import array_type, is_disjoint, is_small
from tilewright.arguments.sharing import overlap


class Dlpack:
    """Shows nothing but DLPack; `old` as exporters before DLPack 1.0 do."""

    def __init__(self, array: Any, old: bool = False) -> None:
        self.array, self.old = array, old

    def __dlpack__(self, **options: Any) -> Any:
        if self.old and options.pop("max_version", None):
            raise TypeError("max_version")
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class Interface:
    """Shows nothing but the array interface."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.__array_interface__ = array.__array_interface__


BASE = np.arange(48, dtype=np.float32).reshape(6, 8)


@pytest.mark.parametrize("wrap", [lambda a: a, Dlpack, lambda a: Dlpack(a, old=True), Interface],
                         ids=["numpy", "dlpack", "old dlpack", "interface"])
@pytest.mark.parametrize("cut", [np.s_[:], np.s_[1:4, ::2], np.s_[::-1, 3], np.s_[2, 3], np.s_[:0]])
def test_views_write_through(wrap: Any, cut: Any) -> None:
    base = BASE.copy()
    part = base[cut] if base[cut].ndim else base[2:3, 3].reshape(())
    info = describe(wrap(part))
    assert info is not None and info.device == HOST and info.dtype is tw.float32
    assert info.shape == part.shape
    assert info.strides == tuple(s // 4 for s in part.strides) or part.size == 0
    view = host_view(info)
    assert np.array_equal(view, part)
    view[...] = -1
    assert (part == -1).all() and (base == -1).sum() == part.size


def test_read_only() -> None:
    a = BASE.copy()
    a.flags.writeable = False
    for value in (a, Interface(a), Dlpack(a)):
        info = describe(value)
        assert info is not None and info.readonly


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2,
                                   ml_dtypes.float8_e8m0fnu, np.float16, np.bool_, np.uint64])
def test_dtypes(dtype: Any) -> None:
    info = describe(np.zeros(3, dtype))
    name = "bool_" if dtype is np.bool_ else np.dtype(dtype).name
    assert info is not None and info.dtype.name == name


@pytest.mark.parametrize("array, message", [
    (np.zeros(3, np.complex64), "complex64.*two arrays"), (np.zeros(3, ">f4"), "byte order"),
    (np.zeros(3, ml_dtypes.float4_e2m1fn), "float4.*uint8"), (np.array(["a"]), "dtype str"),
    (np.zeros(3, [("a", "i1"), ("b", "<i4")])["b"], "not multiples"),
    (np.ma.masked_array(np.zeros(3), mask=[False, True, False]), "masked.*filled"),
])
def test_refused_arrays(array: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        describe(array)


def test_misaligned_device_array() -> None:
    class Exporter:
        __cuda_array_interface__: ClassVar[dict[str, Any]] = {
            "data": (4098, False), "shape": (4,), "strides": None, "typestr": "<f4", "version": 3}

    with pytest.raises(TypeError, match="address 0x1002 cannot be passed: it is not a multiple of the 4-byte"):
        describe(Exporter())


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    for name in ("float32", "bfloat16", "float16", "float8_e4m3fn", "float8_e5m2", "int64", "uint8", "bool"):
        tensor = torch.zeros(4, 6, dtype=getattr(torch, name))[1:, ::2]
        info = describe(tensor)
        assert info is not None and (info.shape, info.strides, info.device) == ((3, 3), (6, 2), HOST)
        view = host_view(info)
        assert view.dtype.name == name
        view[1, 2] = 1
        assert float(tensor[1, 2]) == 1
    parameter = torch.nn.Parameter(torch.zeros(3))
    assert describe(parameter) is not None
    with pytest.raises(TypeError, match="complex64"):
        describe(torch.zeros(3, dtype=torch.complex64))
    with pytest.raises(ValueError, match="device meta"):
        describe(torch.zeros(3, device="meta"))
    with pytest.raises(TypeError, match="layout"):
        describe(torch.zeros(3, 3).to_sparse())


def test_scalars_are_no_arrays() -> None:
    for value in (np.float32(1), 3, None, "x"):
        assert describe(value) is None


PLAIN = tw.ArrayAnnotation()


def test_facts() -> None:
    type_ = array_type(tw.bfloat16, (1, 48, 7), (336, 7, 1), True, PLAIN)
    assert type_.extents == (1, None, None) and type_.extent_div == (1, 16, 1)
    assert type_.strides == (None, None, 1) and type_.stride_div == (8, 1, 1)
    assert (type_.align, type_.disjoint, type_.small) == (16, True, True)
    assert array_type(tw.bfloat16, (3,), (1,), False, PLAIN).align == 2
    assert array_type(tw.bfloat16, (24, 12), (12, 1), True, PLAIN).extent_div == (8, 1)
    assert array_type(tw.float32, (24, 12), (12, 1), True, PLAIN).extent_div == (4, 4)
    six = array_type(tw.float32, (16,) * 6, (16**5, 16**4, 4096, 256, 16, 1), True, PLAIN)
    assert six.strides == (None,) * 6 and six.align == 4 and not six.disjoint


@pytest.mark.parametrize("shape, strides, expected", [
    ((4, 4), (4, 1), True), ((4, 4), (1, 4), True), ((4, 4), (3, 1), False), ((4, 4), (0, 1), False),
    ((1, 4), (0, 1), True), ((4, 4), (-4, 1), False), ((), (), True), ((0, 4), (0, 1), True), ((5,), (2,), True),
])
def test_disjoint(shape: tuple[int, ...], strides: tuple[int, ...], expected: bool) -> None:
    assert is_disjoint(shape, strides) is expected


def test_small() -> None:
    assert is_small(tw.float32, (1 << 29,), (1,)) is False
    assert is_small(tw.float32, ((1 << 29) - 1,), (1,)) is True
    assert is_small(tw.int8, (2,), (-(1 << 31),)) is False
    assert is_small(tw.int8, (2,), ((1 << 30),)) is True
    assert is_small(tw.int8, (2,), (-(1 << 30),)) is False, "addresses of lanes lie up to 2**30 bytes further back"


def test_wide_extents_need_int64() -> None:
    with pytest.raises(OverflowError, match="extent 4294967296 of axis 0 does not fit int32.*IndexedWithInt64"):
        array_type(tw.int8, (1 << 32,), (1,), True, PLAIN)
    assert array_type(tw.int8, (1 << 32,), (1,), True, tw.ArrayAnnotation(index_dtype=tw.int64)).small is False


@pytest.mark.parametrize("a, b, expected", [
    (np.s_[0:3], np.s_[3:6], False), (np.s_[0:4], np.s_[3:6], True), (np.s_[:, ::2], np.s_[:, 1::2], False),
    (np.s_[:, :4], np.s_[:, 4:], False), (np.s_[:, :5], np.s_[:, 4:], True), (np.s_[::-1], np.s_[5:], True),
    (np.s_[:0], np.s_[:], False),
])
def test_overlap_is_exact(a: Any, b: Any, expected: bool) -> None:
    first, second = describe(BASE[a]), describe(BASE[b])
    assert first is not None and second is not None
    assert overlap(first, second) is expected
