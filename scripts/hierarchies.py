"""Build the class hierarchies that come with simkit.

    NLTK_DATA=FOLDER python scripts/hierarchies.py META           # writes them all
    NLTK_DATA=FOLDER python scripts/hierarchies.py META --check   # says which ones would change

Those with a TOML file of meanings beside them need WordNet alone (coco-80, coco-panoptic-133,
voc-20). The others need files with what the data sets publish in the folder META:

    lvis_v1_categories.json         "categories" as in every LVIS v1 annotation file: name, synset
    cifar100_hierarchy.json         "fine" and "coarse" names, "fine_to_coarse": an index for each
    openimages_600_hierarchy.json   "root", "names" (id to display name), "is_a" ([child, parent])

Without META, or where a file is missing there, those are left as they are.
scenes.json has a script of its own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx

from simkit.labels.hierarchy import Hierarchy
from simkit.labels.wordnet import from_wordnet, read_mapping

FOLDER = Path(__file__).parents[1] / "simkit" / "labels" / "hierarchies"

# LVIS names a synset that WordNet 3.0 lacks.
LVIS_OWN = {"stop_sign.n.01": "<street_sign.n.01"}


def from_meanings(name: str) -> Hierarchy:
    """The classes of `name`.toml, in the order of that file, and their ancestors in WordNet."""
    return _from_wordnet(read_mapping(FOLDER / f"{name}.toml"))


def lvis(meta: Any) -> Hierarchy:
    """LVIS's classes in the order of their ids, with their synsets."""
    categories = sorted(meta["categories"], key=lambda each: each["id"])
    return _from_wordnet(
        {each["name"]: LVIS_OWN.get(each["synset"], each["synset"]) for each in categories}
    )


def cifar(meta: Any) -> Hierarchy:
    """CIFAR-100's fine classes below its coarse ones."""
    fine, coarse = meta["fine"], meta["coarse"]
    above = [coarse[c] for c in meta["fine_to_coarse"]]
    return Hierarchy.of([*fine, *coarse], zip(fine, above, strict=True))


def openimages(meta: Any) -> Hierarchy:
    """Open Images' is-a tree under display names, with the id where one of them repeats.

    The root ("Entity") is above everything and so left out, and so are edges that follow from
    others: a hat is a fashion accessory, and fashion accessories are clothing.
    """
    shown = list(meta["names"].values())
    names = {
        mid: name if shown.count(name) == 1 else f"{name} ({mid})"
        for mid, name in meta["names"].items()
        if mid != meta["root"]
    }
    edges = [(names[c], names[p]) for c, p in meta["is_a"] if p != meta["root"]]
    return _reduced(Hierarchy.of(list(names.values()), edges))


def _reduced(hierarchy: Hierarchy) -> Hierarchy:
    """The same ancestors with as few edges as possible."""
    graph = nx.transitive_reduction(hierarchy.graph)
    parents = tuple(tuple(sorted(graph.predecessors(c))) for c in range(len(hierarchy.classes)))
    return Hierarchy(hierarchy.classes, parents, hierarchy.synsets)


FROM_META: dict[str, tuple[str, Callable[[Any], Hierarchy]]] = {
    "cifar-100": ("cifar100_hierarchy.json", cifar),
    "lvis-1203": ("lvis_v1_categories.json", lvis),
    "openimages-600": ("openimages_600_hierarchy.json", openimages),
}


def build(name: str, meta: Path | None = None) -> Hierarchy | None:
    """The hierarchy called `name`, or None where the file it needs is not in `meta`."""
    if name not in FROM_META:
        return from_meanings(name)
    file, read = FROM_META[name]
    if meta is None or not (meta / file).is_file():
        return None
    return read(json.loads((meta / file).read_text(encoding="utf-8")))


def _from_wordnet(meanings: dict[str, str]) -> Hierarchy:
    hierarchy, report = from_wordnet(list(meanings), mapping=meanings)
    assert not report.text(), report.text()
    return hierarchy


def main(arguments: list[str]) -> int:
    """Build all of them; with --check compare only, and leave with 1 where a file would change."""
    folders = [Path(each) for each in arguments if each != "--check"]
    changed = 0
    for name in sorted({*FROM_META, *(file.stem for file in FOLDER.glob("*.toml"))}):
        hierarchy, target = build(name, *folders), FOLDER / f"{name}.json"
        if hierarchy is None:
            print(f"{name}: left as it is, {FROM_META[name][0]} is not here")
        elif target.is_file() and Hierarchy.load(target).id == hierarchy.id:
            print(f"{name}: {len(hierarchy.classes)} classes, unchanged")
        else:
            changed += 1
            print(f"{name}: {len(hierarchy.classes)} classes, differs from {target.name}")
            if "--check" not in arguments:
                hierarchy.save(target)
    return int(changed > 0 and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
