"""Cards beside a file of labels: their names, both written, and found again."""

from __future__ import annotations

from pathlib import Path

from simkit.annotate.cards.croissant import croissant
from simkit.annotate.cards.markdown import card
from simkit.annotate.cards.subject import Subject
from simkit.files import whole
from simkit.labels.cards import paths


def write(subject: Subject) -> tuple[Path, Path]:
    """Write the Markdown card and the Croissant one beside the labels, whole or not at all.

    What stands there is replaced. Raises BadInput where they cannot be written.
    """
    markdown, machine = paths(subject.files[0])
    texts = card(subject), croissant(subject, markdown.name)
    with whole(markdown) as first, whole(machine) as second:
        for part, text in zip((first, second), texts, strict=True):
            part.write_bytes(text.encode("utf-8", "backslashreplace"))  # names may be no UTF-8
    return markdown, machine
