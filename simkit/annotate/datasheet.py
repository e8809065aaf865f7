"""Data sheets of simulated labels: a Markdown card to read and a Croissant one for machines.

The card has the front matter of a dataset card on the Hugging Face Hub (huggingface.co/docs/hub,
datasets-cards; datasetcard.md of huggingface/hub-docs); the other is Croissant 1.0 with its
vocabulary for responsible AI, as JSON-LD (mlcommons.org/croissant/1.0 and RAI/1.0, 2024).
"""

from __future__ import annotations

import dataclasses
import glob
import hashlib
import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from simkit.annotate import schemes
from simkit.annotate.annotators import BY_CLASS, Habits
from simkit.annotate.prices import Cost
from simkit.annotate.schemes import Scheme
from simkit.data.dataset import Terms
from simkit.errors import BadInput
from simkit.files import whole
from simkit.labels.effort import QUESTIONS
from simkit.labels.partial import ABSENT, PRESENT, PartialLabels

TABLES = ("parquet", "csv")  # formats that are a table with a row for each known label
SHOWN = 5  # classes at either end
CONFORMS = "http://mlcommons.org/croissant/1.0"
# The context that the specification recommends (its appendix 1), and RAI's prefix.
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    **{
        name: f"cr:{name}"
        for name in (
            "citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty",
            "fileObject", "fileSet", "format", "includes", "isLiveDataset", "jsonPath", "key",
            "md5", "parentField", "path", "recordSet", "references", "regex", "repeated",
            "replace", "samplingRate", "separator", "source", "subField", "transform",
        )
    },
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
}  # fmt: skip
_SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B",
          "1B<n<10B")  # fmt: skip
# As the reference reader of Croissant calls them; IANA has no other name for parquet in use there.
_ENCODINGS = {
    ".parquet": "application/x-parquet", ".pq": "application/x-parquet", ".csv": "text/csv",
    ".json": "application/json", ".npz": "application/zip",
}  # fmt: skip
_FILE = "labels-file"
_MOST_BYTES = 1 << 26  # of a card, looked through
# A backslash before any of these is none of the text; "_" inside a word is a plain letter, and "#"
# means something at the end of a heading.
_MARKS = re.compile(r"[\\`*<&|~$]|(?<![^\W_])_|_(?![^\W_])|(?<=\])[(\[]|(?<![^ ])#(?=#*$)")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


