"""A card as Markdown, with the front matter of a dataset card on the Hugging Face Hub.

Fields and values: huggingface.co/docs/hub/datasets-cards and the specification it links to,
datasetcard.md of huggingface/hub-docs.
"""

from __future__ import annotations

import dataclasses
import glob
import json
import re
import shlex
from collections.abc import Iterator

import numpy as np

from simkit.annotate.cards.escapes import code, fenced, prose, quoted, spans
from simkit.annotate.cards.subject import Subject
from simkit.labels.cards import paths
from simkit.labels.partial import ABSENT, PRESENT

TABLES = ("parquet", "csv")  # formats that are a table with a row for each known label
SHOWN = 5  # classes at either end
_SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B",
          "1B<n<10B")  # fmt: skip


def card(subject: Subject) -> str:
    """The whole text; equal labels, names and command give equal bytes."""
    machine = paths(subject.files[0])[1].name
    lines = [
        "---", *_front(subject), "---", "",
        f"# {prose(subject.title)}", "", prose(subject.summary()), "",
        "## Data and licence", "", *_data(subject), "",
        "## How the labels were made", "", prose(subject.collection()), "", *_making(subject), "",
        "## Counts", "", *_counts(subject), "",
        "## Questions and cost", "", *_cost(subject), "",
        "## Known biases", "", *_biases(subject), "",
        "## How to load them", "", *_loading(subject), "",
        "## Identity", "", *_identity(subject, machine),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def size_category(rows: int) -> str:
    """The Hub's name for a number of rows."""
    return _SIZES[min(max(len(str(max(rows, 1))) - 3, 0), len(_SIZES) - 1)]


def _front(subject: Subject) -> Iterator[str]:
    terms = subject.terms
    yield f"license: {terms.licence}"
    if terms.licence == "other":
        yield f"license_name: {terms.named}"
        yield f"license_link: {quoted(terms.link)}"
    yield f"pretty_name: {quoted(subject.title)}"
    if terms.title:
        yield from ("language:", "- en")  # of the class names; those of own data may be in any
    yield from ("annotations_creators:", "- machine-generated")
    yield from ("task_categories:", "- image-classification")
    yield from ("task_ids:", "- multi-label-image-classification")
    yield from ("size_categories:", f"- {size_category(subject.labels.codes.nnz)}")
    yield from ("source_datasets:", "- extended")
    partial = ("- partial-labels",) if subject.partial else ()
    yield from ("tags:", "- simkit", *partial, f"- {subject.scheme.name}")
    if subject.form in TABLES:
        yield from ("configs:", "- config_name: default")
        yield f"  data_files: {quoted(glob.escape(subject.files[0].name))}"


def _data(subject: Subject) -> Iterator[str]:
    terms, parents = subject.terms, subject.labels.history.parents
    yield f"- Data set: {prose(subject.of_data)}, split {code(subject.split)}"
    if terms.page:
        yield f"- Its page: <{terms.page}>"
    yield f"- Licence of its labels: {terms.licence}" + (f", <{terms.link}>" if terms.link else "")
    if terms.note:
        yield f"- To heed: {prose(terms.note)}"
    if terms.cite:
        yield f"- To cite: {prose(terms.cite)}"
    if not terms.title:
        yield "- Nothing is known of its owner; what holds for it holds for these labels."
    for what, parent in zip(("truth", "hierarchy"), parents, strict=False):
        yield f"- Content id of its {what}: `{parent}`"
    yield "- No picture is part of these files."


def _making(subject: Subject) -> Iterator[str]:
    scheme, settings = subject.scheme, subject.settings
    yield "| setting | value |"
    yield "| --- | --- |"
    yield f"| scheme | {scheme.name}: {prose(scheme.title)} ({prose(scheme.source)}) |"
    for field in dataclasses.fields(scheme):  # type: ignore[arg-type]
        yield f"| {prose(field.name)} | {prose(json.dumps(getattr(scheme, field.name)))} |"
    yield f"| images | {settings['images']} |"
    yield f"| seed | {subject.labels.history.seed} |"
    yield f"| draw | {settings['draw']} |"
    if settings.get("legacy_rng"):
        yield "| legacy_rng | true |"
    yield ""
    yield f"Annotators: {prose(subject.people())}"
    yield ""
    yield "To make them again:"
    yield ""
    yield fenced("sh", " ".join(map(_word, subject.command)))


def _counts(subject: Subject) -> Iterator[str]:
    labels = subject.labels
    (N, L), counts = labels.shape, labels.counts()
    yield "| | number | share |"
    yield "| --- | ---: | ---: |"
    for name, count in counts.items():
        yield f"| {name} | {count:,} | {count / (N * L):.2%} |"
    yield f"| images | {N:,} | |"
    yield f"| images asked about | {int(labels.asked.sum()):,} | |"
    yield f"| classes | {L:,} | |"
    present, absent = labels.per_class(PRESENT), labels.per_class(ABSENT)
    order = np.argsort(-present, kind="stable")
    ends = order if L <= 2 * SHOWN else np.concatenate([order[:SHOWN], order[-SHOWN:]])
    yield ""
    if L <= 2 * SHOWN:
        yield "Classes by the number of their present labels:"
    else:
        yield f"The {SHOWN} classes with most present labels and the {SHOWN} with fewest:"
    yield ""
    yield "| class | present | absent | unknown |"
    yield "| --- | ---: | ---: | ---: |"
    for c in ends:
        known = int(present[c]), int(absent[c])
        yield f"| {prose(labels.classes[c])} | {known[0]:,} | {known[1]:,} | {N - sum(known):,} |"
    yield ""
    yield f"Classes without any present label: {int((present == 0).sum()):,} of {L:,}."


def _cost(subject: Subject) -> Iterator[str]:
    bill = subject.bill
    yield f"At {prose(bill.prices)} prices, {bill.workers} people for each question:"
    yield ""
    yield "| question | asked | hours | dollars |"
    yield "| --- | ---: | ---: | ---: |"
    for line in bill.lines:
        asked = f"{line.questions:,}" if line.questions else ""
        yield f"| {line.kind} | {asked} | {_hours(line.seconds)} | {line.dollars:,.2f} |"
    yield f"| total | | {_hours(bill.seconds)} | {bill.dollars:,.2f} |"
    if bill.dropped:
        yield ""
        yield f"{bill.dropped:,} answers were paid for and are not among the labels."


def _hours(seconds: float | None) -> str:
    return "unknown" if seconds is None else f"{seconds / 3600:,.2f}"


def _biases(subject: Subject) -> Iterator[str]:
    for text in subject.biases() + subject.limits():  # of these the caution holds no outside names
        yield f"- {spans(text) if text == subject.caution else prose(text)}"


def _loading(subject: Subject) -> Iterator[str]:
    name = json.dumps(subject.files[0].name, ensure_ascii=False)
    lines = [
        "from simkit.labels import formats",
        "",
        f"labels = formats.make({json.dumps(subject.form)}).read({name})",
    ]
    if subject.form in TABLES:
        read = f"table = pandas.read_{subject.form}({name})  # image_id, class, state: 1 or -1"
        lines = ["import pandas", "", read, "", *lines]
    yield fenced("python", "\n".join(lines))
    if subject.form in TABLES:
        yield ""
        yield "The table has a row for each known label; what has no row is unknown."


def _identity(subject: Subject, machine: str) -> Iterator[str]:
    labels = subject.labels
    yield f"- Content id of the labels: `{labels.id}`"
    made = ", ".join(f"{name} {version}" for name, version in labels.history.versions.items())
    yield f"- Made with {made}"
    yield f"- For machines: {code(machine)} (Croissant 1.0, with the file's SHA-256)"
    yield (
        "- Before publishing, add the day as `datePublished` to it: a simulation that gives the "
        "same bytes again has no clock (the environment variable SOURCE_DATE_EPOCH sets it)"
    )


def _word(word: str) -> str:
    """As a shell takes it, in double quotes where those of a scheme's settings are single."""
    if "'" in word and not set(word) & set("!$`\n"):
        return '"' + re.sub(r'(["\\])', r"\\\1", word) + '"'
    return shlex.quote(word)
