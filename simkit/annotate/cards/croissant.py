"""A card for machines: Croissant 1.0 with its vocabulary for responsible AI, as JSON-LD.

Specifications: mlcommons.org/croissant/1.0 and mlcommons.org/croissant/RAI/1.0 (MLCommons, 2024).
"""

from __future__ import annotations

import hashlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from simkit.annotate.cards.markdown import TABLES
from simkit.annotate.cards.subject import Subject

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
# As the reference reader of Croissant calls them; IANA has no other name for parquet in use there.
_ENCODINGS = {
    ".parquet": "application/x-parquet", ".pq": "application/x-parquet", ".csv": "text/csv",
    ".json": "application/json", ".npz": "application/zip",
}  # fmt: skip
_FILE = "labels-file"


def croissant(subject: Subject, card: str) -> str:
    """JSON text; `card`, the name of the Markdown card beside it, is the page of the labels.

    Equal files, names and command give equal bytes. There is no clock: `datePublished`, which the
    specification wants, is there where SOURCE_DATE_EPOCH says the day (in seconds since 1970).
    """
    labels = subject.labels
    value: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS,
        "name": f"{subject.files[0].stem}-{labels.id}",
        "alternateName": subject.title,
        "description": subject.summary(),
        "license": _licence(subject),
        "url": quote(os.fsencode(card)),
        "creator": {"@type": "sc:Organization", "name": "simkit, with simulated annotators"},
        **_published(),
        "version": "1.0.0",
        "isLiveDataset": False,
        "keywords": [
            *(["partial labels"] if subject.partial else []),
            "multi-label classification",
            subject.scheme.name,
        ],
        "citeAs": _cite(subject),
        "identifier": labels.id,
        "distribution": [_file(path, place) for place, path in enumerate(subject.files)],
    }
    if subject.terms.page:
        value["isBasedOn"] = subject.terms.page
    if subject.form in TABLES:
        value["recordSet"] = _records(subject)
    return json.dumps(value | _responsible(subject), ensure_ascii=False, indent=1) + "\n"


def _licence(subject: Subject) -> Any:
    terms = subject.terms
    if terms.link:
        return terms.link
    work = {"@type": "sc:CreativeWork", "name": f"not stated; that of {subject.of_data} holds"}
    return work | ({"url": terms.page} if terms.page else {})


def _published() -> dict[str, str]:
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not given.isascii() or not given.isdecimal() or int(given) >= 1 << 36:
        return {}
    return {"datePublished": f"{datetime.fromtimestamp(int(given), UTC):%Y-%m-%d}"}


def _cite(subject: Subject) -> str:
    data = f" Data: {subject.terms.cite}." if subject.terms.cite else ""
    return f"Scheme: {subject.scheme.source}.{data}"


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


def _records(subject: Subject) -> list[dict[str, Any]]:
    """The table of the labels, and the names of all classes, of those without a label too."""
    numbers = subject.labels.images.dtype.kind in "iu"
    columns = {
        "image_id": ("sc:Integer" if numbers else "sc:Text", "Id of the image in the data set."),
        "class": ("sc:Text", "Name of the class."),
        "state": ("sc:Integer", "1: the class is present in the image; -1: it is absent."),
    }
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"labels/{name}",
            "name": name,
            "description": told,
            "dataType": kind,
            "source": {"fileObject": {"@id": _FILE}, "extract": {"column": name}},
        }
        for name, (kind, told) in columns.items()
    ]
    fields[1]["references"] = {"field": {"@id": "classes/name"}}
    named = {
        "@type": "cr:Field",
        "@id": "classes/name",
        "name": "name",
        "description": "Name of the class.",
        "dataType": "sc:Text",
    }
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
        "field": [named],
        "data": [{"classes/name": name} for name in subject.labels.classes],
    }
    return [table, classes]


def _responsible(subject: Subject) -> dict[str, Any]:
    """What the RAI vocabulary has words for."""
    labels, effort = subject.labels, subject.labels.effort
    asked = sum(effort.count(kind) for kind in effort.kinds())
    images = max(1, int(labels.asked.sum()))
    version = labels.history.versions.get("simkit", "")
    return {
        "rai:dataCollection": subject.collection(),
        "rai:dataCollectionMissingData": (
            f"{labels.counts()['unknown']:,} of {labels.shape[0] * labels.shape[1]:,} labels are "
            "unknown because nobody was asked or the answer was not kept; unknown is not absent."
            if subject.partial
            else "No label is missing."
        ),
        "rai:dataAnnotationProtocol": subject.questions(),
        "rai:dataAnnotationPlatform": [f"simkit {version} (a simulation)".replace("  ", " ")],
        "rai:annotationsPerItem": (
            f"{asked / images:.3g} questions for each image that was asked about, on average, and "
            f"{labels.codes.nnz / images:.3g} labels"
        ),
        "rai:annotatorDemographics": [f"None. {subject.people()}"],
        "rai:dataBiases": subject.biases(),
        "rai:dataLimitations": subject.limits(),
        "rai:dataUseCases": [
            "Research on annotation schemes and on training with partial labels. The labels are no "
            "substitute for people's where decisions about people depend on them."
        ],
        "rai:personalSensitiveInformation": [
            "The files hold ids of images and names of classes; pictures are not part of them."
        ],
    }
