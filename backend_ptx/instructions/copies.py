"""Asynchronous copies from global to shared memory (cp.async) and matrix loads and stores of shared memory.

Shared addresses are 32-bit numbers (ptrtoint of the shared pointer).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tilewright.backend_ptx.instructions.record import Instruction, braced

MAX_PENDING_GROUPS = 15


def records() -> Iterator[Instruction]:
    # Operands: shared address, global address, bytes to read (0..size); the rest of the destination becomes zero.
    for cache, size in (("cg", 16), ("ca", 4), ("ca", 8), ("ca", 16)):
        # A 128-byte L2 prefetch pays where whole rows follow, which 16-byte copies are.
        hint = ".L2::128B" if size == 16 else ""
        yield Instruction(
            f"cp.async.{cache}.{size}", f"cp.async.{cache}.shared.global{hint} [$0], [$1], {size}, $2;",
            ("i32", "ptr addrspace(1)", "i32"), (), "copy_async", {"size": size}, reads=True, writes=True, ptx=74,
        )
    yield Instruction("cp.async.commit", "cp.async.commit_group;", (), (), "copy_commit", reads=True, writes=True)
    for pending in range(MAX_PENDING_GROUPS + 1):
        yield Instruction(f"cp.async.wait.{pending}", f"cp.async.wait_group {pending};", (), (), "copy_wait",
                          {"pending": pending}, reads=True, writes=True)
    # 8x8 matrices of 16-bit elements: lane 8*i + r passes the address of row r of matrix i.
    for count, trans in product((1, 2, 4), (False, True)):
        tail, facts = f"x{count}{'.trans' if trans else ''}", {"count": count, "trans": trans}
        yield Instruction(
            f"ldmatrix.{tail}", f"ldmatrix.sync.aligned.m8n8.{tail}.shared.b16 {braced(0, count)}, [${count}];",
            ("i32",), ("i32",) * count, "matrix_load", facts, reads=True, convergent=True)
        yield Instruction(
            f"stmatrix.{tail}", f"stmatrix.sync.aligned.m8n8.{tail}.shared.b16 [$0], {braced(1, count)};",
            ("i32", *["i32"] * count), (), "matrix_store", facts, writes=True, convergent=True, sm=90, ptx=78)
