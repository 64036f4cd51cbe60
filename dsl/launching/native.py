"""The launcher in machine code: it reads a launch's arguments, finds them known, and calls the driver, without making a
Python object; whatever it does not know it leaves to Python.

LLVM's compiler of the host makes it, once in a process, on a thread of its own, after many launches. It uses exported
functions of CPython alone, and of its structs PyMethodDef. What it compares and what it passes on stands in words of
memory that `words.py` fills. The GIL is released while the driver works, which may block until the GPU's queue has
room, and what would make room may be waiting for the GIL.
"""

from __future__ import annotations

import ctypes
import enum
import platform
import re
import sys
import sysconfig
import threading
from typing import Any

_FAST_WITH_KEYWORDS = 0x80 | 0x02  # METH_FASTCALL | METH_KEYWORDS
MOST_SLOTS = 128

# The words of a known launch (8 bytes each), and of one of its arguments: words.py fills them.
HEAD = "first", "fallback", "held"
LAUNCH = ("next", "handle", "x", "y", "z", "threads", "shared", "slots", "template", "count", "arguments", "pairs",
          "pair_words", "stream_of", "device", "outputs", "output_numbers", "note", "noted", "context", "launch",
          "current", "table", "maps", "map_words")
ARGUMENT = ("kind", "type", "value", "slot", "place", "format", "extents", "strides", "low", "number", "output",
            "exact", "read")


class Expected(enum.IntEnum):
    """What an argument must be: this very object, this number, or any of its type."""

    CONSTANT = 0
    CONSTANT_INT = 1
    CONSTANT_FLOAT = 2
    BOOL = 3
    INT = 4
    FLOAT32 = 5
    FLOAT64 = 6
    TENSOR = 7
    ARRAY = 8


_USED = (
    "PyErr_Clear", "PyErr_Occurred", "PyEval_RestoreThread", "PyEval_SaveThread", "PyFloat_AsDouble",
    "PyLong_AsLongLongAndOverflow", "PyLong_AsUnsignedLongLong", "PyLong_AsVoidPtr", "PyObject_CallOneArg",
    "PyObject_GetAttr", "PyObject_RichCompareBool", "PyObject_Type", "PyObject_Vectorcall", "PyTuple_GetItem",
    "PyTuple_New", "PyTuple_SetItem", "PyTuple_Size", "Py_DecRef", "Py_IncRef",
)
_OBJECTS = {"None": None, "True": True, "False": False, "int": int}
_NAMES = ("stream", "requires_grad", "cuda_stream", "pointer", "shape", "strides", "dtype", "device")
_kept = [sys.intern(name) for name in _NAMES]  # the code has their addresses


def _text() -> str:
    """The module, with the addresses of what it uses and the offsets of words."""
    text = (_PARTS + _READ_ARRAYS + _READ_OTHERS + _MATCH + _FINISH + _ENTRIES)
    for prefix, names in (("H", HEAD), ("L", LAUNCH), ("A", ARGUMENT)):
        for number, name in enumerate(names):
            text = re.sub(rf"\${prefix}\.{name}\b", str(8 * number), text)
    text = text.replace("$argument_bytes", str(8 * len(ARGUMENT))).replace("$slots", str(MOST_SLOTS))
    for kind in Expected:
        text = re.sub(rf"\$kind\.{kind.name.lower()}\b", str(int(kind)), text)
    for name, thing in {**_OBJECTS, **dict(zip(_NAMES, _kept, strict=True))}.items():
        text = re.sub(rf"\$object\.{name}\b", f"inttoptr (i64 {id(thing)} to ptr)", text)
    for name in _USED:
        address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        text = re.sub(rf"@{name}\(", f"inttoptr (i64 {address} to ptr)(", text)
    return text


