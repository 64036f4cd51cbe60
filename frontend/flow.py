"""Which names a function assigns, which are live where, and which statements may jump: one walk over its AST."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

Names = frozenset[str]
EMPTY: Names = frozenset()

# Ways to leave a statement list, as bits of a mask.
FALL, BREAK, CONTINUE, RETURN = 1, 2, 4, 8
ANY = FALL | BREAK | CONTINUE | RETURN

_OWN_SCOPE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)


def walk_scope(root: ast.AST) -> Iterator[ast.AST]:
    """The nodes below `root` that belong to the same function (nested functions are yielded, not entered)."""
    stack = list(ast.iter_child_nodes(root))
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, _OWN_SCOPE):
            stack.extend(ast.iter_child_nodes(node))


def parameters(node: ast.FunctionDef | ast.Lambda) -> list[str]:
    """Names of all parameters."""
    a = node.args
    every = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
    return [p.arg for p in every]


def target_names(target: ast.AST) -> Names:
    """Names that an assignment target binds."""
    if isinstance(target, ast.Name):
        return frozenset((target.id,))
    if isinstance(target, (ast.Tuple, ast.List)):
        return frozenset().union(*map(target_names, target.elts))
    if isinstance(target, ast.Starred):
        return target_names(target.value)
    return EMPTY


def assigned_names(roots: Iterable[ast.AST]) -> Names:
    """Names that statements bind (not inside nested functions and comprehensions)."""
    out: set[str] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            out.add(node.id)
        elif isinstance(node, ast.FunctionDef):
            out.add(node.name)
        if not isinstance(node, (*_OWN_SCOPE, *_COMPREHENSIONS)):
            stack.extend(ast.iter_child_nodes(node))
    return frozenset(out)


# Methods that change the list or dict before their dot.
CHANGING = frozenset(("append", "extend", "insert", "pop", "remove", "reverse", "clear", "update", "setdefault"))


def root_name(node: ast.expr) -> str:
    """The name in `name[i][j]`; "" where there is none."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def grown_names(roots: Iterable[ast.AST]) -> Names:
    """Names that may stand for a list or dict, or hold one, whose methods statements call to change it."""
    return frozenset(
        root_name(n.func.value) for root in roots for n in ast.walk(root)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr in CHANGING
    )


def changed_names(roots: Sequence[ast.AST]) -> Names:
    """Names that may stand for a list or dict, or hold one, that statements change."""
    stored = (n for root in roots for n in ast.walk(root) if isinstance(n, ast.Subscript))
    return grown_names(roots) | {root_name(n) for n in stored if isinstance(n.ctx, (ast.Store, ast.Del))}


def local_names(node: ast.FunctionDef | ast.Lambda) -> Names:
    """Names that are local to a function: parameters and everything that it assigns."""
    body = node.body if isinstance(node, ast.FunctionDef) else []
    return frozenset(parameters(node)) | assigned_names(body)


def read_names(node: ast.AST | None) -> Names:
    """Names that an expression (or a nested function) reads, those of lambdas inside included."""
    if node is None:
        return EMPTY
    if type(node) is ast.Name:
        return frozenset((node.id,))
    return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))


def jumps(stmts: Sequence[ast.stmt], in_loop: bool = False) -> int:
    """Which of BREAK, CONTINUE, RETURN statements may leave the list by (`in_loop`: jumps of a loop inside it)."""
    mask = 0
    for node in stmts:
        if isinstance(node, ast.Return):
            mask |= RETURN
        elif isinstance(node, ast.Break):
            mask |= 0 if in_loop else BREAK
        elif isinstance(node, ast.Continue):
            mask |= 0 if in_loop else CONTINUE
        elif isinstance(node, ast.If):
            mask |= jumps(node.body, in_loop) | jumps(node.orelse, in_loop)
        elif isinstance(node, (ast.While, ast.For)):
            mask |= jumps(node.body, True) | jumps(node.orelse, in_loop)
        elif isinstance(node, ast.With):
            mask |= jumps(node.body, in_loop)
    return mask


