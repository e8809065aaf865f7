"""The sentences of a card agree with the labels."""

import glob
import hashlib
import json
import os
import re
import shlex
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import numpy as np
import pandas
import pytest
import yaml
from markdown_it import MarkdownIt

from simkit.annotate import label_card
from simkit.annotate.annotators import Habits
from simkit.annotate.label_card import (
    DataSheet,
    about,
    card,
    check_free,
    croissant,
    own,
    paths,
    size_category,
)
from simkit.annotate.prices import cost
from simkit.annotate.simulate import simulate
from simkit.data.dataset import Terms
from simkit.errors import BadInput
from simkit.labels import formats
from simkit.labels.truth import Truth

OWNED = Terms(
    "Zoo", "other", "zoo-terms", "https://zoo.org/terms", "no lions", "https://zoo.org", "A. Keeper"
)
# Names that mean something to a reader of Markdown, HTML, YAML, JSON or a shell.
ODD = [
    "a | b", "c\nd", "<b>bold</b>", "e\\", "# g", "- h: {i}, [j]", "*k* __l__", "~~m~~",
    "'n' \"o\"", "&amp;", "[p](q)", "ä 😀 r", "---", "$s$ $t$", "\\|", "| --- |", "yes",
    "a_b", "[12]?*",
]  # fmt: skip


def subject(folder: Path, file: str = "zoo.parquet", **given: Any) -> DataSheet:
    """Labels of 60 images and 12 classes, written into `folder`."""
    scheme = given.pop("scheme", "rpa(keep=0.3)")
    classes = given.pop("classes", [f"class {c}" for c in range(12)])
    habits = given.pop("habits", Habits())
    ids = given.pop("ids", None)
    present = np.random.default_rng(0).random((60, len(classes))) < 0.3
    present[:, 0] = True
    truth = Truth.of(present, ids, classes)
    labels = simulate(truth, scheme, habits=habits, seed=3)
    path = folder / file
    form = formats.for_path(path, writing=True)
    form.write(labels, path)
    values = {
        "labels": labels,
        "files": (path,),
        "form": form.name,
        "lost": form.loses(labels),
        "data": "zoo",
        "split": "train",
        "terms": Terms(),
        "bill": cost(labels, "coco-tagging"),
        "wrong": labels.wrong(truth),
        "command": ("simkit", "simulate", "--data", "zoo.toml", "--scheme", scheme),
    }
    return DataSheet(**(values | given))


def shown(markdown: str, place: str) -> list[str]:
    """The texts of all paragraphs ("p"), headings ("h2") or blocks of code ("fence")."""
    pairs = _tokens(markdown)
    if place == "fence":
        return [token.content for token, _ in pairs if token.type == "fence"]
    return [_words(token) for token, tag in pairs if token.type == "inline" and tag == place]


