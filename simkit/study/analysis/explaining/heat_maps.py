"""Heat maps that spatial consistency keeps of training pictures, epoch by epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import nn

from simkit.data.dataset import Boxes
from simkit.errors import BadInput
from simkit.labels.partial import PRESENT, PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.methods import Method
from simkit.learn.methods.base import Around
from simkit.learn.methods.scl import SpatialConsistencyLoss
from simkit.study.analysis.asked import by_name, counts, picked, rows
from simkit.study.analysis.explaining.boxes import check_boxes, corners
from simkit.study.analysis.labelling.revealed import check_same

KINDS = ("annotated positive", "unannotated positive", "negative")
_GRID = pa.list_(pa.list_(pa.float64()))
HEAT_MAPS = pa.schema(
    [
        ("model", pa.string()),
        ("epoch", pa.int64()),
        ("image", pa.int64()),
        ("class", pa.string()),
        ("kind", pa.string()),
        ("map", _GRID),
        ("boxes", _GRID),
    ]
)
LOCATED = pa.schema(
    [
        ("model", pa.string()),
        ("epoch", pa.int64()),
        ("kind", pa.string()),
        ("maps", pa.int64()),
        *((name, pa.float64()) for name in ("mean", "highest", "inside", "outside", "hits")),
    ]
)


class HeatMaps:
    """A watcher that keeps the heat maps of some training images.

    method: the one that is trained, with scl in it; `scl(weight=0)` keeps heat maps that training
    does not follow. images: rows (n,) of the training images. `maps[epoch]` (n, L, W, W) uint8, 255
    is a probability of 1; epoch 0 is before the first step that it sees (after the epochs in which
    the head learned alone, where the method goes on from those). The whole picture is in a map,
    upright. Raises BadInput for a method without heat maps.
    """

    def __init__(self, method: Method, images: Sequence[int] | NDArray[np.integer]) -> None:
        if _depth(method) is None:
            raise BadInput(
                f"method {method.name!r} keeps no heat maps; put scl around it, as in en+scl, or "
                "scl(weight=0) to watch it without its loss"
            )
        self.method = method
        self.images = np.array(rows(images, None, "HeatMaps"), np.int64)
        self.maps: dict[int, NDArray[np.uint8]] = {}

    def __call__(self, epoch: int, batch: object, out: object, state: nn.Module) -> None:
        """Before the first update: how the maps began."""
        if not self.maps:
            self.maps[0] = self._now(state)

    def after_epoch(self, epoch: int, model: nn.Module, state: nn.Module) -> None:
        """Keep the maps of this epoch."""
        self.maps[epoch] = self._now(state)

    def _now(self, state: nn.Module) -> NDArray[np.uint8]:
        for _ in range(_depth(self.method) or 0):
            state = state.inner  # type: ignore[assignment]
        heat = state.heat
        assert isinstance(heat, torch.Tensor)
        rows(self.images, len(heat), "HeatMaps")
        own = torch.from_numpy(self.images).to(heat.device)
        found: NDArray[np.uint8] = heat.index_select(0, own).cpu().numpy()
        return found


def heat_maps(
    kept: Mapping[str, HeatMaps],
    picks: Sequence[tuple[int, str]],
    *,
    labels: PartialLabels,
    truth: Truth,
    boxes: Boxes | None = None,
    epochs: Sequence[int] | None = None,
) -> pa.Table:
    """The heat map of each picked (image, class) under each model in each epoch, a row for each.

    kept: watchers by model, all about the same training; picks: row of a training image that all of
    them watched, and name of a class. epochs: which ones, in this order; None: all.
    Columns: model, epoch, image, class, kind (annotated positive, unannotated positive or
    negative), map (W lists of W probabilities, of the whole picture), boxes (x0, y0, x1, y1 as
    shares of width and height). Raises BadInput for what was not watched, for a truth about other
    images or classes, and for a pick that the truth does not know.
    Source: "Spatial Consistency Loss" (WACV 2023), Figs 2, 3 and 4; BoostLU (CVPR 2023), Fig. 4.
    """
    kinds = _kinds(kept, labels, truth)
    picks = picked(picks, truth.classes, len(truth.images), "heat_maps")
    if boxes is not None and boxes.sizes is not None:
        check_boxes(boxes, truth.shape)
    wanted = None if epochs is None else counts(epochs, "heat_maps: an epoch", least=0)
    columns = {name: c for c, name in enumerate(truth.classes)}
    found: list[dict[str, Any]] = []
    for model, one in kept.items():
        places = {int(image): n for n, image in enumerate(one.images)}
        for epoch in list(one.maps) if wanted is None else wanted:
            if epoch not in one.maps:
                raise BadInput(
                    f"heat_maps: epoch {epoch} was asked for; {model!r} was watched from 0 to "
                    f"{max(one.maps, default=0)}"
                )
            for image, name in picks:
                if image not in places:
                    raise BadInput(
                        f"heat_maps: image {image} was picked, and {model!r} did not watch it"
                    )
                c = columns[name]
                if kinds[image, c] < 0:
                    raise BadInput(
                        f"heat_maps: the truth does not know whether image {image} shows {name!r}; "
                        "pick another"
                    )
                found.append(
                    {
                        "model": model,
                        "epoch": epoch,
                        "image": image,
                        "class": name,
                        "kind": KINDS[kinds[image, c]],
                        "map": (one.maps[epoch][places[image], c] / 255.0).tolist(),
                        "boxes": corners(boxes, image, c).tolist(),
                    }
                )
    return pa.Table.from_pylist(found, schema=HEAT_MAPS)


def located(
    kept: Mapping[str, HeatMaps], *, labels: PartialLabels, truth: Truth, boxes: Boxes
) -> pa.Table:
    """How well heat maps find objects: means over all watched images and classes with boxes.

    A row for each model, epoch and kind of class: maps (how many), mean and highest (of a map),
    inside and outside (its mean over cells whose middle lies in a box of the class, and over all
    others; nan for classes that are absent) and hits (share of maps whose highest cell, the first
    of equals, lies in a box). Probabilities from 0 to 1. Left out are classes without any box in
    `boxes`, maps whose boxes hold no cell's middle, and what the truth does not know. Raises
    BadInput without image sizes, and for a truth about other images or classes.
    Source: what "Spatial Consistency Loss" (WACV 2023) shows in Fig. 4, counted.
    """
    kinds = _kinds(kept, labels, truth)
    check_boxes(boxes, truth.shape)
    drawn = np.unique(boxes.classes)
    found: list[dict[str, Any]] = []
    for model, one in kept.items():
        side = next(iter(one.maps.values())).shape[-1] if one.maps else 1
        inside = _inside(boxes, one.images, drawn, side)
        own = kinds[one.images][:, drawn]
        own[(own < 2) & ~inside.any((2, 3))] = -1  # too small to hold the middle of a cell
        for epoch, maps in one.maps.items():
            values = maps[:, drawn] / 255.0
            for kind, name in enumerate(KINDS):
                some = own == kind
                if some.any():
                    row = _means(values[some], inside[some])
                    found.append({"model": model, "epoch": epoch, "kind": name, **row})
    return pa.Table.from_pylist(found, schema=LOCATED)


def _means(values: NDArray[np.float64], inside: NDArray[np.bool_]) -> dict[str, float]:
    """Of maps (n, W, W) with the cells of objects."""
    flat = values.reshape(len(values), -1)
    cells = inside.reshape(len(inside), -1)
    nan, there = float("nan"), bool(cells.any())
    hits = cells[np.arange(len(flat)), flat.argmax(1)].mean() if there else nan
    parts = [(flat * part).sum(1) / np.maximum(part.sum(1), 1) for part in (cells, ~cells)]
    return {
        "maps": len(flat),
        "mean": float(flat.mean()),
        "highest": float(flat.max(1).mean()),
        "inside": float(parts[0].mean()) if there else nan,
        "outside": float(parts[1].mean()) if there else nan,
        "hits": float(hits),
    }


def _kinds(kept: Mapping[str, HeatMaps], labels: PartialLabels, truth: Truth) -> NDArray[np.int64]:
    """(N, L) places in KINDS, -1 where the truth does not know.

    Raises BadInput for labels of other images, for watched images beyond them, and for no model.
    """
    by_name(kept, "watched model", "{'en+scl': HeatMaps(...)}")
    check_same(truth, labels, "labels")
    N, _ = truth.shape
    for model, one in kept.items():
        if len(one.images) and not 0 <= one.images.min() <= one.images.max() < N:
            raise BadInput(
                f"{model!r} watched image {one.images.max()}, and the truth has {N}; give the "
                "truth of the images that it learned from"
            )
    every = np.arange(N)
    found = np.where(truth.rows(every), 1, 2)
    found[labels.rows(every) == PRESENT] = 0
    if truth.known is not None:
        found[~truth.known.toarray()] = -1
    return found


def _inside(
    boxes: Boxes, images: NDArray[np.int64], classes: NDArray[np.int64], side: int
) -> NDArray[np.bool_]:
    """(n, C, W, W) cells whose middle lies in a box of the class."""
    found = np.zeros((len(images), len(classes), side, side), bool)
    middle = (np.arange(side) + 0.5) / side
    for n, image in enumerate(images.tolist()):
        for place, c in enumerate(classes.tolist()):
            for x0, y0, x1, y1 in corners(boxes, image, c):
                rows, columns = (y0 <= middle) & (middle < y1), (x0 <= middle) & (middle < x1)
                found[n, place] |= rows[:, None] & columns
    return found


def _depth(method: Method) -> int | None:
    """Through how many wrappers to go to the part that keeps heat maps; None: there is none."""
    deep = 0
    while isinstance(method, Around):
        if isinstance(method, SpatialConsistencyLoss):
            return deep
        method, deep = method.inner, deep + 1
    return None