class Flow:
    """Liveness of one function, per compound statement.

    `after[s]`: names read after s when s is left at its end. `tail[s]`: names read after the list that s stands in,
    or at a place that a break or continue in it jumps to. `head[loop]`: names read from a loop's start on.
    `assigned[loop]`: names that its body assigns, `changed[loop]`: those that it may change as lists. Names that nested
    functions read count as live everywhere.
    """

    def __init__(self, node: ast.FunctionDef | ast.Lambda) -> None:
        self.after: dict[ast.stmt, Names] = {}
        self.tail: dict[ast.stmt, Names] = {}
        self.head: dict[ast.stmt, Names] = {}
        self.assigned: dict[ast.stmt, Names] = {}
        self.changed: dict[ast.stmt, Names] = {}
        if isinstance(node, ast.Lambda):
            self.captured = EMPTY
            return
        inner = [n for n in walk_scope(node) if isinstance(n, (ast.FunctionDef, ast.Lambda))]
        self.captured = frozenset().union(*map(read_names, inner)) & local_names(node)
        self._names = frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name)) | local_names(node)
        self._summaries: dict[ast.stmt, tuple[Names, Names]] = {}
        self._summing = False
        self._list(node.body, EMPTY, EMPTY, EMPTY)

    def _list(self, stmts: list[ast.stmt], out: Names, at_break: Names, at_continue: Names) -> Names:
        tail = out | at_break | at_continue
        for node in reversed(stmts):
            if isinstance(node, (ast.If, ast.While, ast.For, ast.With)):
                self.tail[node] = tail
                self.after[node] = out
            out = self._stmt(node, out, at_break, at_continue)
        return out

    def _stmt(self, node: ast.stmt, out: Names, at_break: Names, at_continue: Names) -> Names:
        match node:
            case ast.Assign(targets=targets, value=value):
                bound = frozenset().union(*map(target_names, targets))
                reads = frozenset().union(*(read_names(t) for t in targets if not isinstance(t, ast.Name)))
                return (out - bound) | read_names(value) | reads
            case ast.AnnAssign(target=target, value=value):
                return (out - target_names(target) if value else out) | read_names(value)
            case ast.AugAssign(target=target, value=value):
                return out | target_names(target) | read_names(target) | read_names(value)
            case ast.Return(value=value):
                return read_names(value)
            case ast.Break():
                return at_break
            case ast.Continue():
                return at_continue
            case ast.If(test=test, body=body, orelse=orelse):
                then = self._list(body, out, at_break, at_continue)
                return read_names(test) | then | self._list(orelse, out, at_break, at_continue)
            case ast.While() | ast.For():
                return self._loop(node, out, self._list(node.orelse, out, at_break, at_continue))
            case ast.With(items=items, body=body):
                inside = self._list(body, out, at_break, at_continue)
                bound = frozenset().union(*(target_names(i.optional_vars) for i in items if i.optional_vars))
                return frozenset().union(inside - bound, *(read_names(i.context_expr) for i in items))
            case ast.FunctionDef(name=name):
                return (out - {name}) | read_names(node)
        return out | read_names(node)

    def _loop(self, node: ast.While | ast.For, out: Names, otherwise: Names) -> Names:
        """The names live before a loop; `otherwise`: those live before its `else`.

        One visit of the body records them: what is live at its head follows from the body's summary, so that nested
        loops cost no more than others.
        """
        variable = target_names(node.target) if isinstance(node, ast.For) else EMPTY
        own, passed = self._summary(node)
        if isinstance(node, ast.For):
            head = out | otherwise | (own - variable)
            before = head | read_names(node.iter)
        else:
            forever = isinstance(node.test, ast.Constant) and bool(node.test.value)
            before = head = read_names(node.test) | (EMPTY if forever else otherwise) | own | (out & passed)
        if not self._summing:
            self.assigned[node] = assigned_names(node.body + node.orelse) | variable
            self.changed[node] = changed_names(node.body + node.orelse)
            self.head[node] = head
            self._list(node.body, head, out, head)
        return before

    def _summary(self, node: ast.While | ast.For) -> tuple[Names, Names]:
        """What a loop's body reads before it assigns it; and that, with every name that it lets pass to a break."""
        known = self._summaries.get(node)
        if known is None:
            summing, self._summing = self._summing, True
            own = self._list(node.body, EMPTY, EMPTY, EMPTY)
            known = self._summaries[node] = own, self._list(node.body, EMPTY, self._names, EMPTY)
            self._summing = summing
        return known
