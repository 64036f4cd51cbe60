; The arguments of a launch: is each what is expected? If so, its bits go among the packed parameters.

; Is an item of a tuple this int? `pair`: the tuple, and its argument.
define internal i1 @item(ptr %pair, i64 %i) alwaysinline #0 {
  %value = alloca i64
  %tuple = call ptr @part(ptr %pair, i32 0)
  %argument = call ptr @part(ptr %pair, i32 1)
  %object = call ptr @PyTuple_GetItem(ptr %tuple, i64 %i)
  %is_int = call i1 @is_exactly(ptr %object, ptr $object.int)
  br i1 %is_int, label %read, label %no
read:
  %wanted_at = call ptr @address(ptr %argument, i64 $A.extents)
  %place = getelementptr i64, ptr %wanted_at, i64 %i
  %wanted = load i64, ptr %place
  %whole = call i1 @as_number(ptr %object, ptr %value)
  %number = load i64, ptr %value
  %equal = icmp eq i64 %number, %wanted
  %good = and i1 %whole, %equal
  ret i1 %good
no:
  ret i1 false
}

define internal i1 @argument(ptr %call, i64 %i) #0 {
entry:
  %value = alloca i64
  %pair = alloca [2 x ptr]
  %known = call ptr @part(ptr %call, i32 0)
  %given = call ptr @part(ptr %call, i32 1)
  %object_at = getelementptr ptr, ptr %given, i64 %i
  %object = load ptr, ptr %object_at
  %arguments = call ptr @address(ptr %known, i64 $L.arguments)
  %distance = mul i64 %i, $argument_bytes
  %argument = getelementptr i8, ptr %arguments, i64 %distance
  %kind = call i64 @word(ptr %argument, i64 $A.kind)
  %constant = call ptr @address(ptr %argument, i64 $A.object)
  %same = icmp eq ptr %object, %constant
  br i1 %same, label %yes, label %other
other:
  %place = call ptr @parameter(ptr %call, ptr %argument, i64 $A.offset)
  %class = call ptr @address(ptr %argument, i64 $A.type)
  switch i64 %kind, label %typed [i64 $kind.constant, label %no
                                  i64 $kind.bool, label %bool]
bool:
  %yes_object = icmp eq ptr %object, $object.True
  %no_object = icmp eq ptr %object, $object.False
  %bit = zext i1 %yes_object to i8
  store i8 %bit, ptr %place
  %is_bool = or i1 %yes_object, %no_object
  ret i1 %is_bool
typed:
  %fits = call i1 @is_exactly(ptr %object, ptr %class)
  br i1 %fits, label %by_kind, label %no
by_kind:
  switch i64 %kind, label %no [i64 $kind.constant_int, label %constant_int
                               i64 $kind.constant_float, label %constant_float
                               i64 $kind.int32, label %int
                               i64 $kind.int64, label %int
                               i64 $kind.float32, label %float
                               i64 $kind.float64, label %float
                               i64 $kind.tensor, label %tensor
                               i64 $kind.array, label %array
                               i64 $kind.held, label %held
                               i64 $kind.constant_ints, label %constant_ints]
constant_int:
  %whole = call i1 @as_number(ptr %object, ptr %value)
  %number = load i64, ptr %value
  %wanted = call i64 @word(ptr %argument, i64 $A.value)
  %equal = icmp eq i64 %number, %wanted
  %both = and i1 %whole, %equal
  ret i1 %both
constant_float:
  %given_float = call double @PyFloat_AsDouble(ptr %object)
  %given_bits = bitcast double %given_float to i64
  %wanted_bits = call i64 @word(ptr %argument, i64 $A.value)
  %equal_bits = icmp eq i64 %given_bits, %wanted_bits
  ret i1 %equal_bits
int:
  %read = call i1 @as_number(ptr %object, ptr %value)
  %n = load i64, ptr %value
  %short = trunc i64 %n to i32
  %long = sext i32 %short to i64
  %in_range = icmp eq i64 %n, %long
  %good = and i1 %read, %in_range
  %narrow = icmp eq i64 %kind, $kind.int32
  br i1 %narrow, label %int32, label %int64
int32:
  store i32 %short, ptr %place
  ret i1 %good
