"""`tw.torch`: functions that launch kernels as operators of PyTorch. torch is imported when the first one is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.tracebacks import public

__all__ = ["op"]


@public
def op(
    name: str, /, *, mutates: str | tuple[str, ...] | None = None, example: tuple[Any, ...] | None = None,
    backward: Any = None, autocast: Any = None,
) -> Callable[[Callable[..., Any]], Any]:
    """Make an operator of PyTorch of a Python function that launches kernels: `@tw.torch.op("mylib::softmax")`.

    The function takes and returns tensors, and is annotated as `torch.library.custom_op` asks. On CPU tensors its
    kernels run in the interpreter, on CUDA tensors on torch's current stream. While torch traces (`torch.compile`,
    `torch.export`, FakeTensorMode) the function runs, but its launches do not: the outputs that it allocates are what
    a graph knows of it, with sizes that may be symbols. `torch.vmap` loops over the batch.

    Arguments: `name`, "namespace::name", under which it stands in `torch.ops`.
    Options: `mutates`, the parameters whose tensors the kernels write; without it they are found from `example`, and
        are none without that. A call that writes to any other raises RuntimeError. `example`, a tuple of arguments,
        with texts as of `ct.spec` for tensors: the function runs on tensors of these shapes without memory, and what
        its kernels write is taken from their IR. `backward`: `ct.grad` (or a functools.partial of it) derives the
        gradient of the kernel, where the function launches one; or a function, best an operator itself, that gives the
        gradient of each tensor among the parameters, or None, in their order. Its own parameters have the names of what
        they get: the operator's parameters, `grad` or `grads`, the cotangents, and `output` or `outputs`. `autocast`,
        the dtype to which tensors of floats are cast under torch.autocast: one of torch's, "region" for that of the
        region, or "widest" for the widest one among them.
    Result: a decorator; what it gives is called as the function is, and is the operator also for torch.compile. It has
        `register_autograd`, `register_vmap` and `register_kernel` of torch's own.
    Errors: ImportError without torch; ValueError for a name or parameter that is none, and for annotations that no
        operator can have; RuntimeError, when an operator is called, for a leaf that requires grad in `mutates`.
    """
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise ImportError("tw.torch needs PyTorch; install it with: pip install torch", name="torch") from error
    from tilewright.torch.definition import Options, define

    options = Options(mutates, example, backward, autocast)
    return public(lambda function: define(name, function, options))
