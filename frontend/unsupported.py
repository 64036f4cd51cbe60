"""What to call Python syntax that kernels cannot use, and what to write instead."""

from __future__ import annotations

import ast

from tilewright.tileir.diagnostics import TileSyntaxError

_WHAT: dict[type[ast.AST], tuple[str, str]] = {
    ast.Raise: ("raise", "use ct.static_assert to refuse arguments while compiling, ct.assert_ to stop while running"),
    ast.Try: ("try", "kernels have no exceptions; test the condition with if"),
    ast.TryStar: ("try", "kernels have no exceptions; test the condition with if"),
    ast.Import: ("import", "import at the top of the file; kernels see the module's globals"),
    ast.ImportFrom: ("import", "import at the top of the file; kernels see the module's globals"),
    ast.Global: ("global", "pass the value as an argument or return it"),
    ast.Nonlocal: ("nonlocal", "return the value from the inner function and assign it outside"),
    ast.ClassDef: ("a class definition", "define the (frozen data)class at the top of the file"),
    ast.AsyncFunctionDef: ("async def", "write def"),
    ast.AsyncFor: ("async for", "write for i in range(...)"),
    ast.AsyncWith: ("async with", "write with"),
    ast.Await: ("await", "kernels are not asynchronous"),
    ast.Match: ("a match by keys of a dict, by choices that bind names, or with more than six guards", "write if/elif"),
    ast.Yield: ("yield", "return a tuple"),
    ast.YieldFrom: ("yield from", "return a tuple"),
    ast.Set: ("a set", "write a tuple: (a, b)"),
    ast.SetComp: ("a set comprehension", "write tuple(... for x in ct.static_iter(...))"),
    ast.Starred: ("* here", "* may stand in a call's arguments and in tuples only"),
}


def refuse(node: ast.AST) -> TileSyntaxError:
    """The error for a node without a handler."""
    name, hint = _WHAT.get(type(node), (f"{type(node).__name__}", ""))
    return TileSyntaxError(f"{name} is not possible in a kernel", hints=[hint] if hint else [])
