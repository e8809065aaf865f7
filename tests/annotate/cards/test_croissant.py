"""Croissant: what the specification requires is there, and says what the files hold."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import numpy as np
import pandas
import pytest

from simkit.annotate.cards.croissant import CONTEXT, croissant
from tests.annotate.cards.examples import ODD, OWNED, subject

DAY = 1_750_000_000  # 2025-06-15
# mlcommons.org/croissant/1.0, section "Required", and its distribution.
REQUIRED = {
    "@context", "@type", "conformsTo", "description", "license", "name", "url", "creator",
    "datePublished", "distribution",
}  # fmt: skip
ATOMS = {"sc:Text": str, "sc:Integer": int}
RAI = {
    "dataCollection": str, "dataCollectionMissingData": str, "dataAnnotationProtocol": list,
    "dataAnnotationPlatform": list, "annotationsPerItem": str, "annotatorDemographics": list,
    "dataBiases": list, "dataLimitations": list, "dataUseCases": list,
    "personalSensitiveInformation": list,
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
    assert prefixes <= set(CONTEXT) and value["@context"] == CONTEXT
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
def test_it_is_croissant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(DAY))
    value = described(tmp_path, file, terms=OWNED)
    check(value, tmp_path)
    assert REQUIRED <= set(value)
    assert value["datePublished"] == "2025-06-15"
    assert value["license"] == OWNED.link and value["isBasedOn"] == OWNED.page
    assert ("recordSet" in value) == (file in ("zoo.parquet", "zoo.csv"))


@pytest.mark.parametrize("name", ODD)
def test_odd_names_are_read_back(tmp_path: Path, name: str) -> None:
    classes = [name, *(f"class {c}" for c in range(11))]
    one = subject(tmp_path, f"{name.replace('/', '')}.parquet", data=name, classes=classes)
    value = json.loads(croissant(one, "zoo.card.md"))
    check(value, tmp_path)
    assert value["distribution"][0]["name"] == one.files[0].name
    assert value["recordSet"][1]["data"][0] == {"classes/name": name}
    assert value["alternateName"] == one.title and name in value["description"]


@pytest.mark.parametrize("given", ["", "tomorrow", "-5", "9" * 30, "²"])
def test_without_a_day_the_clock_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", given)
    value = described(tmp_path)
    check(value, tmp_path)
    assert REQUIRED - set(value) == {"datePublished"}


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


def test_what_is_wrong_is_found_by_the_check(tmp_path: Path) -> None:
    value = described(tmp_path)
    value["recordSet"][0]["field"][0]["source"]["fileObject"]["@id"] = "elsewhere"
    with pytest.raises(AssertionError):
        check(value, tmp_path)
    value = described(tmp_path)
    (tmp_path / "zoo.parquet").write_bytes(b"other")
    with pytest.raises(AssertionError):
        check(value, tmp_path)


def test_the_words_are_those_of_the_card(tmp_path: Path) -> None:
    one = subject(tmp_path)
    value = json.loads(croissant(one, "zoo.card.md"))
    assert value["description"] == one.summary() and value["url"] == "zoo.card.md"
    assert value["rai:dataBiases"] == one.biases()
    assert value["identifier"] == one.labels.id
    assert f"{one.labels.counts()['unknown']:,} of 720" in value["rai:dataCollectionMissingData"]


def test_a_licence_that_is_not_stated_is_no_licence(tmp_path: Path) -> None:
    value = described(tmp_path)
    assert value["license"] == {
        "@type": "sc:CreativeWork", "name": "not stated; that of zoo holds",
    }  # fmt: skip
    assert "isBasedOn" not in value


def test_equal_labels_give_equal_bytes(tmp_path: Path) -> None:
    first, second = (croissant(subject(tmp_path), "zoo.card.md") for _ in range(2))
    assert first == second
