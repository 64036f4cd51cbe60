; The arguments of a launch: is each what is expected? If so, its bits go into its slot.

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
  %slots = call ptr @part(ptr %call, i32 2)
  %object_at = getelementptr ptr, ptr %given, i64 %i
  %object = load ptr, ptr %object_at
  %arguments = call ptr @address(ptr %known, i64 $L.arguments)
  %distance = mul i64 %i, $argument_bytes
  %argument = getelementptr i8, ptr %arguments, i64 %distance
  %kind = call i64 @word(ptr %argument, i64 $A.kind)
  %class = call ptr @address(ptr %argument, i64 $A.type)
  %slot = call i64 @word(ptr %argument, i64 $A.slot)
  %place = getelementptr i64, ptr %slots, i64 %slot
  switch i64 %kind, label %typed [i64 $kind.constant, label %constant
                                  i64 $kind.bool, label %bool]
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

; A slot starts as the template has it, and the driver's table has its address.
define internal i1 @slot(ptr %call, i64 %i) alwaysinline #0 {
  %known = call ptr @part(ptr %call, i32 0)
  %slots = call ptr @part(ptr %call, i32 2)
  %table = call ptr @part(ptr %call, i32 4)
  %template = call ptr @address(ptr %known, i64 $L.template)
  %from = getelementptr i64, ptr %template, i64 %i
  %value = load i64, ptr %from
  %to = getelementptr i64, ptr %slots, i64 %i
  store i64 %value, ptr %to
  %cell = getelementptr ptr, ptr %table, i64 %i
  store ptr %to, ptr %cell
  ret i1 true
}

; A tensor map is a parameter by its address: that of a copy of the known launch's, of which the driver makes one of this
; array's.
define internal i1 @map(ptr %call, i64 %i) alwaysinline #0 {
  %known = call ptr @part(ptr %call, i32 0)
  %table = call ptr @part(ptr %call, i32 4)
  %maps = call ptr @address(ptr %known, i64 $L.map_words)
  %distance = mul i64 %i, 24
  %at = getelementptr i8, ptr %maps, i64 %distance
  %slot = call i64 @word(ptr %at, i64 0)
  %map = call ptr @address(ptr %at, i64 8)
  %number = call i64 @word(ptr %at, i64 16)
  %cell = getelementptr ptr, ptr %table, i64 %slot
  %fixed = icmp eq i64 %number, -1
  br i1 %fixed, label %keep, label %copy
keep:
  store ptr %map, ptr %cell
  ret i1 true
copy:
  %pointers = call ptr @part(ptr %call, i32 3)
  %pointer_at = getelementptr ptr, ptr %pointers, i64 %number
  %pointer = load ptr, ptr %pointer_at
  %room = call ptr @part(ptr %call, i32 5)
  %skip = shl i64 %i, 7
  %made = getelementptr i8, ptr %room, i64 %skip
  %bits = load <16 x i64>, ptr %map, align 8
  store <16 x i64> %bits, ptr %made, align 8
  store ptr %made, ptr %cell
  %replace = call ptr @address(ptr %known, i64 $L.replace)
  %failed = call i32 %replace(ptr %made, ptr %pointer)
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
  %slots = call i64 @word(ptr %known, i64 $L.slots)
  %filled = call i1 @each(i64 %slots, ptr @slot, ptr %call)
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
