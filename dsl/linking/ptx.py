"""Texts of PTX: their versions and targets, and the functions of one inside another."""

from __future__ import annotations

import re

from tilewright.tileir.diagnostics import TileUnsupportedFeatureError
from tilewright.tileir.dtypes import DType

_VERSION = re.compile(r"^\.version\s+(\d+)\.(\d+)", re.MULTILINE)
_TARGET = re.compile(r"^\.target\s+sm_(\d+)(\w?)", re.MULTILINE)
_HEADER = re.compile(r"^\s*\.(version|target|address_size)\b[^\n]*\n", re.MULTILINE)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_FUNCTION = r"\.func\s*(?:\(([^)]*)\))?\s*{name}\s*\(([^)]*)\)"
_PARAMETER = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.[a-z](\d+)\s+[\w$%]+\s*(\[?)")


def version_of(ptx: str) -> int:
    """80 for 8.0; ValueError for what is no PTX."""
    found = _VERSION.search(ptx)
    if found is None:
        raise ValueError("there is no .version in it")
    return 10 * int(found[1]) + int(found[2])


def target_of(ptx: str) -> int:
    """90 for sm_90 and sm_90a."""
    found = _TARGET.search(ptx)
    if found is None:
        raise ValueError("there is no .target in it")
    return int(found[1])


def with_version(ptx: str, least: int) -> str:
    """The text for this version, where it is for an older one."""
    if version_of(ptx) >= least:
        return ptx
    return _VERSION.sub(f".version {least // 10}.{least % 10}", ptx, count=1)


def check_target(label: str, ptx: str, needed: int) -> None:
    """TileUnsupportedFeatureError where the text is for a target before `needed`."""
    if target_of(ptx) < needed:
        raise TileUnsupportedFeatureError(
            f"{label} needs sm_{needed}, and the kernel is compiled for sm_{target_of(ptx)}",
            hints=["compile for a newer target, or choose between kernels by the device"])


def parameter_bits(ptx: str, name: str) -> tuple[list[int], list[int]] | None:
    """The widths of a function's results and parameters, None where the text does not define it. A parameter that is an
    array of bytes, as of structs, has the width 0."""
    found = re.search(_FUNCTION.format(name=re.escape(name)) + r"\s*(?:\.\w+\s*)*\{", _COMMENT.sub("", ptx))
    if found is None:
        return None
    results, parameters = ([0 if is_array else int(bits) for bits, is_array in _PARAMETER.findall(part or "")]
                           for part in found.groups())
    return results, parameters


def parameter_width(dtype: DType) -> int:
    """How functions of PTX are passed a scalar: integers in 32 bits at least."""
    return max(32, dtype.bitwidth) if dtype.is_int else dtype.bitwidth


def renamed(ptx: str, name: str, new: str) -> str:
    """The text with a function under another name; parameters named after it keep theirs."""
    return re.sub(rf"(?<![\w$%.]){re.escape(name)}(?![\w$])", new, ptx)


def with_functions(ptx: str, name: str, code: str) -> str:
    """A kernel's text with the functions of another in the place of its declaration of one of them."""
    declaration = re.compile(r"^\.extern\s+" + _FUNCTION.format(name=re.escape(name)) + r"\s*;\s*$", re.MULTILINE)
    body = _HEADER.sub("", _COMMENT.sub("", code)).strip()
    merged, count = declaration.subn(lambda _: body, ptx, count=1)
    assert count, f"the kernel's PTX does not declare {name}"
    return merged