def _tokens(markdown: str) -> list[tuple[Any, str]]:
    """Tokens of GitHub's Markdown, each with the element that was opened last."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    tag, pairs = "", []
    for token in parser.parse(markdown):
        tag = token.tag if token.nesting == 1 else tag
        assert token.type != "html_block", token.content
        pairs.append((token, tag))
    return pairs


def _words(inline: Any) -> str:
    """Its text, which must be text alone, code, or an address in < >."""
    allowed = {"text", "text_special", "code_inline", "link_open", "link_close"}
    assert {child.type for child in inline.children} <= allowed, inline.content
    assert all(child.markup == "autolink" for child in inline.children if "link" in child.type)
    return "".join(child.content for child in inline.children)


def front(text: str) -> dict[str, Any]:
    _, matter, _ = text.split("---\n", 2)
    return yaml.safe_load(matter)


def cells(text: str, heading: str) -> list[list[str]]:
    """The rows of the tables of a section, header rows left out."""
    section = text.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    split = [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]
    return [row for row in split if not set("".join(row)) <= set("-: ")]


def test_the_front_matter_of_own_data(tmp_path: Path) -> None:
    matter = front(card(subject(tmp_path)))
    assert matter == {
        "license": "unknown",
        "pretty_name": "Partial labels of zoo, simulated: RPA",
        "annotations_creators": ["machine-generated"],
        "task_categories": ["image-classification"],
        "task_ids": ["multi-label-image-classification"],
        "size_categories": ["n<1K"],
        "source_datasets": ["extended"],
        "tags": ["simkit", "partial-labels", "rpa"],
        "configs": [{"config_name": "default", "data_files": "zoo.parquet"}],
    }


@pytest.mark.parametrize("name", ODD)
def test_names_of_data_and_splits_break_nothing(tmp_path: Path, name: str) -> None:
    one = subject(tmp_path, data=name, split=name, command=("simkit", "--data", name))
    matter, text = card(one).removeprefix("---\n").split("\n---\n", 1)
    assert yaml.safe_load(matter)["pretty_name"] == one.title
    written = " ".join(name.split())
    assert shown(text, "h1") == [" ".join(one.title.split())]
    assert len(shown(text, "h2")) == 7
    told = shown(text, "p")
    for sentence in (one.summary(), one.collection(), *one.biases()):
        assert " ".join(sentence.split()) in told
    assert f"Data set: {written}, split {written}" in told
    assert shlex.split(shown(text, "fence")[0])[-1] == name


@pytest.mark.skipif(os.name == "nt", reason="such names are of other systems")
@pytest.mark.parametrize("name", [name for name in ODD if name != "---"])
@pytest.mark.parametrize("end", ["parquet", "csv"])
def test_names_of_files_break_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, end: str
) -> None:
    one = subject(tmp_path, f"{name.replace('/', '')}.{end}")
    matter, text = card(one).removeprefix("---\n").split("\n---\n", 1)
    monkeypatch.chdir(tmp_path)
    pattern = yaml.safe_load(matter)["configs"][0]["data_files"]
    assert glob.glob(pattern) == [one.files[0].name]  # the Hub takes it for a pattern
    space: dict[str, Any] = {}
    exec(shown(text, "fence")[1], space)
    assert space["labels"].counts()["present"] == one.labels.counts()["present"]
    assert len(space["table"]) == one.labels.codes.nnz
    machine = paths(one.files[0])[1].name
    assert any(f"For machines: {' '.join(machine.split())} (" in each for each in shown(text, "p"))


def test_the_counts_are_those_of_the_labels(tmp_path: Path) -> None:
    one = subject(tmp_path)
    rows = {row[0]: row[1:] for row in cells(card(one), "Counts")}
    for name, count in one.labels.counts().items():
        assert rows[name][0] == f"{count:,}"
    present, absent = (one.labels.per_class(code) for code in (1, -1))
    order = np.argsort(-present, kind="stable")
    shown = [name for name in rows if name.startswith("class ")]
    assert shown == [f"class {c}" for c in (*order[:5], *order[-5:])]
    for name in shown:
        c = int(name.split()[1])
        left = 60 - present[c] - absent[c]
        assert rows[name] == [str(present[c]), str(absent[c]), str(left)]


def test_the_bill_is_told(tmp_path: Path) -> None:
    one = subject(tmp_path)
    rows = {row[0]: row[1:] for row in cells(card(one), "Questions and cost")}
    assert rows["total"][-1] == f"{one.bill.dollars:,.2f}"
    assert rows["verify"][0] == f"{one.labels.effort.count('verify'):,}"


@pytest.mark.parametrize(
    "word",
    [
        "plain",
        "a b",
        "it's",
        "mixed(rest=\"x(y='z')\")",
        "rpa('x', $HOME `z` \\)",
        "\\'\\\\\"",
        "!'",
    ],
)
def test_the_command_survives_a_shell(tmp_path: Path, word: str) -> None:
    text = card(subject(tmp_path, command=("simkit", "simulate", "--scheme", word)))
    line = re.search(r"```sh\n(.*)\n```", text)[1]
    assert shlex.split(line)[-1] == word


def test_equal_labels_give_equal_bytes(tmp_path: Path) -> None:
    first, second = (subject(tmp_path) for _ in range(2))
    assert card(first) == card(second) and first.labels.id in card(first)
    assert croissant(first, "zoo.card.md") == croissant(second, "zoo.card.md")


@pytest.mark.parametrize(
    "rows, name",
    [(0, "n<1K"), (999, "n<1K"), (1000, "1K<n<10K"), (10_134, "10K<n<100K"),
     (10**6 - 1, "100K<n<1M"), (10**6, "1M<n<10M"), (10**12, "1B<n<10B")],
)  # fmt: skip
def test_sizes_have_the_hubs_names(rows: int, name: str) -> None:
    assert size_category(rows) == name


# mlcommons.org/croissant/1.0, section "Required", and its distribution.
REQUIRED = {
    "@context", "@type", "conformsTo", "description", "license", "name", "url", "creator",
    "distribution",
}  # fmt: skip
ATOMS = {"sc:Text": str, "sc:Integer": int}
RAI = {
    "dataCollection": str, "dataCollectionMissingData": str, "dataAnnotationProtocol": list,
    "annotatorDemographics": list, "dataBiases": list, "dataLimitations": list,
}  # fmt: skip


def described(folder: Path, *given: Any, **more: Any) -> dict[str, Any]:
    return json.loads(croissant(subject(folder, *given, **more), "zoo.card.md"))


def ids(value: Any) -> list[str]:
    """Those that are defined: a reference has nothing but its @id."""
    if isinstance(value, list):
        return [found for each in value for found in ids(each)]
    if not isinstance(value, dict):
        return []
    own = [value["@id"]] if "@id" in value and len(value) > 1 else []
    return own + [found for each in value.values() for found in ids(each)]


def references(value: Any) -> list[str]:
    if isinstance(value, list):
        return [found for each in value for found in references(each)]
    if not isinstance(value, dict):
        return []
    if set(value) == {"@id"}:
        return [value["@id"]]
    return [found for each in value.values() for found in references(each)]


def check(value: dict[str, Any], folder: Path) -> None:
    """Structure after the specification, sections on data sets, resources and record sets."""
    assert value["@type"] == "sc:Dataset"
    assert value["conformsTo"] == "http://mlcommons.org/croissant/1.0"
    prefixes = {"sc", "cr", "dct", "rai"}
    assert prefixes <= set(value["@context"])
    for key in value:  # plain names are schema.org's or in the context
        prefix, colon, _ = key.partition(":")
        assert not colon or prefix in prefixes
    for text in ("name", "description", "url", "citeAs"):
        assert isinstance(value[text], str) and value[text]
    creators = value["creator"] if isinstance(value["creator"], list) else [value["creator"]]
    assert {each["@type"] for each in creators} <= {"sc:Organization", "sc:Person"}
    licence = value["license"]
    if isinstance(licence, str):
        assert urlparse(licence).scheme in ("http", "https")
    else:
        assert licence["@type"] == "sc:CreativeWork" and licence["name"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", value["version"])
    assert value["distribution"]
    for file in value["distribution"]:
        assert file["@type"] == "cr:FileObject" and file["@id"] and file["name"]
        assert re.fullmatch(r"[a-z]+/[a-z.+-]+", file["encodingFormat"])
        content = (folder / unquote(file["contentUrl"])).read_bytes()
        assert file["sha256"] == hashlib.sha256(content).hexdigest()
        assert file["contentSize"] == f"{len(content)} B"
    defined = ids({key: part for key, part in value.items() if key != "@context"})
    assert len(defined) == len(set(defined))
    used = references({key: part for key, part in value.items() if key != "@context"})
    assert set(used) <= set(defined)
    for records in value.get("recordSet", []):
        assert records["@type"] == "cr:RecordSet" and records["field"]
        for field in records["field"]:
            assert field["@type"] == "cr:Field" and field["dataType"] in ATOMS
            assert field["@id"] == f"{records['@id']}/{field['name']}"
            assert ("source" in field) != ("data" in records)
        names = {field["@id"] for field in records["field"]}
        keys = records["key"] if isinstance(records["key"], list) else [records["key"]]
        assert {key["@id"] for key in keys} <= names
        assert all(set(row) == names for row in records.get("data", []))
    for name, kind in RAI.items():
        assert isinstance(value[f"rai:{name}"], kind) and value[f"rai:{name}"]
    assert {key for key in value if key.startswith("rai:")} == {f"rai:{name}" for name in RAI}


@pytest.mark.parametrize("file", ["zoo.parquet", "zoo.csv", "zoo.npz", "a zoo+ä.json"])
def test_it_is_croissant(tmp_path: Path, file: str) -> None:
    value = described(tmp_path, file, terms=OWNED)
    check(value, tmp_path)
    assert REQUIRED <= set(value)
    assert value["license"] == OWNED.link and value["isBasedOn"] == OWNED.page
    assert ("recordSet" in value) == (file in ("zoo.parquet", "zoo.csv"))


@pytest.mark.parametrize("name", ODD)
def test_odd_names_are_read_back_by_machines(tmp_path: Path, name: str) -> None:
    classes = [name, *(f"class {c}" for c in range(11))]
    one = subject(tmp_path, f"{name.replace('/', '')}.parquet", data=name, classes=classes)
    value = json.loads(croissant(one, "zoo.card.md"))
    check(value, tmp_path)
    assert value["distribution"][0]["name"] == one.files[0].name
    assert value["recordSet"][1]["data"][0] == {"classes/name": name}
    assert name in value["description"]


@pytest.mark.parametrize("file", ["zoo.parquet", "zoo.csv"])
@pytest.mark.parametrize("text", [True, False])
def test_fields_are_the_columns_of_the_file(tmp_path: Path, file: str, text: bool) -> None:
    names = [f"{i}.jpg" for i in range(60)] if text else None
    one = subject(tmp_path, file, ids=np.array(names) if text else None)
    value = json.loads(croissant(one, "zoo.card.md"))
    check(value, tmp_path)
    table = (
        pandas.read_csv(one.files[0]) if file == "zoo.csv" else pandas.read_parquet(one.files[0])
    )
    labels, classes = value["recordSet"]
    columns = [field["source"]["extract"]["column"] for field in labels["field"]]
    assert columns == list(table.columns) == ["image_id", "class", "state"]
    first = table.iloc[0]
    for field in labels["field"]:
        kind = ATOMS[field["dataType"]]
        assert kind(first[field["name"]]) == first[field["name"]]
        assert isinstance(first[field["name"]], str) == (kind is str)
    assert [row["classes/name"] for row in classes["data"]] == list(one.labels.classes)
    assert not table.duplicated(["image_id", "class"]).any()  # the key


def test_both_are_written(tmp_path: Path) -> None:
    one = subject(tmp_path)
    assert about(one.files[0], one.labels.id) == ()
    written = label_card.write(one)
    assert written == paths(one.files[0]) == about(one.files[0], one.labels.id)
    assert [path.name for path in written] == ["zoo.card.md", "zoo.croissant.json"]
    assert written[0].read_text(encoding="utf-8") == card(one)
    assert written[1].read_text(encoding="utf-8") == croissant(one, "zoo.card.md")
    assert "`zoo.croissant.json`" in card(one)


@pytest.mark.parametrize("odd", ["zoo.card.md", "zoo.croissant.json"])
def test_none_is_written_where_one_cannot_be(tmp_path: Path, odd: str) -> None:
    one = subject(tmp_path)
    (tmp_path / odd).mkdir()
    with pytest.raises(BadInput, match=f"{odd} is a folder"):
        label_card.write(one)
    assert sorted(path.name for path in tmp_path.iterdir()) == [odd, "zoo.parquet"]


@pytest.mark.skipif(os.name == "nt", reason="such names are of other systems")
def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path / "zoo") + b"\xff.npz")
    one = subject(tmp_path, Path(path).name)
    for written in label_card.write(one):
        assert written.is_file() and b"zoo" in written.read_bytes()


def test_own_cards_name_their_file_and_others_are_refused(tmp_path) -> None:
    file = tmp_path / "a.parquet"
    first, second = paths(file)
    first.write_text('read("a.parquet")')
    assert own(file) == (first,)
    check_free(file, "id 1")
    second.write_text('{"of": "id 1"}')
    assert own(file) == (first,)
    check_free(file, "id 1")  # the same labels, in another form
    with pytest.raises(BadInput, match=r"a\.croissant\.json, which is there and is no card of it"):
        check_free(file, "id 2")