# Small parts: a word of memory; is an object's class this one; a number of 64 bits.
_PARTS = """
define internal i64 @word(ptr %at, i64 %offset) alwaysinline {
  %place = getelementptr i8, ptr %at, i64 %offset
  %value = load i64, ptr %place
  ret i64 %value
}

define internal ptr @address(ptr %at, i64 %offset) alwaysinline {
  %place = getelementptr i8, ptr %at, i64 %offset
  %value = load ptr, ptr %place
  ret ptr %value
}

define internal i1 @is_exactly(ptr %object, ptr %class) {
  %found = call ptr @PyObject_Type(ptr %object)
  call void @Py_DecRef(ptr %found)
  %same = icmp eq ptr %found, %class
  ret i1 %same
}

define internal i1 @as_number(ptr %object, ptr %out) {
  %overflow = alloca i32
  %value = call i64 @PyLong_AsLongLongAndOverflow(ptr %object, ptr %overflow)
  store i64 %value, ptr %out
  %over = load i32, ptr %overflow
  %fits = icmp eq i32 %over, 0
  ret i1 %fits
}

define internal i1 @same_words(ptr %a, ptr %b, i64 %count) {
entry:
  br label %check
check:
  %i = phi i64 [0, %entry], [%next, %compare]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %compare, label %yes
compare:
  %p = getelementptr i64, ptr %a, i64 %i
  %q = getelementptr i64, ptr %b, i64 %i
  %x = load i64, ptr %p
  %y = load i64, ptr %q
  %next = add i64 %i, 1
  %same = icmp eq i64 %x, %y
  br i1 %same, label %check, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

define internal i1 @put_address(ptr %argument, i64 %pointer, ptr %slots, ptr %pointers) {
  %low = and i64 %pointer, 15
  %wanted_low = call i64 @word(ptr %argument, i64 $A.low)
  %aligned = icmp eq i64 %low, %wanted_low
  %exact = call i64 @word(ptr %argument, i64 $A.exact)
  %any = icmp eq i64 %exact, -1
  %equal = icmp eq i64 %exact, %pointer
  %allowed = or i1 %any, %equal
  %slot = call i64 @word(ptr %argument, i64 $A.slot)
  %place = getelementptr i64, ptr %slots, i64 %slot
  store i64 %pointer, ptr %place
  %number = call i64 @word(ptr %argument, i64 $A.number)
  %kept = getelementptr i64, ptr %pointers, i64 %number
  store i64 %pointer, ptr %kept
  %good = and i1 %aligned, %allowed
  ret i1 %good
}
"""

