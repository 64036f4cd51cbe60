"""Lowerings of all ops, one module a family. Importing this module registers them all."""

from tilewright.backend_ptx.lower import (  # noqa: F401
    arith,
    arrays,
    async_copy,
    atomics,
    bulk,
    cluster,
    compare,
    control,
    convert,
    fold,
    gather,
    layout,
    math,
    matmul,
    memory,
    output,
    reduce,
    shape,
    shared,
    warpgroup,
)
