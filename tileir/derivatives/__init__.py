"""Derivatives: the kernel that carries cotangents from a kernel's outputs back to its inputs."""

# Importing these modules fills the table of adjoint rules.
from tilewright.tileir.derivatives import arith, control, convert, fold, math, matmul, memory, reduce, refused, shape
from tilewright.tileir.derivatives.gradient import Wishes, before_gradient, gradient, needed
from tilewright.tileir.derivatives.keeping import Need

__all__ = ["Need", "Wishes", "before_gradient", "gradient", "needed"]

_REGISTERED = (arith, control, convert, fold, math, matmul, memory, reduce, refused, shape)