int64:
  store i64 %n, ptr %place
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
  %a = call i1 @tensor(ptr %call, ptr %argument, ptr %object)
  ret i1 %a
array:
  %b = call i1 @array(ptr %call, ptr %argument, ptr %object)
  ret i1 %b
held:
  %c = call i1 @held(ptr %call, ptr %argument, ptr %object)
  ret i1 %c
constant_ints:
  %wanted_size = call i64 @word(ptr %argument, i64 $A.value)
  %size = call i64 @PyTuple_Size(ptr %object)
  %as_long = icmp eq i64 %size, %wanted_size
  br i1 %as_long, label %items, label %no
items:
  store ptr %object, ptr %pair
  %second = getelementptr ptr, ptr %pair, i32 1
  store ptr %argument, ptr %second
  %all = call i1 @each(i64 %size, ptr @item, ptr %pair)
  ret i1 %all
yes:
  ret i1 true
no:
  ret i1 false
}

; Of a pair of ranges of which the kernel writes one: do they lie apart?
define internal i1 @apart(ptr %call, i64 %i) #0 {
  %known = call ptr @part(ptr %call, i32 0)
  %pointers = call ptr @part(ptr %call, i32 3)
  %pair_words = call ptr @address(ptr %known, i64 $L.pair_words)
  %skip = mul i64 %i, 48
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
  %behind = icmp sge i64 %a_first, %b_end
  %before = icmp sge i64 %b_first, %a_end
  %good = or i1 %behind, %before
  ret i1 %good
}

; The parameters start as those of the known launch, sixteen bytes in a step.
define internal i1 @begin_with(ptr %call, i64 %i) alwaysinline #0 {
  %known = call ptr @part(ptr %call, i32 0)
  %packed = call ptr @part(ptr %call, i32 2)
  %template = call ptr @address(ptr %known, i64 $L.template)
  %distance = shl i64 %i, 4
  %from = getelementptr i8, ptr %template, i64 %distance
  %bits = load <2 x i64>, ptr %from, align 8
  %to = getelementptr i8, ptr %packed, i64 %distance
  store <2 x i64> %bits, ptr %to, align 16
  ret i1 true
}

; A tensor map is that of the known launch's array: the driver puts the address of this one into it.
define internal i1 @map(ptr %call, i64 %i) alwaysinline #0 {
  %known = call ptr @part(ptr %call, i32 0)
  %maps = call ptr @address(ptr %known, i64 $L.map_words)
  %distance = shl i64 %i, 4
  %at = getelementptr i8, ptr %maps, i64 %distance
  %map = call ptr @parameter(ptr %call, ptr %at, i64 0)
  %number = call i64 @word(ptr %at, i64 8)
  %pointers = call ptr @part(ptr %call, i32 3)
  %pointer_at = getelementptr ptr, ptr %pointers, i64 %number
  %pointer = load ptr, ptr %pointer_at
  %replace = call ptr @address(ptr %known, i64 $L.replace)
  %failed = call i32 %replace(ptr %map, ptr %pointer)
  %fine = icmp eq i32 %failed, 0
  ret i1 %fine
}

; Is the call this known launch? Then its parameters are packed.
define internal i1 @matches(ptr %call, i64 %size) #0 {
  %known = call ptr @part(ptr %call, i32 0)
  %count = call i64 @word(ptr %known, i64 $L.count)
  %as_many = icmp eq i64 %size, %count
  br i1 %as_many, label %fill, label %no
fill:
  %bytes = call i64 @word(ptr %known, i64 $L.bytes)
  %more = add i64 %bytes, 15
  %steps = lshr i64 %more, 4
  %filled = call i1 @each(i64 %steps, ptr @begin_with, ptr %call)
  %read = call i1 @each(i64 %count, ptr @argument, ptr %call)
  br i1 %read, label %pairs, label %no
pairs:
  %pair_count = call i64 @word(ptr %known, i64 $L.pairs)
  %separate = call i1 @each(i64 %pair_count, ptr @apart, ptr %call)
  br i1 %separate, label %maps, label %no
maps:
  %map_count = call i64 @word(ptr %known, i64 $L.maps)
  %mapped = call i1 @each(i64 %map_count, ptr @map, ptr %call)
  ret i1 %mapped
no:
  ret i1 false
}
