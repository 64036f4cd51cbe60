"""Ops of machine IR that name no machine: a tile in another layout, what threads hold of a reduction, shared divisors.

Their tiles have layouts, which say what each thread holds; programs do not write them.
"""
