; What comes after: the stream, torch's counters of versions, the context, the driver's function.

; The handle of the stream that was given (None: the library's current one).
define internal i1 @stream(ptr %known, ptr %given, ptr %out) #0 {
  %none = icmp eq ptr %given, $object.None
  br i1 %none, label %current, label %asked
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
asked:
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
  %answer = call i1 @no()
  ret i1 %answer
yes:
  ret i1 true
}

; A tensor that is written, among the arguments.
define internal ptr @output(ptr %known, ptr %given, i64 %i) alwaysinline #0 {
  %numbers = call ptr @address(ptr %known, i64 $L.output_numbers)
  %place = getelementptr i64, ptr %numbers, i64 %i
  %number = load i64, ptr %place
  %object_at = getelementptr ptr, ptr %given, i64 %number
  %object = load ptr, ptr %object_at
  ret ptr %object
}

; One of them, into a tuple.
define internal i1 @written(ptr %context, i64 %i) alwaysinline #0 {
  %known = call ptr @part(ptr %context, i32 0)
  %given = call ptr @part(ptr %context, i32 1)
  %tuple = call ptr @part(ptr %context, i32 2)
  %object = call ptr @output(ptr %known, ptr %given, i64 %i)
  call void @Py_IncRef(ptr %object)
  %set = call i32 @PyTuple_SetItem(ptr %tuple, i64 %i, ptr %object)
  ret i1 true
}

; Those of a call, in a tuple; null where there is no memory for it.
define internal ptr @all_written(ptr %known, ptr %given, i64 %count) #0 {
  %context = alloca [3 x ptr]
  %made = call ptr @PyTuple_New(i64 %count)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %end, label %fill
fill:
  store ptr %known, ptr %context
  %second = getelementptr ptr, ptr %context, i32 1
  store ptr %given, ptr %second
  %third = getelementptr ptr, ptr %context, i32 2
  store ptr %made, ptr %third
  %filled = call i1 @each(i64 %count, ptr @written, ptr %context)
  br label %end
end:
  ret ptr %made
}

; The version counter of a tensor that is written goes up, by torch's own function on a handle.
define internal i1 @raised(ptr %known, i64 %i) alwaysinline #0 {
  %function = call ptr @address(ptr %known, i64 $L.raise)
  %handles = call ptr @address(ptr %known, i64 $L.handles)
  %at = getelementptr ptr, ptr %handles, i64 %i
  %handle = load ptr, ptr %at
  call void %function(ptr %handle)
  ret i1 true
}

; The same of a tensor among the arguments. Tensors of inference mode count no versions.
define internal i1 @raised_held(ptr %context, i64 %i) alwaysinline #0 {
  %known = call ptr @part(ptr %context, i32 0)
  %given = call ptr @part(ptr %context, i32 1)
  %functions = call ptr @address(ptr %known, i64 $L.torch)
  %object = call ptr @output(ptr %known, ptr %given, i64 %i)
  %handle = call ptr @handle(ptr %functions, ptr %object)
  %uncounted = call i1 @is(ptr %functions, ptr %handle, i64 $T.is_inference)
  br i1 %uncounted, label %end, label %count
count:
  %function = call ptr @address(ptr %functions, i64 $T.raise)
  call void %function(ptr %handle)
  br label %end
end:
  ret i1 true
}

; The same by torch's own conversion of the argument, into a cell, unless it has been there since the argument was read.
; One that requires grad is Python's, to refuse it.
define internal i1 @raised_in_cell(ptr %context, i64 %i) alwaysinline #0 {
entry:
  %known = call ptr @part(ptr %context, i32 0)
  %given = call ptr @part(ptr %context, i32 1)
  %functions = call ptr @address(ptr %known, i64 $L.cells)
  %cell = call ptr @address(ptr %functions, i64 $K.cell)
  %object = call ptr @output(ptr %known, ptr %given, i64 %i)
  %inside = call ptr @address(ptr %functions, i64 $K.held)
  %there = icmp eq ptr %inside, %object
  br i1 %there, label %record, label %load
load:
  %loaded = call i1 @into_cell(ptr %known, ptr %object)
  br i1 %loaded, label %record, label %end
record:
  %autograd = call ptr @address(ptr %functions, i64 $K.autograd)
  %recorded = call ptr %autograd(ptr %cell)
  %unrecorded = icmp eq ptr %recorded, null
  br i1 %unrecorded, label %versions, label %ask
ask:
  %plain = call i1 @attribute_is(ptr %object, ptr $object.requires_grad, ptr $object.False)
  br i1 %plain, label %versions, label %end
versions:
  %uncounted = call i1 @is(ptr %functions, ptr %cell, i64 $K.is_inference)
  br i1 %uncounted, label %end, label %count
count:
  %raise = call ptr @address(ptr %functions, i64 $K.raise)
  call void %raise(ptr %cell)
  br label %end
end:
  %fine = phi i1 [false, %load], [false, %ask], [true, %versions], [true, %count]
  ret i1 %fine
}

; Tell torch which tensors are written.
define internal i1 @note(ptr %known, ptr %given) #0 {
entry:
  %context = alloca [2 x ptr]
  %count = call i64 @word(ptr %known, i64 $L.outputs)
  %none = icmp eq i64 %count, 0
  br i1 %none, label %yes, label %some
