"""Data sets: the truth and, if available, the images of each split; opened by a short text."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from html import escape
from pathlib import Path
from shlex import quote
from typing import Any, ClassVar, Protocol, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.errors import BadInput, located, unknown
from simkit.files import beside, expanded, reading
from simkit.history import content_id
from simkit.labels.hierarchy import Hierarchy, close, columns_of, shipped
from simkit.labels.truth import Boxes, Truth
from simkit.registry import Registry, build

SPLITS = ("train", "val", "test")
LABELS = "labels.csv"  # default name of the table in a folder of images
WHOLE = "train+val"  # the training set before its validation part was held out


class Pictures(Protocol):
    """The images of one split, decoded on use.

    With an optional list `image_ids`, a content id for each image, data sets with the same images
    share their features.
    """

    @property
    def id(self) -> str:
        """Content id: equal ids mean equal pixels."""
        ...

    def __len__(self) -> int: ...

    def read(self, index: Sequence[int] | NDArray[np.integer]) -> list[NDArray[np.uint8]]:
        """One (H, W, 3) uint8 RGB array for each of `index`."""
        ...


def content_ids(pictures: Pictures) -> list[str]:
    """A content id for each image, the same in every data set that contains the image; for
    pictures without `image_ids`, only in pictures with the same `id`."""
    ids: list[str] = getattr(pictures, "image_ids", None) or [
        content_id(pictures.id, str(row)) for row in range(len(pictures))
    ]
    return ids


@dataclass(frozen=True, eq=False)
class Dataset:
    """The truth and, if available, images, boxes and difficult objects of each split.

    hierarchy: if given, every truth is closed under it (ancestors are present with their
    descendants) and `leaves` are the classes without children; otherwise all classes are leaves.
    difficult: (N, L) bool, present only as a "difficult" object; left out of metrics.
    spec: the text that opens this data set again.
    files: the names of the image files by split, where there are ids beside them; see
    `file_names`.
    """

    name: str
    truth: Mapping[str, Truth]
    pictures: Mapping[str, Pictures] = field(default_factory=dict)
    boxes: Mapping[str, Boxes] = field(default_factory=dict)
    difficult: Mapping[str, csr_array] = field(default_factory=dict)
    hierarchy: Hierarchy | None = None
    spec: str = ""
    files: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __repr__(self) -> str:
        splits = ", ".join(f"{split} {part.shape[0]:,}" for split, part in self.truth.items())
        parts = [word for word in ("pictures", "boxes", "difficult") if getattr(self, word)]
        with_what = f"; with {' and '.join(parts)}" if parts else ""
        return f"<Dataset {self.name}: {splits} images; {len(self.classes):,} classes{with_what}>"

    def _repr_html_(self) -> str:
        """A table for notebooks, one row per split."""
        import pandas as pd

        rows = [
            (split, f"{N:,}", f"{part.present.nnz / max(N, 1):.2f}")
            for split, part in self.truth.items()
            for N in part.shape[:1]
        ]
        table = pd.DataFrame(rows, columns=["split", "images", "classes per image"])
        head = f"<p>Data set {escape(self.name)}: {len(self.classes):,} classes</p>"
        return head + table.to_html(index=False, border=0)

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the L classes, the same in every split."""
        return self.truth["train"].classes

    @property
    def to_label(self) -> str:
        """The split to be annotated: train+val if validation was held out of it, or train."""
        return WHOLE if WHOLE in self.truth else "train"

    def pictures_of(self, split: str) -> Pictures:
        """The images of a split. Raises BadInput if it has none."""
        if split not in self.pictures:
            mend = (
                f"name one of {', '.join(self.pictures)}, or open it with its image folder"
                if self.pictures
                else "open it with its image folder (simkit list data shows how)"
            )
            raise BadInput(
                f"data set {self.name!r} has no images for {split!r}; {mend}, or train on features "
                "that simkit features or another program made"
            )
        return self.pictures[split]

    def file_names(self, split: str) -> Sequence[str]:
        """The names of the image files of a split; empty if they are unknown."""
        names: Sequence[str] = getattr(self.pictures.get(split), "files", ())
        return self.files.get(split, names)

    @property
    def leaves(self) -> NDArray[np.int64]:
        """Indices of the classes without children."""
        if self.hierarchy is None:
            return np.arange(len(self.classes))
        return self.hierarchy.leaves

    def closed_under(self, hierarchy: Hierarchy) -> Dataset:
        """The same data over its classes and their ancestors, present with their descendants.

        Other classes of the hierarchy are left out. Boxes keep their classes; an ancestor that is
        present only through difficult objects is difficult, too. Raises BadInput if a class is not
        in the hierarchy.
        """
        hierarchy = hierarchy.over(self.classes)
        truth = {split: close(part, hierarchy) for split, part in self.truth.items()}
        places = columns_of(self.classes, hierarchy.classes)
        boxes = {
            split: replace(part, classes=places[part.classes]) for split, part in self.boxes.items()
        }
        above = csr_array(hierarchy.above[places].astype(np.int32))
        difficult = {
            split: csr_array((part.astype(np.int32) @ above).astype(bool) > truth[split].present)
            for split, part in self.difficult.items()
        }
        return replace(self, truth=truth, boxes=boxes, difficult=difficult, hierarchy=hierarchy)


