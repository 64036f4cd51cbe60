; Arrays: are they what is expected? Their addresses go among the parameters, and into the list of pointers.

define internal i1 @put_address(ptr %call, ptr %argument, i64 %pointer) #0 {
  %place = call ptr @parameter(ptr %call, ptr %argument, i64 $A.offset)
  store i64 %pointer, ptr %place
  %pointers = call ptr @part(ptr %call, i32 3)
  %number = call i64 @word(ptr %argument, i64 $A.number)
  %kept = getelementptr i64, ptr %pointers, i64 %number
  store i64 %pointer, ptr %kept
  %low = and i64 %pointer, 15
  %wanted_low = call i64 @word(ptr %argument, i64 $A.low)
  %aligned = icmp eq i64 %low, %wanted_low
  %exact = call i64 @word(ptr %argument, i64 $A.exact)
  %any = icmp eq i64 %exact, -1
  %equal = icmp eq i64 %exact, %pointer
  %allowed = or i1 %any, %equal
  %good = and i1 %aligned, %allowed
  ret i1 %good
}

define internal i1 @attribute_is(ptr %object, ptr %name, ptr %wanted) #0 {
  %found = call ptr @PyObject_GetAttr(ptr %object, ptr %name)
  %none = icmp eq ptr %found, null
  br i1 %none, label %no, label %identical
identical:
  %same = icmp eq ptr %found, %wanted
  br i1 %same, label %yes, label %compare
yes:
  call void @Py_DecRef(ptr %found)
  ret i1 true
compare:
  %equal = call i32 @PyObject_RichCompareBool(ptr %found, ptr %wanted, i32 2)
  call void @Py_DecRef(ptr %found)
  %good = icmp eq i32 %equal, 1
  br i1 %good, label %end, label %no
end:
  ret i1 true
no:
  %answer = call i1 @no()
  ret i1 %answer
}

; A tensor of torch goes into the cell, by torch's own conversion of arguments; the one before leaves it.
define internal i1 @into_cell(ptr %known, ptr %object) alwaysinline #0 {
  %functions = call ptr @address(ptr %known, i64 $L.cells)
  %cell = call ptr @address(ptr %functions, i64 $K.cell)
  %load = call ptr @address(ptr %functions, i64 $K.load)
  %loaded = call zeroext i1 %load(ptr %cell, ptr %object, i1 zeroext false)
  %inside = select i1 %loaded, ptr %object, ptr null
  %held_at = getelementptr i8, ptr %functions, i64 $K.held
  store ptr %inside, ptr %held_at
  ret i1 %loaded
}

; The cell keeps no tensor of a launch alive. While one is in it, the GIL is held.
define internal void @let_go(ptr %known) alwaysinline #0 {
  %functions = call ptr @address(ptr %known, i64 $L.cells)
  %without = icmp eq ptr %functions, null
  br i1 %without, label %end, label %empty
empty:
  %cell = call ptr @address(ptr %functions, i64 $K.cell)
  %assign = call ptr @address(ptr %functions, i64 $K.assign)
  %nothing = call ptr @address(ptr %functions, i64 $K.nothing)
  %held_at = getelementptr i8, ptr %functions, i64 $K.held
  store ptr null, ptr %held_at
  %status = call i32 %assign(ptr %nothing, ptr %cell)
  br label %end
end:
  ret void
}

; A tensor, through the DLTensor that its library's table fills: data at 0, device at 8, rank and element type at 16,
; extents at 24, strides at 32, offset at 40. One that will be noted in the cell is in it already meanwhile: torch's
; first reference from C++ takes longer than the others, and so does letting go of it.
define internal i1 @tensor(ptr %call, ptr %argument, ptr %object) #0 {
entry:
  %tensor = alloca [8 x i64], align 16
  %written = call i64 @word(ptr %argument, i64 $A.output)
  %noted = icmp eq i64 %written, $noted.in_cell
  br i1 %noted, label %cell, label %table
cell:
  %known = call ptr @part(ptr %call, i32 0)
  %loaded = call i1 @into_cell(ptr %known, ptr %object)
  br i1 %loaded, label %table, label %no
table:
  %read = call ptr @address(ptr %argument, i64 $A.read)
  %failed = call i32 %read(ptr %object, ptr %tensor)
  %fine = icmp eq i32 %failed, 0
  br i1 %fine, label %kind, label %error
kind:
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
  br i1 %same_shape, label %steps, label %no
steps:
  %strides = call ptr @address(ptr %tensor, i64 32)
  %missing = icmp eq ptr %strides, null
  %wanted_strides = call ptr @address(ptr %argument, i64 $A.strides)
  %compared = select i1 %missing, i64 0, i64 %rank
  %same_strides = call i1 @same_words(ptr %strides, ptr %wanted_strides, i64 %compared)
  %all_compared = icmp eq i64 %compared, %rank
  %right = and i1 %same_strides, %all_compared
  br i1 %right, label %base, label %no
base:
  %data = call i64 @word(ptr %tensor, i64 0)
  %offset = call i64 @word(ptr %tensor, i64 40)
  %pointer = add i64 %data, %offset
  %good = call i1 @put_address(ptr %call, ptr %argument, i64 %pointer)
  br i1 %good, label %output, label %no
output:
  %is_written = icmp eq i64 %written, $noted.by_python
  br i1 %is_written, label %autograd, label %yes
autograd:
  %plain = call i1 @attribute_is(ptr %object, ptr $object.requires_grad, ptr $object.False)
  ret i1 %plain
