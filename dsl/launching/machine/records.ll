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

; Is an int what it was in the launch that the profile knows? `context`: the cell, and the table of parameters.
define internal i1 @same_int(ptr %context, i64 %i) alwaysinline #0 {
  %cell = call ptr @part(ptr %context, i32 0)
  %table = call ptr @part(ptr %context, i32 1)
  %ints = getelementptr i8, ptr %cell, i64 $cell_bytes
  %skip = shl i64 %i, 4
  %pair = getelementptr i8, ptr %ints, i64 %skip
  %slot = call i64 @word(ptr %pair, i64 0)
  %wanted = call i64 @word(ptr %pair, i64 8)
  %place = getelementptr ptr, ptr %table, i64 %slot
  %at = load ptr, ptr %place
  %value = load i64, ptr %at
  %same = icmp eq i64 %value, %wanted
  ret i1 %same
}

; A place for the record of a launch; null where the profile does not know the launch, or has no room.
define internal ptr @claimed(ptr %known, ptr %table) #0 {
  %context = alloca [2 x ptr]
  %cell = call ptr @address(ptr %known, i64 $L.cell)
  %records = call ptr @address(ptr %cell, i64 $C.records)
  %nowhere = icmp eq ptr %records, null
  br i1 %nowhere, label %no, label %ints
ints:
  store ptr %cell, ptr %context
  %second = getelementptr ptr, ptr %context, i32 1
  store ptr %table, ptr %second
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

; The driver's function with packed parameters.
define internal i1 @launch(ptr %known, ptr %table, ptr %stream) alwaysinline #0 {
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
                             ptr %stream, ptr %table, ptr null)
  %fine = icmp eq i32 %failed, 0
  ret i1 %fine
}

; The same between two events. The profile may end meanwhile, in another thread: what is written here stays until then.
define internal i1 @recorded_launch(ptr %known, ptr %table, ptr %stream, ptr %record) #0 {
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
  %fine = call i1 @launch(ptr %known, ptr %table, ptr %stream)
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
