"""Matrix multiplies: the instruction, the place of the operands, and the waits for outstanding MMAs."""