@dataclass(frozen=True, eq=False)
class DataSheet:
    """Labels that `simulate` made, the files they are in, and what they were made of.

    files    those of the labels, already written; the first one gives the card its name.
    form     the name of their format;  lost  what it does not hold of them, a sentence each.
    data     the name of the data set;  split  the part of it;  terms  what its owners say.
    bill     what the questions cost;  wrong  labels that contradict the truth, present and absent.
    command  the words of a shell command that makes the labels again.
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

    def __post_init__(self) -> None:
        if self.labels.history.command != "simulate":
            raise BadInput(
                f"these labels are of {self.labels.history.command!r}, and a card tells of a "
                "simulation; describe labels that `simkit simulate` made"
            )

    @property
    def settings(self) -> Mapping[str, Any]:
        """Those of the simulation, from the labels' history."""
        return self.labels.history.settings

    @cached_property
    def scheme(self) -> Scheme:
        """The scheme with its settings."""
        return schemes.make(self.settings["scheme"])

    @property
    def of_data(self) -> str:
        """The data set as its owners call it, or its name here."""
        return self.terms.title or self.data

    @property
    def partial(self) -> bool:
        """Whether anything is unknown."""
        return self.labels.counts()["unknown"] > 0

    @property
    def caution(self) -> str:
        """What the scheme's labels misrepresent, in its own words with `code`; "" of none."""
        return str(getattr(self.scheme, "caution", ""))

    @property
    def title(self) -> str:
        """A few words."""
        kind = "Partial labels" if self.partial else "Labels"
        return f"{kind} of {self.of_data}, simulated: {self.scheme.title}"

    def summary(self) -> str:
        """What it is, with the counts."""
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
        """How the labels came about."""
        made = "the published simulator's arrays" if self.settings.get("legacy_rng") else "simkit"
        return (
            f"No person was asked: {made} drew the questions of the scheme {self.scheme.name} "
            f"({self.scheme.source}), and simulated people answered from the labels of "
            f"{self.of_data}, which are taken for the truth. Seed {self.labels.history.seed}, draw "
            f"{self.settings['draw']}."
        )

    def people(self) -> str:
        """Who annotated."""
        habits, bill = Habits(**self.settings["habits"]), self.bill
        if habits.workers is not None:
            answering = (
                f"{habits.workers} answers to each question, a class taken for present by at "
                f"least {habits.needed} of them"
            )
        else:
            agreed = f", on which the {bill.workers} people paid for it agree"
            answering = f"one answer to each question{agreed * (bill.workers > 1)}"
        if habits.perfect:
            return f"Simulated people who never err; {answering}."
        names = [*BY_CLASS, *(["unsure_yes"] * bool(habits.unsure_present or habits.unsure_absent))]
        rates = [
            f"{name} {_spread(getattr(habits, name))}" for name in names if getattr(habits, name)
        ]
        pool = f"; a pool of {habits.people} people who differ" if habits.people else ""
        return (
            f"Simulated people who err ({', '.join(rates)}{pool}); {answering}. "
            f"{self.wrong['present']:,} present and {self.wrong['absent']:,} absent labels "
            "contradict the truth."
        )

    def questions(self) -> list[str]:
        """Each kind of question that was asked, with its number."""
        effort = self.labels.effort
        return [f"{kind}: {QUESTIONS[kind]} ({effort.count(kind):,})" for kind in effort.kinds()]

    def biases(self) -> list[str]:
        """What these labels misrepresent."""
        complete = "Every label is known, so that the scheme decided about the cost alone."
        erring = "People erred as said above; their errors are among the labels."
        texts = [
            self.caution if self.partial else complete,
            erring if any(self.wrong.values()) else "",
            f"What is wrong in the labels of {self.of_data} is wrong here too: simulated people "
            "answer from them.",
        ]
        return [text for text in texts if text]

    def limits(self) -> list[str]:
        """What these labels, or the file, cannot tell."""
        perfect = Habits(**self.settings["habits"]).perfect
        people = (
            "People who never err are an assumption; real ones do."
            if perfect
            else "People err as the settings say; real ones err in other ways as well."
        )
        return [people, *(f"The file does not hold {lost}." for lost in self.lost)]


def write(sheet: DataSheet) -> tuple[Path, Path]:
    """Write the Markdown card and the Croissant one beside the labels, whole or not at all.

    What stands there is replaced. Raises BadInput where they cannot be written.
    """
    markdown, machine = paths(sheet.files[0])
    texts = card(sheet), croissant(sheet, markdown.name)
    with whole(markdown) as first, whole(machine) as second:
        for path, text in zip((first, second), texts, strict=True):
            path.write_bytes(text.encode("utf-8", "backslashreplace"))  # names may be no UTF-8
    return markdown, machine


def _spread(value: Any) -> str:
    if isinstance(value, tuple):
        return f"{min(value):.3g} to {max(value):.3g} by class"
    return f"{value:.3g}"


# -- files ----------------------------------------------------------------------------------------


def paths(file: str | PathLike[str]) -> tuple[Path, Path]:
    """For labels in `fpc.parquet`: `fpc.card.md`, to read, and `fpc.croissant.json`, for machines.

    They are beside the file, there or not.
    """
    labels = Path(file)
    return tuple(labels.with_name(labels.stem + end) for end in (".card.md", ".croissant.json"))  # type: ignore[return-value]


def about(file: str | PathLike[str], content_id: str) -> tuple[Path, ...]:
    """The cards beside `file` that are there and name these labels by their content id."""
    return tuple(path for path in paths(file) if content_id in _text(path))


