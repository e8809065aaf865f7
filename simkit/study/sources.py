"""The truth, features and decoded images of a study."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from os import PathLike
from pathlib import Path
from shlex import quote
from typing import Any, Literal, cast

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from simkit.annotate.similarities import Similarities, is_table, scored_splits, splits_of
from simkit.cache import cache_folder
from simkit.data import Dataset
from simkit.data import open as open_data
from simkit.data.dataset import WHOLE, read_spec, shortened
from simkit.data.folder import UNLABELLED
from simkit.embed.backbones import backbone as load_backbone
from simkit.embed.feature_files import Kind, of_splits
from simkit.embed.features import Features, extract, read_features
from simkit.embed.neighbours import Neighbours
from simkit.embed.networks import Backbone
from simkit.errors import BadInput, examples, note
from simkit.files import reading
from simkit.history import content_id
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.names import id_key, matches, plain
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth, places
from simkit.learn.inputs import FeatureInputs, ImageInputs, SizedPictures, sized
from simkit.learn.label_embeddings import LabelMeans, LabelMedians
from simkit.learn.methods import Method
from simkit.progress import Progress, silent
from simkit.registry import short

Side = int | None  # side of images in pixels; None: that of the backbone
SCENES_NET = "scenes-net"  # the backbone that ships with simkit
FROM_FEATURES = (Neighbours, LabelMedians, LabelMeans)  # side information
_CROP = (0.25, 1.0)  # for methods that compare views of an image


@dataclass(frozen=True)
class StudySource:
    """The names of a data set and its features, which any process can open.

    Attributes
    ----------
    splits
        The splits in use.
    kinds
        Kinds of features: "pooled", "maps".
    features
        Pairs of a split and its npz file or folder of precomputed features; empty to compute and
        cache those of `backbone`.
    sizes
        Sides of the images, in pixels, on which the whole backbone is trained; features are then
        of the train split alone, to find neighbours.
    scores
        File of similarities by an image-text model, or table of scores; empty for none.
    """

    data: str
    splits: tuple[str, ...]
    kinds: tuple[Kind, ...]
    backbone: str = ""
    weights: str = ""
    features: tuple[tuple[str, str], ...] = ()
    sizes: tuple[Side, ...] = ()
    scores: str = ""


Source = StudySource  # the public name, which would suggest a source of data in this package


@dataclass(frozen=True)
class ImageTransform:
    """The transform of images for training a whole backbone.

    Attributes
    ----------
    size
        Side in pixels; None for that of the backbone.
    flip, vertical
        Mirror half of the images; turn half of them upside down.
    crop
        Smallest and largest share of the area in a random crop; None for the whole image, or
        (0.25, 1) for methods that compare crops.
    """

    size: int | None = None
    flip: bool = True
    vertical: bool = False
    crop: tuple[float, float] | None = None

    def for_method(self, method: Method) -> ImageTransform:
        """The transform with crops if the method compares views."""
        return replace(self, crop=_CROP) if method.needs.views and self.crop is None else self

    def inputs(self, pictures: SizedPictures) -> ImageInputs:
        """Images as training reads them."""
        return ImageInputs(pictures, flip=self.flip, vertical=self.vertical, crop=self.crop)


@dataclass(frozen=True, eq=False, repr=False)
class StudyData:
    """An open data set with its features by split and kind.

    Attributes
    ----------
    networks, pictures
        For training whole backbones: the initial network by side of the images, and the decoded
        images by split and side.
    similarities
        Of the images and classes by an image-text model, by split; empty without any.
    tables
        (N, L) logits by split, from a table of scores; empty without one.
    """

    data: Dataset
    features: Mapping[tuple[str, str], Features]
    networks: Mapping[Side, Backbone] = field(default_factory=dict)
    pictures: Mapping[tuple[str, int], SizedPictures] = field(default_factory=dict)
    similarities: Mapping[str, Similarities] = field(default_factory=dict)
    tables: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    @property
    def hierarchy(self) -> Hierarchy | None:
        return self.data.hierarchy

    def truth(self, split: str) -> Truth:
        """The truth of a split."""
        return self.data.truth[split]

    def inputs(self, split: str, kind: str) -> FeatureInputs:
        """The features of a split as training reads them. Raises BadInput if it has none."""
        features = self.features.get((split, kind))
        if features is None:
            raise BadInput(f"the data have no {kind} features of {split}; open them with both")
        return FeatureInputs(cast(NDArray[np.float16], features.values), features.id)

    def images(self, split: str, transform: ImageTransform) -> ImageInputs:
        """The images of a split as training reads them."""
        return transform.inputs(self.pictures[split, self.networks[transform.size].size])

    @property
    def scored(self) -> frozenset[str]:
        """The splits with scores."""
        return frozenset((*self.similarities, *self.tables))

    @cached_property
    def scores(self) -> dict[str, NDArray[np.float64]]:
        """(N, L) logits of the image-text model or of the table, by split."""
        return {**self.tables} | {
            split: each.logits(self.truth(split).images, self.data.classes)
            for split, each in self.similarities.items()
        }

    def known(self, split: str) -> csr_array | NDArray[np.bool_] | None:
        """(N, L) mask of the entries that count in metrics, or None for all.

        Sparse where the truth is known in part. Difficult objects and unreadable images do not
        count.
        """
        known, difficult = self.truth(split).known, self.data.difficult.get(split)
        skipped = self.skipped(split)
        if known is None and difficult is None and not len(skipped):
            return None
        readable = np.ones((self.truth(split).shape[0], 1), bool)
        readable[skipped] = False
        if known is not None:
            counts = csr_array(known.multiply(readable))
            counts.eliminate_zeros()
            return counts if difficult is None else csr_array(counts > difficult)
        every = np.repeat(readable, self.truth(split).shape[1], axis=1)
        return every if difficult is None else every & ~csr_array(difficult).toarray()

    def skipped(self, split: str) -> NDArray[np.int64]:
        """Rows of the unreadable images of a split, which have no features and are left out."""
        rows = (
            image.row for (of, _), f in self.features.items() if of == split for image in f.skipped
        )
        return np.array(sorted(set(rows)), np.int64)

    def readable(self, labels: PartialLabels, split: str) -> PartialLabels:
        """Labels of a split with unreadable images as not asked about."""
        skipped = self.skipped(split)
        if not len(skipped):
            return labels
        asked = labels.asked.copy()
        asked[skipped] = False
        codes = labels.codes.multiply(asked[:, None].astype(np.int8))
        record: dict[str, Any] = {"effort": labels.effort, "history": labels.history}
        return PartialLabels.of(codes, labels.images, labels.classes, asked, **record)

    @cached_property
    def ids(self) -> dict[str, str]:
        """Content ids of everything in the used splits that decides results."""
        decoded_splits = dict.fromkeys(split for split, _ in self.pictures)
        splits = dict.fromkeys(split for split, _ in self.features) | decoded_splits
        names = {f"truth {split}": self.truth(split).id for split in splits}
        for split in splits:
            difficult, boxes = self.data.difficult.get(split), self.data.boxes.get(split)
            if difficult is not None:  # metrics leave them out
                rows, columns = difficult.nonzero()
                entries = np.unique(rows.astype(np.int64) * difficult.shape[1] + columns)
                names[f"difficult {split}"] = content_id("difficult", entries)
            if boxes is not None:  # people see large objects first
                names[f"boxes {split}"] = boxes.id
        names |= {f"features {split} {kind}": f.id for (split, kind), f in self.features.items()}
        names |= {f"pictures {split}": self.data.pictures[split].id for split in decoded_splits}
        names |= {network_key(size): net.id for size, net in self.networks.items()}
        names |= {f"scores {split}": each.id for split, each in self.similarities.items()}
        tables = self.tables.items()
        names |= {f"scores {split}": content_id("table", each) for split, each in tables}
        if self.hierarchy is not None:
            names["hierarchy"] = self.hierarchy.id
        return names

    @cached_property
    def work(self) -> dict[Side, int]:
        """Multiplications and additions of the network for an image, by its side."""
        from torch.utils.flop_counter import FlopCounterMode  # loads triton

        work: dict[Side, int] = {}
        for size, net in self.networks.items():
            image = torch.zeros(1, 3, net.size, net.size, dtype=torch.uint8)
            with torch.no_grad(), FlopCounterMode(display=False) as counter:
                net(net.prepare(image))
            work[size] = int(counter.get_total_flops())
        return work


def network_key(size: Side) -> str:
    """The key in `StudyData.ids` of the network for images of this side."""
    return f"backbone {size or 'of its own size'}"


def kind_of(method: Method) -> Kind:
    """ "maps" for methods that need feature maps, else "pooled"."""
    return "maps" if method.needs.maps else "pooled"


def needs_features(method: Method) -> bool:
    """Whether the method needs side information from features."""
    return any(kind in FROM_FEATURES for kind in method.needs.aids)


def open_source(
    source: StudySource,
    *,
    data: Dataset | None = None,
    wanted: Mapping[str, NDArray[np.bool_]] | None = None,
    progress: Progress = silent,
) -> StudyData:
    """Open the data and compute or read its features.

    Parameters
    ----------
    source
        Names of the data set and the features.
    data
        The data set of `source.data`, if it is already open.
    wanted
        By split, (N,) mask of the images whose features are used, so that others are not computed.
    progress
        Called with (images done, images).

    Returns
    -------
    StudyData
        The data set with its features.

    Raises
    ------
    BadInput
        For missing splits, features that do not fit, and unreadable images.
    """
    data = data or open_data(source.data)
    for split in source.splits:
        if split not in data.truth:
            known = [truth.known for truth in data.truth.values()]
            unlabelled = all(one is not None and not one.nnz for one in known)
            raise BadInput(
                f"{source.data!r} has no labels to compare with; name a table of them "
                "(labels=...), or start with: simkit quickstart"
                if unlabelled
                else f"{source.data!r} has no {split} split; {_for_split(source.data, split, data)}"
            )
    features: dict[tuple[str, str], Features] = {}
    load = partial(load_backbone, source.backbone, source.weights or None)
    # A backbone on images uses features only for neighbours, and only those of train.
    featured = ("train",) if source.sizes and source.kinds else source.splits
    for split in featured if source.kinds else ():
        # Images that `simkit features` skipped at the request of the user stay skipped.
        of_split = _precomputed(source, data, split) if source.features else extract(
            data, split, load(), kinds=source.kinds, unreadable="before",
            wanted=(wanted or {}).get(split), progress=progress,
        )  # fmt: skip
        features |= {(split, kind): each for kind, each in of_split.items()}
    if features and not source.features:
        warn_of_scenes_net(data, source.backbone)
    origins: dict[str, str] = {}  # plain files do not name their network
    for (split, _), each in features.items():
        if _pictures_id(each):
            settings, weights = each.history.settings, " ".join(each.history.parents[1:])
            network = f"{settings.get('backbone')} at {settings.get('size')} pixels ({weights})"
            origins.setdefault(network, split)
    if len(origins) > 1:
        each_of = ", ".join(f"those of {split} from {name}" for name, split in origins.items())
        raise BadInput(f"features: {each_of}; extract both with the same backbone and size")
    networks: dict[Side, Backbone] = {size: load(size=size) for size in source.sizes}
    # Decoded into the cache folder, where all worker processes read the same memory.
    pictures = {
        (split, side): decoded_pictures(data, split, side, cache=cache_folder(), progress=progress)
        for split in source.splits
        for side in dict.fromkeys(net.size for net in networks.values())
    }
    scores = _scores(source, data)
    opened = StudyData(data, features, networks, pictures, *scores)
    for split in source.splits:
        if skipped := len(opened.skipped(split)):
            warnings.warn(
                f"{skipped:,} images of {split} could not be read when its features were computed; "
                "they are left out of training and metrics",
                stacklevel=2,
            )
    return opened


def _scores(
    source: StudySource, data: Dataset
) -> tuple[dict[str, Similarities], dict[str, NDArray[np.float64]]]:
    """By split, the similarities of an image-text model, and the scores of a table."""
    if not source.scores:
        return {}, {}
    if has_table(source):
        images = {split: data.truth[split].images for split in source.splits}
        return {}, scored_splits(source.scores, images, data.classes, data.file_names)
    held = splits_of(source.scores)
    scored = (split for split in source.splits if split in held)
    return {split: Similarities.read(source.scores, split) for split in scored}, {}


def has_table(source: StudySource) -> bool:
    """Whether the scores are a table, and not similarities. Raises BadInput if they are missing."""
    with reading(source.scores, "scores", "make it with simkit predict or simkit score"):
        return is_table(source.scores)


def refuse_table(source: StudySource, method: Method) -> None:
    """Raise BadInput for a method that needs similarities where the scores are a table."""
    if source.scores and Similarities in method.needs.aids and has_table(source):
        raise no_cosines(source.scores, short(method))


def no_cosines(scores: str, method: str) -> BadInput:
    """The error for a table of scores where a method needs those of an image-text model."""
    return BadInput(
        f"{scores} is a table of scores, as of a detector, which {method!r} cannot use: it needs "
        "the cosines of images and class names, which only an image-text model gives; "
        "make them with simkit score, or name another method"
    )


def _for_split(spec: str, split: str, data: Dataset) -> str:
    """The mend for a split that a data set lacks: the setting that names or makes it."""
    for entry in dataclasses.fields(read_spec(spec)[0]):  # type: ignore[arg-type]
        if entry.name == split:
            shared = isinstance(entry.default, float)
            share = "0.2, to hold out a share" if shared else "FILE"
            return f"add {split}={share}"
    return f"name one of {', '.join(data.truth)}"


_opened = lru_cache(maxsize=2)(open_source)


def opened_as(source: StudySource, ids: Mapping[str, str]) -> StudyData:
    """The data of a source, with a check of their ids; a process opens them once.

    Raises
    ------
    BadInput
        If the data have other ids, even when opened again.
    """
    if _opened(source).ids != dict(ids):
        _opened.cache_clear()  # the files may have changed since this process opened them
    if _opened(source).ids != dict(ids):
        raise BadInput("the data or features changed since the comparison was planned; start again")
    return _opened(source)


def warn_of_scenes_net(data: Dataset, backbone: str) -> None:
    """Warn if features of other data than `scenes` come from the network that ships with simkit."""
    if backbone == SCENES_NET and data.name != "scenes":
        warnings.warn(
            f"features of {data.name} come from {SCENES_NET}, which was trained on drawn scenes "
            "only; for photographs name backbone mobilenet_v2 with a file of weights",
            stacklevel=3,
        )


def decoded_pictures(
    data: Dataset,
    split: str,
    size: int,
    *,
    cache: str | PathLike[str] | None = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> SizedPictures:
    """Decode all images of a split to `size` by `size` pixels.

    Parameters
    ----------
    data, split
        The data set and one of its splits.
    size
        Side in pixels.
    cache
        Folder for the decoded images, from which a second call opens them. By default up to 4 GiB
        are kept in memory only, and more in the cache folder ($SIMKIT_CACHE).
    threads
        Number of threads, by default one for each core.
    progress
        Called with (images done, images).

    Returns
    -------
    SizedPictures

    Raises
    ------
    BadInput
        If the split has no images, or one cannot be read.
    """
    return sized(data.pictures_of(split), size, cache=cache, threads=threads, progress=progress)


def labels_of_train(labels: PartialLabels, data: Dataset, where: str) -> PartialLabels:
    """Labels of the train split; those of the undivided training set lose the held-out images.

    Labels that were not simulated may name only some images and classes, and simulated ones some
    images; they are extended to all. Raises BadInput, naming `where`, for labels of other data.
    """
    train, whole = data.truth["train"], data.truth[data.to_label]
    if data.classes == UNLABELLED:
        raise BadInput(
            f"{data.name} has no classes because of labels=none; name a table with labels=FILE, or "
            "the data.toml that simkit receive wrote beside the labels"
        )
    simulated = labels.history.command == "simulate"
    selected = labels.history.parents[:1] == (whole.id,) and labels.shape[0] < whole.shape[0]
    if not simulated or selected:
        labels = _over_all(labels, data, where)
    if len(labels.images) != len(whole.images):
        labels.check_about(train, where)
        return labels
    labels.check_about(whole, where)
    return labels.of_images(train.images)


def _over_all(labels: PartialLabels, data: Dataset, where: str) -> PartialLabels:
    """Labels of some images and classes as labels of the whole undivided training set.

    Raises BadInput, naming `where`.
    """
    whole, images = data.truth[data.to_label], labels.images.tolist()
    here = matches(whole.images.tolist(), images) >= 0
    scored = np.zeros(len(images), bool)
    for split in {"val", "test"} & {*data.truth}:
        scored |= ~here & (matches(data.truth[split].images.tolist(), images) >= 0)
    if scored.all():
        raise BadInput(f"{where} has only images of val and test; label training images")
    why = "images outside the training set, in val or test, whose labels are not used: {}"
    note(where, labels.images[scored], why, total=len(images))
    labels = labels.of_images(labels.images[~scored])
    rows = _places_in("image", whole.images.tolist(), labels.images.tolist(), where)
    columns = _places_in("class", whole.classes, labels.classes, where)
    stored = labels.codes.tocoo()
    extended = (rows[stored.row], columns[stored.col])
    codes = coo_array((stored.data, extended), shape=whole.shape)
    asked = np.zeros(whole.shape[0], bool)
    asked[rows] = labels.asked
    record: dict[str, Any] = {"effort": labels.effort, "history": labels.history}
    return PartialLabels.of(codes, whole.images, whole.classes, asked, **record)


def _places_in(
    kind: Literal["image", "class"], names: Sequence[Any], wanted: Sequence[Any], where: str
) -> NDArray[np.int64]:
    """The index of each wanted image or class in a data set, with a note on other spellings.

    Raises BadInput, naming `where`, for one that is not in the data set, and for two that are the
    same.
    """
    index = matches(names, wanted, id_key if kind == "image" else plain)
    pairs = [(str(name), str(names[place])) for name, place in zip(wanted, index, strict=True)]
    for name in [name for (name, _), place in zip(pairs, index, strict=True) if place < 0][:1]:
        mend = "name the data set of the labels, or correct the name"
        if name.startswith(("/m/", "/g/", "/t/")):
            form = "\"openimages(names='FILE')\""
            mend = f"translate it: simkit convert {where} labels.parquet --from {form}"
        lacks = f"which is not in the data set (it has {examples(names)})"
        raise BadInput(f"{where} has {kind} {name!r}, {lacks}; {mend}")
    first: dict[str, str] = {}
    for name, same in pairs:
        if first.setdefault(same, name) != name:
            both = f"{first[same]!r} and {name!r}, which are the same {kind} of the data set"
            raise BadInput(f"{where} has {both}; keep one")
    spelled = [f"{name!r} is {same!r}" for name, same in pairs if name != same]
    what = {"image": "image ids", "class": "class names"}[kind]
    note(where, spelled, f"{what} that are spelled differently in the data set and were matched: "
         "{}; correct them if they are different")  # fmt: skip
    return index


def _precomputed(source: StudySource, data: Dataset, split: str) -> dict[Kind, Features]:
    """Features of a split by kind, from the files or folders of the source.

    Raises BadInput if there are none for the split, if they have other rows or were computed from
    other images, and if they are pooled but maps are needed.
    """
    files = dict(source.features)
    held_out = split not in files and "train" in files and WHOLE in data.truth
    if split == "test" and held_out:  # not a part of train, but perhaps in the same folder
        held_out = split in of_splits(Path(files["train"]))
    if split not in files and not held_out:
        raise BadInput(
            f'features names no file for the {split} split; add {split} = "FILE.npz" to the grid, '
            f"or --features {split}=FILE.npz"
        )
    file = files["train" if held_out else split]
    splits = of_splits(Path(file))  # a folder with one subfolder for each split
    file = str(splits.get(split) or (splits.get("train") if held_out else None) or file)
    images = data.truth[split].images
    # A file of the undivided training set has the rows of train and val.
    whole = data.truth[WHOLE].images if WHOLE in data.truth and split != "test" else images
    features = {}
    for kind in source.kinds:
        stored = read_features(file, kind)
        N, made_from = len(stored.values), _pictures_id(stored)
        if N not in (len(images), len(whole)):
            raise BadInput(
                f"{file} has {N:,} rows, but {split} {len(images):,} images; name the features of "
                f"these images, or {compute(data)}"
            )
        of = split if N == len(images) else WHOLE
        if made_from and of in data.pictures and made_from != data.pictures[of].id:
            raise BadInput(f"{file} has features of other images than {of}; name the features of "
                           f"these, or {compute(data)}")  # fmt: skip
        if stored.kind == "pooled" and kind == "maps":
            raise BadInput(f"{file} holds pooled features, but a method needs maps; name others")
        stored = stored if of == split else stored.select(places(whole, images))
        features[kind] = stored if stored.kind == kind else stored.pooled()
    return features


def compute(data: Dataset) -> str:
    """The mend for features of other images."""
    made = f"simkit features --data {quote(shortened(data))} --out NEW"
    return f"compute them with the network of the training: {made}"


def _pictures_id(features: Features) -> str:
    """Content id of the images of the features; "" if unknown."""
    traced = features.history.command == "features" and features.history.parents
    return features.history.parents[0] if traced else ""
