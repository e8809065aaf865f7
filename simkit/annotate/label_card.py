"""Data sheets of simulated labels: a Markdown card to read and a Croissant one for machines.

The card has the front matter of a dataset card on the Hugging Face Hub (huggingface.co/docs/hub,
datasets-cards; datasetcard.md of huggingface/hub-docs); the other is Croissant 1.0 with its
vocabulary for responsible AI, as JSON-LD (mlcommons.org/croissant/1.0 and RAI/1.0, 2024).
"""

from __future__ import annotations

import dataclasses
import glob
import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from simkit.annotate import schemes
from simkit.annotate.annotators import Habits
from simkit.annotate.prices import Cost
from simkit.annotate.schemes import Scheme
from simkit.data.dataset import Terms
from simkit.errors import BadInput
from simkit.files import AnyPath, file_digest, whole
from simkit.labels.effort import QUESTIONS
from simkit.labels.partial import ABSENT, PRESENT, PartialLabels

TABLES = ("parquet", "csv")  # formats that are a table with a row for each known label
SHOWN = 5  # classes at either end
_SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B",
          "1B<n<10B")  # fmt: skip
# As the reference reader of Croissant calls them; IANA has no other name for parquet in use there.
_ENCODINGS = {
    ".parquet": "application/x-parquet", ".pq": "application/x-parquet", ".csv": "text/csv",
    ".json": "application/json", ".npz": "application/zip",
}  # fmt: skip
# A backslash before any of these is none of the text; "_" inside a word is a plain letter, and "#"
# means something at the end of a heading.
_MARKS = re.compile(r"[\\`*<&|~$]|(?<![^\W_])_|_(?![^\W_])|(?<=\])[(\[]|(?<![^ ])#(?=#*$)")


@dataclass(frozen=True, eq=False)
class DataSheet:
    """Simulated labels with the facts of their card.

    Attributes
    ----------
    labels : PartialLabels
    files : tuple of Path
        The written files of the labels; the card is named after the first.
    form, lost : str, tuple of str
        Name of their format, and what the format cannot hold, a sentence each.
    data, split, terms : str, str, Terms
        The data set, the labelled split, and the licence of the data.
    bill : Cost
        Cost of the questions.
    wrong : mapping of str to int
        Number of present and of absent labels that contradict the truth.
    command : tuple of str
        Words of the shell command that makes the labels again.
    """

    labels: PartialLabels
    files: tuple[Path, ...]
    form: str
    lost: tuple[str, ...]
    data: str
    split: str
    terms: Terms
    bill: Cost
    wrong: Mapping[str, int]
    command: tuple[str, ...]

    @cached_property
    def scheme(self) -> Scheme:
        """The scheme with its settings."""
        return schemes.make(self.labels.history.settings["scheme"])

    @property
    def of_data(self) -> str:
        """The title of the data set, or its name in simkit."""
        return self.terms.title or self.data

    @property
    def partial(self) -> bool:
        """Whether any label is unknown."""
        return self.labels.counts()["unknown"] > 0

    @property
    def title(self) -> str:
        kind = "Partial labels" if self.partial else "Labels"
        return f"{kind} of {self.of_data}, simulated: {self.scheme.title}"

    def summary(self) -> str:
        """The data, the scheme and the counts of the labels."""
        (N, L), counts = self.labels.shape, self.labels.counts()
        known = counts["present"] + counts["absent"]
        unknown = f"the other {counts['unknown']:,} are unknown, which is not absent"
        return (
            f"Simulated {'partial ' * self.partial}annotation of {self.of_data} ({self.split}, "
            f"{N:,} images x {L:,} classes). A simulated crowd was asked about "
            f"{int(self.labels.asked.sum()):,} of the images by the scheme {self.scheme.name}. "
            f"{known:,} labels are known ({known / (N * L):.2%}), {counts['present']:,} present "
            f"and {counts['absent']:,} absent; {unknown if self.partial else 'none is unknown'}."
        )

    def collection(self) -> str:
        """The origin of the questions and answers."""
        legacy = self.labels.history.settings.get("legacy_rng")
        made = "the published simulator's arrays" if legacy else "simkit"
        text = (
            f"No person was asked: {made} drew the questions of the scheme {self.scheme.name} "
            f"({self.scheme.source}), and simulated people answered from the labels of "
            f"{self.of_data}, which are taken for the truth."
        )
        if self.scheme.by_model:
            people = self.labels.effort.count("verify")
            text += (
                f" They answered {people:,} questions; the scores of a model gave the other "
                f"{self.labels.codes.nnz - people:,} labels."
            )
        return text

    def people(self) -> str:
        """The annotator model."""
        model, bill = Habits(**self.labels.history.settings["habits"]), self.bill
        agreed = f", on which the {bill.workers} people paid for it agree" * (bill.workers > 1)
        answering = f"one answer to each question{agreed}"
        if model.workers is not None:
            answering = (
                f"{model.workers} answers to each question, a class taken for present by at "
                f"least {model.needed} of them"
            )
        contradict = (
            f" {self.wrong['present']:,} present and {self.wrong['absent']:,} absent labels "
            "contradict the truth."
        )
        contradict *= any(self.wrong.values()) or not model.perfect
        return f"Simulated people who {model.errors}; {answering}.{contradict}"

    def biases(self) -> list[str]:
        """Biases of the labels; the first may be Markdown (the caution of the scheme)."""
        complete = "Every label is known, so that the scheme decided about the cost alone."
        texts = [
            getattr(self.scheme, "caution", "") if self.partial else complete,
            "Wrong answers are among the labels." * any(self.wrong.values()),
            f"Errors in the labels of {self.of_data} are errors here too: simulated people answer "
            "from them.",
        ]
        return [text for text in texts if text]

    def limits(self) -> list[str]:
        """Limits of the simulation and of the file."""
        people = "People err as the settings say; real ones err in other ways as well."
        if Habits(**self.labels.history.settings["habits"]).perfect:
            people = "People who never err are an assumption; real ones do."
        return [people, *(f"The file does not hold {lost}." for lost in self.lost)]


