"""Machine code that a process can leave for the next: bytes with holes for the addresses of what they use."""

from __future__ import annotations

import ctypes
import hashlib
import mmap
import struct
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

_kept: list[Any] = []  # memory with code stays


class Code(NamedTuple):
    """The bytes of a function, and where the addresses of what it uses belong, by name."""

    text: bytes
    holes: Mapping[str, tuple[int, ...]]

    def as_data(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"text": self.text.hex(), "holes": {name: list(places) for name, places in self.holes.items()}}

    @staticmethod
    def from_data(data: Any) -> Code:
        """The inverse of `as_data`. Raises KeyError, TypeError or ValueError on anything else."""
        text = bytes.fromhex(data["text"])
        holes = {str(name): tuple(map(int, places)) for name, places in data["holes"].items()}
        if not text or any(not 0 <= place <= len(text) - 8 for places in holes.values() for place in places):
            raise ValueError("a hole is outside of the code")
        return Code(text, holes)


def compiled(module: Callable[[Mapping[str, int]], str], names: tuple[str, ...]) -> Code | None:
    """The code of a module's one function that others call, its first; `module` gives its text for addresses.

    It is compiled for two made-up sets of addresses: what differs are the holes. (Which of two instructions comes first
    may hang on the numbers: then two other sets may do.) None where they are not whole words in the code, or it is not
    all in one piece: so it is for other processors than x86-64, and other systems than Linux.
    """
    for pair in ((0, 1), (2, 3), (4, 5)) if sys.platform == "linux" else ():
        first, second = (_for_addresses(module, {name: _made_up(name, number) for name in names}) for number in pair)
        if first is None or first == second:
            return first
    return None


def _for_addresses(module: Callable[[Mapping[str, int]], str], addresses: Mapping[str, int]) -> Code | None:
    text = _section(module(addresses))
    return None if text is None else _with_holes(text, addresses)


def _with_holes(text: bytes, addresses: Mapping[str, int]) -> Code:
    """Code with nothing in the places of these addresses."""
    blank, holes = bytearray(text), dict[str, tuple[int, ...]]()
    for name, address in addresses.items():
        holes[name] = tuple(_places(text, struct.pack("<Q", address)))
        for place in holes[name]:
            blank[place : place + 8] = bytes(8)
    return Code(bytes(blank), {name: places for name, places in holes.items() if places})


def _made_up(name: str, number: int) -> int:
    """An address that stands nowhere else in the code, and from which no other one follows by a short step."""
    return struct.unpack("<Q", hashlib.sha256(f"{name} {number}".encode()).digest()[:8])[0] | 1 << 62  # type: ignore[no-any-return]


def _places(text: bytes, word: bytes) -> list[int]:
    found, start = [], text.find(word)
    while start >= 0:
        found.append(start)
        start = text.find(word, start + 1)
    return found


def _section(text: str) -> bytes | None:
    """The code of a module for any processor of this kind; None where it is in several pieces, or needs a linker."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    target = binding.Target.from_default_triple()
    machine = target.create_target_machine(opt=2, reloc="pic", codemodel="small")
    module = binding.parse_assembly(text, binding.create_context())
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    options = binding.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    sections = binding.ObjectFileRef.from_data(machine.emit_object(module)).sections()
    pieces = [(name, bytes(section.data())) for section in sections
              if (name := section.name() or b"").startswith((b".text", b".rel", b".rodata", b".data", b".bss"))]
    filled = [(name, data) for name, data in pieces if data]
    return filled[0][1] if [name for name, _ in filled] == [b".text"] else None


def loaded(code: Code, addresses: Mapping[str, int]) -> int:
    """The address of the function in memory that can be run, with these addresses in its holes. Raises OSError where
    there is none, and KeyError for a hole with another name."""
    text = bytearray(code.text)
    for name, places in code.holes.items():
        for place in places:
            text[place : place + 8] = struct.pack("<Q", addresses[name])
    memory = mmap.mmap(-1, len(text), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory[:] = bytes(text)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    if protect(start, len(text), mmap.PROT_READ | mmap.PROT_EXEC):
        raise OSError(ctypes.get_errno(), "mprotect")
    _kept.append(memory)
    return start