# A tensor through the DLTensor that its library's exchange table fills (data at 0, device at 8, rank and element type
# at 16, extents at 24, strides at 32, offset at 40); a device array of ours by its attributes.
_READ_ARRAYS = """
define internal i1 @attribute_is(ptr %object, ptr %name, ptr %wanted) {
  %found = call ptr @PyObject_GetAttr(ptr %object, ptr %name)
  %none = icmp eq ptr %found, null
  br i1 %none, label %no, label %compare
compare:
  %equal = call i32 @PyObject_RichCompareBool(ptr %found, ptr %wanted, i32 2)
  call void @Py_DecRef(ptr %found)
  %good = icmp eq i32 %equal, 1
  br i1 %good, label %yes, label %no
yes:
  ret i1 true
no:
  call void @PyErr_Clear()
  ret i1 false
}

define internal i1 @tensor(ptr %argument, ptr %object, ptr %slots, ptr %pointers) {
  %tensor = alloca [8 x i64], align 16
  %read = call ptr @address(ptr %argument, i64 $A.read)
  %failed = call i32 %read(ptr %object, ptr %tensor)
  %fine = icmp eq i32 %failed, 0
  br i1 %fine, label %shaped, label %error
error:
  call void @PyErr_Clear()
  br label %no
shaped:
  %place = call i64 @word(ptr %tensor, i64 8)
  %wanted_place = call i64 @word(ptr %argument, i64 $A.place)
  %same_place = icmp eq i64 %place, %wanted_place
  %format = call i64 @word(ptr %tensor, i64 16)
  %wanted_format = call i64 @word(ptr %argument, i64 $A.format)
  %same_format = icmp eq i64 %format, %wanted_format
  %same = and i1 %same_place, %same_format
  br i1 %same, label %extents, label %no
extents:
  %rank = and i64 %format, 4294967295
  %shape = call ptr @address(ptr %tensor, i64 24)
  %wanted_shape = call ptr @address(ptr %argument, i64 $A.extents)
  %same_shape = call i1 @same_words(ptr %shape, ptr %wanted_shape, i64 %rank)
  br i1 %same_shape, label %has_strides, label %no
has_strides:
  %strides = call ptr @address(ptr %tensor, i64 32)
  %missing = icmp eq ptr %strides, null
  %scalar = icmp eq i64 %rank, 0
  %fine_without = or i1 %scalar, %missing
  br i1 %fine_without, label %without, label %steps
without:
  br i1 %scalar, label %base, label %no
steps:
  %wanted_strides = call ptr @address(ptr %argument, i64 $A.strides)
  %same_strides = call i1 @same_words(ptr %strides, ptr %wanted_strides, i64 %rank)
  br i1 %same_strides, label %base, label %no
base:
  %data = call i64 @word(ptr %tensor, i64 0)
  %offset = call i64 @word(ptr %tensor, i64 40)
  %pointer = add i64 %data, %offset
  %good = call i1 @put_address(ptr %argument, i64 %pointer, ptr %slots, ptr %pointers)
  br i1 %good, label %output, label %no
output:
  %written = call i64 @word(ptr %argument, i64 $A.output)
  %is_written = icmp ne i64 %written, 0
  br i1 %is_written, label %autograd, label %yes
autograd:
  %plain = call i1 @attribute_is(ptr %object, ptr $object.requires_grad, ptr $object.False)
  br i1 %plain, label %yes, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

define internal i1 @array(ptr %argument, ptr %object, ptr %slots, ptr %pointers) {
  %shape = call ptr @address(ptr %argument, i64 $A.extents)
  %a = call i1 @attribute_is(ptr %object, ptr $object.shape, ptr %shape)
  br i1 %a, label %second, label %no
second:
  %strides = call ptr @address(ptr %argument, i64 $A.strides)
  %b = call i1 @attribute_is(ptr %object, ptr $object.strides, ptr %strides)
  br i1 %b, label %third, label %no
third:
  %format = call ptr @address(ptr %argument, i64 $A.format)
  %c = call i1 @attribute_is(ptr %object, ptr $object.dtype, ptr %format)
  br i1 %c, label %fourth, label %no
fourth:
  %place = call ptr @address(ptr %argument, i64 $A.place)
  %d = call i1 @attribute_is(ptr %object, ptr $object.device, ptr %place)
  br i1 %d, label %base, label %no
base:
  %number = call ptr @PyObject_GetAttr(ptr %object, ptr $object.pointer)
  %none = icmp eq ptr %number, null
  br i1 %none, label %error, label %read
read:
  %pointer = call i64 @PyLong_AsUnsignedLongLong(ptr %number)
  call void @Py_DecRef(ptr %number)
  %raised = call ptr @PyErr_Occurred()
  %fine = icmp eq ptr %raised, null
  br i1 %fine, label %put, label %error
put:
  %good = call i1 @put_address(ptr %argument, i64 %pointer, ptr %slots, ptr %pointers)
  ret i1 %good
error:
  call void @PyErr_Clear()
  br label %no
no:
  ret i1 false
}
"""

