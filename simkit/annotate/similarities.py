"""Similarities of images and classes by an image-text model."""

from __future__ import annotations

import json
import math
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax, logit, softmax

from simkit.annotate.schemes import MISSING, check_scale
from simkit.chance import Chance
from simkit.errors import BadInput, counted, examples, noting, unknown
from simkit.files import reading, whole
from simkit.history import History, content_id
from simkit.labels.formats.npz import Arrays
from simkit.labels.names import (
    class_places,
    find_images,
    no_files,
    plain,
    respelled,
    similar,
)
from simkit.labels.tables import USUAL, Column, Table, from_columns, read_table
from simkit.labels.truth import Truth, locked
from simkit.metrics.ap import ap_of_classes, mean_ap

_TOML = 'the lines table = "detector.csv", [names] and people = "person"'
_LARGEST = 1.01  # cosines in float16 may exceed 1
_LARGEST_SCALE = 1e6
_WHAT = "similarities (an npz that simkit score writes)"
_NAMELESS = (
    "it is neither a table nor a file of simkit score; write a table with the names of images and "
    'classes: pandas.DataFrame(scores, images, classes).to_csv("scores.csv", index_label="image")'
)
PILOT_SCORES = "scores.parquet"  # in the folder of a comparison, see `PilotScores`
_ARRAYS = {"scores": ("f", 2), "file_names": ("U", 1), "class_names": ("U", 1)}
PROJECT_SCORES = "project_scores.parquet"  # in a project, see `write_scores`
_SCORE = tuple("score scores confidence conf probability prob logit logits value".split())
_SUREST = 1e-12  # distance of a probability from 0 and 1, whose logits are infinite
_LARGEST_SEPARATION = 20.0  # standard deviations between present and absent


