"""PTX as machine code: what is assembled, loaded and found in it."""

from __future__ import annotations

import ctypes
import re
import struct
from dataclasses import dataclass, field
from typing import Any

from support.fake_driver.memory import Memory
from support.fake_driver.results import CUresult

_FORMATS = {"u64": "<Q", "b64": "<Q", "f64": "<d", "u32": "<i", "b32": "<i", "f32": "<f", "u16": "<H", "b16": "<H",
            "u8": "<B", "b8": "<B"}
_PARAM = re.compile(r"\.param\s+(?:\.align (\d+)\s+)?\.(\w+)(?:\s+\.ptr[^,\n]*)?\s+\w+(?:\[(\d+)\])?")


class Function(tuple[str, list[str]]):
    """A CUfunction: its name and the formats of its parameters; its handle is its own address."""

    def __int__(self) -> int:
        return id(self)


def in_kernel(formats: list[str]) -> tuple[list[int], int]:
    """Where parameters are for a kernel on Hopper, behind the first, and the end: ptxas aligns their addresses, of
    which that of the first is 528."""
    first = end = 528
    places = list[int]()
    for size in map(struct.calcsize, formats):
        align = min(size, 64)
        places.append(-(-end // align) * align - first)
        end = first + places[-1] + size
    return places, end - first


@dataclass
class Modules(Memory):
    """PTX as machine code: the assembler, modules and their functions."""

    functions: list[Function] = field(default_factory=list)
    linked: list[str] = field(default_factory=list)
    fail_link: bool = False
    attributes: dict[str, int] = field(default_factory=dict)
    # What the assembler answers to a text: the status, the error log, the information log.
    assembler: Any = lambda text: (0, "", "")
    unloaded: list[str] = field(default_factory=list)

    def cuLinkCreate(self, count: int, keys: list[str], values: list[Any]) -> Any:
        return CUresult(0), {"log": values[keys.index("CU_JIT_ERROR_LOG_BUFFER")], "data": None}

    def cuLinkAddData(self, state: Any, kind: str, data: bytes, size: int, name: bytes, *options: Any) -> Any:
        if self.fail_link:
            state["log"][:30] = b"ptxas kernel.ptx, line 5: oops"
            return (CUresult(218),)
        self.linked.append(data.decode().rstrip("\0"))
        state["data"] = ctypes.create_string_buffer(data, size)
        return (CUresult(0),)

    def cuLinkComplete(self, state: Any) -> Any:
        return CUresult(0), ctypes.addressof(state["data"]), len(state["data"])

    def cuLinkDestroy(self, state: Any) -> Any:
        return (CUresult(0),)

    def cuModuleLoadDataEx(self, image: bytes, count: int, keys: list[str], values: list[Any]) -> Any:
        if self.fail_link:
            values[keys.index("CU_JIT_ERROR_LOG_BUFFER")][:30] = b"ptxas kernel.ptx, line 5: oops"
            return CUresult(218), None
        text = image.decode().rstrip("\0")
        self.linked.append(text)
        status, error, info = self.assembler(text)
        for name, log in (("ERROR", error), ("INFO", info)):
            buffer = values[keys.index(f"CU_JIT_{name}_LOG_BUFFER")]
            buffer[: len(log)] = log.encode()
        return CUresult(status), text

    def cuModuleUnload(self, module: str) -> Any:
        self.unloaded.append(module)
        return (CUresult(0),)

    def cuModuleLoadData(self, image: bytes) -> Any:
        return CUresult(0), image.decode()

    def cuModuleGetFunction(self, module: str, name: bytes) -> Any:
        entry = re.search(rf"\.entry {name.decode()}\((.*?)\)", module, re.DOTALL)
        assert entry is not None, f"the PTX has no kernel {name.decode()}"
        params = _PARAM.findall(entry[1])
        formats = [f"{size}s" if size else _FORMATS[kind] for _, kind, size in params]
        self.functions.append(Function((name.decode(), formats)))
        return CUresult(0), self.functions[-1]

    def cuFuncGetAttribute(self, attribute: str, function: Any) -> Any:
        return CUresult(0), 32 if attribute.endswith("NUM_REGS") else 0

    def cuFuncGetParamInfo(self, function: Any, number: int) -> Any:
        _, formats = function
        return CUresult(0), in_kernel(formats)[0][number], struct.calcsize(formats[number])

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(self, function: Any, threads: int, shared: int) -> Any:
        return CUresult(0), 2

    def cuFuncSetAttribute(self, function: Any, attribute: str, value: int) -> Any:
        self.attributes[attribute] = value
        return (CUresult(0),)
