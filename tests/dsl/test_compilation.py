"""Ahead-of-time compilation for given arguments: their signature, and the code it gives."""

from __future__ import annotations

import io
import re
from typing import Annotated

import numpy as np
import pytest
from support.compilation import V1, V2, array, scale

import tilewright as ct
from tilewright.compilation import (
    ArrayConstraint,
    ConstantConstraint,
    KernelSignature,
    ScalarConstraint,
    export_kernel,
    mangle_kernel_name,
)


def test_from_arguments() -> None:
    x = np.zeros((64, 48), np.float16)
    signature = KernelSignature.from_kernel_args(scale, (x, ct.spec("f32[?]"), 2.0, 16))
    first, second, s, n = signature.parameters
    assert isinstance(first, ArrayConstraint) and isinstance(second, ArrayConstraint)
    assert (first.dtype, first.ndim, first.stride_constant, first.stride_divisible_by) == (
        ct.float16, 2, (None, 1), (8, 1))
    assert first.shape_divisible_by == (16, 16) and not first.may_alias_internally
    assert second.shape_divisible_by == (1,)
    assert (s, n) == (ScalarConstraint(ct.float32), ConstantConstraint(16))
    assert signature.calling_convention == V1
    assert signature.symbol == mangle_kernel_name("scale", signature)
    assert KernelSignature.from_kernel_args(scale, (x, x, 1, 1), V2, symbol="a").symbol == "a"
    with pytest.raises(TypeError, match="takes 4 arguments"):
        KernelSignature.from_kernel_args(scale, (x,))


def test_the_signature_of_a_launch_gives_its_code() -> None:
    args = ct.spec("f32[1024]"), ct.spec("f32[1000]"), 2.0, 1024
    out = io.BytesIO()
    [info] = export_kernel(scale, [KernelSignature.from_kernel_args(scale, args, symbol="scale")], out,
                           gpu_code="sm_80", output_format="ptx")
    body = re.compile(r"\.entry.*", re.DOTALL)
    ours, launched = (body.search(text) for text in (out.getvalue().decode(), scale.ptx(*args, target="sm_80")))
    assert ours is not None and launched is not None
    # A launch also knows that the arrays are small, which saves 64-bit arithmetic.
    assert abs(len(ours[0].splitlines()) - len(launched[0].splitlines())) < 12
    assert info.threads == scale.compiled(*args, target="sm_80").threads


def test_tuples_and_static_extents_need_version_2() -> None:
    @ct.tile_kernel
    def fixed(x: Annotated[ct.Array, ct.ArrayAnnotation(static_shape_dims=(0,))], out):
        ct.store(out, 0, ct.load(x, 0, x.shape[0]))

    signature = KernelSignature.from_kernel_args(fixed, (ct.spec("f32[16]"), ct.spec("f32[16]")))
    assert signature.calling_convention == V2
    assert isinstance(signature.parameters[0], ArrayConstraint) and signature.parameters[0].shape_constant == (16,)
    with pytest.raises(ValueError, match="constant extent needs"):
        KernelSignature.from_kernel_args(fixed, (ct.spec("f32[16]"), ct.spec("f32[16]")), V1)
    export_kernel(fixed, [signature], io.BytesIO(), gpu_code="sm_80", output_format="ptx")
    with pytest.raises(ValueError, match="'x': axis 0 is static.*shape_constant"):
        export_kernel(fixed, [KernelSignature([array(), array()], V2)], io.BytesIO(), gpu_code="sm_80")
