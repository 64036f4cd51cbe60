"""The words of memory that the launcher in machine code reads, and the functions and objects of Python that it uses."""

from __future__ import annotations

import ctypes
import enum
import sys

MOST_ARRAYS = 128
MOST_BYTES = 4096  # of parameters, packed as the kernel has them

# The words of a function's head, of a known launch, and of one of its arguments: 8 bytes each; words.py fills them.
HEAD = "first", "fallback", "held", "kept"
LAUNCH = ("next", "handle", "x", "y", "z", "threads", "shared", "bytes", "shift", "template", "count", "arguments",
          "pairs", "pair_words", "stream_of", "device", "outputs", "output_numbers", "note", "noted", "context",
          "launch", "current", "packed", "maps", "map_words", "replace", "answer", "cell",
          "raise", "handles", "torch", "cells", "own", "set_current")
ARGUMENT = ("kind", "object", "type", "value", "offset", "place", "format", "extents", "strides", "low", "number",
            "output", "exact", "read", "rank", "ordinal")
# Where a tensor of torch has its handle, and torch's functions on it (arguments/torch_handles.py).
TORCH = ("offset", "dtype", "rank", "sizes", "strides", "place", "ordinal", "data", "is_neg", "is_inference",
         "autograd", "raise")
# A cell for a tensor of torch, torch's functions on it (arguments/torch_cells.py), and the object that it is of.
CELLS = "load", "cell", "assign", "nothing", "is_inference", "autograd", "raise", "held"

# What a profile knows of a known launch: where it is recorded (0: nowhere), its number there, and how many ints must be
# as they were: an offset, a mask and a value each, behind these words.
CELL = "records", "number", "ints"
# The records of a profile on one GPU: the block in use, functions, and the object that keeps all of it.
RECORDS = "block", "record", "clock", "owner"
# A block, in front of its records: the next one, and where they end.
BLOCK = "next", "end"
# A launch that machine code has recorded. `number` is 0 until it is whole, and one more than that of its cell then.
RECORD = "number", "start", "stop", "thread", "stream", "before", "after"


class Expected(enum.IntEnum):
    """What an argument must be: this very object, this number or tuple of ints, or any of its type. Of ints those are
    known that fit 32 bits. A TENSOR is read by DLPack's table, one that is HELD by torch's own functions on its
    handle."""

    CONSTANT = 0
    CONSTANT_INT = 1
    CONSTANT_FLOAT = 2
    CONSTANT_INTS = 3
    BOOL = 4
    INT32 = 5
    INT64 = 6
    FLOAT32 = 7
    FLOAT64 = 8
    TENSOR = 9
    ARRAY = 10
    HELD = 11


class Noted(enum.IntEnum):
    """How torch is told of a tensor that a launch writes: BY_PYTHON, which is asked for its record of gradients when it
    is read, or IN_CELL, where all is asked. NOT: it is not written."""

    NOT = 0
    BY_PYTHON = 1
    IN_CELL = 2


# Exported functions of CPython alone; of its structs, PyMethodDef (native.py).
FUNCTIONS = (
    "PyErr_Clear", "PyErr_Occurred", "PyEval_RestoreThread", "PyEval_SaveThread", "PyFloat_AsDouble",
    "PyLong_AsLongLongAndOverflow", "PyLong_AsUnsignedLongLong", "PyLong_AsVoidPtr", "PyObject_CallOneArg",
    "PyObject_GetAttr", "PyObject_RichCompareBool", "PyObject_Type", "PyObject_Vectorcall", "PyTuple_GetItem",
    "PyThread_get_thread_ident", "PyTuple_New", "PyTuple_SetItem", "PyTuple_Size", "Py_DecRef", "Py_IncRef",
)
NAMES = ("stream", "requires_grad", "cuda_stream", "pointer", "shape", "strides", "dtype", "device")
# The code has the addresses of these objects, which stay.
OBJECTS = {"None": None, "True": True, "False": False, "int": int, **{name: sys.intern(name) for name in NAMES}}


def addresses() -> dict[str, int]:
    """Where functions and objects are in this process, by name."""
    found = {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in FUNCTIONS}
    return found | {name: id(thing) for name, thing in OBJECTS.items()}
