"""Mutation test: small defects, drawn at random from code that decides values, addresses or synchronisation.

`record` runs a sample of the tests and keeps which block of code each of them enters; `run` draws mutants, puts each
into a copy of the tree and runs the tests that enter its line until one fails; `report` counts.
"""