@dataclass(frozen=True, eq=False)
class Similarities:
    """Cosines of image and class embeddings, before any temperature: an aid of methods.

    Parameters
    ----------
    values
        (N, L), or (N, V, L) of V views, of which the first is the whole image; floating-point
        numbers from -1 to 1.
    images, classes
        (N,) ids and L names; None: in the order of the labels with which they are used.
    scale, bias
        Logit scale and bias of the model. With a bias, sigmoid(scale * cosine + bias) is the
        probability of each class (SigLIP); without, softmax(scale * cosine) over classes (CLIP).
    history
        Their origin.
    """

    values: NDArray[np.floating]
    images: NDArray[Any] | None = None
    classes: tuple[str, ...] | None = None
    scale: float = 100.0
    bias: float | None = None
    history: History = field(default_factory=lambda: History("given"))

    name: ClassVar[str] = "similarities"

    def __post_init__(self) -> None:
        """Raises BadInput for other shapes and values."""
        values = np.asarray(self.values)
        if values.ndim not in (2, 3) or not values.size or values.dtype.kind != "f":
            raise BadInput(
                f"similarities have shape {values.shape} of {values.dtype}; floating-point numbers "
                "of shape (N, L) or (N, views, L) are expected"
            )
        largest = float(np.abs(values).max())
        if not largest <= _LARGEST:
            raise BadInput(
                f"similarities contain {largest}; cosines from -1 to 1 are expected, so do not "
                "multiply them by the scale of the model"
            )
        object.__setattr__(self, "values", locked(values))
        if not 0 < self.scale < _LARGEST_SCALE or not abs(self.bias or 0.0) < _LARGEST_SCALE:
            raise BadInput(
                f"similarities have scale {self.scale} and bias {self.bias}; a scale above 0 and a "
                f"bias, both below {_LARGEST_SCALE:g}, are expected"
            )

    @cached_property
    def id(self) -> str:
        """Content id."""
        images = np.zeros(0) if self.images is None else np.asarray(self.images).astype(str)
        about = json.dumps([self.classes, float(self.scale), self.bias])
        return content_id(self.name, self.values, images, about)

    @classmethod
    def build(cls, task: Any, *, train: Callable[..., Any]) -> Similarities:
        """Raises BadInput: labels and features do not determine them."""
        raise BadInput(
            "similarities of images and classes come from an image-text model and cannot be "
            "computed from labels; make them with simkit score and give the file as --scores, or "
            "pass task.with_aids(Similarities(cosines))"
        )

    @property
    def views(self) -> NDArray[np.floating]:
        """(N, V, L) the cosines of all views."""
        return self.values if self.values.ndim == 3 else self.values[:, None]

    def of(self, images: NDArray[Any], classes: Sequence[str]) -> NDArray[np.floating]:
        """(n, V, L') cosines of these images and classes. Raises BadInput if any is missing."""
        rows = _indices("images", images, self.images, len(self.views))
        columns = _indices("classes", np.array(classes), self.classes, self.views.shape[2])
        return self.views[rows][:, :, columns]

    def logits(self, images: NDArray[Any], classes: Sequence[str]) -> NDArray[np.float64]:
        """(n, L') logits of the probability that each class is in each whole image.

        Of a model without bias: of the softmax over these classes.
        """
        if self.bias is None and len(classes) == 1:
            raise BadInput(
                f"the model compares classes (softmax), and {classes[0]!r} is the only one; score "
                "it together with other classes, or with a model of independent classes (SigLIP)"
            )
        scaled = self.scale * self.of(images, classes)[:, 0].astype(np.float64)
        if self.bias is not None:
            return scaled + self.bias
        log_p = log_softmax(scaled, axis=1)
        others = np.clip(1 - softmax(scaled, axis=1), 1e-15, None)
        return np.asarray(log_p - np.log(others))

    def probabilities(self, images: NDArray[Any], classes: Sequence[str]) -> NDArray[np.float64]:
        """(n, L') the model's probability that each class is in each whole image."""
        return np.asarray(expit(self.logits(images, classes)))

    @staticmethod
    def read(path: str | PathLike[str], split: str) -> Similarities:
        """Read the similarities of one split; of `train+val` all parts. Raises BadInput."""
        with reading(path, _WHAT) as file, ZipFile(file) as archive:
            arrays = Arrays(archive, file)
            splits = arrays.get("splits", "U").tolist()
            wanted = [split] if split in splits else split.split("+")
            for name in wanted:
                if name not in splits:
                    raise unknown("split of the similarities", name, splits)
            numbers = [splits.index(name) for name in wanted]
            return Similarities(
                np.concatenate([arrays.get(f"cosines_{n}", "f", 3) for n in numbers]),
                np.concatenate([arrays.get(f"image_ids_{n}", "U") for n in numbers]),
                tuple(arrays.get("class_names", "U").tolist()),
                float(arrays.get("scale", "f")[0]),
                float(arrays.get("bias", "f")[0]) if "bias" in arrays else None,
                History.from_json(str(arrays.get("history", "U")[0])),
            )

    @staticmethod
    def simulated(
        truth: Truth, quality: float, *, leaves: NDArray[np.int64] | None = None, seed: int = 0
    ) -> Similarities:
        """Similarities of an assumed model, with this mAP on these images.

        A cosine is 0.2 + 0.03 (d e_c y + z) with y = 1 where the class is present, standard normal
        z, and e_c from 0.5 to 1.5, by which classes differ in difficulty; d is chosen to give the
        mAP. z and e_c are random by image and class, so errors are independent, while those of a
        real model are systematic. The model has a bias, so that its logits are of each class by
        itself.

        Parameters
        ----------
        truth : Truth
        quality : float
            mAP from 0 to 1 over the known labels, above that of random scores.
        leaves : (L',) int, optional
            Classes over which mAP is averaged; by default all.
        seed : int

        Raises
        ------
        BadInput
            If no d gives this mAP.
        """
        from scipy.optimize import brentq
        from scipy.special import ndtri

        N, L = truth.shape
        chance, present = Chance.seeded(seed).of("similarities"), truth.present.toarray()
        uniform = (chance.of("noise")(np.arange(N)[:, None], np.arange(L)) + 0.5) / 2.0**64
        noise = ndtri(np.clip(uniform, 1e-12, 1 - 1e-12))
        ease = 0.5 + chance.of("class")(np.arange(L)) / 2.0**64
        scored = np.arange(L) if leaves is None else leaves

        def excess(d: float) -> float:
            ap = ap_of_classes(noise + d * ease * present, truth)
            return mean_ap(ap[scored]) - quality

        lowest = excess(0.0)
        if not lowest < 0 < excess(_LARGEST_SEPARATION):
            least = "unknown" if math.isnan(lowest) else f"{100 * (lowest + quality):.1f}"
            raise BadInput(
                f"the quality is {100 * quality:g} mAP; one between that of random scores, "
                f"{least}, and 100 is expected"
            )
        d = brentq(excess, 0.0, _LARGEST_SEPARATION, xtol=1e-3)
        values = np.clip(0.2 + 0.03 * (noise + d * ease * present), -1, 1)
        history = History("score", {"model": "simulated", "quality": quality}, seed, (truth.id,))
        return Similarities(
            values.astype(np.float32), truth.images, truth.classes, bias=-26.0, history=history
        )