CC_BY_4 = "https://creativecommons.org/licenses/by/4.0/"


@dataclass(frozen=True)
class Terms:
    """Title, licence and citation of a data set; the class attribute `terms` of a source.

    The defaults are for a user's data, of which nothing is known.

    title    the name that the owners use.
    licence  licence of the labels, by its identifier on the Hugging Face Hub: "unknown" if the
             owners state none, "other" for a text of their own.
    named    a name for that text;  link  URL of the licence or the text.
    note     limits of the licence, or additional terms.
    page     home page of the data set;  cite  the publication, as text.
    classes  the shipped hierarchy whose leaves are the owners' classes, for file formats that are
             also used for other data.
    """

    title: str = ""
    licence: str = "unknown"
    named: str = ""
    link: str = ""
    note: str = ""
    page: str = ""
    cite: str = ""
    classes: str = ""


class Source(Protocol):
    """A kind of data set: a frozen dataclass whose fields are its settings.

    The optional class attribute `paths` names the fields that are files or folders, `packed` says
    whether these may be archives, and `terms` holds the terms of use.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    example: ClassVar[str]

    def open(self) -> Dataset: ...


sources: Registry[Source] = Registry("data set", "simkit.data")
names = sources.names
get = sources.__getitem__
S = TypeVar("S", bound=Source)


@dataclass_transform(frozen_default=True)
def register(source: type[S]) -> type[S]:
    """Class decorator: register a kind of data set under its `name`, as a frozen dataclass."""
    sources.register_frozen(source)
    return source


def open(spec: str) -> Dataset:
    """Open a data set from its text.

    Parameters
    ----------
    spec : str
        `name`, `name:MAIN`, `name:MAIN,key=value,...` or `FILE.toml`. MAIN sets the first field of
        the source; a value with a comma stands in double quotation marks. A TOML file has the key
        `source` and the settings of that source; paths in it may be relative to the TOML file.

    Returns
    -------
    Dataset

    Raises
    ------
    BadInput
        For an unknown name or key, and for files that cannot be read.
    """
    source, settings, toml = read_spec(spec)
    paths = getattr(source, "paths", ())
    for key in () if getattr(source, "packed", False) else paths:
        _refuse_archive(str(settings.get(key, "")))
    try:
        data = build(source, settings, "data set").open()
    except BadInput as error:
        if toml is None:
            raise
        named = [settings[key] for key in paths if isinstance(settings.get(key), str)]
        lost = [path for path in named if path and not os.path.exists(expanded(path))]
        looked = f" (looked for in {toml.parent.resolve()} and here)"
        where = looked if any(path in str(error) for path in lost) else ""
        raise BadInput(f"{toml}: {error}{where}") from None
    return data if toml is None else replace(data, spec=spec)


def terms(spec: str, classes: Collection[str]) -> Terms:
    """The terms of use of the data set that this text opens (see `open`).

    Parameters
    ----------
    spec : str
        As `open` takes it.
    classes : collection of str
        Names of its classes. COCO's terms hold only for data with all of COCO's classes; other
        data in COCO's format get the defaults.

    Returns
    -------
    Terms

    Raises
    ------
    BadInput
        If no data set has the name.
    """
    stated = getattr(read_spec(spec)[0], "terms", Terms())
    assert isinstance(stated, Terms)
    if stated.classes:
        tree = shipped(stated.classes)
        if not {tree.classes[leaf] for leaf in tree.leaves} <= set(classes):
            return Terms()
    return stated


def originals(spec: str) -> tuple[Path, ...]:
    """The existing files that the text of a data set names; they must not be overwritten.

    An invalid text gives no files; `open` reports the error.
    """
    try:
        source, settings, toml = read_spec(spec)
    except BadInput:
        return (Path(spec),) if os.path.isfile(spec) else ()
    keys = getattr(source, "paths", ())
    paths = [expanded(str(settings[key])) for key in keys if settings.get(key)]
    folders = [path for path in paths if os.path.isdir(path)]
    inside = [folder / name for folder in folders for name in (*paths, Path(LABELS))]
    files = (*paths, *inside, *([] if toml is None else [toml]))
    return tuple(dict.fromkeys(path for path in files if os.path.isfile(path)))


def read_spec(spec: str) -> tuple[type[Source], dict[str, Any], Path | None]:
    """The source, its settings as text, and the TOML file they come from. Raises BadInput."""
    if spec.lower().endswith(".toml") and (":" not in spec or os.path.isfile(spec)):
        return _read_toml(Path(spec))
    name, _, rest = spec.partition(":")
    try:
        source = sources[name]
    except BadInput:
        if not rest:
            _raise_with_hint(spec)
        raise
    keys = [entry.name for entry in fields(source)]  # type: ignore[arg-type]
    settings: dict[str, Any] = {}
    parts = _COMMA.split(_LONE_COMMA.sub('\\1","', rest)) if rest else []
    for place, part in enumerate(parts):
        key, equals, value = part.partition("=")
        if not equals or key not in keys:
            # The first part may be a path with an equals sign in it.
            wrong = equals and key.isidentifier() and (place or get_close_matches(key, keys))
            if wrong and keys:
                raise unknown(f"setting of {source.name}", key, keys)
            if not keys:
                raise BadInput(f"{source.name} has no settings; leave {part!r} out")
            if place:
                odd = f"{part!r} in {spec!r} is not key=value; keys are {', '.join(keys)}"
                joined = f"{parts[place - 1].rpartition('=')[2]},{part}"
                mended = spec.replace(joined, f'"{joined}"')
                raise BadInput(f"{odd}; if it belongs to the value before it, write {mended}")
            key, value = keys[0], part
        if key in settings:
            raise BadInput(f"{key} is given twice in {spec!r}; keep one of them")
        settings[key] = value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value
    return source, settings, None


_COMMA = re.compile(r',(?=(?:[^"]*"[^"]*")*[^"]*$)')  # outside of quotation marks
_LONE_COMMA = re.compile(r"(=),(?=,|$)")  # as in between=,


def near(spec: str, folder: Path) -> str:
    """The text of a data set, with missing files replaced by those that were moved with `folder`.

    See `simkit.files.beside`. An invalid text is returned as it is; `open` reports the error.
    """
    if spec.lower().endswith(".toml"):
        return beside(spec, folder)
    try:
        source, settings, _ = read_spec(spec)
    except BadInput:
        return spec
    main = fields(source)[0].name  # type: ignore[arg-type]
    paths = {name: text for name in getattr(source, "paths", ()) if (text := settings.get(name))}
    moved = {name: beside(text, folder) for name, text in paths.items()}
    for name, text in paths.items():  # a table may lie in the folder of the images
        if any(os.path.exists(expanded(root) / text) for root in moved.values()):
            moved[name] = text
    moved = settings | moved
    return spec if moved == settings else write_spec(source.name, moved, main)


def write_spec(name: str, settings: Mapping[str, Any], main: str = "") -> str:
    """The text that `read_spec` reads; the setting `main` is written without its key.

    Raises BadInput for a value with both a comma and a quotation mark.
    """
    parts = []
    for key, value in settings.items():
        if "," in (text := str(value)):
            if '"' in text:
                raise BadInput(f"the path {text} has a comma and a quotation mark; rename it")
            text = f'"{text}"'
        parts.append(text if key == main else f"{key}={text}")
    return ":".join([name, *filter(None, [",".join(parts)])])


def shortened(data: Dataset) -> str:
    """The text that opens a data set, without settings that have their default; else its name."""
    if not data.spec:
        return data.name
    source, settings, toml = read_spec(data.spec)
    if toml is not None:
        return data.spec
    entries = fields(source)  # type: ignore[arg-type]
    plain = {entry.name: str(entry.default) for entry in entries}
    kept = {name: text for name, text in settings.items() if plain[name] != text}
    return write_spec(source.name, kept, entries[0].name)


def _raise_with_hint(spec: str) -> None:
    """Raise BadInput with the text that most likely opens a file or folder, if there is one."""
    place = spec if os.path.isdir(spec) else spec.partition(",")[0]  # settings may stand behind it
    ending, hint = Path(spec).suffix.lower(), ""
    if os.path.isdir(place):
        kinds = (kind for mark, kind in _MARKS.items() if os.path.exists(Path(place, mark)))
        hint = write_spec(next(kinds, "folder"), {"": place}, "") + spec.removeprefix(place)
    elif ending in (".csv", ".tsv") and "=" not in spec:
        hint = write_spec("folder", {"": Path(spec).parent, "labels": spec}, "")
    elif ending in (".json", ".npz"):
        hint = write_spec("coco" if ending == ".json" else "npz", {"": spec}, "")
    if hint:
        raise BadInput(f"{spec!r} does not say what kind of data it is; write {hint}")
    _refuse_archive(spec)
    if os.path.isfile(spec):
        raise BadInput(f"{spec} is a file; give the folder of the images")
    if ending or os.sep in spec:
        raise BadInput(f"{spec} does not exist; give the folder of the images, or a data set")


def _refuse_archive(path: str) -> None:
    """Raise BadInput for a packed file, with the command that unpacks it."""
    ending = next((end for end in _ARCHIVES if path.lower().endswith(end)), "")
    if ending and os.path.isfile(expanded(path)):
        folder, tool = path.removesuffix(path[-len(ending) :]), _ARCHIVES[ending]
        command = tool and f" with: python -m {tool} -e {quote(path)} {quote(folder)}"
        raise BadInput(f"{path} is an archive; unpack it{command}, and give the folder {folder}")


def _read_toml(path: Path) -> tuple[type[Source], dict[str, Any], Path]:
    with reading(path, "a data set (TOML)", "correct it") as file:
        settings = tomllib.loads(file.read_text(encoding="utf-8"))
    name = settings.pop("source", None)
    if not isinstance(name, str):
        raise BadInput(f'{file} names no data set; add a line such as source = "coco"')
    with located(str(file)):
        source = sources[name]
    for key in getattr(source, "paths", ()):
        value = settings.get(key)
        if isinstance(value, str) and value and os.path.exists(file.parent / value):
            settings[key] = str(file.parent / value)
    return source, settings, file


# Endings of packed folders, and the module of Python that unpacks them.
_ARCHIVES = {
    ".zip": "zipfile", ".7z": "", ".rar": "",
    **dict.fromkeys((".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz"), "tarfile"),
}  # fmt: skip
_MARKS = {
    "ImageSets": "voc", "VOCdevkit": "voc", "VOC2012": "voc", "VOC2007": "voc",
    "train.bin": "cifar-100", "cifar-100-binary": "cifar-100", "Groundtruth": "nus-wide",
    "images.txt": "cub", "CUB_200_2011": "cub", "train_list_500.txt": "vg",
}  # fmt: skip
