"""`ct.jax`: the bridge to JAX that Tilewright leaves out; its names say so, and what to do."""

from __future__ import annotations

from typing import Any, NoReturn

from tilewright.tileir.diagnostics import TileUnsupportedFeatureError

__all__ = ["cutile_call", "OutputPlaceholder", "InputOutput"]


def _refuse(name: str) -> NoReturn:
    raise TileUnsupportedFeatureError(
        f"jax.{name}: Tilewright kernels cannot be called inside jax.jit",
        hints=["launch the kernel outside of jit: a jax array is a kernel's input through DLPack, and an output is an "
               "array of NumPy, CuPy, torch or to_device that jax.numpy.from_dlpack takes back",
               "inside of jit, wrap such a launch in jax.pure_callback"])


def cutile_call(*args: Any, **named: Any) -> NoReturn:
    """Not part of Tilewright: raises TileUnsupportedFeatureError, which says how to launch kernels on jax arrays."""
    _refuse("cutile_call")


class OutputPlaceholder:
    """Not part of Tilewright: raises TileUnsupportedFeatureError."""

    def __init__(self, *args: Any, **named: Any) -> None:
        _refuse("OutputPlaceholder")


class InputOutput:
    """Not part of Tilewright: raises TileUnsupportedFeatureError."""

    def __init__(self, *args: Any, **named: Any) -> None:
        _refuse("InputOutput")