def write(sheet: DataSheet) -> tuple[Path, Path]:
    """Write the Markdown card and the Croissant one beside the labels, whole or not at all.

    Existing cards are replaced. Raises BadInput where they cannot be written.
    """
    markdown, machine = paths(sheet.files[0])
    texts = card(sheet), croissant(sheet, markdown.name)
    with whole(markdown) as first, whole(machine) as second:
        for path, text in zip((first, second), texts, strict=True):
            path.write_bytes(text.encode("utf-8", "backslashreplace"))  # names may be no UTF-8
    return markdown, machine


# -- files ----------------------------------------------------------------------------------------


def paths(file: AnyPath) -> tuple[Path, Path]:
    """For labels in `fpc.parquet`: `fpc.card.md`, to read, and `fpc.croissant.json`, for machines.

    They are beside the file, whether they exist or not.
    """
    labels = Path(file)
    names = f"{labels.stem}.card.md", f"{labels.stem}.croissant.json"
    return labels.with_name(names[0]), labels.with_name(names[1])


def about(file: AnyPath, content_id: str) -> tuple[Path, ...]:
    """The existing cards beside `file` that name these labels by their content id."""
    cards = (path for path in paths(file) if path.is_file())
    return tuple(path for path in cards if content_id in path.read_text("utf-8", "replace"))


def own(file: AnyPath) -> tuple[Path, ...]:
    """The existing cards beside `file` that name it: about labels that it holds, or held.

    Both cards write the name as a JSON string.
    """
    name = quoted(Path(file).name)
    return about(file, name.encode("utf-8", "backslashreplace").decode())  # may be no UTF-8


def check_free(file: AnyPath, content_id: str) -> None:
    """Raise BadInput if another file has the name of a card.

    Cards of this file, and of the same labels in another format, may be replaced.
    """
    cards = {*own(file), *about(file, content_id)}
    for path in paths(file):
        if path.is_file() and path not in cards:
            beside = (each for each in path.parent.iterdir() if each.stem == Path(file).stem)
            other = next((each.name for each in sorted(beside) if path in own(each)), "")
            what = f"describes {other}, which has other labels" if other else "is no card of it"
            raise BadInput(
                f"{Path(file).name} would have the card {path}, which is there and {what}; "
                "give --out another name, or leave cards away with --no-card"
            )


# -- Markdown -------------------------------------------------------------------------------------


