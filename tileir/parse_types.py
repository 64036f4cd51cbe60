"""The part of the parser that reads types and layouts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.tileir.diagnostics import Span, TileSyntaxError, TileTypeError
from tilewright.tileir.dtypes import BY_IR, DType
from tilewright.tileir.layout import Layout
from tilewright.tileir.types import ARRAY_WORDS, ArrayType, ListType, SharedType, TileType, TupleType, Type

Tree = Any

_LONGEST_INTEGER = 40  # digits; 128-bit numbers have 39


def children(tree: Tree, rule: str) -> list[Tree]:
    """The children of a tree that a rule of the grammar made."""
    return [child for child in tree.children if getattr(child, "data", None) == rule]


def word(tree: Tree) -> Any:
    """The NAME token of a tree."""
    return next(child for child in tree.children if getattr(child, "type", None) == "NAME")


def integer(token: Any, span: Span) -> int:
    if len(token) > _LONGEST_INTEGER:
        raise TileSyntaxError("the integer is too long", span)
    try:
        return int(token)
    except ValueError:
        raise TileSyntaxError(f"{token} is no integer", span) from None


class TypeReader:
    """Reads types; holds the layouts that the header names."""

    def __init__(self, span: Callable[[Tree], Span]) -> None:
        self.span = span
        self.layouts: dict[str, Layout] = {}

    def define_layout(self, tree: Tree) -> None:
        name, size, *bases = tree.children
        shape = self.known_sizes(size, self.span(size))
        dims = [(str(b.children[0]), [self.vector(v) for v in b.children[1:]]) for b in bases]
        if any(len(v) != len(shape) for _, vectors in dims for v in vectors):
            raise TileTypeError(f"each vector of {name} needs one number per axis", self.span(tree))
        self.layouts[str(name)] = Layout(dims, shape)

    def vector(self, tree: Tree) -> tuple[int, ...]:
        return tuple(integer(token, self.span(tree)) for token in tree.children)

    def layout(self, node: Tree) -> Layout:
        name = str(node.children[0])
        if name not in self.layouts:
            raise TileSyntaxError(f"there is no line {name} = linear<...> above the function", self.span(node))
        return self.layouts[name]

    def type(self, tree: Tree) -> Type:
        if tree.data == "scalar":
            return TileType(self.dtype(str(tree.children[0]), tree))
        if tree.data != "bracketed":
            raise TileTypeError("expected a type", self.span(tree))
        read: dict[str, Callable[[list[Tree], Tree], Type]] = {
            "tile": self.tile_type, "array": self.array_type, "list": self.list_type, "tuple": self.tuple_type,
            "shared": self.shared_type,
        }
        name, *parts = tree.children
        if str(name) not in read:
            notes = [f"types are {', '.join(read)}"]
            raise TileTypeError(f"there is no type {name}<...>", self.span(name), notes=notes)
        return read[str(name)](parts, tree)

    def dtype(self, name: str, tree: Tree) -> DType:
        if name not in BY_IR:
            raise TileTypeError(f"there is no dtype {name}", self.span(tree), notes=[f"dtypes are {', '.join(BY_IR)}"])
        return BY_IR[name]

    def tile_type(self, parts: list[Tree], tree: Tree) -> TileType:
        match [p.data for p in parts]:
            case ["dims" | "scalar"]:
                layout = None
            case ["dims" | "scalar", "layout_name"]:
                layout = self.layout(parts[1])
            case _:
                raise TileTypeError("a tile type is tile<64x64xf32> or tile<64x64xf32, #0>", self.span(tree))
        extents, dtype = self.dims(parts[0])
        return TileType(dtype, self.known(extents, self.span(tree)), layout)

    def shared_type(self, parts: list[Tree], tree: Tree) -> SharedType:
        rest = list(parts)
        copies = integer(rest.pop(0).children[0], self.span(tree)) if rest and rest[0].data == "int" else 1
        layout = self.layout(rest.pop()) if rest and rest[-1].data == "layout_name" else None
        if len(rest) != 1 or rest[0].data not in ("dims", "scalar"):
            message = "a shared type is shared<64x64xf32>, shared<4, 64x64xf32> or with a layout"
            raise TileTypeError(message, self.span(tree))
        extents, dtype = self.dims(rest[0])
        return SharedType(dtype, self.known(extents, self.span(tree)), copies, layout)

    def list_type(self, parts: list[Tree], tree: Tree) -> ListType:
        items = self.items(parts, tree)
        if len(items) != 1 or not isinstance(items[0], ArrayType):
            raise TileTypeError("a list type is list<array<...>>", self.span(tree))
        return ListType(items[0])

    def tuple_type(self, parts: list[Tree], tree: Tree) -> TupleType:
        return TupleType(tuple(self.items(parts, tree)))

    def items(self, parts: list[Tree], tree: Tree) -> list[Type]:
        return [self.type(part) for part in parts]

    def array_type(self, parts: list[Tree], tree: Tree) -> ArrayType:
        if not parts or parts[0].data not in ("dims", "scalar"):
            message = "an array type starts with its extents and dtype: array<?x?xf32, strides=?x1>"
            raise TileTypeError(message, self.span(tree))
        extents, dtype = self.dims(parts[0])
        given: dict[str, Any] = {}
        for part in parts[1:]:
            key = str(part.children[0])
            if part.data == "scalar" and key in ARRAY_WORDS:
                given[key] = True
            elif part.data == "type_option" and key in ("strides", "extent_div", "stride_div", "align", "index"):
                given[key] = self.option(key, part.children[1])
            else:
                raise TileTypeError(f"an array type has no part {key}", self.span(part))
        strides = given.pop("strides", None if extents else ())
        divisors = [given.get(d, extents) for d in ("extent_div", "stride_div")]
        if strides is None or any(len(given_) != len(extents) for given_ in (strides, *divisors)):
            message = f"each of the {len(extents)} axes needs a stride (and a divisor, if any)"
            raise TileTypeError(message, self.span(tree))
        return ArrayType(dtype, extents, strides, **given)

    def option(self, key: str, node: Tree) -> Any:
        if key == "index":
            return self.dtype(str(node), node)
        if getattr(node, "data", None) != "size":
            raise TileTypeError(f"{key} needs numbers, not {node}", self.span(node))
        if key == "strides":
            return self.sizes(node)
        sizes = self.known_sizes(node, self.span(node))
        return sizes[0] if key == "align" else sizes

    def dims(self, node: Tree) -> tuple[tuple[int | None, ...], DType]:
        """Extents and dtype of `64x?xf32`, or of a dtype alone."""
        text = str(node.children[0])
        if node.data == "scalar":
            return (), self.dtype(text, node)
        *extents, name = text.split("x")
        return tuple(self.size(e, node) for e in extents), self.dtype(name, node)

    def sizes(self, tree: Tree) -> tuple[int | None, ...]:
        return tuple(self.size(text, tree) for text in str(tree.children[0]).split("x"))

    def known_sizes(self, tree: Tree, span: Span) -> tuple[int, ...]:
        return self.known(self.sizes(tree), span)

    def size(self, text: str, tree: Tree) -> int | None:
        return None if text == "?" else integer(text, self.span(tree))

    def known(self, sizes: tuple[int | None, ...], span: Span) -> tuple[int, ...]:
        if None in sizes:
            raise TileTypeError("only the extents of arrays may be unknown (?)", span)
        return tuple(size for size in sizes if size is not None)
