"""torch's counters of versions, raised by its own function on handles."""

from __future__ import annotations

import ctypes
import gc
import sys
import weakref

import pytest
from support.optional import optional

from tilewright.arguments.torch_versions import raising_function, version_handles

torch = optional("torch")


def test_versions_go_up() -> None:
    function = raising_function()
    if function is None:
        pytest.skip(f"torch {torch.__version__} on {sys.platform} has no such function")
    raise_version = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(function)
    base, other = torch.zeros(8), torch.zeros(3, dtype=torch.bfloat16)
    handles = version_handles([base[2:4], other])
    assert handles is not None
    for address in handles.addresses:
        raise_version(address)
    raise_version(handles.addresses[0])
    assert (base._version, other._version) == (2, 1), "a view counts for its base"
    seen, storage = weakref.ref(other), weakref.ref(base.untyped_storage())
    del handles, base, other
    gc.collect()
    assert seen() is None and storage() is None, "the handles were all that kept them"


def test_what_autograd_saved_may_not_change() -> None:
    x = torch.ones(4, requires_grad=True)
    y = x.exp()
    z = y.square().sum()
    function, handles = raising_function(), version_handles([y.detach()])
    if function is None or handles is None:
        pytest.skip("there is no such function")
    ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(function)(handles.addresses[0])
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        z.backward()


def test_inference_tensors_have_none() -> None:
    with torch.inference_mode():
        tensor = torch.ones(4)
        assert version_handles([tensor]) is None and version_handles([]) is None