def write_similarities(parts: Mapping[str, Similarities], path: str | PathLike[str]) -> None:
    """Write the similarities of each split, of the same model and classes, into one npz file."""
    first = next(iter(parts.values()))
    arrays = {
        "splits": np.array(list(parts)), "class_names": np.array(first.classes),
        "scale": np.array([first.scale]), "history": np.array([first.history.to_json()]),
    }  # fmt: skip
    if first.bias is not None:
        arrays["bias"] = np.array([first.bias])
    for number, part in enumerate(parts.values()):
        arrays[f"cosines_{number}"] = part.views
        arrays[f"image_ids_{number}"] = np.asarray(part.images).astype(str)
    with whole(path) as file, file.open("wb") as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type]


def splits_of(path: str | PathLike[str]) -> list[str]:
    """The splits in a file of similarities. Raises BadInput."""
    with reading(path, _WHAT) as file, ZipFile(file) as archive:
        return list(Arrays(archive, file).get("splits", "U").tolist())


def read_scores(
    path: str | PathLike[str] | None, split: str, images: NDArray[Any], classes: Sequence[str],
    *, files: Callable[[], Sequence[str]] = no_files, strict: bool = False,
) -> NDArray[np.floating] | None:  # fmt: skip
    """(n, L) logits of these images and classes, from a file of similarities or a table.

    The table has a column with the images' ids, by default the first, and one for each class; or a
    row for each image and class, with columns image, class and score. The names of `files`, one for
    each image, may replace the ids; see `find_images`. Probabilities become logits. An image
    without scores there gets very low ones. Raises BadInput, with `strict` also for a table whose
    scores may not be logits.
    """
    if path is None:
        return None
    with reading(path, "scores", "make it with simkit predict or simkit score") as file:
        if not is_table(file):
            return _of_similarities(file, split, images, classes)
        table = _scores_table(file)
        wanted = _Wanted(split, [*map(str, images.tolist())], classes, files)
        return _from_table(table, wanted, strict)


def scored_splits(
    path: str | PathLike[str], images: Mapping[str, NDArray[Any]], classes: Sequence[str],
    files: Callable[[str], Sequence[str]],
) -> dict[str, NDArray[np.float64]]:  # fmt: skip
    """Scores of splits, from a table with all images of one or several splits.

    Parameters
    ----------
    path
        The table.
    images
        Ids by split. Of splits with the same ids the first counts.
    classes
        L names.
    files
        Gives the file names of a split.

    Returns
    -------
    dict
        (n, L) logits by split.

    Raises
    ------
    BadInput
        If the table lacks images or classes.
    """
    with reading(path, "scores") as file:
        table, scores = _scores_table(file), dict[str, NDArray[np.float64]]()
        ids, held = _image_column(table, classes).texts, dict[str, NDArray[Any]]()
        for split, some in images.items():
            found = find_images(ids, some, lambda _: None, partial(files, split)) >= 0
            if found.any() and not any(np.isin(some, other).any() for other in held.values()):
                held[split] = some
        held = held or dict([*images.items()][:1])  # whose error says what is wrong
        names = " and ".join(held)
        every = [str(image) for some in held.values() for image in some.tolist()]
        paths = lambda: [name for split in held for name in files(split)]  # noqa: E731
        logits = _from_table(table, _Wanted(names, every, classes, paths), strict=False)
        for split, some in held.items():
            scores[split], logits = logits[: len(some)], logits[len(some) :]
        return scores


def is_table(path: str | PathLike[str]) -> bool:
    """Whether this is a table of scores, and not the similarities of `simkit score` (npz)."""
    if Path(path).suffix.lower() != ".npz":
        return True
    with ZipFile(path) as archive:
        return "splits.npy" not in archive.namelist()


