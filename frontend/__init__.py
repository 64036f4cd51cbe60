"""The frontend: a kernel's Python source becomes Tile IR."""

# Importing these modules fills the tables of handlers and call rules.
from tilewright.frontend import (
    assign,
    attributes,
    containers,
    contexts,
    debug,
    displays,
    expressions,
    loops,
    statements,
    static,
    structs,
    subscripts,
)
from tilewright.frontend.calls import (
    arith,
    arrays,
    atomics,
    bits,
    builtins,
    compose,
    convert,
    factories,
    join,
    kinds,
    math,
    matmul,
    memory,
    methods,
    output,
    random,
    raw,
    reduce,
    scan,
    shape,
    sort,
    take,
    views,
)
from tilewright.frontend.translate import translate
from tilewright.frontend.values import ConstArg

__all__ = ["ConstArg", "translate"]

_REGISTERED = (
    assign, attributes, containers, contexts, debug, displays, expressions, loops, statements, static, structs,
    subscripts, arith, arrays, atomics, bits, builtins, compose, convert, factories, join, kinds, math, matmul, memory,
    methods, output, random, raw, reduce, scan, shape, sort, take, views,
)
