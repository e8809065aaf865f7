"""Class hierarchies: directed acyclic graphs in which a present class implies present parents.

The shipped hierarchies use published facts only: the class names of their data sets, the hypernyms
of WordNet 3.0 (through `simkit.labels.wordnet`), and the hierarchies published with CIFAR-100 and
Open Images. `scripts/hierarchies.py` rebuilds all of them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.errors import BadInput, unknown
from simkit.files import AnyPath, expanded, parse_json, reading, whole
from simkit.history import content_id
from simkit.labels.truth import Truth, sealed

if TYPE_CHECKING:
    import networkx as nx
    import pyarrow as pa


# Descriptions for `simkit hierarchy`.
NOTES = {
    "cifar-100": (
        "CIFAR-100's classes under its 20 published coarse classes, without WordNet above them: "
        "classes such as large_omnivores_and_herbivores have no synset"
    ),
    "coco-80": "COCO's 80 kinds of things and their ancestors in WordNet",
    "coco-panoptic-133": (
        "COCO's 80 kinds of things and 53 kinds of stuff with their 65 ancestors in WordNet, 198 "
        "classes; Soft Exposure (section 4.1.2) merges the same 133 with WordNet into 163 by an "
        "unpublished graph; here every ancestor of two or more classes is a class"
    ),
    "lvis-1203": (
        "LVIS v1 with its published synsets and their ancestors in WordNet; one synset, "
        "stop_sign.n.01, is not in WordNet 3.0, so the class is a kind of street sign"
    ),
    "openimages-600": (
        "the published is-a tree of Open Images' boxed classes, 601 names without their root; its "
        "part-of edges are left out, since an image of a part need not show the whole"
    ),
    "scenes": "the classes of the built-in data set and their ancestors in WordNet",
    "voc-20": "PASCAL VOC's 20 classes and their ancestors in WordNet",
}


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Classes and their parents.

    classes  L unique names.
    parents  the indices of each class's parents, ascending; several are allowed.
    synsets  the WordNet synset of each class, such as "dog.n.01", or "" for none.
    """

    classes: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]
    synsets: tuple[str, ...]

    @staticmethod
    def of(
        classes: Sequence[str],
        edges: Iterable[tuple[str, str]],
        synsets: Mapping[str, str] | None = None,
    ) -> Hierarchy:
        """A hierarchy from names and (child, parent) pairs.

        Parameters
        ----------
        classes : sequence of str
            L unique names.
        edges : iterable of (str, str)
            Pairs of names, (child, parent).
        synsets : mapping of str to str, optional
            The WordNet synset of some names.

        Returns
        -------
        Hierarchy

        Raises
        ------
        BadInput
            For unknown or repeated names, and for cycles.
        """
        if len(set(classes)) != len(classes) or not classes:
            what = "names a class twice" if classes else "has no classes"
            raise BadInput(f"the hierarchy {what}; give every class its own name")
        parents: list[set[int]] = [set() for _ in classes]
        ends = columns_of([name for edge in edges for name in edge], classes).reshape(-1, 2)
        for child, parent in ends.tolist():
            parents[child].add(parent)
        hierarchy = Hierarchy(
            tuple(classes),
            tuple(tuple(sorted(above)) for above in parents),
            tuple((synsets or {}).get(name, "") for name in classes),
        )
        try:
            hierarchy._order()
        except CycleError:
            import networkx as nx

            cycle = " -> ".join(classes[c] for c, _ in nx.find_cycle(hierarchy.graph))
            raise BadInput(
                f"the hierarchy has a cycle: {cycle}; remove one of these edges"
            ) from None
        return hierarchy

    def _order(self) -> list[int]:
        """The indices of classes, parents first. Raises CycleError."""
        return [*TopologicalSorter(dict(enumerate(self.parents))).static_order()]

    @cached_property
    def graph(self) -> nx.DiGraph:
        """Edges from parent to child between class indices."""
        import networkx as nx  # takes a tenth of a second, and most commands draw no graph

        graph = nx.DiGraph()
        graph.add_nodes_from(range(len(self.classes)))
        graph.add_edges_from((p, c) for c, above in enumerate(self.parents) for p in above)
        return graph

    @cached_property
    def above(self) -> NDArray[np.bool_]:
        """(L, L) bool: above[c, a] is true where a is c itself or an ancestor of c."""
        L = len(self.classes)
        above = np.eye(L, dtype=bool)
        for c in self._order():
            for parent in self.parents[c]:
                above[c] |= above[parent]
        return above

    @cached_property
    def lineage(self) -> csr_array:
        """`above` as a sparse matrix, for products with images x classes."""
        return sealed(csr_array(self.above))

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of each class, ascending."""
        children: list[list[int]] = [[] for _ in self.classes]
        for c, above in enumerate(self.parents):
            for parent in above:
                children[parent].append(c)
        return tuple(map(tuple, children))

    @property
    def roots(self) -> NDArray[np.int64]:
        """Classes without a parent."""
        return np.array([c for c, above in enumerate(self.parents) if not above], np.int64)

    @property
    def leaves(self) -> NDArray[np.int64]:
        """Classes without a child."""
        return np.array([c for c, below in enumerate(self.children) if not below], np.int64)

    def over(self, classes: Iterable[str]) -> Hierarchy:
        """The part with these classes and their ancestors, in the order of this hierarchy.

        Raises BadInput for an unknown class.
        """
        kept = np.flatnonzero(self.above[columns_of(classes, self.classes)].any(0))
        place = {int(c): i for i, c in enumerate(kept)}
        return Hierarchy(
            tuple(self.classes[c] for c in place),
            tuple(tuple(place[p] for p in self.parents[c]) for c in place),
            tuple(self.synsets[c] for c in place),
        )

    @cached_property
    def id(self) -> str:
        """Content id."""
        return content_id("hierarchy", self.to_json())

    def table(self) -> pa.Table:
        """One row per class, for figures: class, parents (names), synset."""
        import pyarrow as pa

        parents = [[self.classes[p] for p in above] for above in self.parents]
        columns = [self.classes, pa.array(parents, pa.list_(pa.string())), self.synsets]
        return pa.table(columns, names=["class", "parents", "synset"])

    def to_json(self) -> str:
        """JSON text: classes in order, each with its parents' names and its synset."""
        rows = [
            {"name": name, "parents": [self.classes[p] for p in above], "synset": synset}
            for name, above, synset in zip(self.classes, self.parents, self.synsets, strict=True)
        ]
        return json.dumps({"classes": rows}, indent=1, ensure_ascii=False)

    @staticmethod
    def from_json(text: str | bytes) -> Hierarchy:
        """Read the text of `to_json`. Raises BadInput, and other errors for damaged text."""
        rows: list[dict[str, Any]] = parse_json(text)["classes"]
        texts = [[row["name"], row.get("synset", ""), *row["parents"]] for row in rows]
        if not all(isinstance(each, str) for listed in texts for each in listed):
            raise TypeError("a name, parent or synset is not text")
        edges = [(name, parent) for name, _, *parents in texts for parent in parents]
        names = [name for name, *_ in texts]
        return Hierarchy.of(names, edges, {name: synset for name, synset, *_ in texts})

    def save(self, path: AnyPath) -> None:
        """Write JSON, one line per class."""
        rows = [
            json.dumps(row, ensure_ascii=False) for row in json.loads(self.to_json())["classes"]
        ]
        text = '{"classes": [\n' + ",\n".join(rows) + "\n]}\n"
        with whole(path) as part:
            part.write_text(text, encoding="utf-8")

    @staticmethod
    def load(path: AnyPath) -> Hierarchy:
        """Read a file of `save`. Raises BadInput."""
        mend = 'expected is {"classes": [{"name": ..., "parents": [...]}]}'
        with reading(path, "a class hierarchy (JSON)", mend) as file:
            return Hierarchy.from_json(file.read_bytes())


