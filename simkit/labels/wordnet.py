"""A class hierarchy for any list of class names, from the hypernyms of WordNet.

A name stands for a synset: its most frequent noun sense, the one in a mapping, or the name itself.
WordNet is read through nltk, which is imported when a name is first looked up.
Source: G. A. Miller, WordNet: a lexical database for English, CACM 38(11), 1995.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, lru_cache
from itertools import chain, groupby
from operator import itemgetter
from os import PathLike
from typing import Any, Literal
from zipfile import BadZipFile

from simkit.errors import BadInput, noting
from simkit.files import AnyPath, reading
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.tables import text_of, text_rows

_SYNSET = re.compile(r"[^\s<]+\.[nvasr]\.(?!00?$)\d\d?")
_MOST = 8  # candidates reported for one name, and names in a summary

# The top of WordNet: synsets too general to be useful as classes.
ROOT_LIKE = frozenset(
    "entity.n.01 physical_entity.n.01 abstraction.n.06 object.n.01 whole.n.02 matter.n.03 "
    "substance.n.01 substance.n.07 solid.n.01 part.n.01 part.n.02 thing.n.12 causal_agent.n.01 "
    "attribute.n.02 relation.n.01 psychological_feature.n.01 group.n.01 location.n.01 "
    "measure.n.02 shape.n.02 agent.n.03".split()
)

# Hypernyms that are misleading for photographs: (synset, hypernym).
LEFT_OUT = frozenset(
    {
        ("wheeled_vehicle.n.01", "container.n.01"),
        ("spoon.n.01", "container.n.01"),
        ("passage.n.03", "way.n.06"),  # pipes and hoses among roads and stairs
        ("plant_part.n.01", "natural_object.n.01"),  # apples among rocks
    }
)


@dataclass(frozen=True)
class Meaning:
    """One sense of a word: a synset such as "dog.n.01" and its gloss."""

    synset: str
    gloss: str


@dataclass(frozen=True)
class Finding:
    """The synset of one class name.

    synset      "dog.n.01"; "<ball.n.01" for a kind of ball that has no synset; "" for unknown.
    how         given: in the mapping, or the name is a synset itself;  only: the one noun sense;
                first: the most frequent of several noun senses;  unknown: no noun sense at all.
    candidates  all senses of the name; for an unknown name those of similar names.
    """

    name: str
    synset: str
    how: Literal["given", "only", "first", "unknown"]
    candidates: tuple[Meaning, ...] = ()


@dataclass(frozen=True)
class Report:
    """The synsets of all class names, and the names in the mapping that are not classes."""

    findings: tuple[Finding, ...]
    unused: tuple[str, ...] = ()

    @property
    def ambiguous(self) -> tuple[Finding, ...]:
        """Names with several senses; the most frequent one was chosen."""
        return tuple(finding for finding in self.findings if finding.how == "first")

    @property
    def unknown(self) -> tuple[Finding, ...]:
        """Names without any sense; they have no parents in the hierarchy."""
        return tuple(finding for finding in self.findings if finding.how == "unknown")

    def summary(self) -> str:
        """The number of ambiguous names and the unknown and unused ones, in a few lines; or ""."""
        lines = []
        if self.ambiguous:
            many = "name has" if len(self.ambiguous) == 1 else "names have"
            lines.append(f"{len(self.ambiguous)} {many} several senses; the most frequent is taken")
        if self.unknown:
            lines.append("not in WordNet: " + _few([each.name for each in self.unknown]))
        if self.unused:
            lines.append("in the mapping, but not a class: " + _few(self.unused))
        return "\n".join(lines)

    def text(self) -> str:
        """Ambiguous and unknown names with their candidates, as text."""
        lines = []
        for finding in (*self.ambiguous, *self.unknown):
            remark = f"{finding.name}: {finding.synset}, the most frequent of these senses"
            if not finding.synset:
                near = "; similar are" if finding.candidates else ""
                remark = f"{finding.name}: not in WordNet{near}"
            lines += [remark, *(f"    {each.synset}: {each.gloss}" for each in finding.candidates)]
        unused = (f"{name}: in the mapping, but no class has this name" for name in self.unused)
        return "\n".join([*lines, *unused])


def _few(names: Sequence[str]) -> str:
    ending = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + ending


def from_wordnet(
    names: Sequence[str],
    *,
    mapping: Mapping[str, str] | AnyPath | None = None,
    prune: bool = True,
) -> tuple[Hierarchy, Report]:
    """The hierarchy over class names and their ancestors.

    A name with several noun senses gets the most frequent one and is reported with all of them; a
    name without a noun sense has no parents. A few misleading hypernyms (LEFT_OUT, such as wheeled
    vehicles as containers) are skipped.

    Parameters
    ----------
    names : sequence of str
        Class names ("traffic light") or synsets ("dog.n.01").
    mapping : mapping of str to str, or path, optional
        Synset by name, or a TOML, JSON or CSV file of such pairs; "<ball.n.01" means "a kind of
        ball", "" means that the name is not in WordNet.
    prune : bool, default True
        Keep only ancestors of at least two classes, one for each set of classes, and drop those of
        all classes. False keeps all hypernyms.

    Returns
    -------
    Hierarchy
        The names first, in this order, then the ancestors by decreasing number of classes, with
        readable names.
    Report
        The synset of each name.

    Raises
    ------
    BadInput
        For duplicate names, for a mapping to anything but a noun synset, and if WordNet is missing.
    """
    pairs = read_mapping(mapping) if isinstance(mapping, str | PathLike) else dict(mapping or {})
    reader = wordnet()
    report = find(names, pairs, reader)
    synsets = {finding.name: finding.synset for finding in report.findings}
    exact = {name: text for name, text in synsets.items() if text and text[0] != "<"}
    above = {name: _above(text, reader) for name, text in synsets.items()}
    below: dict[str, set[str]] = {}
    for name, ancestors in above.items():
        for synset in {*ancestors, exact[name]} if name in exact else ancestors:
            below.setdefault(synset, set()).add(name)
    placed = sum(1 for ancestors in above.values() if ancestors)
    classes = set(exact.values())
    # Synsets that become a class, grouped by their sets of classes; the largest set first. The
    # synset of a class and ancestors without further classes form such a group, too.
    sets: dict[Any, list[str]] = {}
    for synset in sorted(below, key=lambda s: (-len(below[s]), s)):
        worth = 1 < len(below[synset]) < placed and synset not in ROOT_LIKE
        if synset in classes or worth or not prune:
            sets.setdefault(frozenset(below[synset]) if prune else synset, []).append(synset)
    groups = list(sets.values())
    labels = _labels(groups, synsets, reader)
    edges = _edges(above, exact, labels, groups, reader)
    meanings = exact | {label: synset for label, (synset, _) in labels.items()}
    return Hierarchy.of([*names, *labels], edges, meanings), report


def _above(text: str, reader: Any) -> frozenset[str]:
    """Synsets above a class; for "a kind of" the synset itself is one of them."""
    if not text:
        return frozenset()
    synset = reader.synset(text.removeprefix("<"))
    ancestors = {str(each.name()) for each in synset.closure(_hypernyms)}
    return frozenset(ancestors | ({str(synset.name())} if text.startswith("<") else set()))


def _hypernyms(synset: Any) -> list[Any]:
    above: list[Any] = []
    for each in [*synset.hypernyms(), *synset.instance_hypernyms()]:
        odd = (synset.name(), each.name()) in LEFT_OUT
        above += _hypernyms(each) if odd else [each]  # ancestors of a skipped one are valid again
    return above


def _labels(
    groups: Iterable[list[str]], synsets: Mapping[str, str], reader: Any
) -> dict[str, tuple[str, list[str]]]:
    """A readable name for every group without a class, with its synset and the group.

    The synset is one that the mapping names as "<synset", or else the most familiar one, with the
    highest count in WordNet's corpus. If a name is taken, the next one is used.
    """
    used = {name.lower() for name in synsets}
    classes = set(synsets.values())
    labels: dict[str, tuple[str, list[str]]] = {}
    for group in groups:
        if classes.intersection(group):
            continue
        ranks: list[Any] = []
        for name in group:
            synset = reader.synset(name)
            counted = sum(lemma.count() for lemma in synset.lemmas())
            ranks.append((f"<{name}" in classes, counted, synset.min_depth(), name))
        words = [
            (place > 0, str(lemma.name()).replace("_", " "), name)
            for *_, name in sorted(ranks, reverse=True)
            for place, lemma in enumerate(reader.synset(name).lemmas())
        ]
        words.sort(key=itemgetter(0))  # the first word of each synset, then the others
        _, word, name = words[0]
        free = ((word, name) for _, word, name in words if word.lower() not in used)
        label, synset = next(free, (f"{word} ({name})", name))
        used.add(label.lower())
        labels[label] = synset, group
    return labels


def _edges(
    above: Mapping[str, frozenset[str]],
    exact: Mapping[str, str],
    labels: Mapping[str, tuple[str, list[str]]],
    groups: Sequence[list[str]],
    reader: Any,
) -> list[tuple[str, str]]:
    """(child, parent) pairs between names, without pairs implied by others."""
    nodes: dict[str, list[str]] = {}  # synset -> the names that stand for it
    for name, synset in exact.items():
        nodes.setdefault(synset, []).append(name)
    for group in groups:  # ancestors without further classes stand for the class itself
        standing = [name for synset in group for name in nodes.get(synset, ())]
        nodes.update((synset, standing) for synset in group if standing)
    for label, (_, group) in labels.items():
        nodes.update((synset, [label]) for synset in group)

    @cache
    def ancestors(synset: str) -> frozenset[str]:
        return _above(synset, reader)

    reach = {name: _standing(synsets, nodes) for name, synsets in above.items()}
    for label, (_, group) in labels.items():
        reach[label] = _standing({a for member in group for a in ancestors(member)}, nodes)
    for name, reached in reach.items():  # names with the same synset are siblings
        twins = set(nodes.get(exact.get(name, ""), ())) | {name}
        reach[name] = reached - twins
    return [
        (name, parent)
        for name, reached in reach.items()
        for parent in sorted(reached - {far for near in reached for far in reach[near]})
    ]


def _standing(synsets: Iterable[str], nodes: Mapping[str, list[str]]) -> set[str]:
    return {name for synset in synsets for name in nodes.get(synset, ())}


def wordnet() -> Any:
    """The WordNet reader of nltk. Raises BadInput with instructions if WordNet is missing."""
    from nltk.corpus import wordnet as reader

    try:
        reader.ensure_loaded()
        reader.synsets("entity")
    except (LookupError, OSError, BadZipFile):
        raise BadInput(
            "WordNet is not on this machine; get it once with "
            "python -c \"import nltk; nltk.download('wordnet')\" "
            "or set NLTK_DATA to a folder that holds corpora/wordnet.zip"
        ) from None
    return reader


def find(names: Sequence[str], mapping: Mapping[str, str], reader: Any) -> Report:
    """Look every name up. Raises BadInput for a mapping to anything but a noun synset."""
    findings = []
    for name in names:
        synset = mapping.get(name, name if _SYNSET.fullmatch(name) else None)
        if synset is not None:
            findings.append(Finding(name, _checked(synset, name, reader), "given"))
        elif senses := _senses(name, reader):
            how: Literal["only", "first"] = "only" if len(senses) == 1 else "first"
            findings.append(Finding(name, senses[0].name(), how, _meanings(senses)))
        else:
            # Senses of words with a similar spelling, and of the last word of a compound.
            word = name.strip().lower().replace(" ", "_")
            nouns = _nouns(reader).get(word[:2], ())
            alike = [lemma for lemma in nouns if abs(len(lemma) - len(word)) <= 2]
            words = get_close_matches(word, alike, n=3, cutoff=0.8)
            if "_" in word:
                words.append(word.rsplit("_", 1)[1])
            similar = _meanings([sense for each in words for sense in _senses(each, reader)])
            findings.append(Finding(name, "", "unknown", similar))
    return Report(tuple(findings), tuple(name for name in mapping if name not in set(names)))


def _checked(text: str, name: str, reader: Any) -> str:
    """A synset in its usual spelling, or "" where the mapping says that there is none."""
    from nltk.corpus.reader.wordnet import WordNetError

    kind_of = "<" if text.startswith("<") else ""
    plain = text.removeprefix("<").strip()
    if not plain and not kind_of:
        return ""
    try:
        synset = reader.synset(plain) if _SYNSET.fullmatch(plain) else None
    except (WordNetError, ValueError, KeyError, IndexError):
        synset = None
    if synset is None or synset.pos() != "n":
        near = ", ".join(each.synset for each in _meanings(_senses(plain.split(".")[0], reader)))
        hint = f"candidates are {near}" if near else "write it as in dog.n.01"
        raise BadInput(f"class {name!r} is mapped to {text!r}, which is not a noun synset; {hint}")
    return kind_of + str(synset.name())


def _senses(name: str, reader: Any) -> list[Any]:
    """Noun senses, most frequent first; for a list of synonyms with commas the shared ones."""
    words = [part.strip().lower().replace(" ", "_") for part in name.split(",")]
    lists = [reader.synsets(word, "n") for word in words if word]
    votes = Counter(chain.from_iterable(lists))  # WordNet lists the senses by their frequency
    most = max(votes.values(), default=0)
    return [sense for sense, count in votes.items() if count == most or len(lists) == 1]


@lru_cache(1)
def _nouns(reader: Any) -> dict[str, list[str]]:
    """All nouns by their first two letters."""
    lemmas = sorted(reader.all_lemma_names("n"))
    return {start: list(group) for start, group in groupby(lemmas, itemgetter(slice(2)))}


def _meanings(senses: Sequence[Any]) -> tuple[Meaning, ...]:
    distinct = list(dict.fromkeys(senses))[:_MOST]
    return tuple(Meaning(str(sense.name()), str(sense.definition())) for sense in distinct)


def read_mapping(path: AnyPath) -> dict[str, str]:
    """A file of class names and synsets: TOML (name = "synset"), JSON object, or CSV name,synset.

    A synset with a leading "<" means "a kind of": "sports ball" = "<ball.n.01". Raises BadInput.
    """
    what = "class names and their synsets (TOML, JSON or CSV)"
    with reading(path, what, 'expected are lines as "mouse" = "mouse.n.04"') as file:
        match file.suffix.lower():
            case ".toml":
                values: Any = tomllib.loads(text_of(file, noting(file)))
            case ".csv":
                values = {name: synset for name, synset in text_rows(file) if synset != "synset"}
            case _:
                values = json.loads(text_of(file, noting(file)))
        if not all(isinstance(synset, str) for synset in values.values()):
            raise ValueError("a synset is not text")
        return dict(values)