yes:
  ret i1 true
error:
  call void @PyErr_Clear()
  br label %no
no:
  ret i1 false
}

; The handle of a tensor: a place in the object.
define internal ptr @handle(ptr %functions, ptr %object) alwaysinline #0 {
  %offset = call i64 @word(ptr %functions, i64 $T.offset)
  %handle = getelementptr i8, ptr %object, i64 %offset
  ret ptr %handle
}

; What one of torch's functions tells of a tensor, by its handle.
define internal i1 @told(ptr %functions, ptr %handle, i64 %which, ptr %out) alwaysinline #0 {
  %function = call ptr @address(ptr %functions, i64 %which)
  %failed = call i32 %function(ptr %handle, ptr %out)
  %fine = icmp eq i32 %failed, 0
  ret i1 %fine
}

define internal i1 @number_is(ptr %functions, ptr %handle, i64 %which, i64 %wanted) #0 {
  %number = alloca i64
  store i64 0, ptr %number
  %fine = call i1 @told(ptr %functions, ptr %handle, i64 %which, ptr %number)
  %found = load i64, ptr %number
  %same = icmp eq i64 %found, %wanted
  %good = and i1 %fine, %same
  ret i1 %good
}

define internal i1 @numbers_are(ptr %functions, ptr %handle, i64 %which, ptr %wanted, i64 %count) #0 {
  %place = alloca ptr
  %fine = call i1 @told(ptr %functions, ptr %handle, i64 %which, ptr %place)
  br i1 %fine, label %compare, label %no
compare:
  %found = load ptr, ptr %place
  %same = call i1 @same_words(ptr %found, ptr %wanted, i64 %count)
  ret i1 %same
no:
  ret i1 false
}

define internal i1 @is(ptr %functions, ptr %handle, i64 %which) alwaysinline #0 {
  %function = call ptr @address(ptr %functions, i64 %which)
  %answer = call zeroext i1 %function(ptr %handle)
  ret i1 %answer
}

; A tensor of torch, by torch's functions on a handle, which take a third of the time of those of DLPack's table.
define internal i1 @held(ptr %call, ptr %argument, ptr %object) #0 {
  %address = alloca i64
  %known = call ptr @part(ptr %call, i32 0)
  %functions = call ptr @address(ptr %known, i64 $L.torch)
  %handle = call ptr @handle(ptr %functions, ptr %object)
  %wanted_format = call i64 @word(ptr %argument, i64 $A.format)
  %same_format = call i1 @number_is(ptr %functions, ptr %handle, i64 $T.dtype, i64 %wanted_format)
  %rank = call i64 @word(ptr %argument, i64 $A.rank)
  %same_rank = call i1 @number_is(ptr %functions, ptr %handle, i64 $T.rank, i64 %rank)
  %comparable = and i1 %same_format, %same_rank
  br i1 %comparable, label %extents, label %no
extents:
  %wanted_shape = call ptr @address(ptr %argument, i64 $A.extents)
  %same_shape = call i1 @numbers_are(ptr %functions, ptr %handle, i64 $T.sizes, ptr %wanted_shape, i64 %rank)
  br i1 %same_shape, label %steps, label %no
steps:
  %wanted_strides = call ptr @address(ptr %argument, i64 $A.strides)
  %same_strides = call i1 @numbers_are(ptr %functions, ptr %handle, i64 $T.strides, ptr %wanted_strides, i64 %rank)
  br i1 %same_strides, label %kind, label %no
kind:
  %wanted_place = call i64 @word(ptr %argument, i64 $A.place)
  %same_place = call i1 @number_is(ptr %functions, ptr %handle, i64 $T.place, i64 %wanted_place)
  %wanted_ordinal = call i64 @word(ptr %argument, i64 $A.ordinal)
  %same_ordinal = call i1 @number_is(ptr %functions, ptr %handle, i64 $T.ordinal, i64 %wanted_ordinal)
  %here = and i1 %same_place, %same_ordinal
  %negated = call i1 @is(ptr %functions, ptr %handle, i64 $T.is_neg)
  %straight = xor i1 %negated, true
  %usual = and i1 %here, %straight
  br i1 %usual, label %base, label %no
base:
  %has_memory = call i1 @told(ptr %functions, ptr %handle, i64 $T.data, ptr %address)
  br i1 %has_memory, label %place, label %no
place:
  %pointer = load i64, ptr %address
  %good = call i1 @put_address(ptr %call, ptr %argument, i64 %pointer)
  br i1 %good, label %output, label %no
output:
  %written = call i64 @word(ptr %argument, i64 $A.output)
  %is_written = icmp eq i64 %written, $noted.by_python
  br i1 %is_written, label %autograd, label %yes
autograd:
  %function = call ptr @address(ptr %functions, i64 $T.autograd)
  %recorded = call ptr %function(ptr %handle)
  %unrecorded = icmp eq ptr %recorded, null
  br i1 %unrecorded, label %yes, label %ask
ask:
  %plain = call i1 @attribute_is(ptr %object, ptr $object.requires_grad, ptr $object.False)
  ret i1 %plain
yes:
  ret i1 true
no:
  ret i1 false
}

; A device array of ours, by its attributes.
define internal i1 @array(ptr %call, ptr %argument, ptr %object) #0 {
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
  %good = call i1 @put_address(ptr %call, ptr %argument, i64 %pointer)
  ret i1 %good
error:
  call void @PyErr_Clear()
  br label %no
no:
  ret i1 false
}