_SHIPPED = resources.files("simkit.labels") / "hierarchies"


def shipped_names() -> list[str]:
    """Names of the hierarchies that come with simkit."""
    return sorted(NOTES)


def shipped(name: str) -> Hierarchy:
    """A hierarchy that comes with simkit, such as "coco-80". Raises BadInput for other names."""
    name = name.lower()
    if name not in shipped_names():
        raise unknown("shipped hierarchy", name, shipped_names())
    return Hierarchy.from_json((_SHIPPED / f"{name}.json").read_text(encoding="utf-8"))


def by_name_or_file(text: str) -> Hierarchy:
    """The hierarchy in a JSON file, or the shipped one of this name. Raises BadInput."""
    path = expanded(text)
    is_file = os.path.exists(path)  # False, not an error, for a name that is too long
    return Hierarchy.load(path) if is_file or path.suffix == ".json" else shipped(text)


def shipped_for(classes: Collection[str]) -> str | None:
    """The name of the shipped hierarchy over exactly these classes and their ancestors, or None."""
    named = set(classes)
    for name in shipped_names():
        tree = shipped(name)
        if named <= set(tree.classes) and named >= {tree.classes[c] for c in tree.leaves}:
            return name
    return None


def close(truth: Truth, hierarchy: Hierarchy) -> Truth:
    """The truth over all classes of the hierarchy, every ancestor present with its descendants.

    A partially known truth stays partially known. A class is known to be present if it or a
    descendant is present, even where the truth calls it absent. It is known to be absent if it or
    an ancestor is absent; and, if the truth has no column for it, if all of its descendants that
    have columns are absent.

    Parameters
    ----------
    truth : Truth
        (N, l), over classes of the hierarchy.
    hierarchy : Hierarchy
        Over L classes.

    Returns
    -------
    Truth
        (N, L), columns in the order of the hierarchy.

    Raises
    ------
    BadInput
        If a class of the truth is not in the hierarchy, or if a complete truth has no column for a
        class of the hierarchy nor for any of its descendants.
    """
    columns = columns_of(truth.classes, hierarchy.classes)
    L = len(hierarchy.classes)
    present = csr_array(_widened(truth.present, columns, L) @ hierarchy.lineage)
    present.sort_indices()
    known = None
    if truth.known is None:
        silent = np.flatnonzero(~hierarchy.above[columns].any(0))
        if len(silent):
            raise BadInput(
                f"the truth says nothing about class {hierarchy.classes[silent[0]]!r} of the "
                "hierarchy; close it under hierarchy.over(truth.classes)"
            )
    else:
        stated = _widened(csr_array(truth.known > truth.present), columns, L)
        absent = csr_array(stated > present)
        # All descendants of an absent class are absent. A class outside `columns`, the classes of
        # the truth, has no instances beyond its descendants: it is absent where all its descendants
        # in `columns` are, if there are any and none is present. A class in `columns` may be
        # present without them: an animal may be neither dog nor cat.
        below = csr_array(hierarchy.lineage.T)
        implied = csr_array(absent @ below)
        added = np.setdiff1d(np.arange(L), columns)
        under = csr_array(hierarchy.lineage[columns][:, added].astype(np.int32))  # (l, added)
        needed = under.sum(0)
        counts = csr_array((implied > present)[:, columns].astype(np.int32) @ under)
        counts.data = (counts.data == needed[counts.indices]).astype(np.int32)
        counts.eliminate_zeros()
        absences = csr_array(implied + _widened(csr_array(counts.astype(bool)), added, L))
        if (needed == 0).any():  # classes without columns below an ancestor that is now absent
            absences = csr_array(absences @ below)
        absences.sort_indices()
        known = present + absences
    return Truth.of(present, truth.images, hierarchy.classes, known)


def columns_of(
    names: Iterable[str], classes: Sequence[str], kind: str = "class of the hierarchy"
) -> NDArray[np.int64]:
    """(l,) the index of each name among `classes`. Raises BadInput for an unknown name."""
    index = {name: c for c, name in enumerate(classes)}
    listed = list(names)
    for name in listed:
        if name not in index:
            raise unknown(kind, name, index)
    return np.array([index[name] for name in listed], np.int64)


def _widened(matrix: csr_array, columns: NDArray[np.int64], L: int) -> csr_array:
    """(N, L) with the columns of a matrix (N, l) moved to `columns` (l,)."""
    indices = columns[matrix.indices].astype(matrix.indices.dtype)
    shape = matrix.shape[0], L
    wide = csr_array((matrix.data, indices, matrix.indptr), shape=shape, copy=True)
    wide.sort_indices()
    return wide