some:
  %raise = call ptr @address(ptr %known, i64 $L.raise)
  %by_python = icmp eq ptr %raise, null
  br i1 %by_python, label %objects, label %each
objects:
  store ptr %known, ptr %context
  %second = getelementptr ptr, ptr %context, i32 1
  store ptr %given, ptr %second
  %functions = call ptr @address(ptr %known, i64 $L.torch)
  %without = icmp eq ptr %functions, null
  br i1 %without, label %cells, label %each_held
each_held:
  %all_held = call i1 @each(i64 %count, ptr @raised_held, ptr %context)
  ret i1 true
cells:
  %in_cells = call ptr @address(ptr %known, i64 $L.cells)
  %uncelled = icmp eq ptr %in_cells, null
  br i1 %uncelled, label %tuple, label %each_in_cell
each_in_cell:
  %all_in_cells = call i1 @each(i64 %count, ptr @raised_in_cell, ptr %context)
  ret i1 %all_in_cells
each:
  %all = call i1 @each(i64 %count, ptr @raised, ptr %known)
  ret i1 true
tuple:
  %ready = call ptr @address(ptr %known, i64 $L.noted)
  %open = icmp eq ptr %ready, null
  br i1 %open, label %make, label %keep
make:
  %made = call ptr @all_written(ptr %known, ptr %given, i64 %count)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %error, label %call
keep:
  call void @Py_IncRef(ptr %ready)
  br label %call
call:
  %tensors = phi ptr [%made, %make], [%ready, %keep]
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
  %answer = call i1 @no()
  ret i1 %answer
}

; Is the context that of the known launch? (With one device it is, or there is none, which the driver says.)
define internal i1 @in_context(ptr %known) alwaysinline #0 {
  %now = alloca ptr
  %wanted = call ptr @address(ptr %known, i64 $L.context)
  %one_device = icmp eq ptr %wanted, null
  br i1 %one_device, label %yes, label %ask
ask:
  %current = call ptr @address(ptr %known, i64 $L.current)
  store ptr null, ptr %now
  %status = call i32 %current(ptr %now)
  %found = load ptr, ptr %now
  %same = icmp eq ptr %found, %wanted
  ret i1 %same
yes:
  ret i1 true
}

; Does this thread have a context?
define internal i1 @has_context(ptr %known) #0 {
  %now = alloca ptr
  %current = call ptr @address(ptr %known, i64 $L.current)
  store ptr null, ptr %now
  %status = call i32 %current(ptr %now)
  %found = load ptr, ptr %now
  %some = icmp ne ptr %found, null
  ret i1 %some
}

; A launch that the driver has refused, once more where the thread had no context: Python would tell torch again what is
; written.
define internal i1 @again(ptr %known, ptr %packed, ptr %stream) noinline #0 {
  %other = call i1 @has_context(ptr %known)
  br i1 %other, label %no, label %set
set:
  %function = call ptr @address(ptr %known, i64 $L.set_current)
  %context = call ptr @address(ptr %known, i64 $L.own)
  %failed = call i32 %function(ptr %context)
  %there = icmp eq i32 %failed, 0
  br i1 %there, label %go, label %no
go:
  %thread = call ptr @PyEval_SaveThread()
  %fine = call i1 @launch(ptr %known, ptr %packed, ptr %stream)
  call void @PyEval_RestoreThread(ptr %thread)
  ret i1 %fine
no:
  ret i1 false
}

; Queue a known launch with packed parameters; false where something is not as usual, and nothing was queued.
define internal i1 @queue(ptr %known, ptr %packed, ptr %given, ptr %stream_object, i1 %recording) #0 {
  %stream_word = alloca i64
  %has_stream = call i1 @stream(ptr %known, ptr %stream_object, ptr %stream_word)
  br i1 %has_stream, label %context, label %no
context:
  %here = call i1 @in_context(ptr %known)
  br i1 %here, label %watched, label %no
watched:
  br i1 %recording, label %claim, label %tell
claim:
  %can_record = call i1 @has_context(ptr %known)
  br i1 %can_record, label %place, label %no
place:
  %claimed = call ptr @claimed(ptr %known, ptr %packed)
  %unknown = icmp eq ptr %claimed, null
  br i1 %unknown, label %no, label %tell
tell:
  %record = phi ptr [null, %watched], [%claimed, %place]
  %told = call i1 @note(ptr %known, ptr %given)
  call void @let_go(ptr %known)
  br i1 %told, label %go, label %no
go:
  %stream = load ptr, ptr %stream_word
  br i1 %recording, label %timed, label %plain
timed:
  %recorded = call i1 @recorded_launch(ptr %known, ptr %packed, ptr %stream, ptr %record)
  ret i1 %recorded
plain:
  %thread = call ptr @PyEval_SaveThread()
  %fine = call i1 @launch(ptr %known, ptr %packed, ptr %stream)
  call void @PyEval_RestoreThread(ptr %thread)
  br i1 %fine, label %yes, label %refused
yes:
  ret i1 true
refused:
  %second = call i1 @again(ptr %known, ptr %packed, ptr %stream)
  ret i1 %second
no:
  ret i1 false
}
