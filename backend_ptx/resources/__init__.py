"""What a kernel needs of a multiprocessor: registers, shared memory, CTAs that fit; and plans that need less."""
