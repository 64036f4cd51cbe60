"""Short functions as text."""

LOADS_IN_A_LOOP = """func @k(%x: array<?xf32, strides=1>, %n: i32) {
  %one: i32 = constant(value=1, type=tile<i32>)
  %m: i32 = add(lhs=%n, rhs=%one)
  for(lower=%one, upper=%m, step=%one, init=()) .loop(%i: i32) {
    %t: tile<4xf32> = load(array=%x, index=(%i), shape=(4), steps=(4), order=(0))
    yield(values=())
  }
  return()
}
"""
