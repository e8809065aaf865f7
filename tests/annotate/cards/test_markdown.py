"""The Markdown card: front matter that YAML reads, tables that agree with the labels."""

import glob
import os
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from simkit.annotate.cards.markdown import card, size_category
from simkit.annotate.habits import Habits
from simkit.labels.cards import paths
from simkit.labels.partial import PartialLabels
from tests.annotate.cards.examples import ODD, OWNED, shown, subject, tables


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


def test_the_front_matter_of_data_with_terms(tmp_path: Path) -> None:
    text = card(subject(tmp_path, "zoo.npz", terms=OWNED))
    matter = front(text)
    assert matter["license"] == "other" and matter["license_name"] == "zoo-terms"
    assert matter["license_link"] == OWNED.link and matter["language"] == ["en"]
    assert "configs" not in matter
    for told in (OWNED.page, OWNED.link, OWNED.note, OWNED.cite):
        assert told in text


@pytest.mark.parametrize(
    "name",
    ['say "x": y', "tab\there", "del\x7f", "\u2028", "colon: #", "{a}", "ä😀", "'", "\ufeff"],
)
def test_odd_names_are_read_back(tmp_path: Path, name: str) -> None:
    one = subject(tmp_path, data=name)
    assert front(card(one))["pretty_name"] == one.title


def test_names_of_classes_cannot_break_a_table(tmp_path: Path) -> None:
    for start in range(0, len(ODD), 10):  # as many as are shown
        classes = ODD[start : start + 10]
        one = subject(tmp_path, classes=classes)
        of_settings, counts, of_classes, bill = tables(card(one).split("---\n", 2)[2])
        assert {row[0] for row in of_classes[1:]} == {" ".join(name.split()) for name in classes}
        assert all(len(row) == 4 and row[1].isdecimal() for row in of_classes[1:])
        assert dict(of_settings)["keep"] == "0.3" and bill[-1][0] == "total"
        assert counts[-1] == ["classes", str(len(classes)), ""]


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
    told = f"For machines: {' '.join(machine.split())} (Croissant 1.0, with the file's SHA-256)"
    assert told in shown(text, "p")


@pytest.mark.parametrize(
    "scheme, spans",
    [
        ("single-positive", ("`negatives`", "`bias`")),
        ("proposals", ("`skew`",)),
        ("mixed(rest='proposals(skew=0.5)')", ("`skew`",)),
    ],
)
def test_our_own_sentences_have_code_spans_and_names_have_none(
    tmp_path: Path, scheme: str, spans: tuple[str, ...]
) -> None:
    text = card(subject(tmp_path, scheme=scheme, data="`zoo` <i>"))
    own, of_data, *_ = text.partition("## Known biases\n\n")[2].splitlines()
    assert all(f" {span} " in own for span in spans) and "\\" not in own
    assert "\\`zoo\\` \\<i>" in of_data


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


def test_few_classes_are_all_shown(tmp_path: Path) -> None:
    text = card(subject(tmp_path, classes=list("abc"), scheme="single-positive"))
    assert {row[0] for row in cells(text, "Counts")} >= set("abc")
    assert "with most present labels" not in text


def test_every_setting_of_the_scheme_is_told(tmp_path: Path) -> None:
    text = card(subject(tmp_path, scheme="fpc(per_class=7)"))
    rows = dict(cells(text, "How the labels were made"))
    assert rows["per_class"] == "7" and rows["search"] == '"proposals"'
    assert rows["precision"] == "0.5" and rows["keep_looks"] == "false"
    assert rows["seed"] == "3" and rows["draw"] == "0"


def test_the_bill_is_told(tmp_path: Path) -> None:
    one = subject(tmp_path)
    rows = {row[0]: row[1:] for row in cells(card(one), "Questions and cost")}
    assert rows["total"][-1] == f"{one.bill.dollars:,.2f}"
    assert rows["verify"][0] == f"{one.labels.effort.count('verify'):,}"


def test_errors_of_people_are_told(tmp_path: Path) -> None:
    one = subject(tmp_path, habits=Habits(miss=0.5))
    assert one.people() in card(one)


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


@pytest.mark.parametrize("file", ["zoo.parquet", "zoo.csv", "zoo.npz"])
def test_the_code_that_loads_them_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    one = subject(tmp_path, file)
    (code,) = re.findall(r"```python\n(.*?)```", card(one), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {}
    exec(code, space)
    loaded = space["labels"]
    assert isinstance(loaded, PartialLabels) and loaded.counts()["present"] > 0
    if file != "zoo.npz":
        assert len(space["table"]) == one.labels.codes.nnz
        assert sorted(set(space["table"].state)) == [-1, 1]


def test_equal_labels_give_equal_bytes(tmp_path: Path) -> None:
    first, second = (card(subject(tmp_path)) for _ in range(2))
    assert first == second and subject(tmp_path).labels.id in first


@pytest.mark.parametrize(
    "rows, name",
    [(0, "n<1K"), (999, "n<1K"), (1000, "1K<n<10K"), (10_134, "10K<n<100K"),
     (10**6 - 1, "100K<n<1M"), (10**6, "1M<n<10M"), (10**12, "1B<n<10B")],
)  # fmt: skip
def test_sizes_have_the_hubs_names(rows: int, name: str) -> None:
    assert size_category(rows) == name
