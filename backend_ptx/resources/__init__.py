"""What a kernel needs of an SM: registers, shared memory, CTAs that fit; and plans that need less."""