def own(file: str | PathLike[str]) -> dict[Path, str]:
    """The cards beside `file` that name it, with their texts: about labels that it holds, or held.

    Both cards write the name as a JSON string.
    """
    texts = {path: _text(path) for path in paths(file)}
    return {path: text for path, text in texts.items() if _name(file) in text}


def check_free(file: str | PathLike[str], content_id: str) -> None:
    """Raise BadInput where the place of a card is taken by what is neither a card of this file nor
    of the same labels in another form."""
    for path in paths(file):
        if not path.is_file():
            continue
        text = _text(path)
        if _name(file) not in text and content_id not in text:
            raise BadInput(
                f"{path} is there and is no card of {Path(file).name}; move it away, give --out "
                "another name, or leave cards away with --no-card"
            )


def _name(file: str | PathLike[str]) -> str:
    quoted = json.dumps(Path(file).name, ensure_ascii=False)
    return quoted.encode("utf-8", "backslashreplace").decode()  # names may be no UTF-8


def _text(path: Path) -> str:
    """Empty where nothing is, or a folder."""
    try:
        with path.open("rb") as stream:
            return stream.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


# -- Markdown -----------------------------------------------------------------------------------


def card(sheet: DataSheet) -> str:
    """The whole text; equal labels, names and command give equal bytes."""
    lines = [
        "---",
        *_front(sheet),
        "---",
        "",
        f"# {prose(sheet.title)}",
        "",
        prose(sheet.summary()),
    ]
    for heading, part in (
        ("Data and licence", _data(sheet)),
        ("How the labels were made", _making(sheet)),
        ("Counts", _counts(sheet)),
        ("Questions and cost", _cost(sheet)),
        ("Known biases", _biases(sheet)),
        ("How to load them", _loading(sheet)),
        ("Identity", _identity(sheet)),
    ):
        lines += ["", f"## {heading}", "", *part]
    return "\n".join(lines) + "\n"


def size_category(rows: int) -> str:
    """The Hub's name for a number of rows."""
    return _SIZES[min(max(len(str(max(rows, 1))) - 3, 0), len(_SIZES) - 1)]


def _front(sheet: DataSheet) -> Iterator[str]:
    terms = sheet.terms
    yield f"license: {terms.licence}"
    if terms.licence == "other":
        yield f"license_name: {terms.named}"
        yield f"license_link: {quoted(terms.link)}"
    yield f"pretty_name: {quoted(sheet.title)}"
    lists = {
        "language": ["en"] if terms.title else [],  # of the class names; own data's may be any
        "annotations_creators": ["machine-generated"],
        "task_categories": ["image-classification"],
        "task_ids": ["multi-label-image-classification"],
        "size_categories": [size_category(sheet.labels.codes.nnz)],
        "source_datasets": ["extended"],
        "tags": ["simkit", *["partial-labels"] * sheet.partial, sheet.scheme.name],
    }
    for key, values in lists.items():
        if values:
            yield f"{key}:"
            yield from (f"- {value}" for value in values)
    if sheet.form in TABLES:
        yield from ("configs:", "- config_name: default")
        yield f"  data_files: {quoted(glob.escape(sheet.files[0].name))}"


def _data(sheet: DataSheet) -> Iterator[str]:
    terms, parents = sheet.terms, sheet.labels.history.parents
    yield f"- Data set: {prose(sheet.of_data)}, split {code(sheet.split)}"
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


def _making(sheet: DataSheet) -> Iterator[str]:
    scheme, settings = sheet.scheme, sheet.settings
    fields = dataclasses.fields(scheme)  # type: ignore[arg-type]
    rows = [
        ("scheme", f"{scheme.name}: {prose(scheme.title)} ({prose(scheme.source)})"),
        *((prose(f.name), prose(json.dumps(getattr(scheme, f.name)))) for f in fields),
        ("images", settings["images"]),
        ("seed", sheet.labels.history.seed),
        ("draw", settings["draw"]),
        *([("legacy_rng", "true")] if settings.get("legacy_rng") else []),
    ]
    yield from (prose(sheet.collection()), "")
    yield from _table("| setting | value |\n| --- | --- |", rows)
    yield from ("", f"Annotators: {prose(sheet.people())}", "", "To make them again:", "")
    yield fenced("sh", " ".join(map(_word, sheet.command)))