# One argument: is it what is expected? If so, its bits go into its slot.
_READ_OTHERS = """
define internal i1 @one(ptr %argument, ptr %object, ptr %slots, ptr %pointers) {
entry:
  %value = alloca i64
  %kind = call i64 @word(ptr %argument, i64 $A.kind)
  %class = call ptr @address(ptr %argument, i64 $A.type)
  %slot = call i64 @word(ptr %argument, i64 $A.slot)
  %place = getelementptr i64, ptr %slots, i64 %slot
  switch i64 %kind, label %no [i64 $kind.constant, label %constant
                               i64 $kind.bool, label %bool
                               i64 $kind.constant_int, label %typed
                               i64 $kind.constant_float, label %typed
                               i64 $kind.int, label %typed
                               i64 $kind.float32, label %typed
                               i64 $kind.float64, label %typed
                               i64 $kind.tensor, label %typed
                               i64 $kind.array, label %typed]
constant:
  %same = icmp eq ptr %object, %class
  ret i1 %same
bool:
  %yes_object = icmp eq ptr %object, $object.True
  %no_object = icmp eq ptr %object, $object.False
  %bit = zext i1 %yes_object to i64
  store i64 %bit, ptr %place
  %is_bool = or i1 %yes_object, %no_object
  ret i1 %is_bool
typed:
  %fits = call i1 @is_exactly(ptr %object, ptr %class)
  br i1 %fits, label %by_kind, label %no
by_kind:
  switch i64 %kind, label %no [i64 $kind.constant_int, label %constant_int
                               i64 $kind.constant_float, label %constant_float
                               i64 $kind.int, label %int
                               i64 $kind.float32, label %float
                               i64 $kind.float64, label %float
                               i64 $kind.tensor, label %tensor
                               i64 $kind.array, label %array]
constant_int:
  %whole = call i1 @as_number(ptr %object, ptr %value)
  %number = load i64, ptr %value
  %wanted = call i64 @word(ptr %argument, i64 $A.value)
  %equal = icmp eq i64 %number, %wanted
  %both = and i1 %whole, %equal
  ret i1 %both
constant_float:
  %given = call double @PyFloat_AsDouble(ptr %object)
  %given_bits = bitcast double %given to i64
  %wanted_bits = call i64 @word(ptr %argument, i64 $A.value)
  %equal_bits = icmp eq i64 %given_bits, %wanted_bits
  ret i1 %equal_bits
int:
  %read = call i1 @as_number(ptr %object, ptr %value)
  %n = load i64, ptr %value
  store i64 %n, ptr %place
  %short = trunc i64 %n to i32
  %long = sext i32 %short to i64
  %in_range = icmp eq i64 %n, %long
  %good = and i1 %read, %in_range
  ret i1 %good
float:
  %double = call double @PyFloat_AsDouble(ptr %object)
  %wide = icmp eq i64 %kind, $kind.float64
  br i1 %wide, label %float64, label %float32
float64:
  store double %double, ptr %place
  ret i1 true
float32:
  %single = fptrunc double %double to float
  store float %single, ptr %place
  ret i1 true
tensor:
  %a = call i1 @tensor(ptr %argument, ptr %object, ptr %slots, ptr %pointers)
  ret i1 %a
array:
  %b = call i1 @array(ptr %argument, ptr %object, ptr %slots, ptr %pointers)
  ret i1 %b
no:
  ret i1 false
}
"""

