"""A hierarchy as indented lines: each class once, or upper levels with counts of hidden classes."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from simkit.labels.hierarchy import Hierarchy


@dataclass(frozen=True)
class Line:
    """One line of an outline.

    depth   indentation: preceding lines with smaller depths are its ancestors.
    names   the class of this line; or several classes without children that share a line.
    inner   whether the class has children, here or elsewhere.
    hidden  the number of descendants without a line, where the outline is cut here.
    also    its other parents: a class is listed below the parent farthest from the top.
    """

    depth: int
    names: tuple[str, ...]
    inner: bool = False
    hidden: int = 0
    also: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """The remark beside the name; "" for none."""
        below = f"{self.hidden} {'class' if self.hidden == 1 else 'classes'} below"
        parts = [below] if self.hidden else []
        return "; ".join([*parts, "also " + ", ".join(self.also)] if self.also else parts)


def outline(hierarchy: Hierarchy, most: int | None = None) -> list[Line]:
    """The lines of a hierarchy, all or about `most`.

    In a shortened outline classes without children share a line with their siblings, and classes
    with the most descendants are expanded first, while lines are left. Every top class with
    children has a line, even if these are more than `most`.
    """
    tree = _Tree.of(hierarchy)
    if most is None or len(hierarchy.classes) <= most:
        return [line for root in tree.children[-1] for line in _whole(tree, root, 0)]
    return _level(tree, _opened(tree, most), -1, 0)


@dataclass(frozen=True)
class _Tree:
    """Each class below one parent only; -1 is the common root."""

    hierarchy: Hierarchy
    parent: list[int]
    children: dict[int, list[int]]
    size: list[int]  # number of descendants

    @staticmethod
    def of(hierarchy: Hierarchy) -> _Tree:
        import networkx as nx

        L = len(hierarchy.classes)
        parent, depth, size = [-1] * L, [0] * L, [0] * L
        order = list(nx.lexicographical_topological_sort(hierarchy.graph))
        for c in order:
            if hierarchy.parents[c]:
                parent[c] = max(hierarchy.parents[c], key=lambda p: (depth[p], -p))
                depth[c] = depth[parent[c]] + 1
        children: dict[int, list[int]] = {c: [] for c in range(-1, L)}
        for c in range(L):
            children[parent[c]].append(c)
        for c in reversed(order):
            size[c] = sum(1 + size[child] for child in children[c])
        return _Tree(hierarchy, parent, children, size)

    def line(self, c: int, depth: int, hidden: int = 0) -> Line:
        names = self.hierarchy.classes
        also = tuple(names[p] for p in self.hierarchy.parents[c] if p != self.parent[c])
        return Line(depth, (names[c],), bool(self.hierarchy.children[c]), hidden, also)


def _whole(tree: _Tree, c: int, depth: int) -> list[Line]:
    below = [line for child in tree.children[c] for line in _whole(tree, child, depth + 1)]
    return [tree.line(c, depth), *below]


def _opened(tree: _Tree, most: int) -> set[int]:
    """Classes whose children are shown, those with the most descendants first."""

    def cost(c: int) -> int:
        inner = sum(1 for child in tree.children[c] if tree.size[child])
        return inner + (inner < len(tree.children[c]))

    opened = {-1}
    lines = cost(-1)
    waiting = [(-tree.size[c], c) for c in tree.children[-1] if tree.size[c]]
    heapq.heapify(waiting)
    while waiting:
        _, c = heapq.heappop(waiting)
        if lines + cost(c) <= most:
            opened.add(c)
            lines += cost(c)
            for child in tree.children[c]:
                if tree.size[child]:
                    heapq.heappush(waiting, (-tree.size[child], child))
    return opened


def _level(tree: _Tree, opened: set[int], c: int, depth: int) -> list[Line]:
    lines: list[Line] = []
    for child in tree.children[c]:
        if child in opened:
            lines += [tree.line(child, depth), *_level(tree, opened, child, depth + 1)]
        elif tree.size[child]:
            lines.append(tree.line(child, depth, tree.size[child]))
    leaves = [child for child in tree.children[c] if not tree.size[child]]
    if len(leaves) == 1:
        return [*lines, tree.line(leaves[0], depth)]
    names = tuple(tree.hierarchy.classes[child] for child in leaves)
    return [*lines, Line(depth, names)] if names else lines
