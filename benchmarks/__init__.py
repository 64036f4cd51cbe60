"""Benchmarks: ours beside what a user would pick instead, both timed in one run."""