def _scores_table(file: Path) -> Table:
    """A table of scores: a file, arrays of scores with the names of images and classes, or a TOML
    file that names a table and the classes that have another name in it."""
    if file.suffix.lower() == ".toml":
        return _with_names_of(file)
    if file.suffix.lower() in (".npy", ".pkl", ".pt", ".pth"):
        raise BadInput(_NAMELESS)
    if file.suffix.lower() != ".npz":
        return read_table(file)
    with ZipFile(file) as archive:
        arrays = Arrays(archive, file)
        if not all(name in arrays for name in _ARRAYS):
            raise BadInput(_NAMELESS)
        scores, names, classes = (
            arrays.get(name, kind, axes) for name, (kind, axes) in _ARRAYS.items()
        )
    if scores.shape != (len(names), len(classes)):
        raise BadInput(
            f"scores have shape {scores.shape}, but there are {len(names):,} file_names "
            f"and {len(classes):,} class_names; give one score for each pair of them"
        )
    columns = dict(zip(classes.tolist(), scores.T.astype(np.float64), strict=True))
    return from_columns({"image": names, **columns}, file)


def _with_names_of(file: Path) -> Table:
    """The table that a TOML file names, with the names of classes from the file's [names].

    A class with the names [] has no scores: in a table with a column for each class, an empty one.
    """
    import pyarrow as pa

    values = tomllib.loads(file.read_text("utf-8"))
    names = values.get("names", {})
    if {*values} != {"table", "names"} or not isinstance(names, dict):
        raise BadInput(f"a table and the names of classes in it are expected, as in {_TOML}")
    ours: dict[str, str] = {}
    for name, each in names.items():
        for text in [each] if isinstance(each, str) else each:
            if ours.setdefault(plain(text), name) != name:
                raise BadInput(f"[names]: {text!r} stands for two classes; keep one")
    with reading(file.parent / values["table"], "scores") as path:
        table = _scores_table(path)
    of_class = [column.name for column in table.named(USUAL["class"])]
    known = {*table.by_name()}.union(*(table.by_name()[name].texts for name in of_class))
    for text in ours:
        if text not in known:
            raise unknown("class in its table", text, known)
    columns = [
        column.cleaned(lambda text: ours.get(text, text))
        if column.name in of_class
        else replace(column, name=ours.get(column.name, column.name))
        for column in table.columns
    ]
    if not of_class:
        empty = pa.nulls(len(table), pa.float64())
        columns += [Column(name, empty, table) for name, each in names.items() if each == []]
    return replace(table, columns=columns)


def _how_to_rename(table: Table, others: Sequence[str]) -> str:
    """A sentence on how to map classes that a table lacks to other names in it; or ""."""
    if not others:
        return ""
    return (
        f"; its other names are {examples(map(repr, others), 8)}; if some mean the same, give a "
        f"TOML file in its place, with the lines table = {Path(table.path).name!r}, [names] and "
        f"CLASS = {others[0]!r}, where CLASS is its name in the data"
    )


def _of_similarities(
    file: Path, split: str, images: NDArray[Any], classes: Sequence[str]
) -> NDArray[np.float64]:
    """(n, L) logits of these images and classes, from a file of `simkit score`."""
    held = splits_of(file)
    scores = Similarities.read(file, split if split in held else "+".join(held))
    if split in held and not {*images.astype(str)} <= {*np.asarray(scores.images)}:
        scores = Similarities.read(file, "+".join(held))  # the images were split otherwise
    return scores.logits(images, classes)


def describe_table(path: str | PathLike[str]) -> dict[str, Any] | None:
    """Facts about a table of scores, as `simkit predict` or `PilotScores` write it; None for other
    files."""
    import pyarrow.parquet

    with suppress(BadInput), reading(path, "scores") as file:
        table = read_table(file)
        if table.columns[0].name != "image":
            return None
        values = np.array([column.numbers() for column in table.columns[1:]])
        facts = {
            "images": len(table), "classes": len(values),
            "names": [column.name for column in table.columns[1:]],
            "lowest": float(np.nanmin(values)), "highest": float(np.nanmax(values)),
            "empty": int(np.isnan(values).sum()),
        }  # fmt: skip
        about = (file.suffix == ".parquet" and pyarrow.parquet.read_schema(file).metadata) or {}
        history = json.loads(about.get(b"history", b"null"))
        return facts | ({} if history is None else {"history": history})
    return None


