"""Under which terms a data set may be used, and whom to cite for it."""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from simkit.data.dataset import sources
from simkit.errors import BadInput
from simkit.labels.hierarchy import shipped

CC_BY_4 = "https://creativecommons.org/licenses/by/4.0/"


@dataclass(frozen=True)
class Terms:
    """What the owners of a data set say; a source has it as its class attribute `terms`.

    The default is what is known of somebody's own data: nothing.

    title    the data set as its owners call it.
    licence  of the labels, by its identifier on the Hugging Face Hub: "unknown" where the owners
             state none, "other" for a text of their own.
    named    a name for that text;  link  where the licence or the text stands.
    note     what the licence does not cover, or adds.
    page     of the data set;  cite  the publication, in words.
    classes  the shipped hierarchy that has the owners' classes for leaves, where others write their
             own data in the same form of file.
    """

    title: str = ""
    licence: str = "unknown"
    named: str = ""
    link: str = ""
    note: str = ""
    page: str = ""
    cite: str = ""
    classes: str = ""


def terms(spec: str, classes: Collection[str]) -> Terms:
    """The terms of the data set that this text opens (see `open`); of a TOML file by its `source`.

    classes: names of its classes. Own data in the form of COCO are not COCO's: where a class of
    theirs is missing, nothing is known. Raises BadInput where no data set has the name.
    """
    name = spec.partition(":")[0].strip()
    if name not in sources.names() and spec.lower().endswith(".toml"):
        try:
            name = str(tomllib.loads(Path(spec).read_text(encoding="utf-8")).get("source", ""))
        except (OSError, ValueError, RecursionError):
            raise BadInput(f"{spec} cannot be read as TOML; correct it") from None
    found = getattr(sources[name], "terms", Terms())
    assert isinstance(found, Terms)
    if found.classes:
        tree = shipped(found.classes)
        if not {tree.classes[leaf] for leaf in tree.leaves} <= set(classes):
            return Terms()
    return found
