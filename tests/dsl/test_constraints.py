"""Ahead-of-time compilation: what constraints and signatures take, mangled names and back."""

from __future__ import annotations

from typing import Any

import pytest
from support.compilation import V1, V2, array

import tilewright as ct
from tilewright.compilation import (
    CallingConvention,
    ConstantConstraint,
    KernelSignature,
    ListConstraint,
    ScalarConstraint,
    TupleConstraint,
    demangle_kernel_name,
    mangle_kernel_name,
)

# ---- constraints ----------------------------------------------------------------------------------------------------


def test_values_per_axis() -> None:
    a = array(ndim=3, stride_constant=[None, None, 8], stride_divisible_by=8, shape_divisible_by=[1, 16, 1])
    assert a.stride_divisible_by == (8, 8, 1), "a constant stride needs no divisor"
    assert a.stride_lower_bound_incl == (0, 0, None) and a.shape_divisible_by == (1, 16, 1)
    assert a.shape_constant == (None, None, None)
    same = array(ndim=3, stride_constant=(None, None, 8), stride_divisible_by=[8, 8, 1], shape_divisible_by=(1, 16, 1))
    assert a == same and hash(a) == hash(same)


@pytest.mark.parametrize("more, error, message", [
    ({"dtype": "f32"}, TypeError, "dtype must be a dtype"),
    ({"dtype": ct.float4_e2m1fn}, ValueError, "pass them as uint8"),
    ({"ndim": -1}, ValueError, "ndim must be at least 0"),
    ({"ndim": 1.0}, TypeError, "ndim must be an int"),
    ({"index_dtype": ct.int16}, ValueError, "index_dtype must be int32 or int64"),
    ({"stride_constant": [1, 2]}, ValueError, "stride_constant has 2 entries, but the array has 1 axes"),
    ({"stride_constant": [1.5]}, TypeError, r"stride_constant\[0\] must be an int"),
    ({"shape_constant": [-1]}, ValueError, r"shape_constant\[0\] must be at least 0"),
    ({"stride_constant": [-1]}, ValueError, "below its stride_lower_bound_incl of 0"),
    ({"shape_constant": [20], "shape_divisible_by": 16}, ValueError, "extent of axis 0 is 20.*no multiple"),
    ({"stride_divisible_by": 0}, ValueError, r"stride_divisible_by\[0\] must be at least 1"),
    ({"base_addr_divisible_by": True}, TypeError, "base_addr_divisible_by must be an int"),
    ({"may_alias_internally": 0}, TypeError, "may_alias_internally must be a bool"),
    ({"alias_groups": "ab"}, TypeError, r"write \('ab',\)"),
    ({"alias_groups": [1]}, TypeError, "holds names"),
    ({"alias_groups": ["a", "a"]}, ValueError, "lists 'a' twice"),
])
def test_bad_arrays(more: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        array(**more)


def test_other_constraints() -> None:
    assert ConstantConstraint(1) != ConstantConstraint(True) != ConstantConstraint(1.0)
    assert ConstantConstraint(float("nan")) == ConstantConstraint(float("nan"))
    assert ConstantConstraint(0.0) != ConstantConstraint(-0.0)
    assert len({ConstantConstraint(1), ConstantConstraint(1.0), ConstantConstraint(True)}) == 3
    assert TupleConstraint([1, (2.0,)]).items == (ConstantConstraint(1), TupleConstraint([2.0]))
    for make in (lambda: ConstantConstraint("a"), lambda: TupleConstraint(["a"]),  # type: ignore[arg-type,list-item]
                 lambda: ScalarConstraint(int), lambda: ListConstraint(  # type: ignore[arg-type]
                     ScalarConstraint(ct.int32), alias_groups=(), elements_may_alias=False)):  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            make()
    with pytest.raises(OverflowError):
        ConstantConstraint(1 << 64)


def test_signatures() -> None:
    signature = KernelSignature([array(), 3], V1)
    assert signature.parameters == (array(), ConstantConstraint(3)) and signature.symbol is None
    assert signature.with_symbol("k").symbol == "k" and signature.with_symbol("k").parameters == signature.parameters
    assert repr(V1) == "CallingConvention.cutile_python_v1()" and V1 != V2 and CallingConvention.from_code("t2") == V2
    with pytest.raises(ValueError, match="a tuple needs the calling convention cutile_python_v2"):
        KernelSignature([(1, 2)], V1)
    with pytest.raises(ValueError, match="a constant extent needs the calling convention"):
        KernelSignature([ListConstraint(array(shape_constant=[4]), alias_groups=(), elements_may_alias=False)], V1)
    with pytest.raises(TypeError, match="calling_convention must be"):
        KernelSignature([1], "v1")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="symbol must be a string"):
        KernelSignature([1], V1, 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="only one parameter is in alias group 'a'"):
        KernelSignature([array(alias_groups=["a"]), array()], V1)
    with pytest.raises(ValueError, match="holds an array and a list"):
        KernelSignature([array(alias_groups=["a"]),
                         ListConstraint(array(), alias_groups=["a"], elements_may_alias=True)], V1)


