"""What to call Python syntax that kernels cannot use, and what to write instead."""

from __future__ import annotations

import ast

from tilewright.tileir.diagnostics import TileSyntaxError

_WHAT: dict[type[ast.AST], tuple[str, str]] = {
    ast.Assert: ("assert", "use ct.static_assert for constants, ct.assert_ for values known at run time"),
    ast.Raise: ("raise", "use ct.static_assert to refuse arguments while compiling, ct.assert_ to stop while running"),
    ast.Try: ("try", "kernels have no exceptions; test the condition with if"),
    ast.TryStar: ("try", "kernels have no exceptions; test the condition with if"),
    ast.Delete: ("del", "leave it out; values need no clean-up"),
    ast.Import: ("import", "import at the top of the file; kernels see the module's globals"),
    ast.ImportFrom: ("import", "import at the top of the file; kernels see the module's globals"),
    ast.Global: ("global", "pass the value as an argument or return it"),
    ast.Nonlocal: ("nonlocal", "return the value from the inner function and assign it outside"),
    ast.ClassDef: ("a class definition", "define the (frozen data)class at the top of the file"),
    ast.AsyncFunctionDef: ("async def", "write def"),
    ast.AsyncFor: ("async for", "write for i in range(...)"),
    ast.AsyncWith: ("async with", "write with"),
    ast.Await: ("await", "kernels are not asynchronous"),
    ast.Match: ("match", "write if/elif"),
    ast.Yield: ("yield", "return a tuple"),
    ast.YieldFrom: ("yield from", "return a tuple"),
    ast.List: ("a list", "write a tuple: (a, b)"),
    ast.Dict: ("a dict", "pass keyword arguments or use a frozen dataclass"),
    ast.Set: ("a set", "write a tuple: (a, b)"),
    ast.ListComp: ("a list comprehension", "write tuple(... for x in ct.static_iter(...))"),
    ast.SetComp: ("a set comprehension", "write tuple(... for x in ct.static_iter(...))"),
    ast.DictComp: ("a dict comprehension", "pass keyword arguments or use a frozen dataclass"),
    ast.NamedExpr: ("the := operator", "assign in a statement of its own"),
    ast.Starred: ("* here", "* may stand in a call's arguments and in tuples only"),
}


def refuse(node: ast.AST) -> TileSyntaxError:
    """The error for a node without a handler."""
    name, hint = _WHAT.get(type(node), (f"{type(node).__name__}", ""))
    return TileSyntaxError(f"{name} is not possible in a kernel", hints=[hint] if hint else [])