# All arguments of one known launch, and that no ranges meet of which the kernel writes one.
_MATCH = """
define internal i1 @matches(ptr %known, ptr %given, i64 %size, ptr %slots, ptr %pointers) {
entry:
  %count = call i64 @word(ptr %known, i64 $L.count)
  %as_many = icmp eq i64 %size, %count
  br i1 %as_many, label %copy, label %no
copy:
  %template = call ptr @address(ptr %known, i64 $L.template)
  %slot_count = call i64 @word(ptr %known, i64 $L.slots)
  %bytes = shl i64 %slot_count, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %slots, ptr %template, i64 %bytes, i1 false)
  %arguments = call ptr @address(ptr %known, i64 $L.arguments)
  br label %check
check:
  %i = phi i64 [0, %copy], [%next, %read]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %read, label %apart
read:
  %object_at = getelementptr ptr, ptr %given, i64 %i
  %object = load ptr, ptr %object_at
  %distance = mul i64 %i, $argument_bytes
  %argument = getelementptr i8, ptr %arguments, i64 %distance
  %next = add i64 %i, 1
  %good = call i1 @one(ptr %argument, ptr %object, ptr %slots, ptr %pointers)
  br i1 %good, label %check, label %no
apart:
  %pairs = call i64 @word(ptr %known, i64 $L.pairs)
  %pair_words = call ptr @address(ptr %known, i64 $L.pair_words)
  br label %pair
pair:
  %k = phi i64 [0, %apart], [%after, %compare]
  %any = icmp ult i64 %k, %pairs
  br i1 %any, label %compare, label %yes
compare:
  %skip = mul i64 %k, 48
  %at = getelementptr i8, ptr %pair_words, i64 %skip
  %a_number = call i64 @word(ptr %at, i64 0)
  %a_low = call i64 @word(ptr %at, i64 8)
  %a_high = call i64 @word(ptr %at, i64 16)
  %b_number = call i64 @word(ptr %at, i64 24)
  %b_low = call i64 @word(ptr %at, i64 32)
  %b_high = call i64 @word(ptr %at, i64 40)
  %a_place = getelementptr i64, ptr %pointers, i64 %a_number
  %b_place = getelementptr i64, ptr %pointers, i64 %b_number
  %a = load i64, ptr %a_place
  %b = load i64, ptr %b_place
  %a_first = add i64 %a, %a_low
  %a_end = add i64 %a, %a_high
  %b_first = add i64 %b, %b_low
  %b_end = add i64 %b, %b_high
  %before = icmp slt i64 %a_first, %b_end
  %behind = icmp slt i64 %b_first, %a_end
  %meet = and i1 %before, %behind
  %after = add i64 %k, 1
  br i1 %meet, label %no, label %pair
yes:
  ret i1 true
no:
  ret i1 false
}

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""

# What comes after: the stream, torch's counters of versions, the context, the call.
_FINISH = """
define internal i1 @stream(ptr %known, ptr %given, ptr %out) {
entry:
  %none = icmp eq ptr %given, $object.None
  br i1 %none, label %current, label %int
current:
  store i64 0, ptr %out
  %ask = call ptr @address(ptr %known, i64 $L.stream_of)
  %fixed = icmp eq ptr %ask, null
  br i1 %fixed, label %yes, label %library
library:
  %device = call i64 @word(ptr %known, i64 $L.device)
  %ordinal = trunc i64 %device to i32
  %failed = call i32 %ask(i32 2, i32 %ordinal, ptr %out)
  %fine = icmp eq i32 %failed, 0
  br i1 %fine, label %yes, label %error
int:
  %is_int = call i1 @is_exactly(ptr %given, ptr $object.int)
  br i1 %is_int, label %handle, label %attribute
handle:
  %a = call i1 @as_number(ptr %given, ptr %out)
  ret i1 %a
attribute:
  %found = call ptr @PyObject_GetAttr(ptr %given, ptr $object.cuda_stream)
  %missing = icmp eq ptr %found, null
  br i1 %missing, label %error, label %number
number:
  %exact = call i1 @is_exactly(ptr %found, ptr $object.int)
  br i1 %exact, label %read, label %drop
read:
  %b = call i1 @as_number(ptr %found, ptr %out)
  call void @Py_DecRef(ptr %found)
  ret i1 %b
drop:
  call void @Py_DecRef(ptr %found)
  ret i1 false
error:
  call void @PyErr_Clear()
  ret i1 false
yes:
  ret i1 true
}

