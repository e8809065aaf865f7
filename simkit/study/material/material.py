"""What all bundles of a comparison work on: truth and cached features of each split."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from simkit.data import Dataset
from simkit.data import get as get_source
from simkit.data import names as source_names
from simkit.data import open as open_data
from simkit.errors import BadInput
from simkit.history import content_id
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.feeding.inputs import FeatureInputs
from simkit.study.material.brought import brought, from_one_network
from simkit.study.material.pixels import Pixels, Side

if TYPE_CHECKING:
    from simkit.embed.features.features import Features, Kind


SCENES_NET = "scenes-net"  # the backbone that comes with simkit


@dataclass(frozen=True)
class Source:
    """Where truth and features come from: texts only, so that it travels to any process.

    splits: those that are used; kinds: of the features, "pooled" and "maps".
    features: pairs (split, npz file or folder of features); none: those of `backbone` are computed
    and cached.
    sizes: sides of the pictures from which the backbone itself learns; features are then those of
    train alone, for what is near.
    """

    data: str
    splits: tuple[str, ...]
    kinds: tuple[str, ...]
    backbone: str = ""
    weights: str = ""
    features: tuple[tuple[str, str], ...] = ()
    sizes: tuple[Side, ...] = ()

    @property
    def featured(self) -> tuple[str, ...]:
        """Splits whose features are used."""
        if not self.sizes:
            return self.splits
        return ("train",) if self.kinds else ()


@dataclass(frozen=True, eq=False)
class Material:
    """A data set that is open, with its features by split and kind; pixels: where a backbone is to
    learn from them."""

    data: Dataset
    features: Mapping[tuple[str, str], Features]
    pixels: Pixels | None = None

    def __repr__(self) -> str:
        kinds = ", ".join(
            f"{split} {kind} {one.values.shape}" for (split, kind), one in self.features.items()
        )
        return f"<Material of {self.data!r}; features: {kinds or 'none'}>"

    @property
    def hierarchy(self) -> Hierarchy | None:
        return self.data.hierarchy

    def truth(self, split: str) -> Truth:
        """The truth of a split."""
        return self.data.truth[split]

    def inputs(self, split: str, kind: str) -> FeatureInputs:
        """The features of a split as training reads them."""
        found = self.features[split, kind]
        return FeatureInputs(cast(NDArray[np.float16], found.values), found.id)

    def known(self, split: str) -> NDArray[np.bool_] | None:
        """(N, L) which entries count in metrics, or None for all.

        Difficult objects do not, nor do pictures that could not be read.
        """
        known, difficult = self.truth(split).known, self.data.difficult.get(split)
        skipped = self.skipped(split)
        if known is None and difficult is None and not len(skipped):
            return None
        counts = (
            np.ones(self.truth(split).shape, bool) if known is None else csr_array(known).toarray()
        )
        counts[skipped] = False
        return counts if difficult is None else counts & ~csr_array(difficult).toarray()

    def skipped(self, split: str) -> NDArray[np.int64]:
        """Rows of the pictures of a split that could not be read: no features, no part in it."""
        rows = (
            each.row for (of, _), f in self.features.items() if of == split for each in f.skipped
        )
        return np.array(sorted(set(rows)), np.int64)

    def readable(self, labels: PartialLabels, split: str) -> PartialLabels:
        """Labels of a split without those of pictures that could not be read: not asked about."""
        skipped = self.skipped(split)
        if not len(skipped):
            return labels
        asked = labels.asked.copy()
        asked[skipped] = False
        codes = coo_array(labels.codes)
        kept = asked[codes.coords[0]]
        codes = coo_array(
            (codes.data[kept], tuple(places[kept] for places in codes.coords)), codes.shape
        )
        return PartialLabels.of(
            codes,
            labels.images,
            labels.classes,
            asked,
            effort=labels.effort,
            history=labels.history,
        )

    @cached_property
    def ids(self) -> dict[str, str]:
        """Content ids of all that decides results: of the splits that are used."""
        splits = dict.fromkeys(split for split, _ in self.features)
        splits |= dict.fromkeys(self.pixels.splits if self.pixels else ())
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
        names |= self.pixels.ids if self.pixels else {}
        if self.hierarchy is not None:
            names["hierarchy"] = self.hierarchy.id
        return names


@lru_cache(maxsize=2)
def opened(source: Source) -> Material:
    """The material of a source; the same process opens it once. Raises BadInput."""
    return open_material(source)


def opened_as(source: Source, ids: Mapping[str, str]) -> Material:
    """The material of a source, known to have these ids.

    What this process opened before its files changed is opened again. Raises BadInput where the
    data are others now.
    """
    for last in (False, True):
        material = opened(source)
        if material.ids == dict(ids):
            return material
        if not last:
            opened.cache_clear()
    raise BadInput("the data or features changed since the comparison was planned; start it again")


def open_material(
    source: Source,
    *,
    data: Dataset | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Material:
    """Open the data and compute or read its features; `progress` gets (pictures done, pictures).

    data: what `source.data` names, where it is open already.
    """
    data = data or open_data(source.data)
    for split in source.splits:
        if split not in data.truth:
            raise BadInput(
                f"{source.data!r} has no {split} split, which is needed here; "
                + _way_to_a_split(source.data, split)
            )
    found: dict[tuple[str, str], Features] = {}
    for split in source.featured:
        found |= {
            (split, kind): one
            for kind, one in (
                brought(source.features, source.kinds, data, split)
                if source.features
                else _computed(source, data, split, progress)
            ).items()
        }
    if found and not source.features:
        note_scenes_net(data, source.backbone)
    from_one_network(found)
    how: dict[str, Any] = {"network": source.backbone, "weights": source.weights}
    how |= {"splits": source.splits, "sizes": source.sizes, "progress": progress}
    material = Material(data, found, Pixels.open(data, **how) if source.sizes else None)
    for split in source.splits:
        if lost := len(material.skipped(split)):
            warnings.warn(
                f"{lost:,} pictures of {split} could not be read when its features were made; they "
                "take no part in training or in metrics",
                stacklevel=2,
            )
    return material


def note_scenes_net(data: Dataset, backbone: str) -> None:
    """Warn where photographs are seen by the network that comes with simkit."""
    if backbone == SCENES_NET and data.name != "scenes":
        warnings.warn(
            f"features of {data.name} come from {SCENES_NET}, which knows drawn scenes alone; for "
            "photographs name backbone mobilenet_v2 with a file of weights",
            stacklevel=3,
        )


def _way_to_a_split(spec: str, split: str) -> str:
    kind = spec.partition(":")[0]
    if kind == "folder" and split == "test":
        return f"keep a share for it, as in {spec},test=0.2, or give the table a column split"
    if kind in source_names() and split in {f.name for f in fields(get_source(kind))}:  # type: ignore[arg-type]
        return f"name a file for it: {spec},{split}=FILE"
    return "say which images are in it; `simkit list data` tells how each kind of data does"


def _computed(
    source: Source, data: Dataset, split: str, progress: Callable[[int, int], None]
) -> dict[Kind, Features]:
    """Features of all kinds in one pass, or from the cache."""
    from simkit.embed.backbones import backbone
    from simkit.embed.features.features import extract

    net = backbone(source.backbone, source.weights or None)
    kinds = cast(tuple["Kind", ...], source.kinds)
    # What was skipped when the features were made was skipped at the user's word.
    return extract(data, split, net, kinds=kinds, unreadable="before", progress=progress)
