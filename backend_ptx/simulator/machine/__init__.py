"""Threads, their scheduling, and the compiler from parsed functions to closures."""
