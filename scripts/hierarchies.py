"""Build the class hierarchies that come with simkit: one JSON for each TOML mapping beside it.

NLTK_DATA=FOLDER python scripts/hierarchies.py            # writes simkit/labels/hierarchies/*.json
NLTK_DATA=FOLDER python scripts/hierarchies.py --check    # says which ones would change
"""

from __future__ import annotations

import sys
from pathlib import Path

from simkit.labels.hierarchy import Hierarchy
from simkit.labels.meanings import read_mapping
from simkit.labels.wordnet import from_wordnet

FOLDER = Path(__file__).parents[1] / "simkit" / "labels" / "hierarchies"

# What WordNet says and nobody looking at a photograph would: (child, parent).
LEFT_OUT = {
    "coco-80": {("wheeled vehicle", "container"), ("spoon", "container")},
}


def build(name: str) -> Hierarchy:
    """The hierarchy over the classes of `name`.toml, in the order of that file."""
    mapping = read_mapping(FOLDER / f"{name}.toml")
    found, report = from_wordnet(list(mapping), mapping=mapping)
    assert not report.text(), report.text()
    left_out = LEFT_OUT.get(name, set())
    edges = [
        (child, found.classes[p])
        for child, above in zip(found.classes, found.parents, strict=True)
        for p in above
    ]
    assert left_out <= set(edges), left_out - set(edges)
    kept = [edge for edge in edges if edge not in left_out]
    return Hierarchy.of(found.classes, kept, dict(zip(found.classes, found.synsets, strict=True)))


def main(arguments: list[str]) -> int:
    """Build all of them; with --check compare only, and leave with 1 where a file would change."""
    changed = 0
    for mapping in sorted(FOLDER.glob("*.toml")):
        hierarchy, target = build(mapping.stem), mapping.with_suffix(".json")
        if target.is_file() and Hierarchy.load(target).id == hierarchy.id:
            print(f"{mapping.stem}: {len(hierarchy.classes)} classes, unchanged")
            continue
        changed += 1
        print(f"{mapping.stem}: {len(hierarchy.classes)} classes, differs from {target.name}")
        if "--check" not in arguments:
            hierarchy.save(target)
    return int(changed > 0 and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