define internal i1 @note(ptr %known, ptr %given) {
entry:
  %count = call i64 @word(ptr %known, i64 $L.outputs)
  %none = icmp eq i64 %count, 0
  br i1 %none, label %yes, label %some
some:
  %ready = call ptr @address(ptr %known, i64 $L.noted)
  %open = icmp eq ptr %ready, null
  br i1 %open, label %make, label %call
make:
  %made = call ptr @PyTuple_New(i64 %count)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %error, label %fill
fill:
  %numbers = call ptr @address(ptr %known, i64 $L.output_numbers)
  br label %check
check:
  %i = phi i64 [0, %fill], [%next, %put]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %put, label %call_made
put:
  %place = getelementptr i64, ptr %numbers, i64 %i
  %number = load i64, ptr %place
  %object_at = getelementptr ptr, ptr %given, i64 %number
  %object = load ptr, ptr %object_at
  call void @Py_IncRef(ptr %object)
  %set = call i32 @PyTuple_SetItem(ptr %made, i64 %i, ptr %object)
  %next = add i64 %i, 1
  br label %check
call_made:
  br label %with
call:
  call void @Py_IncRef(ptr %ready)
  br label %with
with:
  %tensors = phi ptr [%made, %call_made], [%ready, %call]
  %function = call ptr @address(ptr %known, i64 $L.note)
  %result = call ptr @PyObject_CallOneArg(ptr %function, ptr %tensors)
  call void @Py_DecRef(ptr %tensors)
  %raised = icmp eq ptr %result, null
  br i1 %raised, label %error, label %done
done:
  call void @Py_DecRef(ptr %result)
  br label %yes
yes:
  ret i1 true
error:
  call void @PyErr_Clear()
  ret i1 false
}

define internal i1 @finish(ptr %known, ptr %table, ptr %given, ptr %stream_object) {
entry:
  %stream_word = alloca i64
  %now = alloca ptr
  %has_stream = call i1 @stream(ptr %known, ptr %stream_object, ptr %stream_word)
  br i1 %has_stream, label %context, label %no
context:
  %wanted = call ptr @address(ptr %known, i64 $L.context)
  %one_device = icmp eq ptr %wanted, null
  br i1 %one_device, label %noted, label %ask
ask:
  %current = call ptr @address(ptr %known, i64 $L.current)
  store ptr null, ptr %now
  %status = call i32 %current(ptr %now)
  %found = load ptr, ptr %now
  %same = icmp eq ptr %found, %wanted
  br i1 %same, label %noted, label %no
noted:
  %handle = call ptr @address(ptr %known, i64 $L.handle)
  %launch = call ptr @address(ptr %known, i64 $L.launch)
  %x = call i64 @word(ptr %known, i64 $L.x)
  %y = call i64 @word(ptr %known, i64 $L.y)
  %z = call i64 @word(ptr %known, i64 $L.z)
  %threads = call i64 @word(ptr %known, i64 $L.threads)
  %shared = call i64 @word(ptr %known, i64 $L.shared)
  %x32 = trunc i64 %x to i32
  %y32 = trunc i64 %y to i32
  %z32 = trunc i64 %z to i32
  %threads32 = trunc i64 %threads to i32
  %shared32 = trunc i64 %shared to i32
  %stream = load ptr, ptr %stream_word
  %good = call i1 @note(ptr %known, ptr %given)
  br i1 %good, label %queue, label %no
queue:
  %thread = call ptr @PyEval_SaveThread()
  %failed = call i32 %launch(ptr %handle, i32 %x32, i32 %y32, i32 %z32, i32 %threads32, i32 1, i32 1, i32 %shared32,
                             ptr %stream, ptr %table, ptr null)
  call void @PyEval_RestoreThread(ptr %thread)
  %fine = icmp eq i32 %failed, 0
  ret i1 %fine
no:
  ret i1 false
}

define internal ptr @none() {
  call void @Py_IncRef(ptr $object.None)
  ret ptr $object.None
}

define internal ptr @fall_back(ptr %head, ptr %given, i64 %count, ptr %names) {
  %function = call ptr @address(ptr %head, i64 $H.fallback)
  %result = call ptr @PyObject_Vectorcall(ptr %function, ptr %given, i64 %count, ptr %names)
  ret ptr %result
}

