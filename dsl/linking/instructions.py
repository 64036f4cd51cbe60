"""`inline_ptx`: one instruction of PTX as a function of kernels."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from tilewright.linking.functions import DeviceFunction, check_signature, llvm_type
from tilewright.linking.ptx import check_target, with_version
from tilewright.tileir.dtypes import DType
from tilewright.tracebacks import public

# The inline-assembly constraint of each width of a register; floats of 16 bits are passed as their bits.
_REGISTER = {"i16": "h", "i32": "r", "i64": "l", "float": "f", "double": "d"}
# Instructions that do more than compute their result: with memory, other threads, or the flow of control.
_WITH_EFFECTS = (
    r"ld ldu st atom red prefetch\w* discard applypriority createpolicy tex tld4 su(ld|st|red|q) multimem cp mapa "
    r"getctarank mbarrier bar barrier membar fence shfl vote match activemask redux elect mma wmma wgmma tcgen05 "
    r"ldmatrix stmatrix griddepcontrol clusterlaunchcontrol setmaxnreg bra brx call ret exit trap brkpt nanosleep "
    r"pmevent alloca stacksave stackrestore")
_EFFECTS = re.compile(rf"({_WITH_EFFECTS.replace(' ', '|')})\b")


class InlinePtx(DeviceFunction):
    """An instruction of PTX. It only computes: LLVM may merge calls of it, and drop those whose result is not used."""

    __slots__ = ("asm", "sm", "ptx")

    def __init__(
        self, asm: str, operands: Sequence[DType], result: DType, reference: Callable[..., Any] | None, sm: int,
        ptx: int,
    ) -> None:
        self.asm, self.sm, self.ptx = asm, sm, ptx
        super().__init__(asm.split()[0].rstrip(";"), asm, operands, result, reference)

    @property
    def constraints(self) -> str:
        """LLVM's: the result, then the operands."""
        return ",".join(["=" + _REGISTER[_held(self.result)], *(_REGISTER[_held(d)] for d in self.operands)])

    def emit(self, builder: Any, *lanes: Any) -> Any:
        given = [builder.bitcast(lane, _held(dtype)) for lane, dtype in zip(lanes, self.operands, strict=True)]
        made = builder.asm(self._text, self.constraints, given, _held(self.result), pure=True)
        return builder.bitcast(made, llvm_type(self.result))

    def called_by(self, llvm_text: str) -> bool:
        return f'asm "{self._text}", "{self.constraints}"' in llvm_text

    @property
    def _text(self) -> str:
        """With a comment that tells declarations of one instruction apart, as they may give it several meanings."""
        return f"{self.asm} // {self.digest}"

    def merge(self, ptx: str) -> str:
        check_target(self.label, ptx, self.sm)
        return with_version(ptx, self.ptx)


def _held(dtype: DType) -> str:
    """The type of a register."""
    return "i16" if dtype.bitwidth == 16 else llvm_type(dtype)


@public
def inline_ptx(
    asm: str, operands: Sequence[DType], result: DType, /, *, reference: Callable[..., Any] | None = None, sm: int = 80,
    ptx: int = 70,
) -> InlinePtx:
    """One instruction of PTX as a function of kernels, which computes each element of tiles.

    Arguments: `asm`, the instruction: $0 is its result, $1, $2, ... are its operands, such as "ex2.approx.ftz.f32 $0,
        $1;"; `operands` and `result`, the dtypes of their registers: integers of 16 to 64 bits and floats.
    Options: `reference`, a function of NumPy arrays that says what it computes: the interpreter and the simulator call
        it, and refuse the kernel without; `sm` and `ptx`, the least compute capability (90 for 9.0) and version of PTX
        (80 for 8.0) that have the instruction.
    Result: a function. In kernels it takes tiles and scalars of these dtypes, which broadcast, and constants.
    Errors: TypeError for what is no signature; ValueError for a text that is not one instruction with these operands,
        or that touches memory, other threads or the flow of control, which passes would have to know of; in kernels
        TileTypeError for arguments of other dtypes.

    Example:
        byte_perm = ct.inline_ptx("prmt.b32 $0, $1, $2, 0x0123;", [ct.uint32, ct.uint32], ct.uint32,
                                  reference=lambda low, high: low.byteswap())

        @ct.tile_kernel
        def swap(x, out):
            tile = ct.load(x, 0, 4)
            ct.store(out, 0, byte_perm(tile, tile))

        x, out = np.array([1, 2, 3, 0x01020304], np.uint32), np.zeros(4, np.uint32)
        swap[(1,)](x, out)
        print([hex(v) for v in out])  # ['0x1000000', '0x2000000', '0x3000000', '0x4030201']
        ct.inline_ptx("ld.global.f32 $0, [$1];", [ct.uint64], ct.float32)  # ValueError
        byte_perm(x, x)  # KernelFunctionError
    """
    check_signature("inline_ptx", operands, result, reference)
    if not isinstance(asm, str):
        raise TypeError(f"inline_ptx: the instruction must be a text, not {asm!r}")
    _check_text(asm, len(operands))
    for dtype in (*operands, result):
        if dtype.bitwidth < 16:
            raise TypeError(f"inline_ptx: registers have 16 bits or more; {dtype} has {dtype.bitwidth}")
    return InlinePtx(asm, operands, result, reference, sm, ptx)


def _check_text(asm: str, count: int) -> None:
    if not re.fullmatch(r"[^;{}\n\"\\]*;", asm):
        raise ValueError(f"inline_ptx: {asm!r} is not one instruction: write one, on one line, with a semicolon at its "
                         "end")
    opcode = asm.split()[0]
    if not re.fullmatch(r"[a-z][\w.:]*", opcode):
        raise ValueError(f"inline_ptx: {opcode!r} is no opcode; a predicated instruction has no result elsewhere")
    found = _EFFECTS.match(opcode)
    if found is not None:
        raise ValueError(f"inline_ptx: {found[1]} does more than compute a result: passes would have to know of its "
                         "effects on memory, on other threads or on the flow of control")
    names = {int(number) for number in re.findall(r"\$(\d+)", asm)}
    if names != set(range(count + 1)):
        raise ValueError(f"inline_ptx: {asm!r} must name $0, its result, and each of its operands $1 to ${count}, and "
                         "no others")
