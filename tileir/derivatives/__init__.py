"""Derivatives: the kernel that carries cotangents from a kernel's outputs back to its inputs."""

# Importing these modules fills the table of adjoint rules.
from tilewright.tileir.derivatives import arith, control, convert, fold, math, matmul, memory, reduce, refused, shape
from tilewright.tileir.derivatives.gradient import gradient

__all__ = ["gradient"]

_REGISTERED = (arith, control, convert, fold, math, matmul, memory, reduce, refused, shape)