@dataclass(frozen=True, eq=False)
class PilotScores:
    """Scores of a pilot's images by models that have not seen them, and the images' labels.

    Attributes
    ----------
    values
        (N, L) logits.
    truth
        The complete labels, with the names of images and classes.
    history
        The method, and the number of models.
    """

    values: NDArray[np.floating]
    truth: Truth
    history: History

    def write(self, path: str | PathLike[str]) -> None:
        """Write a table of scores (.parquet) that `--scores` reads; labels are in its metadata."""
        rows, classes = self.truth.present.nonzero()
        present = json.dumps([rows[classes == c].tolist() for c in range(len(self.truth.classes))])
        about = {"history": self.history.to_json(), "present": present}
        write_scores(self.values, self.truth.images, self.truth.classes, path, about=about)

    @staticmethod
    def read(path: str | PathLike[str]) -> PilotScores:
        """Read what `write` wrote. Raises BadInput."""
        import pyarrow.parquet

        with reading(path, "scores of a pilot", "delete it and compare again") as file:
            table = pyarrow.parquet.read_table(file)
            present = np.zeros((table.num_rows, table.num_columns - 1), bool)
            for c, rows in enumerate(json.loads(table.schema.metadata[b"present"])):
                present[rows, c] = True
            values = np.stack([column.to_numpy() for column in table.columns[1:]], axis=1)
            images = np.array(table.column(0).to_pylist())
            truth = Truth.of(present, images=images, classes=tuple(table.column_names[1:]))
            history = History.from_json(table.schema.metadata[b"history"].decode())
            return PilotScores(values, truth, history)


def write_scores(
    values: NDArray[np.floating], images: NDArray[Any], classes: Sequence[str],
    path: str | PathLike[str], *, about: Mapping[str, str] | None = None,
) -> None:  # fmt: skip
    """Write logits (N, L) as a table (.parquet) that `read_scores` reads; missing ones are empty.

    about: metadata.
    """
    import pyarrow as pa
    import pyarrow.parquet

    columns = {"image": pa.array(images.astype(str).tolist())}
    for c, name in enumerate(classes):
        columns[name] = pa.array(values[:, c], mask=values[:, c] <= MISSING)
    with whole(path) as file:
        pyarrow.parquet.write_table(pa.table(columns).replace_schema_metadata(about), file)


@dataclass(frozen=True, eq=False)
class _Wanted:
    """The images (n of `split`, with the names of their files) and classes to be scored."""

    split: str
    images: Sequence[str]
    classes: Sequence[str]
    files: Callable[[], Sequence[str]]

    def rows(self, table: Table, ids: Column) -> NDArray[np.int64]:
        """(n,) the index of each image among the texts of a column, -1 for none.

        A note names other images of the table. Raises BadInput if no text names an image, or if two
        texts name the same one.
        """
        places = find_images(ids.texts, self.images, table.note, self.files)
        if not len(matched := np.flatnonzero(places >= 0)):
            file = next((name for name in self.files() if name not in self.images), "")
            raise BadInput(
                f"none of its images is in {self.split}: column {ids.name!r} has "
                f"{ids.texts[0][:200]!r}, but ids such as {self.images[0]!r}"
                f"{file and f' or names of files such as {file!r}'} are expected; write these "
                "into it"
            )
        rows = np.full(len(self.images), -1)
        rows[places[matched[::-1]]] = matched[::-1]
        if len(twice := matched[rows[places[matched]] != matched]):
            one, other = (ids.texts[n] for n in (rows[places[twice[0]]], twice[0]))
            raise BadInput(f"{one!r} and {other!r} are the same image of {self.split}; keep one")
        if left := sorted(ids.texts[n] for n in np.flatnonzero(places < 0)):
            table.note(f"images left out because they are not in {self.split}: {counted(left)}")
        return rows


def _from_table(table: Table, wanted: _Wanted, strict: bool) -> NDArray[np.float64]:
    """(n, L) the scores in a table as logits, with very low values for missing ones."""
    if _is_long(table, wanted.classes):
        scores = _pair_by_pair(table, wanted)
    else:
        scores = _class_by_class(table, wanted)
    probabilities = _probabilities(scores, table)
    if strict and not probabilities:
        _check_logits(scores, wanted.images, wanted.classes)
    if probabilities:
        scores = np.asarray(logit(np.clip(scores, _SUREST, 1 - _SUREST)))
    if (empty := np.isnan(scores)).any():
        without = [wanted.images[n] for n in np.flatnonzero(empty.any(axis=1)).tolist()]
        table.note(f"no label is proposed where a score is empty: {empty.sum():,} of "
                   f"{empty.size:,} scores; images with empty scores: "
                   f"{counted(without)}")  # fmt: skip
        scores[empty] = MISSING
    return scores


