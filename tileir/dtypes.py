"""The data types of the language: names, widths, and the format of each float."""

from __future__ import annotations

from typing import Any, Final


class DType:
    """One element type. Dtypes are compared by identity; `str()` is the public name, `.ir` the short name in dumps.

    On the host a dtype has `name`, `bitwidth`, `kind` ("bool", "int", "uint" or "float"), `exponent` and `mantissa`
    (bits of a float format, mantissa without the hidden bit), and `arithmetic`: False for restricted formats, which are
    stored, converted and multiplied as matrices, but not computed with. In a kernel a dtype is compared, passed on, and
    called: `ct.int8(300)` is a scalar.
    """

    __slots__ = (
        "name", "ir", "bitwidth", "kind", "exponent", "mantissa", "arithmetic", "has_inf", "has_sign", "int_range",
        "__weakref__",
    )
    name: str
    ir: str
    bitwidth: int
    kind: str  # "bool", "int", "uint" or "float"
    exponent: int
    mantissa: int
    arithmetic: bool
    has_inf: bool
    has_sign: bool
    int_range: tuple[int, int]
    """Smallest and largest value of an integer or bool type."""

    def __init__(
        self, name: str, ir: str, bitwidth: int, kind: str, *, exponent: int = 0, mantissa: int = 0,
        arithmetic: bool = True, has_inf: bool = False, has_sign: bool = True,
    ) -> None:
        self.name, self.ir, self.bitwidth, self.kind = name, ir, bitwidth, kind
        self.exponent, self.mantissa = exponent, mantissa
        self.arithmetic, self.has_inf, self.has_sign = arithmetic, has_inf, has_sign
        half = bitwidth - 1 if kind == "int" else 0
        self.int_range = (-(1 << half), (1 << half) - 1) if half else (0, (1 << bitwidth) - 1)

    @property
    def __name__(self) -> str:
        return self.name

    @property
    def is_bool(self) -> bool:
        return self.kind == "bool"

    @property
    def is_int(self) -> bool:
        """Signed or unsigned integer; bool is not one."""
        return self.kind in ("int", "uint")

    @property
    def is_signed(self) -> bool:
        return self.kind == "int"

    @property
    def is_float(self) -> bool:
        """Any float format, restricted ones included."""
        return self.kind == "float"

    @property
    def bytes(self) -> int:
        """Bytes of one element in memory (bool and four-bit formats: 1)."""
        return max(1, self.bitwidth // 8)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<DType {self.name!r}>"

    def __reduce__(self) -> str:
        # Pickled as the module-level name, so that identity survives.
        return self.name

    def __call__(self, value: Any = 0) -> Any:
        raise RuntimeError(f"{self.name}(...) makes a scalar inside a kernel; it cannot be called on the host")


def _int(bits: int, signed: bool) -> DType:
    kind = "int" if signed else "uint"
    return DType(f"{kind}{bits}", f"{kind[0]}{bits}", bits, kind)


def _float(name: str, ir: str, bits: int, exponent: int, mantissa: int, **more: bool) -> DType:
    return DType(name, ir, bits, "float", exponent=exponent, mantissa=mantissa, **more)


# bool_ occupies one byte in memory and one bit in a register.
bool_: Final = DType("bool_", "i1", 1, "bool")
int8, int16, int32, int64 = (_int(b, True) for b in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (_int(b, False) for b in (8, 16, 32, 64))
float16: Final = _float("float16", "f16", 16, 5, 10, has_inf=True)
bfloat16: Final = _float("bfloat16", "bf16", 16, 8, 7, has_inf=True)
float32: Final = _float("float32", "f32", 32, 8, 23, has_inf=True)
float64: Final = _float("float64", "f64", 64, 11, 52, has_inf=True)
# A 32-bit container of which the tensor cores use 10 mantissa bits.
tfloat32: Final = _float("tfloat32", "tf32", 32, 8, 10, has_inf=True, arithmetic=False)
float8_e4m3fn: Final = _float("float8_e4m3fn", "e4m3", 8, 4, 3, arithmetic=False)
float8_e5m2: Final = _float("float8_e5m2", "e5m2", 8, 5, 2, has_inf=True, arithmetic=False)
float8_e8m0fnu: Final = _float("float8_e8m0fnu", "e8m0", 8, 8, 0, has_sign=False, arithmetic=False)
float8_e5m3fnu: Final = _float("float8_e5m3fnu", "e5m3", 8, 5, 3, has_sign=False, arithmetic=False)
float4_e2m1fn: Final = _float("float4_e2m1fn", "e2m1", 4, 2, 1, arithmetic=False)

ALL: Final[tuple[DType, ...]] = (
    bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
    tfloat32, float8_e4m3fn, float8_e5m2, float8_e8m0fnu, float8_e5m3fnu, float4_e2m1fn,
)
BY_NAME: Final[dict[str, DType]] = {d.name: d for d in ALL}
BY_IR: Final[dict[str, DType]] = {d.ir: d for d in ALL}
