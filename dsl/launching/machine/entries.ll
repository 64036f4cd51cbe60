; What Python calls.

; The entry of a module, of which each has one, and the first function of its code, whose address is called. The words
; are kept until it ends: while the driver works, another thread may let go of this function, for one that knows more
; launches.
define ptr @entry(ptr %self, ptr %given, i64 %count, ptr %names) #0 {
  %head = call ptr @PyLong_AsVoidPtr(ptr %self)
  %kept = call ptr @address(ptr %head, i64 $H.kept)
  call void @Py_IncRef(ptr %kept)
  %made = call ptr @$entry(ptr %head, ptr %given, i64 %count, ptr %names)
  %result = call ptr @answer(ptr %made, ptr %head, ptr %given, i64 %count, ptr %names)
  call void @Py_DecRef(ptr %kept)
  ret ptr %result
}

; What was made is answered with an object (borrowed); what was not (null), as Python's function does it.
define internal ptr @answer(ptr %made, ptr %head, ptr %given, i64 %count, ptr %names) alwaysinline #0 {
  %not = icmp eq ptr %made, null
  br i1 %not, label %fall_back, label %done
done:
  call void @Py_IncRef(ptr %made)
  ret ptr %made
fall_back:
  %function = call ptr @address(ptr %head, i64 $H.fallback)
  %result = call ptr @PyObject_Vectorcall(ptr %function, ptr %given, i64 %count, ptr %names)
  ret ptr %result
}

; Do launches go through a profile, and nobody else watches them?
define internal i1 @are_recorded(ptr %head) alwaysinline #0 {
  %held_at = call ptr @address(ptr %head, i64 $H.held)
  %held = load i128, ptr %held_at, align 8
  %alone = icmp eq i128 %held, $recorded
  ret i1 %alone
}

; The stream that is asked for: None where none is, null where Python holds all launches or something else has a name.
define internal ptr @asked_stream(ptr %head, ptr %given, i64 %count, ptr %names) alwaysinline #0 {
  %held_at = call ptr @address(ptr %head, i64 $H.held)
  %held = load i128, ptr %held_at, align 8
  %otherwise = and i128 %held, $others
  %free = icmp eq i128 %otherwise, 0
  br i1 %free, label %look, label %no
look:
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

; A launch: the first of the known ones that it is.
define internal ptr @launched(ptr %head, ptr %given, i64 %count, ptr %names) alwaysinline #0 {
entry:
  %call = alloca [4 x ptr]
  %room = alloca [$packed_bytes x i8], align 64
  %pointers = alloca [$arrays x i64], align 16
  %stream = call ptr @asked_stream(ptr %head, ptr %given, i64 %count, ptr %names)
  %usual = icmp ne ptr %stream, null
  br i1 %usual, label %begin, label %no
begin:
  %given_at = getelementptr ptr, ptr %call, i32 1
  store ptr %given, ptr %given_at
  %packed_at = getelementptr ptr, ptr %call, i32 2
  %pointers_at = getelementptr ptr, ptr %call, i32 3
  store ptr %pointers, ptr %pointers_at
  %first = call ptr @address(ptr %head, i64 $H.first)
  br label %look
look:
  %known = phi ptr [%first, %begin], [%next, %other]
  %none = icmp eq ptr %known, null
  br i1 %none, label %no, label %match
match:
  store ptr %known, ptr %call
  %shift = call i64 @word(ptr %known, i64 $L.shift)
  %packed = getelementptr i8, ptr %room, i64 %shift
  store ptr %packed, ptr %packed_at
  %good = call i1 @matches(ptr %call, i64 %count)
  br i1 %good, label %go, label %other
other:
  call void @let_go(ptr %known)
  %next = call ptr @address(ptr %known, i64 $L.next)
  br label %look
go:
  %recording = call i1 @are_recorded(ptr %head)
  %done = call i1 @queue(ptr %known, ptr %packed, ptr %given, ptr %stream, i1 %recording)
  br i1 %done, label %yes, label %undone
yes:
  %answer = call ptr @address(ptr %known, i64 $L.answer)
  ret ptr %answer
undone:
  call void @let_go(ptr %known)
  br label %no
no:
  ret ptr null
}

; A launch with its arguments, once more.
define internal ptr @replayed(ptr %head, ptr %given, i64 %count, ptr %names) alwaysinline #0 {
  %stream = call ptr @asked_stream(ptr %head, ptr %given, i64 %count, ptr %names)
  %streamed = icmp ne ptr %stream, null
  %alone = icmp eq i64 %count, 0
  %usual = and i1 %streamed, %alone
  br i1 %usual, label %go, label %no
go:
  %known = call ptr @address(ptr %head, i64 $H.first)
  %packed = call ptr @address(ptr %known, i64 $L.packed)
  %recording = call i1 @are_recorded(ptr %head)
  %done = call i1 @queue(ptr %known, ptr %packed, ptr null, ptr %stream, i1 %recording)
  br i1 %done, label %yes, label %no
yes:
  ret ptr $object.None
no:
  ret ptr null
}

; The numbers of two ints that are all arguments.
define internal i1 @two_numbers(ptr %given, i64 %count, ptr %first, ptr %second) alwaysinline #0 {
  %two = icmp eq i64 %count, 2
  br i1 %two, label %read, label %no
read:
  %a_object = call ptr @address(ptr %given, i64 0)
  %b_object = call ptr @address(ptr %given, i64 8)
  %a = call i1 @as_number(ptr %a_object, ptr %first)
  %b = call i1 @as_number(ptr %b_object, ptr %second)
  %both = and i1 %a, %b
  ret i1 %both
no:
  ret i1 false
}

; cuEventRecord(event, stream).
define internal ptr @recorded(ptr %head, ptr %given, i64 %count, ptr %names) alwaysinline #0 {
  %event_word = alloca i64
  %stream_word = alloca i64
  %usual = call i1 @two_numbers(ptr %given, i64 %count, ptr %event_word, ptr %stream_word)
  br i1 %usual, label %go, label %no
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
  ret ptr $object.None
no:
  ret ptr null
}

define internal i1 @create(ptr %context, i64 %i) alwaysinline #0 {
  %function = call ptr @part(ptr %context, i32 0)
  %places = call ptr @part(ptr %context, i32 1)
  %place = getelementptr ptr, ptr %places, i64 %i
  %failed = call i32 %function(ptr %place, i32 0)
  %fine = icmp eq i32 %failed, 0
  ret i1 %fine
}

; cuEventCreate for so many places from an address on.
define internal ptr @created(ptr %head, ptr %given, i64 %count, ptr %names) alwaysinline #0 {
  %context = alloca [2 x ptr]
  %number_word = alloca i64
  %places = getelementptr ptr, ptr %context, i32 1
  %usual = call i1 @two_numbers(ptr %given, i64 %count, ptr %places, ptr %number_word)
  br i1 %usual, label %go, label %no
go:
  %function = call ptr @address(ptr %head, i64 $H.first)
  store ptr %function, ptr %context
  %number = load i64, ptr %number_word
  %thread = call ptr @PyEval_SaveThread()
  %fine = call i1 @each(i64 %number, ptr @create, ptr %context)
  call void @PyEval_RestoreThread(ptr %thread)
  br i1 %fine, label %yes, label %no
yes:
  ret ptr $object.None
no:
  ret ptr null
}

attributes #0 = { nounwind "no-builtins" "no-jump-tables"="true" }
