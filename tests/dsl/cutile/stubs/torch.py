"""As much of torch as the programs here use, on NumPy, without a GPU: a request for one is refused as torch does."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np


class device:
    def __init__(self, name: Any) -> None:
        self.type: str = (name.type if isinstance(name, device) else name).split(":")[0]


class dtype:
    _known: ClassVar[dict[str, dtype]] = {}

    def __new__(cls, name: str) -> dtype:
        return cls._known.setdefault(name, super().__new__(cls))

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return f"torch.{self.name}"


float16, float32, float64, int32 = map(dtype, ("float16", "float32", "float64", "int32"))
_precision = ["highest"]


def _host(where: Any) -> None:
    if where is not None and device(where).type != "cpu":
        raise RuntimeError("this torch has no CUDA")


class Tensor:
    layout = "torch.strided"
    is_cuda = False
    device = device("cpu")

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array)
        self.shape = self.array.shape
        self.dtype = dtype(self.array.dtype.name)

    def is_conj(self) -> bool:
        return False

    is_neg = is_conj

    def data_ptr(self) -> int:
        return self.array.__array_interface__["data"][0]

    def stride(self) -> tuple[int, ...]:
        return tuple(step // self.array.itemsize for step in self.array.strides)

    def numel(self) -> int:
        return self.array.size

    def numpy(self) -> Any:
        return self.array

    def clone(self) -> Tensor:
        return Tensor(self.array.copy())

    def cuda(self) -> Tensor:
        raise RuntimeError("this torch has no CUDA")

    def cpu(self) -> Tensor:
        return self

    def to(self, where: Any, dtype: Any = None, copy: bool = False) -> Tensor:
        if hasattr(where, "name"):
            return Tensor(self.array.astype(where.name))
        _host(where)
        return self.clone() if copy else self

    def new_empty(self, shape: Any, device: Any = None) -> Tensor:
        _host(device)
        return Tensor(np.empty(shape, self.array.dtype))

    def __add__(self, other: Any) -> Tensor:
        return Tensor(self.array + getattr(other, "array", other))

    def __sub__(self, other: Any) -> Tensor:
        return Tensor(self.array - getattr(other, "array", other))

    def __rshift__(self, bits: int) -> Tensor:
        return Tensor(self.array >> bits)

    def __and__(self, mask: int) -> Tensor:
        return Tensor(self.array & mask)

    def __matmul__(self, other: Tensor) -> Tensor:
        if self.dtype is float16:  # rounded after each addition, as CPUs may
            return Tensor((self.array[:, :, None] * other.array).cumsum(axis=1, dtype=np.float16)[:, -1])
        return Tensor(self.array @ other.array)

    def detach(self) -> Tensor:
        return self

    contiguous = detach

    def view(self, kind: dtype) -> Tensor:
        return Tensor(self.array.view(kind.name))


class Generator:
    def __new__(cls, device: Any = None) -> Generator:
        _host(device)
        return super().__new__(cls)

    def manual_seed(self, seed: int) -> Generator:
        self.seed = seed
        return self


def _made(array: Any, dtype: Any, where: Any) -> Tensor:
    _host(where)
    return Tensor(np.asarray(array).astype((dtype or float32).name))


def randn(*shape: Any, generator: Any = None, dtype: Any = None, device: Any = None) -> Tensor:
    size = shape[0] if isinstance(shape[0], tuple) else shape
    return _made(np.random.default_rng(generator.seed if generator else 0).standard_normal(size), dtype, device)


def zeros(*shape: Any, dtype: Any = None, device: Any = None) -> Tensor:
    return _made(np.zeros(shape[0] if isinstance(shape[0], tuple) else shape), dtype, device)


empty = zeros


def arange(end: int, dtype: Any = None, device: Any = None) -> Tensor:
    return _made(np.arange(end), dtype, device)


def empty_like(like: Tensor, device: Any = None) -> Tensor:
    _host(device)
    return Tensor(np.empty_like(like.array))


def zeros_like(like: Tensor) -> Tensor:
    return Tensor(np.zeros_like(like.array))


def isfinite(tensor: Tensor) -> Tensor:
    return Tensor(np.isfinite(tensor.array))


def where(condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return Tensor(np.where(condition.array, a.array, b.array))


def set_float32_matmul_precision(name: str) -> None:
    _precision[0] = name


def get_float32_matmul_precision() -> str:
    return _precision[0]


def allclose(a: Tensor, b: Tensor, rtol: float = 1e-5, atol: float = 1e-5) -> bool:
    return np.allclose(a.array, b.array, rtol, atol)


def _missing() -> bool:
    return False


cuda = SimpleNamespace(is_available=_missing)
