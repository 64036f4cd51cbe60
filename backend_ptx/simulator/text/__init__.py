"""LLVM text as data: types, instructions, functions, modules, and the parser that makes them."""