def _counts(sheet: DataSheet) -> Iterator[str]:
    labels = sheet.labels
    N, L = labels.shape
    numbers = {"images": N, "images asked about": int(labels.asked.sum()), "classes": L}
    yield from _table(
        "| | number | share |\n| --- | ---: | ---: |",
        [(name, f"{n:,}", f"{n / (N * L):.2%}") for name, n in labels.counts().items()],
    )
    yield from (f"| {name} | {number:,} | |" for name, number in numbers.items())
    present, absent = labels.per_class(PRESENT), labels.per_class(ABSENT)
    order = np.argsort(-present, kind="stable")
    few = L <= 2 * SHOWN
    ends = order if few else np.concatenate([order[:SHOWN], order[-SHOWN:]])
    some = f"The {SHOWN} classes with most present labels and the {SHOWN} with fewest:"
    yield from ("", "Classes by the number of their present labels:" if few else some, "")
    rows = []
    for c in ends:
        yes, no = int(present[c]), int(absent[c])
        rows.append((prose(labels.classes[c]), f"{yes:,}", f"{no:,}", f"{N - yes - no:,}"))
    head = "| class | present | absent | unknown |\n| --- | ---: | ---: | ---: |"
    yield from _table(head, rows)
    missing = int((present == 0).sum())
    yield from ("", f"Classes without any present label: {missing:,} of {L:,}.")


def _cost(sheet: DataSheet) -> Iterator[str]:
    bill = sheet.bill
    yield f"At {prose(bill.prices)} prices, {bill.workers} people for each question:"
    yield ""
    rows = [
        (line.kind, f"{line.questions:,}" * bool(line.questions), line.seconds, line.dollars)
        for line in bill.lines
    ]
    yield "| question | asked | hours | dollars |"
    yield "| --- | ---: | ---: | ---: |"
    for kind, asked, seconds, dollars in (*rows, ("total", "", bill.seconds, bill.dollars)):
        hours = "unknown" if seconds is None else f"{seconds / 3600:,.2f}"
        yield f"| {kind} | {asked}{' ' * bool(asked)}| {hours} | {dollars:,.2f} |"
    if bill.dropped:
        yield from ("", f"{bill.dropped:,} answers were paid for and are not among the labels.")


def _biases(sheet: DataSheet) -> Iterator[str]:
    for text in sheet.biases() + sheet.limits():  # of these the caution holds no outside names
        yield f"- {spans(text) if text == sheet.caution else prose(text)}"


def _loading(sheet: DataSheet) -> Iterator[str]:
    name = json.dumps(sheet.files[0].name, ensure_ascii=False)
    lines = [
        "from simkit.labels import formats",
        "",
        f"labels = formats.make({json.dumps(sheet.form)}).read({name})",
    ]
    if sheet.form in TABLES:
        read = f"table = pandas.read_{sheet.form}({name})  # image_id, class, state: 1 or -1"
        lines = ["import pandas", "", read, "", *lines]
    yield fenced("python", "\n".join(lines))
    if sheet.form in TABLES:
        yield from ("", "The table has a row for each known label; what has no row is unknown.")


def _identity(sheet: DataSheet) -> Iterator[str]:
    labels, machine = sheet.labels, paths(sheet.files[0])[1].name
    yield f"- Content id of the labels: `{labels.id}`"
    made = ", ".join(f"{name} {version}" for name, version in labels.history.versions.items())
    yield f"- Made with {made}"
    yield f"- For machines: {code(machine)} (Croissant 1.0, with the file's SHA-256)"
    yield (
        "- Before publishing, add the day as `datePublished` to it: a simulation that gives the "
        "same bytes again has no clock (the environment variable SOURCE_DATE_EPOCH sets it)"
    )


