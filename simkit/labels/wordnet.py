"""A class hierarchy for any list of class names, from the hypernyms of WordNet.

Source: G. A. Miller, WordNet: a lexical database for English, CACM 38(11), 1995.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from importlib import resources
from os import PathLike
from typing import Any

from simkit.errors import BadInput, unknown
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.meanings import Report, find, read_mapping, wordnet

# The top of WordNet: true of nearly everything, and asked about by nobody.
ROOT_LIKE = (
    "entity.n.01",
    "physical_entity.n.01",
    "abstraction.n.06",
    "object.n.01",
    "whole.n.02",
    "matter.n.03",
    "thing.n.12",
    "causal_agent.n.01",
    "attribute.n.02",
    "relation.n.01",
    "psychological_feature.n.01",
)


def from_wordnet(
    names: Sequence[str],
    *,
    mapping: Mapping[str, str] | str | PathLike[str] | None = None,
    prune: bool = True,
) -> tuple[Hierarchy, Report]:
    """The hierarchy over `names` and their ancestors, and how each name was understood.

    names    class names ("traffic light") or synsets ("dog.n.01"); they come first, in this order,
             then the ancestors, those of most classes first, under readable names of their own.
    mapping  name -> synset, or a TOML, JSON or CSV file of such pairs; "<ball.n.01" says "a kind of
             ball", "" says that the name has no place in WordNet.
    prune    keep only ancestors that join at least two classes, one for each set of classes, and
             drop those that everything has. False keeps all hypernyms.

    A name with several noun senses gets the most frequent one and is reported with all of them; one
    without any stays without parents. Raises BadInput for duplicate names, for a mapping to no noun
    synset and where WordNet is missing.
    """
    if len(set(names)) != len(names) or not names:
        raise BadInput(
            "the class names are empty or name a class twice; give every class its own name"
        )
    given = read_mapping(mapping) if isinstance(mapping, str | PathLike) else dict(mapping or {})
    reader = wordnet()
    report = find(names, given, reader)
    synsets = {finding.name: finding.synset for finding in report.findings}
    ancestors = cache(partial(_ancestors, reader))
    above = {name: ancestors(text) for name, text in synsets.items()}
    own = {name: text for name, text in synsets.items() if text and not text.startswith("<")}
    kept = _kept(above, own, reader) if prune else {a for group in above.values() for a in group}
    labels = _names(kept - set(own.values()), names, above, reader)
    nodes: dict[str, list[str]] = {}  # synset -> the classes that stand for it
    for label, synset in (own | labels).items():
        nodes.setdefault(synset, []).append(label)
    edges = [
        (label, parent)
        for label in [*names, *labels]
        for near in _nearest(labels.get(label) or synsets[label], nodes, ancestors)
        for parent in nodes[near]
    ]
    return Hierarchy.of([*names, *labels], edges, own | labels), report


def shipped(name: str) -> Hierarchy:
    """A hierarchy that comes with simkit: "coco-80", "scenes". Raises BadInput for other names."""
    folder = resources.files("simkit.labels") / "hierarchies"
    known = [
        entry.name.removesuffix(".json")
        for entry in folder.iterdir()
        if entry.name.endswith(".json")
    ]
    if name not in known:
        raise unknown("shipped hierarchy", name, known)
    return Hierarchy.from_json((folder / f"{name}.json").read_text(encoding="utf-8"), name)


def _ancestors(reader: Any, text: str) -> frozenset[str]:
    """Synsets above a class; for "a kind of" the synset itself is one of them."""
    if not text:
        return frozenset()
    synset = reader.synset(text.removeprefix("<"))
    found = {str(each.name()) for each in synset.closure(_hypernyms)}
    return frozenset(found | ({str(synset.name())} if text.startswith("<") else set()))


def _hypernyms(synset: Any) -> list[Any]:
    return [*synset.hypernyms(), *synset.instance_hypernyms()]


def _kept(above: Mapping[str, Iterable[str]], own: Mapping[str, str], reader: Any) -> set[str]:
    """Ancestors worth a class of their own, together with the synsets of the classes themselves."""
    below: dict[str, set[str]] = {}
    for name, ancestors in above.items():
        for ancestor in {*ancestors, *([own[name]] if name in own else [])}:
            below.setdefault(ancestor, set()).add(name)
    placed = sum(1 for ancestors in above.values() if ancestors)
    classes = set(own.values())
    groups: dict[frozenset[str], list[str]] = {}
    for synset, members in below.items():
        if synset in classes or (1 < len(members) < placed and synset not in ROOT_LIKE):
            groups.setdefault(frozenset(members), []).append(synset)
    kept = set(classes)
    for group in groups.values():
        if not classes & set(group):
            kept.add(_most_familiar(group, reader))
    return kept


def _most_familiar(synsets: Iterable[str], reader: Any) -> str:
    """Of ancestors of the same classes the one used most in texts, then the most special one."""

    def rank(name: str) -> tuple[int, int, str]:
        synset = reader.synset(name)
        return sum(lemma.count() for lemma in synset.lemmas()), synset.min_depth(), name

    return max(synsets, key=rank)


def _nearest(
    text: str, nodes: Iterable[str], ancestors: Callable[[str], frozenset[str]]
) -> list[str]:
    """The closest synsets above `text` that are nodes, none of them above another."""
    candidates = ancestors(text).intersection(nodes)
    covered = {far for near in candidates for far in ancestors(near)}
    return sorted(candidates - covered)


def _names(
    synsets: Iterable[str], taken: Sequence[str], above: Mapping[str, frozenset[str]], reader: Any
) -> dict[str, str]:
    """Readable names that differ from each other and from the classes, -> synset."""
    classes = Counter(a for ancestors in above.values() for a in ancestors)
    used = {name.lower() for name in taken}
    labels: dict[str, str] = {}
    for synset in sorted(synsets, key=lambda a: (-classes[a], a)):
        words = [str(lemma.name()).replace("_", " ") for lemma in reader.synset(synset).lemmas()]
        label = next((w for w in words if w.lower() not in used), f"{words[0]} ({synset})")
        used.add(label.lower())
        labels[label] = synset
    return labels