def _is_long(table: Table, classes: Sequence[str]) -> bool:
    """Whether a table has a row for each image and class."""
    of_class, of_score = (table.named(names) for names in (USUAL["class"], _SCORE))
    named = class_places([*table.by_name()], classes)
    usual = {column.name for column in (*of_class, *of_score)}
    return bool(of_class and of_score) and not {*named} - usual


def _image_column(table: Table, classes: Sequence[str]) -> Column:
    """The column of a table that names the images."""
    if _is_long(table, classes):
        return table.pick("image")
    of_class = class_places([*table.by_name()], classes)
    others = [column for column in table.columns if column.name not in of_class]
    ids = next((column for column in table.named(USUAL["image"]) if column in others), None)
    if (ids := ids or table.columns[0]) not in others:
        raise BadInput("no column holds the image ids; call it image")
    return ids


def _class_by_class(table: Table, wanted: _Wanted) -> NDArray[np.float64]:
    """(n, L) the scores in a table with a column for each class, nan where a cell is empty."""
    by_name, classes = table.by_name(), wanted.classes
    columns = {c: by_name[name] for name, c in class_places([*by_name], classes).items()}
    columns |= {c: by_name[name] for c, name in enumerate(classes) if name in by_name}
    ids = _image_column(table, classes)
    used = {*map(id, columns.values()), id(ids)}
    others = [column.name for column in table.columns if id(column) not in used]
    if without := [name for c, name in enumerate(classes) if c not in columns]:
        if others or not columns:  # one of the others may be a class under another name
            no_scores = f", or {without[0]!r} = [] if it has no scores" if others else ""
            raise BadInput(
                f"no column is called {examples(similar(without, others), 8)}: a column with the "
                "image ids and one per class are expected, as written by simkit predict, or the "
                f"columns image, class and score{_how_to_rename(table, others)}"
                f"{no_scores}"
            )
        table.note(f"classes without a column, which have no scores: {counted(without)}")
    found = sorted(columns)
    _note_classes(table, [columns[c].name for c in found], [classes[c] for c in found])
    ids.check_different("image")
    rows = wanted.rows(table, ids)
    if lacking := np.flatnonzero(rows < 0).tolist():
        raise BadInput(
            f"of {len(rows):,} images, these have no row: "
            f"{counted([wanted.images[n] for n in lacking])} (the first row is for "
            f"{ids.texts[0]!r}); score them with simkit predict, or add rows with empty cells"
        )
    if others:
        table.note(f"columns left out because they are not classes of the data: {counted(others)}")
    scores = np.full((len(rows), len(classes)), np.nan)
    for c in found:
        scores[:, c] = columns[c].numbers()[rows]
    return scores


def _pair_by_pair(table: Table, wanted: _Wanted) -> NDArray[np.float64]:
    """(n, L) the scores in a table with a row for each image and class, nan without a row."""
    classes, ids, names = wanted.classes, table.pick("image"), table.pick("class")
    scores = table.named(_SCORE)
    if len(scores) > 1:
        raise BadInput(f"columns {scores[0].name!r} and {scores[1].name!r} could both be the "
                       "score; remove the other")  # fmt: skip
    values, rows = scores[0].numbers(), wanted.rows(table, ids)
    if others := [c.name for c in table.columns if c not in (ids, names, scores[0])]:
        table.note(f"columns left out beside image, class and score: {counted(others)}")
    places = class_places(names.texts, classes)
    others = [name for name in names.texts if name not in places]
    lacking = [name for c, name in enumerate(classes) if c not in {*places.values()}]
    mend = _how_to_rename(table, others) if lacking else ""
    if not places:
        raise BadInput(f"it has no row of {examples(similar(lacking, others), 8)}{mend}")
    _note_classes(table, [*places], [classes[c] for c in places.values()])
    if others:
        table.note(f"names that are not classes of the data, whose rows are left out: "
                   f"{counted(others)}")  # fmt: skip
    if lacking:
        table.note(f"classes without any row: {counted(similar(lacking, others))}{mend}")
    image = np.full(len(ids.texts), -1)
    image[rows[rows >= 0]] = np.flatnonzero(rows >= 0)
    c = np.array([places.get(name, -1) for name in names.texts])[names.codes]
    image = image[ids.codes]
    used = (image >= 0) & (c >= 0) & ~np.isnan(values)
    pairs = image[used] * len(classes) + c[used]
    highest = np.full(len(rows) * len(classes), -np.inf)
    np.maximum.at(highest, pairs, values[used])
    if more := len(pairs) - len(np.unique(pairs)):
        table.note(f"further scores of the same image and class, such as of a second box: {more:,};"
                   " the highest counts")  # fmt: skip
    return np.where(highest > -np.inf, highest, np.nan).reshape(len(rows), -1)


