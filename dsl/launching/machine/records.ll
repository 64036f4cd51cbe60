; Launches that a profile records: between two events, and with the host's times, thread and stream.

; What time.perf_counter_ns() reads on Linux: CLOCK_MONOTONIC.
define internal i64 @now(ptr %records) #0 {
  %time = alloca [2 x i64]
  %clock = call ptr @address(ptr %records, i64 $R.clock)
  %status = call i32 %clock(i32 1, ptr %time)
  %seconds = call i64 @word(ptr %time, i64 0)
  %rest = call i64 @word(ptr %time, i64 8)
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %rest
  ret i64 %sum
}

; Is an int what it was in the launch that the profile knows? `context`: the cell, and the packed parameters.
define internal i1 @same_int(ptr %context, i64 %i) alwaysinline #0 {
  %cell = call ptr @part(ptr %context, i32 0)
  %packed = call ptr @part(ptr %context, i32 1)
  %ints = getelementptr i8, ptr %cell, i64 $cell_bytes
  %skip = mul i64 %i, 24
  %words = getelementptr i8, ptr %ints, i64 %skip
  %offset = call i64 @word(ptr %words, i64 0)
  %mask = call i64 @word(ptr %words, i64 8)
  %wanted = call i64 @word(ptr %words, i64 16)
  %at = getelementptr i8, ptr %packed, i64 %offset
  %found = load i64, ptr %at, align 1
  %value = and i64 %found, %mask
  %same = icmp eq i64 %value, %wanted
  ret i1 %same
}

; A place for the record of a launch; null where the profile does not know the launch, or has no room.
define internal ptr @claimed(ptr %known, ptr %packed) #0 {
  %context = alloca [2 x ptr]
  %cell = call ptr @address(ptr %known, i64 $L.cell)
  %records = call ptr @address(ptr %cell, i64 $C.records)
  %nowhere = icmp eq ptr %records, null
  br i1 %nowhere, label %no, label %ints
ints:
  store ptr %cell, ptr %context
  %second = getelementptr ptr, ptr %context, i32 1
  store ptr %packed, ptr %second
  %count = call i64 @word(ptr %cell, i64 $C.ints)
  %same = call i1 @each(i64 %count, ptr @same_int, ptr %context)
  br i1 %same, label %room, label %no
room:
  %block = call ptr @address(ptr %records, i64 $R.block)
  %next_at = getelementptr i8, ptr %block, i64 $B.next
  %next = load ptr, ptr %next_at
  %end = call ptr @address(ptr %block, i64 $B.end)
  %full = icmp eq ptr %next, %end
  br i1 %full, label %no, label %take
take:
  %after = getelementptr i8, ptr %next, i64 $record_bytes
  store ptr %after, ptr %next_at
  ret ptr %next
no:
  ret ptr null
}

define internal void @put(ptr %at, i64 %offset, i64 %value) alwaysinline #0 {
  %place = getelementptr i8, ptr %at, i64 %offset
  store i64 %value, ptr %place
  ret void
}

; The driver's function with packed parameters, which it takes as they are: 1 and 2 stand before the address and that of
; the size (CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE), 0 behind them.
define internal i1 @launch(ptr %known, ptr %packed, ptr %stream) alwaysinline #0 {
  %extra = alloca [5 x ptr], align 16
  %size = getelementptr i8, ptr %known, i64 $L.bytes
  %first_value = getelementptr ptr, ptr %extra, i32 1
  %second = getelementptr ptr, ptr %extra, i32 2
  %second_value = getelementptr ptr, ptr %extra, i32 3
  %end = getelementptr ptr, ptr %extra, i32 4
  store ptr inttoptr (i64 1 to ptr), ptr %extra
  store ptr %packed, ptr %first_value
  store ptr inttoptr (i64 2 to ptr), ptr %second
  store ptr %size, ptr %second_value
  store ptr null, ptr %end
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
  %failed = call i32 %launch(ptr %handle, i32 %x32, i32 %y32, i32 %z32, i32 %threads32, i32 1, i32 1, i32 %shared32,
                             ptr %stream, ptr null, ptr %extra)
  %fine = icmp eq i32 %failed, 0
  ret i1 %fine
}

; The same between two events. The profile may end meanwhile, in another thread: what is written here stays until then.
define internal i1 @recorded_launch(ptr %known, ptr %packed, ptr %stream, ptr %record) #0 {
  %cell = call ptr @address(ptr %known, i64 $L.cell)
  %number = call i64 @word(ptr %cell, i64 $C.number)
  %records = call ptr @address(ptr %cell, i64 $C.records)
  %owner = call ptr @address(ptr %records, i64 $R.owner)
  call void @Py_IncRef(ptr %owner)
  %before = call ptr @address(ptr %record, i64 $E.before)
  %after = call ptr @address(ptr %record, i64 $E.after)
  %event = call ptr @address(ptr %records, i64 $R.record)
  %thread = call ptr @PyEval_SaveThread()
  %begun = call i32 %event(ptr %before, ptr %stream)
  %start = call i64 @now(ptr %records)
  %fine = call i1 @launch(ptr %known, ptr %packed, ptr %stream)
  %stop = call i64 @now(ptr %records)
  %ended = call i32 %event(ptr %after, ptr %stream)
  call void @PyEval_RestoreThread(ptr %thread)
  %self = call i64 @PyThread_get_thread_ident()
  %handle = ptrtoint ptr %stream to i64
  %whole = add i64 %number, 1
  %known_number = select i1 %fine, i64 %whole, i64 0
  call void @put(ptr %record, i64 $E.start, i64 %start)
  call void @put(ptr %record, i64 $E.stop, i64 %stop)
  call void @put(ptr %record, i64 $E.thread, i64 %self)
  call void @put(ptr %record, i64 $E.stream, i64 %handle)
  call void @put(ptr %record, i64 $E.number, i64 %known_number)
  call void @Py_DecRef(ptr %owner)
  ret i1 %fine
}
