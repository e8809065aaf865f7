"""Data cards keep up: one for each data set, valid front matter, commands and numbers that hold."""

import dataclasses
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from simkit import data
from simkit.annotate.label_card import size_category
from simkit.data.dataset import sources, terms
from simkit.labels.formats.npz import read_truth
from simkit.labels.hierarchy import shipped

ROOT = Path(__file__).parents[1]
CARDS = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "data_cards").glob("*.md")}
READ_BY = {"imagenet-real": "npz"}  # data sets that simkit reads by way of another one
SECTIONS = [
    "Source and licence", "What is in it", "Splits and counts", "How to get it",
    "How simkit reads it", "Known flaws",
]  # fmt: skip
COUNTS = ["set", "images", "classes", "labels per image", "from"]
SAID_BY = ("owners: ", "paper: ", "counted: ", "reported: ")  # reported: by others, not checked

# huggingface.co/docs/hub: datasetcard.md and repositories-licenses; the values in use here.
ALLOWED = {
    "annotations_creators": {
        "found", "crowdsourced", "expert-generated", "machine-generated", "no-annotation", "other",
    },
    "task_categories": {"image-classification", "object-detection", "image-segmentation"},
    "task_ids": {"multi-label-image-classification", "multi-class-image-classification"},
    "size_categories": {
        "n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "other",
    },
    "source_datasets": {"original", "extended"},
    "language": {"en"},
}  # fmt: skip
LICENCES = {"mit", "apache-2.0", "cc-by-4.0", "other", "unknown"}
REQUIRED = {
    "license", "pretty_name", "annotations_creators", "task_categories", "size_categories",
}  # fmt: skip

each_card = pytest.mark.parametrize("name", sorted(CARDS))
with_data = pytest.mark.skipif(
    "SIMKIT_DATA" not in os.environ, reason="SIMKIT_DATA names no folder of real data"
)


def front(name: str) -> dict[str, Any]:
    start, matter, _ = CARDS[name].split("---\n", 2)
    assert start == ""
    return yaml.safe_load(matter)


def section(name: str, heading: str) -> str:
    return CARDS[name].partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def table(name: str, heading: str, first: str) -> list[list[str]]:
    """The rows below the header row that begins with `first`."""
    rows: list[list[str]] = []
    for line in section(name, heading).splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and (rows or cells[0] == first):
            rows.append(cells)
        elif rows:
            break
    return [rows[0], *rows[2:]]  # without the line below the header


def counts(name: str) -> list[list[str]]:
    return table(name, "Splits and counts", "set")[1:]


def test_every_data_set_has_a_card_and_every_card_a_data_set() -> None:
    own = {"unlabelled"}  # the images of an order, no data set that anybody publishes
    assert set(CARDS) == set(sources.names()) - own | set(READ_BY)
    for name, source in READ_BY.items():
        assert source in sources.names() and name not in sources.names()


@each_card
def test_front_matter_has_what_the_hub_knows(name: str) -> None:
    matter = front(name)
    assert set(matter) >= REQUIRED
    assert set(matter) <= REQUIRED | set(ALLOWED) | {"tags", "license_name", "license_link"}
    assert matter["license"] in LICENCES
    assert (
        (matter["license"] == "other") == ("license_name" in matter) == ("license_link" in matter)
    )
    for key, values in ALLOWED.items():
        entries = matter.get(key, [])
        assert isinstance(entries, list) and set(entries) <= values, key
    assert isinstance(matter["pretty_name"], str) and matter["pretty_name"]
    assert f"\n# {matter['pretty_name']}" in CARDS[name] or name in ("folder", "npz")


@each_card
def test_the_licence_is_the_one_the_program_names(name: str) -> None:
    if name in READ_BY:
        return
    trees = {"coco": "coco-80", "coco-panoptic": "coco-panoptic-133", "lvis": "lvis-1203"}
    tree = {**trees, "voc": "voc-20"}.get(name)
    licence = terms(name, shipped(tree).classes if tree else ())
    matter = front(name)
    assert matter["license"] == licence.licence
    assert matter.get("license_name", "") == licence.named
    assert not licence.named or matter["license_link"] == licence.link
    assert licence.page in section(name, "Source and licence")