def _table(head: str, rows: Iterable[tuple[Any, ...]]) -> Iterator[str]:
    yield head
    yield from (f"| {' | '.join(map(str, row))} |" for row in rows)


def _word(word: str) -> str:
    """As a shell takes it, in double quotes where those of a scheme's settings are single."""
    if "'" in word and not set(word) & set("!$`\n"):
        return '"' + re.sub(r'(["\\])', r"\\\1", word) + '"'
    return shlex.quote(word)


# -- any text, spelled so that a reader of Markdown (github.github.com/gfm) gets it back ----------


def line(text: str) -> str:
    """On one line, white space as single blanks."""
    return " ".join(text.split())


def prose(text: str) -> str:
    """Markdown inside a line: of a sentence, a heading behind its #, a list item, a cell."""
    return _escaped(line(text))


def spans(text: str) -> str:
    """Markdown of a sentence of our own: what stands between two ` is a code span."""
    pieces = re.split("(`[^`]+`)", line(text))
    return "".join(piece if n % 2 else _escaped(piece) for n, piece in enumerate(pieces))


def _escaped(line: str) -> str:
    return _MARKS.sub(lambda mark: "\\" + mark.group(), line)


def read(prose: str) -> str:
    """The line of text that `prose` spelled so."""
    return _ESCAPED.sub(r"\1", prose)


def code(text: str) -> str:
    """Markdown of a code span; not for a table, where a code span may hold no |."""
    inside, ticks = line(text), "`" * (_longest(text) + 1)
    blank = " " if inside.startswith("`") or inside.endswith("`") else ""
    return f"{ticks}{blank}{inside}{blank}{ticks}"


def fenced(kind: str, text: str) -> str:
    """Markdown of a block of code, as it is."""
    ticks = "`" * max(3, _longest(text) + 1)
    return f"{ticks}{kind}\n{text}\n{ticks}"


def quoted(text: str) -> str:
    """A YAML string in double quotes; JSON's is one, but for letters that YAML wants escaped."""
    return re.sub(
        r"[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]",
        lambda odd: f"\\u{ord(odd.group()):04x}",
        json.dumps(text, ensure_ascii=False),
    )


def _longest(text: str) -> int:
    """Backticks in a row."""
    return max(map(len, re.findall("`+", text)), default=0)


# -- Croissant ------------------------------------------------------------------------------------


def croissant(sheet: DataSheet, card: str) -> str:
    """JSON text; `card`, the name of the Markdown card beside it, is the page of the labels.

    Equal files, names and command give equal bytes. There is no clock: `datePublished`, which the
    specification wants, is there where SOURCE_DATE_EPOCH says the day (in seconds since 1970).
    """
    labels, terms = sheet.labels, sheet.terms
    licence: Any = terms.link
    if not licence:
        unstated = f"not stated; that of {sheet.of_data} holds"
        licence = {"@type": "sc:CreativeWork", "name": unstated}
        licence |= {"url": terms.page} if terms.page else {}
    epoch, published = os.environ.get("SOURCE_DATE_EPOCH", ""), {}
    if epoch.isascii() and epoch.isdecimal() and int(epoch) < 1 << 36:
        published = {"datePublished": f"{datetime.fromtimestamp(int(epoch), UTC):%Y-%m-%d}"}
    cite = f" Data: {terms.cite}." if terms.cite else ""
    value: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS,
        "name": f"{sheet.files[0].stem}-{labels.id}",
        "alternateName": sheet.title,
        "description": sheet.summary(),
        "license": licence,
        "url": quote(os.fsencode(card)),
        "creator": {"@type": "sc:Organization", "name": "simkit, with simulated annotators"},
        **published,
        "version": "1.0.0",
        "isLiveDataset": False,
        "keywords": [
            *["partial labels"] * sheet.partial,
            "multi-label classification",
            sheet.scheme.name,
        ],
        "citeAs": f"Scheme: {sheet.scheme.source}.{cite}",
        "identifier": labels.id,
        "distribution": [_file(path, place) for place, path in enumerate(sheet.files)],
    }
    if terms.page:
        value["isBasedOn"] = terms.page
    if sheet.form in TABLES:
        value["recordSet"] = _records(labels)
    return json.dumps(value | _responsible(sheet), ensure_ascii=False, indent=1) + "\n"


