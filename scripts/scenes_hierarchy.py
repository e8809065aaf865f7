"""Build simkit/labels/hierarchies/scenes.json from WordNet.

    NLTK_DATA=... python scripts/scenes_hierarchy.py

The leaves are the classes of `scenes`. An ancestor becomes a class when it has at least two leaves
below it, no deeper ancestor has the same leaves, and some image may lack it (every image has an
object and so a colour: what stands above all colours is everywhere and teaches nothing).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx

import simkit.labels
from simkit.data.scenes_draw import COLOURS, LEAVES, OBJECTS
from simkit.labels.hierarchy import Hierarchy

# The WordNet synset of each leaf class.
SYNSETS = {
    **{name: f"{name}.n.01" for name in OBJECTS},
    **{"zero": "zero.n.02", "star": "star.n.05", "heart": "heart.n.07", "ring": "ring.n.02"},
    **{"cross": "greek_cross.n.01", "check mark": "check_mark.n.01", "pentagon": "pentagon.n.03"},
    **{
        name: f"{name}.n.01"
        for name in ("red", "blue", "yellow", "green", "black", "purple", "pink")
    },
    **{"white": "white.n.02", "orange": "orange.n.02", "stripes": "stripe.n.05"},
    **{"checks": "check.n.10", "dots": "polka_dot.n.01", "grid": "grid.n.01"},
    "herringbone": "herringbone.n.02",
}


def build() -> Hierarchy:
    """The hierarchy, from WordNet through nltk. Raises LookupError where WordNet is missing."""
    from nltk.corpus import wordnet

    leaves = {name: wordnet.synset(SYNSETS[name]) for name in LEAVES}
    below: dict[Any, set[str]] = {}
    for name, synset in leaves.items():
        for ancestor in {a for path in synset.hypernym_paths() for a in path[:-1]}:
            below.setdefault(ancestor, set()).add(name)
    kept: dict[frozenset[str], Any] = {}
    for ancestor in sorted(below, key=lambda a: (a.max_depth(), a.name())):
        if len(below[ancestor]) > 1 and not below[ancestor] >= set(COLOURS):
            kept[frozenset(below[ancestor])] = ancestor  # the deeper one replaces the higher one
    above = {a.lemma_names()[0].replace("_", " "): group for group, a in kept.items()}
    order = sorted(above, key=lambda name: (len(above[name]), name))
    nodes = {**leaves, **{name: kept[above[name]] for name in order}}
    graph = nx.DiGraph()
    for name, synset in nodes.items():
        higher = {a for path in synset.hypernym_paths() for a in path[:-1]}
        graph.add_edges_from((name, other) for other in order if nodes[other] in higher)
    edges = nx.transitive_reduction(graph).edges  # WordNet's own steps, over what was left out
    synsets = {**SYNSETS, **{name: kept[group].name() for name, group in above.items()}}
    return Hierarchy.of([*LEAVES, *order], sorted(edges), synsets)


if __name__ == "__main__":
    build().save(Path(simkit.labels.__file__).parent / "hierarchies" / "scenes.json")