@each_card
def test_sections_are_the_same_in_all_cards(name: str) -> None:
    assert re.findall(r"^## (.*)$", CARDS[name], re.MULTILINE) == SECTIONS
    prose = re.sub(r"```.*?```", "", CARDS[name], flags=re.DOTALL)
    assert len(re.findall(r"^# ", prose, re.MULTILINE)) == 1
    for heading in SECTIONS:
        assert len(section(name, heading).strip()) > 40, heading


@each_card
def test_every_number_says_where_it_comes_from(name: str) -> None:
    header, *rows = table(name, "Splits and counts", "set")
    assert header == COUNTS and rows
    for row in rows:
        assert len(row) == len(COUNTS) and row[-1].startswith(SAID_BY), row


@each_card
def test_a_command_opens_it_by_a_source_with_such_settings(name: str) -> None:
    specs = re.findall(r"--data (\S+)", CARDS[name])
    assert specs
    for spec in specs:
        source, _, rest = spec.strip('"').partition(":")
        assert source == READ_BY.get(name, name)
        keys = {field.name for field in dataclasses.fields(sources[source])}  # type: ignore[arg-type]
        assert {part.partition("=")[0] for part in rest.split(",") if "=" in part} <= keys


@each_card
def test_linked_files_are_there(name: str) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", CARDS[name]):
        assert (ROOT / "data_cards" / target).is_file()
    for target in re.findall(r"`((?:simkit|tests|scripts)/[\w/]+\.py)`", CARDS[name]):
        assert (ROOT / target).is_file()


def test_the_numbers_of_scenes_are_those_of_the_code() -> None:
    scenes = data.open("scenes")
    rows = {row[0]: row for row in counts("scenes")}
    assert set(rows) == {*scenes.truth, "train, leaves alone"}
    for split, truth in scenes.truth.items():
        N, L = truth.shape
        assert rows[split][1:4] == [f"{N:,}", str(L), f"{truth.present.nnz / N:.3f}"]
    train = scenes.truth["train"]
    leaves = scenes.leaves
    per_image = train.present[:, leaves].nnz / train.shape[0]
    assert rows["train, leaves alone"][1:4] == ["3,000", str(len(leaves)), f"{per_image:.3f}"]
    images = sum(truth.shape[0] for truth in scenes.truth.values())
    assert front("scenes")["size_categories"] == [size_category(images)]


def test_the_way_to_read_imagenet_real_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", CARDS["imagenet-real"], re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("real.json").write_text(json.dumps([[3, 999], [], [0]]))
    exec(code, {})
    opened = data.open("npz:imagenet_real.npz")
    assert opened.truth["train+val"].shape == (3, 1000)
    assert opened.truth["train+val"].rows([0]).nonzero()[1].tolist() == [3, 999]
    for word in ("class-0", "class-999"):
        assert word in opened.classes and word in CARDS["imagenet-real"]


SHOWN = re.compile(r"`simkit show \$SIMKIT_DATA/(labels/\w+\.npz)`")
COUNTED = [
    (name, row[0], SHOWN.search(row[-1])[1])
    for name in sorted(CARDS)
    for row in counts(name)
    if SHOWN.search(row[-1])
]


def test_there_are_counts_of_real_labels() -> None:
    assert {name for name, _, _ in COUNTED} == {"voc", "coco", "nus-wide", "imagenet-real"}


@with_data
@pytest.mark.filterwarnings("ignore:.*names classes twice")
@pytest.mark.parametrize(("name", "row", "file"), COUNTED)
def test_counts_of_real_labels(name: str, row: str, file: str) -> None:
    truth, _ = read_truth(Path(os.environ["SIMKIT_DATA"]) / file)
    (cells,) = [cells for cells in counts(name) if cells[0] == row]
    N, L = truth.shape
    assert cells[1:4] == [f"{N:,}", f"{L:,}", f"{truth.present.nnz / N:.3f}"]