define internal ptr @asked_stream(ptr %given, i64 %count, ptr %names) {
  %none = icmp eq ptr %names, null
  br i1 %none, label %own, label %named
own:
  ret ptr $object.None
named:
  %size = call i64 @PyTuple_Size(ptr %names)
  %one = icmp eq i64 %size, 1
  br i1 %one, label %first, label %no
first:
  %name = call ptr @PyTuple_GetItem(ptr %names, i64 0)
  %right = icmp eq ptr %name, $object.stream
  br i1 %right, label %yes, label %no
yes:
  %place = getelementptr ptr, ptr %given, i64 %count
  %stream = load ptr, ptr %place
  ret ptr %stream
no:
  ret ptr null
}
"""

# What Python calls: a kernel over a grid, a launch with its arguments, and an event's record(event, stream).
_ENTRIES = """
define ptr @launch(ptr %self, ptr %given, i64 %count, ptr %names) {
entry:
  %slots = alloca [$slots x i64], align 16
  %pointers = alloca [$slots x i64], align 16
  %table = alloca [$slots x ptr], align 16
  %head = call ptr @PyLong_AsVoidPtr(ptr %self)
  %stream = call ptr @asked_stream(ptr %given, i64 %count, ptr %names)
  %held_at = call ptr @address(ptr %head, i64 $H.held)
  %held = load i128, ptr %held_at, align 8
  %free = icmp eq i128 %held, 0
  %streamed = icmp ne ptr %stream, null
  %usual = and i1 %free, %streamed
  br i1 %usual, label %begin, label %no
begin:
  %first = call ptr @address(ptr %head, i64 $H.first)
  br label %look
look:
  %known = phi ptr [%first, %begin], [%next, %other]
  %none = icmp eq ptr %known, null
  br i1 %none, label %no, label %match
match:
  %good = call i1 @matches(ptr %known, ptr %given, i64 %count, ptr %slots, ptr %pointers)
  br i1 %good, label %point, label %other
other:
  %next = call ptr @address(ptr %known, i64 $L.next)
  br label %look
point:
  %slot_count = call i64 @word(ptr %known, i64 $L.slots)
  br label %check
check:
  %i = phi i64 [0, %point], [%after, %fill]
  %more = icmp ult i64 %i, %slot_count
  br i1 %more, label %fill, label %maps
fill:
  %slot = getelementptr i64, ptr %slots, i64 %i
  %cell = getelementptr ptr, ptr %table, i64 %i
  store ptr %slot, ptr %cell
  %after = add i64 %i, 1
  br label %check
maps:
  %map_count = call i64 @word(ptr %known, i64 $L.maps)
  %map_words = call ptr @address(ptr %known, i64 $L.map_words)
  br label %map_check
map_check:
  %k = phi i64 [0, %maps], [%map_after, %map_fill]
  %map_more = icmp ult i64 %k, %map_count
  br i1 %map_more, label %map_fill, label %go
map_fill:
  %pair = shl i64 %k, 1
  %number_at = getelementptr i64, ptr %map_words, i64 %pair
  %map_at = getelementptr i64, ptr %number_at, i64 1
  %number = load i64, ptr %number_at
  %map = load ptr, ptr %map_at
  %map_cell = getelementptr ptr, ptr %table, i64 %number
  store ptr %map, ptr %map_cell
  %map_after = add i64 %k, 1
  br label %map_check
go:
  %done = call i1 @finish(ptr %known, ptr %table, ptr %given, ptr %stream)
  br i1 %done, label %yes, label %no
yes:
  %result = call ptr @none()
  ret ptr %result
no:
  %other_result = call ptr @fall_back(ptr %head, ptr %given, i64 %count, ptr %names)
  ret ptr %other_result
}

