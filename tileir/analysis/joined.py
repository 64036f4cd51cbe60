"""Disjoint sets that are joined one by one."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Joined(Generic[T]):
    """Each node is in a set with one representative; one that was never seen is alone."""

    def __init__(self) -> None:
        self.parent: dict[T, T] = {}

    def find(self, node: T) -> T:
        """The representative of a node's set."""
        root = node
        while (above := self.parent.setdefault(root, root)) is not root:
            root = above
        while node is not root:
            self.parent[node], node = root, self.parent[node]
        return root

    def join(self, node: T, other: T) -> None:
        """Make one set of two, whose representative is that of `other`."""
        self.parent[self.find(node)] = self.find(other)