def card(sheet: DataSheet) -> str:
    """The whole text; equal labels, names and command give equal bytes."""
    labels, bill = sheet.labels, sheet.bill
    N, L = labels.shape
    numbers = {"images": N, "images asked about": int(labels.asked.sum()), "classes": L}
    counts = [
        *((name, f"{n:,}", f"{n / (N * L):.2%}") for name, n in labels.counts().items()),
        *((name, f"{n:,}", "") for name, n in numbers.items()),
    ]
    ends = f": the {SHOWN} with most and the {SHOWN} with fewest" * (L > 2 * SHOWN)
    missing = int((labels.per_class(PRESENT) == 0).sum())
    # A scheme's caution is Markdown already; all other texts may hold names with marks.
    caution = getattr(sheet.scheme, "caution", "")
    biases = (line(text) if text == caution else prose(text) for text in sheet.biases())
    versions = ", ".join(f"{name} {v}" for name, v in labels.history.versions.items())
    name = quoted(sheet.files[0].name)
    loading = ["from simkit.labels import formats",
               f"labels = formats.make({json.dumps(sheet.form)}).read({name})"]  # fmt: skip
    if sheet.form in TABLES:
        read = f"table = pandas.read_{sheet.form}({name})  # image_id, class, state: 1 or -1"
        loading = ["import pandas", read, *loading]
    paragraphs = [
        "\n".join(_front_matter(sheet)) + f"\n\n# {prose(sheet.title)}",
        prose(sheet.summary()),
        "## Data and licence",
        "\n".join(_data(sheet)),
        "## How the labels were made",
        prose(sheet.collection()),
        _table("| setting | value |", _settings(sheet), "---"),
        f"Annotators: {prose(sheet.people())}",
        "To make them again:",
        f"```sh\n{' '.join(map(_word, sheet.command))}\n```",
        "## Counts",
        _table("| | number | share |", counts),
        f"Classes by the number of their present labels{ends}:",
        _table("| class | present | absent | unknown |", _classes(labels)),
        f"Classes without any present label: {missing:,} of {L:,}.",
        "## Questions and cost",
        f"At {prose(bill.prices)} prices, {bill.people}:",
        _table("| question | asked | hours | dollars |", bill.rows()),
        f"{bill.dropped:,} answers were paid for and are not among the labels.",
        "## Known biases",
        "\n".join(f"- {text}" for text in (*biases, *map(prose, sheet.limits()))),
        "## How to load them",
        "\n".join(["```python", *loading, "```"]),
        "A pair of image and class without a label is unknown.",
        "## Identity",
        f"- Content id of the labels: `{labels.id}`\n- Made with {versions}\n- For machines: "
        f"`{line(paths(sheet.files[0])[1].name)}` (Croissant 1.0; add `datePublished` before "
        "publishing)\n",
    ]
    return "\n\n".join(paragraphs)


def size_category(rows: int) -> str:
    """The Hub's name for a number of rows."""
    return _SIZES[min(max(len(str(max(rows, 1))) - 3, 0), len(_SIZES) - 1)]


def _front_matter(sheet: DataSheet) -> Iterator[str]:
    tags = ["simkit", *["partial-labels"] * sheet.partial, sheet.scheme.name]
    yield from ("---", f"license: {sheet.terms.licence}", f"pretty_name: {quoted(sheet.title)}")
    yield "annotations_creators: [machine-generated]"
    yield "task_categories: [image-classification]"
    yield "task_ids: [multi-label-image-classification]"
    yield f"size_categories: [{size_category(sheet.labels.codes.nnz)}]"
    yield "source_datasets: [extended]"
    yield f"tags: [{', '.join(tags)}]"
    if sheet.terms.licence == "other":
        yield f"license_name: {sheet.terms.named}"
        yield f"license_link: {quoted(sheet.terms.link)}"
    if sheet.terms.title:
        yield "language: [en]"  # of the class names; own data's may be any
    if sheet.form in TABLES:
        yield from ("configs:", "- config_name: default")
        yield f"  data_files: {quoted(glob.escape(sheet.files[0].name))}"
    yield "---"


def _data(sheet: DataSheet) -> Iterator[str]:
    terms, parents = sheet.terms, sheet.labels.history.parents
    yield f"- Data set: {prose(sheet.of_data)}, split `{line(sheet.split)}`"
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
    yield "- These files hold no images."


def _settings(sheet: DataSheet) -> Iterator[tuple[str, Any]]:
    scheme, settings = sheet.scheme, sheet.labels.history.settings
    yield "scheme", f"{scheme.name}: {prose(scheme.title)} ({prose(scheme.source)})"
    for field in dataclasses.fields(scheme):  # type: ignore[arg-type]
        yield prose(field.name), prose(json.dumps(getattr(scheme, field.name)))
    yield "images", settings["images"]
    yield "seed", sheet.labels.history.seed
    yield "draw", settings["draw"]
    if settings.get("legacy_rng"):
        yield "legacy_rng", "true"


