"""What the tests of ahead-of-time compilation share: the conventions, an array of few promises, a kernel."""

from __future__ import annotations

from typing import Any

import tilewright as ct
from tilewright.compilation import ArrayConstraint, CallingConvention

V1, V2 = CallingConvention.cutile_python_v1(), CallingConvention.cutile_python_v2()


def array(dtype: ct.DType = ct.float32, ndim: int = 1, **more: Any) -> ArrayConstraint:
    given: dict[str, Any] = {"index_dtype": ct.int32, "stride_lower_bound_incl": 0, "alias_groups": (),
                             "may_alias_internally": False}
    return ArrayConstraint(dtype, ndim, **{**given, **more})


@ct.tile_kernel
def scale(x, y, s, n: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, i, ct.load(x, i, n) * s)
