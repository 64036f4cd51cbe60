; Small parts: a word of memory, the one loop, an object's class, its number.

; `call` stands for four addresses: the known launch, the arguments, the packed parameters, and the pointers.

define internal i64 @word(ptr %at, i64 %offset) alwaysinline #0 {
  %place = getelementptr i8, ptr %at, i64 %offset
  %value = load i64, ptr %place
  ret i64 %value
}

define internal ptr @address(ptr %at, i64 %offset) alwaysinline #0 {
  %place = getelementptr i8, ptr %at, i64 %offset
  %value = load ptr, ptr %place
  ret ptr %value
}

; Where a parameter is among the packed ones, whose place the argument or tensor map at an address says.
define internal ptr @parameter(ptr %call, ptr %at, i64 %offset) alwaysinline #0 {
  %packed = call ptr @part(ptr %call, i32 2)
  %distance = call i64 @word(ptr %at, i64 %offset)
  %place = getelementptr i8, ptr %packed, i64 %distance
  ret ptr %place
}

define internal ptr @part(ptr %call, i32 %number) alwaysinline #0 {
  %place = getelementptr ptr, ptr %call, i32 %number
  %value = load ptr, ptr %place
  ret ptr %value
}

; step(context, i) for i = 0, 1, ..., count - 1, until one says no; whether none did.
define internal i1 @each(i64 %count, ptr %step, ptr %context) alwaysinline #0 {
entry:
  br label %check
check:
  %i = phi i64 [0, %entry], [%next, %go]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %go, label %end
go:
  %next = add i64 %i, 1
  %good = call i1 %step(ptr %context, i64 %i)
  br i1 %good, label %check, label %end
end:
  %none = phi i1 [true, %check], [false, %go]
  ret i1 %none
}

define internal i1 @same_word(ptr %pair, i64 %i) alwaysinline #0 {
  %a = call ptr @part(ptr %pair, i32 0)
  %b = call ptr @part(ptr %pair, i32 1)
  %p = getelementptr i64, ptr %a, i64 %i
  %q = getelementptr i64, ptr %b, i64 %i
  %x = load i64, ptr %p
  %y = load i64, ptr %q
  %same = icmp eq i64 %x, %y
  ret i1 %same
}

define internal i1 @same_words(ptr %a, ptr %b, i64 %count) #0 {
  %pair = alloca [2 x ptr]
  store ptr %a, ptr %pair
  %second = getelementptr ptr, ptr %pair, i32 1
  store ptr %b, ptr %second
  %same = call i1 @each(i64 %count, ptr @same_word, ptr %pair)
  ret i1 %same
}

define internal i1 @is_exactly(ptr %object, ptr %class) alwaysinline #0 {
  %found = call ptr @PyObject_Type(ptr %object)
  call void @Py_DecRef(ptr %found)
  %same = icmp eq ptr %found, %class
  ret i1 %same
}

define internal i1 @as_number(ptr %object, ptr %out) #0 {
  %overflow = alloca i32
  %value = call i64 @PyLong_AsLongLongAndOverflow(ptr %object, ptr %overflow)
  store i64 %value, ptr %out
  %over = load i32, ptr %overflow
  %fits = icmp eq i32 %over, 0
  ret i1 %fits
}

; No, and no exception is left.
define internal i1 @no() #0 {
  call void @PyErr_Clear()
  ret i1 false
}
