"""torch with its device "cuda" on the CPU: factories, moves between devices, and torch.cuda.

A move copies, as it does between a host and a GPU: `before = x.cpu()` must not change when a kernel writes to x.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

from tilewright.cutile import device
from tilewright.cutile.log import substituted
from tilewright.cutile.torch_matmul import patch_matmul

FACTORIES = (
    "tensor as_tensor asarray scalar_tensor empty empty_like empty_strided empty_permuted zeros zeros_like ones "
    "ones_like full full_like rand rand_like randn randn_like randint randint_like randperm normal arange range "
    "linspace logspace eye tril_indices triu_indices load set_default_device"
).split()
METHODS = "new_tensor new_empty new_zeros new_ones new_full new_empty_strided".split()


def patch(torch: Any) -> None:
    """Change torch in place, once."""
    if getattr(torch, "_tilewright_cpu", False):
        return
    torch._tilewright_cpu = True
    for owner, names, prefix in ((torch, FACTORIES, "torch."), (torch.Tensor, METHODS, "Tensor.")):
        for name in names:
            if hasattr(owner, name):
                setattr(owner, name, _redirected(torch, getattr(owner, name), prefix + name))
    _patch_moves(torch)
    _patch_generator(torch)
    _patch_compile(torch)
    _patch_cuda(torch)
    patch_matmul(torch)


def is_cuda(value: Any) -> bool:
    """Whether a value is a CUDA device, by name or as torch's object."""
    if isinstance(value, str):
        return value == "cuda" or value.startswith("cuda:")
    return type(value).__name__ == "device" and getattr(value, "type", None) == "cuda"


def _is_ordinal(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _redirected(torch: Any, function: Callable[..., Any], label: str) -> Callable[..., Any]:
    """The function with every CUDA device among its arguments replaced by the CPU."""

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        named.pop("pin_memory", None)  # torch of the CPU alone pins nothing
        ordinal = _is_ordinal(named.get("device"))
        if ordinal or any(map(is_cuda, args)) or any(map(is_cuda, named.values())):
            substituted(f'{label}(device="cuda")', "cpu")
            cpu = torch.device("cpu")
            args = tuple(cpu if is_cuda(value) else value for value in args)
            named = {key: cpu if is_cuda(value) or (key == "device" and ordinal) else value
                     for key, value in named.items()}
        return function(*args, **named)

    return call


def _patch_moves(torch: Any) -> None:
    tensor = torch.Tensor
    to = tensor.to

    @functools.wraps(to)
    def move(self: Any, *args: Any, **named: Any) -> Any:
        where = named["device"] if "device" in named else args[0] if args else None
        if is_cuda(where) or _is_ordinal(where):
            substituted('Tensor.to("cuda")', "a copy on the cpu")
        elif where != "cpu":  # a dtype, another tensor, or a tensor's own device: no move
            return to(self, *args, **named)
        if "device" in named:
            named["device"] = "cpu"
        else:
            args = ("cpu", *args[1:])
        # .to(device, dtype, non_blocking, copy): by position where the program gave it so
        if len(args) < (3 if "device" in named else 4):
            named["copy"] = True
        return to(self, *args, **named)

    def to_cuda(self: Any, *args: Any, **named: Any) -> Any:
        substituted("Tensor.cuda()", "a copy on the cpu")
        return self.clone()

    def to_cpu(self: Any, *args: Any, **named: Any) -> Any:
        return self.clone()

    tensor.to, tensor.cuda, tensor.cpu = move, to_cuda, to_cpu
    tensor.pin_memory = lambda self, *args, **named: self
    tensor.is_cuda = property(lambda self: True)


def _patch_generator(torch: Any) -> None:
    """torch.Generator stays a class, as programs annotate with it."""
    original = getattr(torch, "Generator", None)
    if original is None:
        return

    class CpuGenerator(original):  # type: ignore[misc, valid-type]
        def __new__(cls, device: Any = "cpu") -> Any:
            if is_cuda(device) or _is_ordinal(device):
                substituted('torch.Generator(device="cuda")', "cpu")
                device = "cpu"
            return super().__new__(cls, device=device)

    torch.Generator = CpuGenerator


def _patch_compile(torch: Any) -> None:
    """torch.compile gives the function as it is: compiled for the CPU it would only take longer to start."""

    def compile(model: Any = None, **options: Any) -> Any:
        substituted("torch.compile()", "the function as it is")
        return model if model is not None else lambda function: function

    torch.compile = compile


def _cuda_answers(torch: Any) -> dict[str, Any]:
    """What torch.cuda says of the CPU, by name."""
    stream = device.HostStream()
    answers: dict[str, Any] = {
        "is_available": lambda: True, "device_count": lambda: 1, "current_device": lambda: 0,
        "current_stream": lambda device=None: stream, "default_stream": lambda device=None: stream,
        "stream": lambda stream: stream or device.HostStream(), "Stream": device.HostStream, "Event": device.HostEvent,
        "CUDAGraph": device.CUDAGraph,
        "device": device.Device, "get_device_capability": lambda device=None: device_capability(),
        "get_device_name": lambda index=None: device.NAME, "get_device_properties": device.properties,
        "is_bf16_supported": lambda *args, **named: True, "is_initialized": lambda: True,
        "mem_get_info": lambda index=None: (device.MEMORY, device.MEMORY), "memory_summary": lambda *args, **named: "",
        "get_rng_state": lambda index=None: torch.get_rng_state(),
        "set_rng_state": lambda state, index=None: torch.set_rng_state(state),
        "cudart": lambda: SimpleNamespace(cudaProfilerStart=device.nothing, cudaProfilerStop=device.nothing),
    }
    answers |= dict.fromkeys(("synchronize", "set_device", "set_stream", "empty_cache", "init", "ipc_collect",
                              "reset_peak_memory_stats", "reset_max_memory_allocated", "manual_seed",
                              "manual_seed_all", "_sleep"), device.nothing)
    zero = dict.fromkeys(("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"))
    return answers | {name: lambda index=None: 0 for name in zero}


def device_capability() -> tuple[int, int]:
    return device.CAPABILITY


def _patch_cuda(torch: Any) -> None:
    cuda = getattr(torch, "cuda", None)
    if cuda is None:
        cuda = torch.cuda = ModuleType("torch.cuda")
    for name, answer in _cuda_answers(torch).items():
        setattr(cuda, name, answer if isinstance(answer, type) else _named(answer, f"torch.cuda.{name}"))
    setattr(cuda, "nvtx", device.Nvtx)  # noqa: B010  (a module as any other, to mypy)


def _named(answer: Callable[..., Any], label: str) -> Callable[..., Any]:
    def call(*args: Any, **named: Any) -> Any:
        substituted(f"{label}()", "the cpu")
        return answer(*args, **named)

    return call
