"""What missing labels do to class activation maps: the order of places, and the size of scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy.stats import rankdata
from torch import nn

from simkit.errors import BadInput
from simkit.labels.truth import Truth
from simkit.learn.heads.heads import Model
from simkit.learn.methods import Method
from simkit.learn.trained import BATCH, Trained
from simkit.study.analysis.asked import by_name, check_result, count, part
from simkit.study.analysis.explaining.activation import check_models, explained, explanations

_Floats = NDArray[np.float64]
KINDS = ("present", "absent")
_TEXT, _WHOLE, _NUMBER = pa.string(), pa.int64(), pa.float64()
_MEASURED = ("agreement", "control", "distance", "top", "bottom", "full_top", "full_bottom")
DAMAGE = pa.schema(
    [
        ("model", _TEXT),
        ("image", _WHOLE),
        ("class", _TEXT),
        ("present", pa.bool_()),
        *((name, _NUMBER) for name in _MEASURED),
    ]
)
COURSE = pa.schema(
    [
        ("model", _TEXT),
        ("epoch", _WHOLE),
        ("labels", _TEXT),
        *((name, _NUMBER) for name in ("top", "bottom", "logit")),
    ]
)


def damage(
    full: Trained,
    partial: Mapping[str, Trained],
    inputs: Any,
    truth: Truth,
    *,
    share: float = 0.05,
    spread: float = 0.25,
    batch: int = BATCH,
) -> pa.Table:
    """The maps of partially trained models beside those of a fully trained one, map by map.

    inputs: maps of features of the images of `truth`, which is of a split not trained on, or their
    pictures. share: of a map's cells, at each end, that are averaged; one cell at least. spread:
    deviation of the control's Gaussian, as a share of the map's sides.

    A row for each model, image and class: model (its name in `partial`), image (row), class,
    present (in truth; what truth does not know is left out), agreement (Spearman over cells between
    the map and the full model's), control (that of the full model's map and a Gaussian in the
    middle; nan, as agreement, where a map is flat), distance (root of the summed squares of the
    differences to the full model's map, over that of its own scores), top and bottom (mean of the
    highest and the lowest share of the model's map), full_top and full_bottom (of the full
    model's). Maps are those that the methods score by, hence boosted where a method boosts.

    Raises BadInput for shares that are no such, for inputs of other images and models of other
    classes. Source: BoostLU (Kim et al., CVPR 2023), section 4 and Fig. 2, whose Gaussian has no
    width in print.
    """
    by_name(partial, "partially trained model", "{'AN': trained}", "damage")
    check_models({"full": full}, inputs, truth, "damage")
    check_models(partial, inputs, truth, "damage")
    part(share, "damage: share", most=0.5)
    part(spread, "damage: spread", most=0.5)
    count(batch, "damage: batch")
    known = None if truth.known is None else truth.known.toarray()
    names = np.array(truth.classes, object)
    parts = []
    for model, trained in partial.items():
        start = 0
        ways = (explanations(each, inputs, batch=batch) for each in (full, trained))
        for first, second in zip(*ways, strict=True):
            rows = slice(start, start + len(first))
            there = truth.rows(np.arange(rows.start, rows.stop))
            values = _compared(first, second, share, spread)
            kept = np.ones_like(there) if known is None else known[rows].astype(bool)
            image, c = np.nonzero(kept)
            columns = {name: value[kept] for name, value in values.items()}
            about = {"model": [model] * len(image), "image": image + start, "class": names[c]}
            about |= {"present": there[kept]}
            parts.append(pa.table({**about, **columns}, schema=DAMAGE))
            start = rows.stop
    return pa.concat_tables(parts or [DAMAGE.empty_table()])


def summary(table: pa.Table) -> pa.Table:
    """Medians of a table of `damage`, one row for each model and for present and absent classes.

    Columns: model, labels ("present" or "absent"), maps (how many), agreement and control
    (medians), positive and control_positive (which share is above 0), distance, top, bottom,
    full_top and full_bottom (medians). Maps without a correlation do not count in the four about
    correlations. Raises BadInput for another table than `damage` returns.
    """
    check_result(table, DAMAGE, asker="summary", made_by="damage")
    found = []
    for model in dict.fromkeys(table["model"].to_pylist()):
        own = table.filter(pc.equal(table["model"], model))
        for labels in KINDS:
            some = own.filter(pc.equal(own["present"], labels == "present"))
            if not len(some):
                continue
            ends = {
                key: float(np.median(some[key].to_numpy()))
                for key in ("distance", "top", "bottom", "full_top", "full_bottom")
            }
            row: dict[str, Any] = {"model": model, "labels": labels, "maps": len(some)}
            for key, positive in (("agreement", "positive"), ("control", "control_positive")):
                values = some[key].to_numpy()
                values = values[~np.isnan(values)]
                row[key] = float(np.median(values)) if len(values) else float("nan")
                row[positive] = float((values > 0).mean()) if len(values) else float("nan")
            found.append({**row, **ends})
    return pa.Table.from_pylist(found)


class Course:
    """A watcher that measures the maps after every epoch; `table(model)` says what it saw.

    method: the one that is trained; inputs, truth: of images not trained on, where what the truth
    does not know is left out; share: as in `damage`. Raises BadInput without inputs, for a truth
    about others, and for a share that is none.
    """

    def __init__(self, method: Method, inputs: Any, truth: Truth, *, share: float = 0.05) -> None:
        if not len(inputs):
            raise BadInput("Course: there are no inputs; give those of images not trained on")
        if len(inputs) != len(truth.images):
            raise BadInput(
                f"Course: {len(inputs):,} inputs came with a truth of {len(truth.images):,} "
                "images; give those of one split"
            )
        self.method, self.inputs, self.truth = method, inputs, truth
        self.share = part(share, "Course: share", most=0.5)
        self.rows: list[dict[str, Any]] = []

    def __call__(self, *step: object) -> None:
        """Nothing is kept of single steps."""

    def after_epoch(self, epoch: int, model: Model, state: nn.Module) -> None:
        """Measure the maps of all inputs."""
        rows = np.arange(len(self.inputs))
        found: list[tuple[_Floats, _Floats, _Floats]] = []
        for index in np.array_split(rows, -(-len(rows) // BATCH)):
            maps = _flat(explained(model, self.method, state, self.inputs, index))
            found.append((*ends(maps, self.share), maps.mean(-1)))
        top, bottom, logit = (np.concatenate(part) for part in zip(*found, strict=True))
        present = self.truth.rows(rows)
        known = self.truth.known
        fine = np.ones_like(present) if known is None else known.toarray()
        for labels, which in zip(KINDS, (present & fine, ~present & fine), strict=True):
            if which.any():
                means = {"top": top, "bottom": bottom, "logit": logit}
                seen = {key: float(value[which].mean()) for key, value in means.items()}
                self.rows.append({"epoch": epoch, "labels": labels, **seen})

    def table(self, model: str) -> pa.Table:
        """Columns: model, epoch, labels ("present" or "absent"), and the means over such classes
        of all images of top, bottom and logit (the mean of a map)."""
        return pa.Table.from_pylist([{"model": model, **row} for row in self.rows], schema=COURSE)


def ends(cells: _Floats, share: float) -> tuple[_Floats, _Floats]:
    """The means of the highest and of the lowest share of the last axis; one cell at least."""
    k = max(1, round(share * cells.shape[-1]))
    ordered = np.sort(cells, axis=-1)
    return ordered[..., -k:].mean(-1), ordered[..., :k].mean(-1)


def spearman(first: _Floats, second: _Floats) -> _Floats:
    """Over the last axis, equal values sharing their mean rank; nan where one side is flat."""
    x, y = (rankdata(values, axis=-1) for values in (first, second))
    x, y = (ranks - ranks.mean(-1, keepdims=True) for ranks in (x, y))
    size = np.sqrt((x * x).sum(-1) * (y * y).sum(-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        found: _Floats = np.where(size > 0, (x * y).sum(-1) / size, np.nan)
    return found


def gaussian(height: int, width: int, spread: float) -> _Floats:
    """(height, width) of a Gaussian in the middle, 1 there; spread: deviation over each side."""
    y, x = ((np.arange(n) + 0.5) / n - 0.5 for n in (height, width))
    found: _Floats = np.exp(-(y[:, None] ** 2 + x[None] ** 2) / (2 * spread**2))
    return found


def _compared(
    full: NDArray[np.float32], partial: NDArray[np.float32], share: float, spread: float
) -> dict[str, _Floats]:
    """(b, L) of everything that is measured between maps (b, L, h, w)."""
    height, width = full.shape[2:]
    middle = gaussian(height, width, spread).reshape(1, 1, -1)
    x, y = _flat(full), _flat(partial)
    (top, bottom), (full_top, full_bottom) = ends(y, share), ends(x, share)
    return {
        "agreement": spearman(x, y),
        "control": spearman(x, middle),
        "distance": np.linalg.norm(x - y, axis=-1) / np.maximum(np.linalg.norm(x, axis=-1), 1e-12),
        "top": top,
        "bottom": bottom,
        "full_top": full_top,
        "full_bottom": full_bottom,
    }


def _flat(maps: NDArray[np.float32]) -> _Floats:
    return maps.reshape(*maps.shape[:2], -1).astype(np.float64)