define ptr @replay(ptr %self, ptr %given, i64 %count, ptr %names) {
  %head = call ptr @PyLong_AsVoidPtr(ptr %self)
  %stream = call ptr @asked_stream(ptr %given, i64 %count, ptr %names)
  %held_at = call ptr @address(ptr %head, i64 $H.held)
  %held = load i128, ptr %held_at, align 8
  %free = icmp eq i128 %held, 0
  %streamed = icmp ne ptr %stream, null
  %alone = icmp eq i64 %count, 0
  %both = and i1 %free, %streamed
  %usual = and i1 %both, %alone
  br i1 %usual, label %go, label %no
go:
  %known = call ptr @address(ptr %head, i64 $H.first)
  %table = call ptr @address(ptr %known, i64 $L.table)
  %done = call i1 @finish(ptr %known, ptr %table, ptr null, ptr %stream)
  br i1 %done, label %yes, label %no
yes:
  %result = call ptr @none()
  ret ptr %result
no:
  %other_result = call ptr @fall_back(ptr %head, ptr %given, i64 %count, ptr %names)
  ret ptr %other_result
}

define ptr @record(ptr %self, ptr %given, i64 %count, ptr %names) {
  %event_word = alloca i64
  %stream_word = alloca i64
  %head = call ptr @PyLong_AsVoidPtr(ptr %self)
  %two = icmp eq i64 %count, 2
  br i1 %two, label %read, label %no
read:
  %event_object = call ptr @address(ptr %given, i64 0)
  %stream_object = call ptr @address(ptr %given, i64 8)
  %a = call i1 @as_number(ptr %event_object, ptr %event_word)
  %b = call i1 @as_number(ptr %stream_object, ptr %stream_word)
  %both = and i1 %a, %b
  br i1 %both, label %go, label %no
go:
  %event = load ptr, ptr %event_word
  %stream = load ptr, ptr %stream_word
  %function = call ptr @address(ptr %head, i64 $H.first)
  %thread = call ptr @PyEval_SaveThread()
  %failed = call i32 %function(ptr %event, ptr %stream)
  call void @PyEval_RestoreThread(ptr %thread)
  %fine = icmp eq i32 %failed, 0
  br i1 %fine, label %yes, label %no
yes:
  %result = call ptr @none()
  ret ptr %result
no:
  %other_result = call ptr @fall_back(ptr %head, ptr %given, i64 %count, ptr %names)
  ret ptr %other_result
}
"""


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p))


_methods: dict[str, _Method] = {}  # all, once they are made; builtins refer to them, so they stay
_building = threading.Lock()
_thread: threading.Thread | None = None


def possible() -> bool:
    """Whether this interpreter is CPython with a GIL, of 64 bits, on a system whose calls LLVM knows here."""
    return (platform.python_implementation() == "CPython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
            and sys.maxsize > 1 << 32)


def ready() -> bool:
    return bool(_methods)


def build() -> None:
    """Make the functions; a failure leaves launches to Python."""
    with _building:
        if _methods or not possible():
            return
        try:
            from tilewright.interp.jit.engine import compile_functions

            names = "launch", "replay", "record"
            found = compile_functions(_text(), names)
            _methods.update({name: _Method(name.encode(), address, _FAST_WITH_KEYWORDS, None)
                             for name, address in zip(names, found, strict=True)})
        except Exception:  # no LLVM for this host, say: Python launches, as ever
            return


def build_soon() -> None:
    """The same on a thread of its own; the process waits for it before it ends."""
    global _thread
    if _thread is None and possible():
        _thread = threading.Thread(target=build, name="tilewright-launcher", daemon=False)
        try:
            _thread.start()
        except RuntimeError:  # the interpreter ends
            return


def builtin(name: str, address: int, kept: Any) -> Any:
    """The function `launch`, `replay` or `record` over the words at an address; it keeps `kept`."""
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)(
        ("PyCFunction_NewEx", ctypes.pythonapi))
    return make(ctypes.addressof(_methods[name]), address, kept)