# ---- mangled names --------------------------------------------------------------------------------------------------

ALL_SCALARS = [ct.bool_, ct.uint8, ct.uint16, ct.uint32, ct.uint64, ct.int8, ct.int16, ct.int32, ct.int64, ct.float16,
               ct.float32, ct.float64, ct.bfloat16, ct.tfloat32, ct.float8_e4m3fn, ct.float8_e5m2, ct.float8_e8m0fnu]


@pytest.mark.parametrize("convention, parameters, text", [
    (V1, [ScalarConstraint(d) for d in ALL_SCALARS],
     "_Sb8_Su8_Su16_Su32_Su64_Si8_Si16_Si32_Si64_Sf16_Sf32_Sf64_Sbf16_Stf32_Sf8m3fn_Sf8m2_Sf8m0fnu"),
    (V1, [True, False, 42, -7, 0, -0.0, float("inf")], "_B1_B0_I42_I_7_I0_F8000000000000000_F7ff0000000000000"),
    (V1, [array(ndim=2)], "_A2f32_3l0"),
    (V1, [array(index_dtype=ct.int64)], "_A1f32_1l0_w"),
    (V1, [array(ndim=3, stride_constant=[None, None, 1], stride_divisible_by=[8, 1, 1], shape_divisible_by=[16, 16, 1],
                base_addr_divisible_by=16)], "_A3f32_1v8_3i16l0_4t1_p16"),
    (V1, [array(alias_groups=["ab"]), array(alias_groups=["ab", "bc"], may_alias_internally=True),
          array(alias_groups=["bc"])], "_A1f32_1l0_g0_A1f32_1l0_g0g1i_A1f32_1l0_g1"),
    (V1, [ListConstraint(array(alias_groups=["y"]), alias_groups=["x"], elements_may_alias=True),
          ListConstraint(array(alias_groups=["y"]), alias_groups=["x"], elements_may_alias=False)],
     "_Lg0iA1f32_1l0_g1_Lg0A1f32_1l0_g1"),
    (V1, [array(stride_lower_bound_incl=-5, stride_divisible_by=3)], "_A1f32_1v3l_5"),
    (V2, [TupleConstraint([]), (array(ndim=2), ScalarConstraint(ct.int32)), ((1,), 2.5)],
     "_T0_T2A2f32_3l0Si32_T2T1I1F4004000000000000"),
    (V2, [array(ndim=2, shape_constant=[16, None], shape_divisible_by=[16, 1])], "_A2f32_1s16_3l0"),
    (V2, [], ""),
])
def test_mangled_names(convention: CallingConvention, parameters: list[Any], text: str) -> None:
    signature = KernelSignature(parameters, convention)
    symbol = mangle_kernel_name("my_Kernel", signature)
    assert symbol == f"my_Kernel_K{convention.code}{text}"
    assert signature.with_mangled_symbol("my_Kernel").symbol == symbol
    name, again = demangle_kernel_name(symbol)
    assert name == "my_Kernel" and again.symbol == symbol and again.calling_convention == convention
    assert mangle_kernel_name(name, again) == symbol
    if "g0" not in text:  # names of alias groups are lost
        assert again.parameters == signature.parameters


@pytest.mark.parametrize("symbol", [
    "plain", "k_Kt3", "k_Kt1_Q1", "k_Kt1_Sx32", "k_Kt1_A1f32_9l0", "k_Kt1_A1f32_0l0", "k_Kt1_LSi32", "k_Kt1_B2",
    "k_Kt1_Fabc", "k_Kt1S", "k_Kt1_T1Si32", "k_Kt1_A1f32_1s8",
])
def test_names_that_are_not_mangled(symbol: str) -> None:
    with pytest.raises(ValueError):
        demangle_kernel_name(symbol)