def _classes(labels: PartialLabels) -> Iterator[tuple[str, ...]]:
    """Name and numbers of the classes with most and with fewest present labels."""
    present, absent = labels.per_class(PRESENT), labels.per_class(ABSENT)
    order = np.argsort(-present, kind="stable")
    if len(order) > 2 * SHOWN:
        order = np.concatenate([order[:SHOWN], order[-SHOWN:]])
    for c in order:
        numbers = present[c], absent[c], labels.shape[0] - present[c] - absent[c]
        yield prose(labels.classes[c]), *(f"{number:,}" for number in numbers)


def _table(head: str, rows: Iterable[tuple[Any, ...]], align: str = "---:") -> str:
    """A table; `align` is that of all columns after the first."""
    rule = f"| --- |{f' {align} |' * (head.count('|') - 2)}"
    return "\n".join([head, rule, *(f"| {' | '.join(map(str, row))} |" for row in rows)])


def _word(word: str) -> str:
    """A word quoted for a shell; in double quotes if it has single ones, as settings may have."""
    if "'" in word and not set(word) & set("!$`\n"):
        return '"' + re.sub(r'(["\\])', r"\\\1", word) + '"'
    return shlex.quote(word)


# -- any text, spelled so that a reader of Markdown (github.github.com/gfm) gets it back ----------


def line(text: str) -> str:
    """On one line, white space as single blanks."""
    return " ".join(text.split())


def prose(text: str) -> str:
    """Markdown inside a line: of a sentence, a heading behind its #, a list item, a cell."""
    return _MARKS.sub(lambda mark: "\\" + mark.group(), line(text))


def quoted(text: str) -> str:
    """A YAML string in double quotes, which JSON's is as well."""
    return json.dumps(text, ensure_ascii=False)


# -- Croissant ------------------------------------------------------------------------------------


def croissant(sheet: DataSheet, card: str) -> str:
    """JSON text; `card`, the name of the Markdown card beside it, is the page of the labels.

    Equal files, names and command give equal bytes. As there is no clock, `datePublished`, which
    the specification wants, is added by who publishes it.
    """
    labels, terms, effort = sheet.labels, sheet.terms, sheet.labels.effort
    unstated = {"@type": "sc:CreativeWork", "name": f"not stated; that of {sheet.of_data} holds"}
    cite = f" Data: {terms.cite}." if terms.cite else ""
    unknown = f"{labels.counts()['unknown']:,} labels are unknown: nobody was asked, or the answer "
    # With the context that the specification recommends (its appendix 1), and RAI's prefix.
    template = json.loads(files("simkit.annotate").joinpath("croissant.json").read_text("utf-8"))
    value: dict[str, Any] = {
        **template["dataset"],
        "name": f"{sheet.files[0].stem}-{labels.id}",
        "description": sheet.summary(),
        "license": terms.link or unstated,
        "url": quote(os.fsencode(card)),
        "creator": {"@type": "sc:Organization", "name": "simkit, with simulated annotators"},
        "version": "1.0.0",
        "keywords": ["multi-label classification", sheet.scheme.name],
        "citeAs": f"Scheme: {sheet.scheme.source}.{cite}",
        "identifier": labels.id,
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": f"labels-file-{place}",
                "name": path.name,
                "contentUrl": quote(os.fsencode(path.name)),
                "contentSize": f"{path.stat().st_size} B",
                "encodingFormat": _ENCODINGS.get(path.suffix.lower(), "application/octet-stream"),
                "sha256": file_digest(path),
            }
            for place, path in enumerate(sheet.files, 1)
        ],
        "rai:dataCollection": sheet.collection(),
        "rai:dataCollectionMissingData": (
            f"{unknown}was not kept." if sheet.partial else "No label is missing."
        ),
        "rai:dataAnnotationProtocol": [
            f"{kind}: {QUESTIONS[kind]} ({effort.count(kind):,})" for kind in effort.kinds()
        ],
        "rai:annotatorDemographics": [f"None. {sheet.people()}"],
        "rai:dataBiases": sheet.biases(),
        "rai:dataLimitations": sheet.limits(),
    }
    if sheet.partial:
        value["keywords"].append("partial labels")
    if terms.page:
        value["isBasedOn"] = terms.page
    if sheet.form in TABLES:
        # The table of the labels, and the names of all classes, of those without a label too.
        table, classes = value["recordSet"] = template["recordSet"]
        if labels.images.dtype.kind in "iu":
            table["field"][0]["dataType"] = "sc:Integer"
        classes["data"] = [{"classes/name": name} for name in labels.classes]
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"
