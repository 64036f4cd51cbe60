"""torch's own functions on the handles of tensors, beside what Python says of them."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from support.optional import optional

from tilewright.arguments.torch_handles import TensorFunctions, tensor_functions

torch = optional("torch")


@pytest.fixture
def functions(monkeypatch: pytest.MonkeyPatch) -> TensorFunctions:
    monkeypatch.setenv("TILEWRIGHT_TORCH_HANDLES", "1")
    found = tensor_functions.__wrapped__()
    if found is None:
        pytest.skip(f"torch {torch.__version__} on {sys.platform} has no such functions")
    return found


def test_told(functions: TensorFunctions) -> None:
    tensors: list[Any] = [
        torch.empty(0), torch.empty(()), torch.zeros(3, 4, 5, dtype=torch.bfloat16).transpose(0, 2)[1:, :2],
        torch.nn.Parameter(torch.ones(7)), torch.ones(2, requires_grad=True) * 2, torch.zeros(4, dtype=torch.bool)[::2],
        torch.ones(3, dtype=torch.complex64).conj().imag, torch.ones(1).expand(5, 1)]
    for tensor in tensors:
        told = functions.told(tensor)
        assert (told.rank, told.sizes, told.strides) == (tensor.dim(), tuple(tensor.shape), tensor.stride())
        assert (told.data, told.is_neg, told.place) == (tensor.data_ptr(), tensor.is_neg(), 0)
        assert not functions.is_inference(tensor)
        assert functions.has_record(tensor) or not tensor.requires_grad
    same = [functions.told(tensor).dtype for tensor in tensors if tensor.dtype == torch.float32]
    assert len(set(same)) == 1 and functions.told(tensors[2]).dtype not in same
    with pytest.raises(ValueError, match="torch does not tell"):
        functions.told(torch.eye(2).to_sparse())


def test_versions(functions: TensorFunctions) -> None:
    base = torch.zeros(8)
    functions.raise_version(base[2:4])
    assert base._version == 1
    with torch.inference_mode():
        assert functions.is_inference(torch.ones(4))


@pytest.mark.parametrize("value", [None, "0", "off"])
def test_nobody_asked(value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TILEWRIGHT_TORCH_HANDLES", raising=False)
    if value is not None:
        monkeypatch.setenv("TILEWRIGHT_TORCH_HANDLES", value)
    assert tensor_functions.__wrapped__() is None