def _file(path: Path, place: int) -> dict[str, str]:
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return {
        "@type": "cr:FileObject",
        "@id": _FILE if place == 0 else f"{_FILE}-{place + 1}",
        "name": path.name,
        "contentUrl": quote(os.fsencode(path.name)),
        "contentSize": f"{path.stat().st_size} B",
        "encodingFormat": _ENCODINGS.get(path.suffix.lower(), "application/octet-stream"),
        "sha256": digest,
    }


def _records(labels: PartialLabels) -> list[dict[str, Any]]:
    """The table of the labels, and the names of all classes, of those without a label too."""
    numbers = labels.images.dtype.kind in "iu"
    columns = {
        "image_id": ("sc:Integer" if numbers else "sc:Text", "Id of the image in the data set."),
        "class": ("sc:Text", "Name of the class."),
        "state": ("sc:Integer", "1: the class is present in the image; -1: it is absent."),
    }
    fields = []
    for name, (kind, meaning) in columns.items():
        source = {"source": {"fileObject": {"@id": _FILE}, "extract": {"column": name}}}
        fields.append(_field("labels", name, meaning, kind) | source)
    fields[1]["references"] = {"field": {"@id": "classes/name"}}
    table = {
        "@type": "cr:RecordSet",
        "@id": "labels",
        "name": "labels",
        "description": "One record for each known label; a pair without a record is unknown.",
        "key": [{"@id": "labels/image_id"}, {"@id": "labels/class"}],
        "field": fields,
    }
    classes = {
        "@type": "cr:RecordSet",
        "@id": "classes",
        "name": "classes",
        "description": "All classes in their order, those without a label included.",
        "dataType": "sc:Enumeration",
        "key": {"@id": "classes/name"},
        "field": [_field("classes", "name", "Name of the class.", "sc:Text")],
        "data": [{"classes/name": name} for name in labels.classes],
    }
    return [table, classes]


def _field(table: str, name: str, meaning: str, kind: str) -> dict[str, Any]:
    where = {"@type": "cr:Field", "@id": f"{table}/{name}", "name": name}
    return where | {"description": meaning, "dataType": kind}


def _responsible(sheet: DataSheet) -> dict[str, Any]:
    """What the RAI vocabulary has words for."""
    labels, effort = sheet.labels, sheet.labels.effort
    (N, L), unknown = labels.shape, labels.counts()["unknown"]
    asked = sum(effort.count(kind) for kind in effort.kinds())
    images = max(1, int(labels.asked.sum()))
    version = labels.history.versions.get("simkit", "")
    return {
        "rai:dataCollection": sheet.collection(),
        "rai:dataCollectionMissingData": (
            f"{unknown:,} of {N * L:,} labels are unknown because nobody was asked or the answer "
            "was not kept; unknown is not absent."
            if sheet.partial
            else "No label is missing."
        ),
        "rai:dataAnnotationProtocol": sheet.questions(),
        "rai:dataAnnotationPlatform": [f"simkit {version} (a simulation)".replace("  ", " ")],
        "rai:annotationsPerItem": (
            f"{asked / images:.3g} questions for each image that was asked about, on average, and "
            f"{labels.codes.nnz / images:.3g} labels"
        ),
        "rai:annotatorDemographics": [f"None. {sheet.people()}"],
        "rai:dataBiases": sheet.biases(),
        "rai:dataLimitations": sheet.limits(),
        "rai:dataUseCases": [
            "Research on annotation schemes and on training with partial labels. The labels are no "
            "substitute for people's where decisions about people depend on them."
        ],
        "rai:personalSensitiveInformation": [
            "The files hold ids of images and names of classes; pictures are not part of them."
        ],
    }
