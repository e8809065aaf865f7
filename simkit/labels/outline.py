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
    import networkx as nx

    names = hierarchy.classes
    L = len(names)
    # Each class below one parent only; -1 is the common root. size: number of descendants.
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
    complete = most is None or L <= most
    opened = set(range(L)) if complete else _opened(children, size, most or 0)

    def line(c: int, depth: int) -> Line:
        also = tuple(names[p] for p in hierarchy.parents[c] if p != parent[c])
        hidden = 0 if c in opened else size[c]
        return Line(depth, (names[c],), bool(hierarchy.children[c]), hidden, also)

    def level(c: int, depth: int) -> list[Line]:
        lines: list[Line] = []
        for child in children[c]:
            if complete or size[child]:
                lines.append(line(child, depth))
                lines += level(child, depth + 1) if child in opened else []
        leaves = [child for child in children[c] if not (complete or size[child])]
        if len(leaves) == 1:
            lines.append(line(leaves[0], depth))
        elif leaves:
            lines.append(Line(depth, tuple(names[child] for child in leaves)))
        return lines

    return level(-1, 0)


def _opened(children: dict[int, list[int]], size: list[int], most: int) -> set[int]:
    """Classes whose children are shown, those with the most descendants first."""
    inner = {c: [child for child in below if size[child]] for c, below in children.items()}
    cost = {c: len(inner[c]) + (len(inner[c]) < len(children[c])) for c in children}  # lines
    opened, left = set[int](), most - cost[-1]
    waiting = [(-size[c], c) for c in inner[-1]]
    heapq.heapify(waiting)
    while waiting:
        _, c = heapq.heappop(waiting)
        if cost[c] <= left:
            opened.add(c)
            left -= cost[c]
            for child in inner[c]:
                heapq.heappush(waiting, (-size[child], child))
    return opened