def _note_classes(table: Table, names: Sequence[str], classes: Sequence[str]) -> None:
    """Add a note about class names in the table that were matched with another spelling."""
    pairs = [(ours, theirs) for theirs, ours in zip(names, classes, strict=True) if theirs != ours]
    if pairs:
        table.note(respelled(pairs, len(classes), "classes"))


def _probabilities(scores: NDArray[np.float64], table: Table) -> bool:
    """Whether the scores (n, L; nan: none) are probabilities, with a note if so.

    Raises BadInput if the low probabilities are missing, and for the logarithms of a softmax.
    """
    known = scores[~np.isnan(scores)]
    if not known.size:
        return False
    low, high = known.min(), known.max()
    if high <= 0 and scores.shape[1] > 1 and (np.abs(np.exp(scores).sum(axis=1) - 1) < 1e-3).all():
        raise BadInput("its scores are logarithms of probabilities, which sum to 1 in each image; "
                       "write probabilities, exp(x)")  # fmt: skip
    if low < 0 or high > 1 + 1e-6:
        return False
    if low >= 0.5:
        raise BadInput(f"its scores lie between {low:.3g} and {high:.3g}, as if lower ones were "
                       "left out; write these, too, or 0 where nothing was found")  # fmt: skip
    table.note(f"scores from {low:.3g} to {high:.3g} are read as probabilities; write logits if "
               "they are not")  # fmt: skip
    return True


def _check_logits(
    scores: NDArray[np.float64], images: Sequence[str], classes: Sequence[str]
) -> None:
    """Raise BadInput for scores (n, L; nan: none) that may not be logits."""
    if np.isnan(scores).all():
        raise BadInput("it has no score of these images and classes; fill its cells")
    low, high = np.nanmin(scores), np.nanmax(scores)
    if high <= 0 or (low >= -1 and high <= 1):
        like = "logarithms of probabilities" if low < -1 else "cosines"
        raise BadInput(
            f"all scores lie between {low:.3g} and {high:.3g}, which may be {like} or logits; "
            "write probabilities instead: exp(x) for a logarithm, 1 / (1 + exp(-x)) for a logit; "
            "for an image-text model, give the file of simkit score"
        )
    check_scale(scores, images, classes)


def _indices(what: str, wanted: NDArray[Any], named: Any, count: int) -> NDArray[np.intp]:
    """Indices of the wanted ids among the named ones, or all of them in order without names."""
    if named is None:
        if len(wanted) != count:
            raise BadInput(
                f"the similarities have {count} {what} and the labels {len(wanted)}; give "
                f"similarities of the same {what}"
            )
        return np.arange(count)
    index = [*map(str, np.asarray(named).tolist())]
    ((twice, count),) = Counter(index).most_common(1)
    if count > 1:
        raise BadInput(f"the similarities have {twice!r} twice among the {what}; keep one")
    names = [*map(str, wanted.tolist())]
    if what == "images":
        places = find_images(index, names, noting("similarities"))
    else:
        of_class = class_places(index, names)
        places = np.array([of_class.get(name, -1) for name in index])
    rows = np.full(len(names), -1)
    rows[places[places >= 0]] = np.flatnonzero(places >= 0)
    if len(lacking := np.flatnonzero(rows < 0)):
        raise BadInput(
            f"the similarities lack {len(lacking)} of {len(names)} {what}, such as "
            f"{names[lacking[0]]!r}; make them with simkit score for the same data"
        )
    return rows
