"""Class maps: trained models, the effect of missing labels, heat maps, and the boxes of objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import rankdata
from torch import nn

from simkit.annotate.simulate import simulate
from simkit.data.dataset import Boxes, Dataset
from simkit.embed.backbones import backbone
from simkit.errors import BadInput, unknown
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.method import layers
from simkit.learn.methods import Method, Task, make
from simkit.learn.methods.wrappers import SpatialConsistencyLoss
from simkit.learn.model import Model, check_inputs, outputs
from simkit.learn.optim import Settings
from simkit.learn.pointing_game import middle, pointed
from simkit.learn.side_info import prepare
from simkit.learn.train import Trained, Watcher, train
from simkit.metrics.ap import ap_of_classes, average_precision, map_by_labels, mean_ap
from simkit.papers.analysis.learning import TrainingOptions, innermost, kinds
from simkit.results import selection
from simkit.results.cells import RUN, is_full
from simkit.study.sources import ImageTransform, StudyData, decoded_pictures

Floats = NDArray[np.float64]
Classes = NDArray[np.integer] | slice
Watch = Mapping[str, Sequence[Watcher]]  # watchers by spelling of the method
_ENDS = ("top", "bottom", "full_top", "full_bottom")


def models(
    data: StudyData,
    methods: selection.Methods,
    scheme: str,
    *,
    watch: Watch | None = None,
    settings: Settings = Settings(),
    seed: int = 0,
    draw: int = 0,
) -> dict[str, Trained]:
    """Train heads on feature maps, one for each method.

    `full` learns from complete labels of all images, other methods from the labels of `scheme`, as
    in a comparison. All start with the same head.

    Parameters
    ----------
    data
        Data with maps of the train split.
    methods
        Names of methods.
    scheme
        The annotation scheme.
    watch
        Watchers by method.
    settings
        Settings of the trainings.
    seed, draw
        Determine the labels, the order of images and the initial head.

    Returns
    -------
    dict
        The trained model of each method, by its spelling.

    Raises
    ------
    BadInput
        Without methods or maps, and for watchers of other methods.
    """
    options = TrainingOptions(settings, seed, draw)
    return _train_each(data, data.inputs("train", "maps"), selection.some(methods), scheme,
                       watch=watch or {}, options=options)  # fmt: skip


def from_pixels(
    data: Dataset,
    methods: selection.Methods,
    scheme: str,
    *,
    network: str = "scenes-net",
    weights: str = "",
    shown: ImageTransform = ImageTransform(),
    watch: Watch | None = None,
    settings: Settings = Settings(),
    seed: int = 0,
    draw: int = 0,
) -> dict[str, Trained]:
    """Train whole networks on images, one for each method.

    Labels are as for `models`. All start with the same network and head and see the same crops.
    Methods that need neighbours (SE) cannot be trained from pixels.

    Parameters
    ----------
    data
        An open data set with images.
    methods, scheme, watch, settings, seed, draw
        As for `models`.
    network, weights
        A backbone, and a file of weights, "random", or empty for its default weights.
    shown
        The image transform of all methods.

    Returns
    -------
    dict
        The trained model of each method, by its spelling.

    References
    ----------
    "Spatial Consistency Loss" (WACV 2023), section 4.1, at a smaller scale.
    """
    net = backbone(network, weights or None, size=shown.size)
    inputs = shown.inputs(decoded_pictures(data, "train", net.size))
    options = TrainingOptions(settings, seed, draw, net)
    return _train_each(StudyData(data, {}), inputs, selection.some(methods), scheme,
                       watch=watch or {}, options=options)  # fmt: skip


def _train_each(
    data: StudyData, inputs: Any, specs: Sequence[str], scheme: str, *, watch: Watch,
    options: TrainingOptions,
) -> dict[str, Trained]:  # fmt: skip
    for name in set(watch) - set(specs):
        raise unknown("trained method (watch)", name, specs)
    people: dict[str, Any] = {"seed": options.seed, "draw": options.draw}
    people |= {"hierarchy": data.hierarchy, "boxes": data.data.boxes.get("train")}
    training, trained = vars(options), {}
    for spec in specs:
        bought_as = "full-subset" if is_full(spec) else scheme
        labels = data.readable(simulate(data.truth("train"), bought_as, **people), "train")
        method = make(spec)
        task = prepare(Task(labels, inputs), method, **training)
        trained[spec] = train(task, method, watch=watch.get(spec, ()), **training)
    return trained


def explanations(
    model: Model, method: Method, state: nn.Module, inputs: Any, rows: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.float32]]]:
    """Rows (b,), class maps (b, L, h, w) and scores (b, L), batch by batch, with BoostLU applied.

    For methods with mean pooling the means of the maps are the scores.
    """
    check_inputs(model, inputs, maps=True)
    for part, out in outputs(model, inputs, rows, maps=True):
        with torch.no_grad():
            scores = method.predict(out, state)
            maps = innermost(method, out, state, training=False)[1].maps
        assert maps is not None
        yield rows[part], maps.float().cpu().numpy(), scores.float().cpu().numpy()


def check_models(models: Mapping[str, Trained], inputs: Any, truth: Truth) -> None:
    """Raise BadInput if inputs or classes differ from those of the truth."""
    selection.same_images(inputs, truth)
    for name, trained in models.items():
        if tuple(trained.classes) != tuple(truth.classes):
            raise BadInput(f"{name!r} was trained on other classes than the truth has")


def damage(
    full: Trained,
    partial: Mapping[str, Trained],
    inputs: Any,
    truth: Truth,
    *,
    share: float = 0.05,
    spread: float = 0.25,
) -> pd.DataFrame:
    """Compare class maps of models trained on partial labels with those of a model on all labels.

    The maps are those that determine the scores, that is, with BoostLU if the method has it.

    Parameters
    ----------
    full, partial
        The model trained on complete labels, and the other models by name.
    inputs, truth
        Feature maps or images, and ground truth, of a held-out split.
    share
        Share of a map's cells to average at each end, up to 0.5; at least one cell.
    spread
        Standard deviation of the control's Gaussian, as a share of the sides of the map, up to
        0.5.

    Returns
    -------
    DataFrame
        A row for each model, image and class known to the truth: model, image (row), class,
        present; agreement (Spearman correlation over cells with the full model's map), control
        (that of the full model's map with a centred Gaussian; both are NaN for constant maps),
        distance (Euclidean distance to the full model's map, divided by the norm of that map),
        top and bottom (means of the highest and lowest cells), full_top and full_bottom (of the
        full model's map).

    Raises
    ------
    BadInput
        For inputs or classes other than those of the truth.

    References
    ----------
    BoostLU (Kim et al., CVPR 2023), section 4 and Fig. 2, which does not state the width of
    its Gaussian.
    """
    check_models({"full": full, **partial}, inputs, truth)
    classes, every, parts = np.array(truth.classes, object), np.arange(len(inputs)), []
    for model, trained in partial.items():
        both = (explanations(m.model, m.method, m.state, inputs, every) for m in (full, trained))
        for (rows, full_maps, _), (_, maps, _) in zip(*both, strict=True):
            known = truth.known_rows(rows)
            image, c = np.nonzero(known)
            columns = {"model": model, "image": rows[image], "class": classes[c]}
            columns |= {"present": truth.rows(rows)[known]}
            y, x = ((np.arange(side) + 0.5) / side - 0.5 for side in maps.shape[2:])
            gaussian = np.exp(-(y[:, None] ** 2 + x**2) / (2 * spread**2)).reshape(1, 1, -1)
            first, second = _cells(full_maps), _cells(maps)
            length = np.maximum(np.linalg.norm(first, axis=-1), 1e-12)
            values = {
                "agreement": _spearman(first, second),
                "control": _spearman(first, gaussian),
                "distance": np.linalg.norm(first - second, axis=-1) / length,
            }
            ends = (*_ends(second, share), *_ends(first, share))
            values |= dict(zip(_ENDS, ends, strict=True))
            parts.append(pd.DataFrame(columns | {key: v[known] for key, v in values.items()}))
    return pd.concat(parts, ignore_index=True)


def damage_summary(table: pd.DataFrame) -> pd.DataFrame:
    """Medians of a table of `damage`.

    Parameters
    ----------
    table
        The result of `damage`.

    Returns
    -------
    DataFrame
        A row for each model, and for present and absent classes: model, labels ("present" or
        "absent"), maps (number); medians of agreement, control, distance, top, bottom, full_top
        and full_bottom; positive and control_positive: share of maps with a correlation above 0.
        Maps without a correlation are left out of these.
    """
    correlations = {"agreement": "positive", "control": "control_positive"}
    table = table[["model", "present", *correlations, "distance", *_ENDS]].copy()
    for name, positive in correlations.items():
        table[positive] = np.where(table[name].isna(), np.nan, table[name] > 0)
    labels = np.where(table.pop("present"), "present", "absent")
    table["labels"] = pd.Categorical(labels, ["present", "absent"])
    table["model"] = pd.Categorical(table["model"], table["model"].unique())
    groups = table.groupby(["model", "labels"], observed=True)
    result = groups.median().assign(maps=groups.size())
    shares = [*correlations.values()]
    result[shares] = groups[shares].mean()
    return result.reset_index().astype({"model": object, "labels": object})


class MapCourse:
    """A watcher that measures the class maps after every epoch.

    Parameters
    ----------
    method
        The trained method.
    inputs, truth
        Feature maps or images, and ground truth, of held-out images.
    share
        As for `damage`.
    """

    def __init__(self, method: Method, inputs: Any, truth: Truth, *, share: float = 0.05) -> None:
        selection.same_images(inputs, truth)
        self.method, self.inputs, self.truth = method, inputs, truth
        self.share = share
        self.rows: list[tuple[Any, ...]] = []

    def __call__(self, *step: object) -> None:
        """Called after every step; does nothing."""

    def after_epoch(self, epoch: int, model: Model, state: nn.Module) -> None:
        """Measure the maps of all inputs."""
        parts, every = [], np.arange(len(self.inputs))
        for _, maps, _ in explanations(model, self.method, state, self.inputs, every):
            cells = _cells(maps)
            parts.append(np.stack([*_ends(cells, self.share), cells.mean(-1)], axis=-1))
        values = np.concatenate(parts)
        present, known = self.truth.rows(every), self.truth.known_rows(every)
        for labels, mask in (("present", present & known), ("absent", ~present & known)):
            if mask.any():
                self.rows.append((epoch, labels, *values[mask].mean(0).tolist()))

    def table(self, model: str) -> pd.DataFrame:
        """A row for each epoch, and for present and absent classes.

        Columns: model, epoch, labels ("present" or "absent"), and the means of top, bottom and
        logit (the mean of a map) over all images and such classes.
        """
        rows = [(model, *row) for row in self.rows]
        return pd.DataFrame(rows, columns=["model", "epoch", "labels", "top", "bottom", "logit"])


def top_scores(
    models: Mapping[str, Trained], inputs: Any, *, ranks: int = 4, classes: Classes = slice(None)
) -> pd.DataFrame:
    """The highest probabilities of every image under each model.

    Parameters
    ----------
    models
        Trained models by name.
    inputs
        Inputs of N held-out images.
    ranks
        Number of probabilities per image.
    classes
        Indices of the classes to include (by default all), such as the leaves if ancestors are
        present in most images.

    Returns
    -------
    DataFrame
        A row for each model, rank and image: model, rank (from 1), image (row), probability.

    References
    ----------
    "Spatial Consistency Loss" (WACV 2023), Fig. 5a; its supplement shows four ranks.
    """
    parts = {}
    for model, trained in models.items():
        scores = trained.scores(inputs)[:, classes].astype(np.float64)
        highest = expit(-np.sort(-scores, axis=1)[:, :ranks])
        columns = pd.RangeIndex(1, highest.shape[1] + 1, name="rank")
        parts[model] = pd.DataFrame(highest, columns=columns)
    table = pd.concat(parts, names=["model", "image"])
    return table.stack().rename("probability").reset_index()


def top_score_medians(table: pd.DataFrame) -> dict[str, list[float]]:
    """Median probability of every rank by model, of a table of `top_scores`."""
    return {
        model: rows.groupby("rank")["probability"].median().tolist()
        for model, rows in table.groupby("model", sort=False)
    }


def _cells(maps: NDArray[np.float32]) -> Floats:
    """(b, L, h * w)."""
    return maps.reshape(*maps.shape[:2], -1).astype(np.float64)


def _ends(cells: Floats, share: float) -> tuple[Floats, Floats]:
    """Means of the highest and of the lowest share of the last axis; at least one cell each."""
    k = max(1, round(share * cells.shape[-1]))
    ordered = np.sort(cells, axis=-1)
    return ordered[..., -k:].mean(-1), ordered[..., :k].mean(-1)


def _spearman(first: Floats, second: Floats) -> Floats:
    """Spearman correlation over the last axis, ties with mean rank; NaN for constant values."""
    x, y = (rankdata(values, axis=-1) for values in (first, second))
    x, y = (ranks - ranks.mean(-1, keepdims=True) for ranks in (x, y))
    with np.errstate(invalid="ignore"):
        return (x * y).sum(-1) / np.sqrt((x * x).sum(-1) * (y * y).sum(-1))


Picks = Sequence[tuple[int, str]]  # row of an image, name of a class
Draws = Iterable[Mapping[str, Trained]]  # for each draw the models by method
_NAMES = ("annotated positive", "negative", "unannotated positive")  # of LABEL_KINDS
_NEGATIVE = _NAMES.index("negative")
_SIZES = {2: ("small", "large"), 3: ("small", "medium", "large")}


def activation(
    models: Mapping[str, Trained],
    inputs: Any,
    picks: Picks,
    *,
    truth: Truth,
    boxes: Boxes | None = None,
) -> pd.DataFrame:
    """The class map of each picked image and class under each model.

    Parameters
    ----------
    models
        Trained models by name.
    inputs
        Inputs of the split of `truth` and `boxes`.
    picks
        Pairs of the row of an image and the name of a class.
    truth, boxes
        Ground truth and, if available, boxes of the same images.

    Returns
    -------
    DataFrame
        A row for each model and pick: model, image (row), class, present (in truth), probability
        (the sigmoid of the score), map (h lists of w numbers, with BoostLU if the model has it)
        and boxes (lists of x0, y0, x1, y1 as shares of width and height; empty if unknown).

    Raises
    ------
    BadInput
        For unknown classes, and for inputs other than those of the truth.

    References
    ----------
    BoostLU (Kim et al., CVPR 2023), Figs 1 and 4. Large Loss (Kim et al., CVPR 2022), supplement,
    Fig. 1.
    """
    check_models(models, inputs, truth)
    table, c = _picked(picks, truth, boxes)
    images, place = np.unique(table["image"], return_inverse=True)
    table["present"] = truth.rows(images)[place, c]
    parts = []
    for model, trained in models.items():
        batches = explanations(trained.model, trained.method, trained.state, inputs, images)
        _, maps, scores = map(np.concatenate, zip(*batches, strict=True))
        probability, shown = expit(scores[place, c].astype(float)), maps[place, c].tolist()
        parts.append(table.assign(model=model, probability=probability, map=shown))
    return pd.concat(parts, ignore_index=True)


class HeatMaps:
    """A watcher that records the heat maps of some training images.

    `maps[epoch]` is (n, L, W, W) uint8, with 255 for a probability of 1; epoch 0 is before the
    first watched step (after the epochs of the head alone, if the method continues from these). A
    map covers the whole image, upright.

    Parameters
    ----------
    method
        The trained method, which includes scl; `scl(weight=0)` has heat maps without affecting
        training.
    images
        Rows (n,) of training images.
    """

    def __init__(self, method: Method, images: Sequence[int] | NDArray[np.integer]) -> None:
        around = [isinstance(one, SpatialConsistencyLoss) for one in reversed(layers(method))]
        if not any(around):
            raise BadInput(f"{method.name!r} has no heat maps; wrap it with scl, or scl(weight=0)")
        self.depth = around.index(True)  # wrappers around scl
        self.images = np.asarray(images, np.int64)
        self.maps: dict[int, NDArray[np.uint8]] = {}

    def __call__(self, epoch: int, batch: object, out: object, state: nn.Module) -> None:
        """Record the initial maps, before the first update."""
        if not self.maps:
            self.after_epoch(0, state, state)

    def after_epoch(self, epoch: int, model: nn.Module, state: nn.Module) -> None:
        """Record the maps of this epoch."""
        for _ in range(self.depth):
            state = state.inner  # type: ignore[assignment]
        self.maps[epoch] = state.heat[self.images].cpu().numpy()  # type: ignore[operator,index]


def heat_maps(
    kept: Mapping[str, HeatMaps],
    picks: Picks,
    *,
    labels: PartialLabels,
    truth: Truth,
    boxes: Boxes | None = None,
    epochs: Sequence[int] | None = None,
) -> pd.DataFrame:
    """The heat map of each picked image and class under each model in each epoch.

    Parameters
    ----------
    kept
        Watchers of the same training images by model.
    picks
        Pairs of the row of a training image and the name of a class, known to the truth.
    labels, truth, boxes
        Training labels, ground truth and, if available, boxes.
    epochs
        The epochs to include; all by default.

    Returns
    -------
    DataFrame
        A row for each model, epoch and pick: model, epoch, image (row), class, kind ("annotated
        positive", "unannotated positive" or "negative"), map (W lists of W probabilities, of the
        whole image) and boxes (as in `activation`).

    Raises
    ------
    BadInput
        For images, classes or epochs that were not watched, or are unknown to the truth.

    References
    ----------
    "Spatial Consistency Loss" (WACV 2023), Figs 2, 3 and 4; BoostLU (CVPR 2023), Fig. 4.
    """
    table, c = _picked(picks, truth, boxes)
    kind = kinds(labels, truth)[table["image"], c]
    if (kind < 0).any():
        raise BadInput("heat_maps: picks has labels unknown to the truth; pick others")
    table["kind"] = np.array(_NAMES, object)[kind]
    parts = []
    for model, one in kept.items():
        place = pd.Index(one.images).get_indexer(table["image"])
        for epoch in one.maps if epochs is None else epochs:
            if epoch not in one.maps or (place < 0).any():
                raise BadInput(f"heat_maps: pick among the epochs and images of {model!r}")
            maps = (one.maps[epoch][place, c] / 255.0).tolist()
            parts.append(table.assign(model=model, epoch=epoch, map=maps))
    return pd.concat(parts, ignore_index=True)


def located(
    kept: Mapping[str, HeatMaps], *, labels: PartialLabels, truth: Truth, boxes: Boxes
) -> pd.DataFrame:
    """Localisation of objects by heat maps: means over all watched images and classes with boxes.

    Classes without any box, maps whose boxes contain no centre of a cell, and labels unknown to the
    truth are left out.

    Parameters
    ----------
    kept
        Watchers by model.
    labels, truth
        Training labels and ground truth.
    boxes
        Boxes with image sizes.

    Returns
    -------
    DataFrame
        A row for each model, epoch and kind of label: model, epoch, kind (as in `heat_maps`), maps
        (number), mean and highest (of a map), inside and outside (means over cells with and
        without their centre in a box of the class) and hits (share of maps whose highest cell,
        the first of ties, is in a box). Probabilities in [0, 1]; inside, outside and hits are NaN
        for absent classes.

    References
    ----------
    "Spatial Consistency Loss" (WACV 2023), Fig. 4, as statistics.
    """
    of_labels = kinds(labels, truth)
    _sizes(boxes, truth)
    classes = np.unique(boxes.classes)
    rows = []
    for model, one in kept.items():
        side = next((maps.shape[-1] for maps in one.maps.values()), 1)
        inside = _inside(boxes, one.images, classes, side)
        kind = of_labels[one.images][:, classes]
        kind[(kind != _NEGATIVE) & ~inside.any(-1)] = -1  # no cell has its centre in a box
        for epoch, maps in one.maps.items():
            values = maps[:, classes].reshape(inside.shape) / 255.0
            for place in (0, 2, 1):  # of LABEL_KINDS: positives first
                if (mask := kind == place).any():
                    row = {"model": model, "epoch": epoch, "kind": _NAMES[place]}
                    rows.append(row | _means(values[mask], inside[mask]))
    return pd.DataFrame(rows)


def object_size(
    draws: Draws,
    inputs: Any,
    truth: Truth,
    boxes: Boxes,
    *,
    groups: int = 3,
    classes: Classes = slice(None),
) -> pd.DataFrame:
    """mAP by the size of objects.

    Present labels are split into groups of equal number by the share of the image that the largest
    object of the class covers; values at an edge belong to the larger group. The AP of a class in
    a group ranks its images against all images without the class.

    Parameters
    ----------
    draws
        For each draw the models by method.
    inputs, truth, boxes
        Inputs, ground truth and boxes (with image sizes) of the same images.
    groups
        Number of groups.
    classes
        Indices of the classes to include (by default all); classes without boxes are left out.

    Returns
    -------
    DataFrame
        A row for each draw, method and group: method, draw, by ("object size"), part (the group
        and its shares of the area), count (of its present labels), map (in [0, 1]).

    Raises
    ------
    BadInput
        For too many groups, and for boxes without sizes or of other images.

    References
    ----------
    "Spatial Consistency Loss" (WACV 2023), section 4.2 on its appendix D.
    """
    sides = np.maximum(boxes.corners[:, 2:] - boxes.corners[:, :2], 0).astype(np.float64)
    areas = sides.prod(1) / _sizes(boxes, truth)[boxes.images].prod(1)
    share, every = np.zeros(truth.shape), np.arange(len(truth.images))
    np.maximum.at(share, (boxes.images, boxes.classes), areas)
    present = truth.rows(every)
    share = np.where(present, share, 0.0)[:, classes]
    sizes = share[share > 0] if share.any() else np.zeros(1)
    edges = np.quantile(sizes, np.linspace(0, 1, groups + 1))
    group = np.clip(np.searchsorted(edges, share, "right") - 1, 0, groups - 1)
    group[share == 0] = -1
    if len(np.unique(group[share > 0])) < groups:
        raise BadInput(f"object_size: too few objects for {groups} groups; choose fewer groups")
    absent = (~present & truth.known_rows(every))[:, classes]
    words = _SIZES.get(groups, [f"group {n + 1}" for n in range(groups)])
    rows = []
    for about, trained in _each(draws, inputs, truth):
        scores = trained.scores(inputs)[:, classes]
        for n, word in enumerate(words):
            inside = group == n
            part = f"{word}, {edges[n]:.0%} to {edges[n + 1]:.0%}"
            row = about | {"by": "object size", "part": part, "count": int(inside.sum())}
            rows.append(row | {"map": mean_ap(ap_of_classes(scores, inside, absent | inside))})
    return pd.DataFrame(rows)


def positives(
    draws: Draws,
    inputs: Any,
    truth: Truth,
    *,
    counts: Sequence[int] = (1, 2, 3),
    at_least: int | None = 4,
    classes: Classes = slice(None),
) -> pd.DataFrame:
    """mAP by the number of present labels of an image.

    Parameters
    ----------
    draws
        For each draw the models by method.
    inputs, truth
        Inputs and ground truth of the same images.
    counts, at_least
        As for `simkit.metrics.map_by_labels`.
    classes
        Indices of the classes to include (by default all), in the counts and in mAP.

    Returns
    -------
    DataFrame
        A row for each draw, method and number that occurs, with the columns of `object_size`: by
        is "present labels", part the number, count the number of images.

    References
    ----------
    "Spatial Consistency Loss" (WACV 2023), Fig. 5d and Table 3.
    """
    known = None if truth.known is None else truth.known[:, classes]
    rows = []
    for about, trained in _each(draws, inputs, truth):
        scores = trained.scores(inputs)[:, classes]
        present = truth.present[:, classes]
        # As in the paper, which leaves out classes without present labels only.
        how: dict[str, Any] = {"counts": counts, "at_least": at_least, "convention": "nan"}
        for part in map_by_labels(scores, present, known, **how):
            if part.images:
                row = about | {"by": "present labels", "part": part.name, "count": part.images}
                rows.append(row | {"map": part.map})
    return pd.DataFrame(rows)


def pointing(
    data: StudyData, models: Draws, *, scheme: str = "", size: int | None = None
) -> pd.DataFrame:
    """The pointing game of every model in every draw.

    Parameters
    ----------
    data
        Data with maps and boxes of the test split.
    models
        For each draw the models by method, such as those of `models`.
    scheme
        Name of the scheme of their labels.
    size
        Side of the backbone's images in pixels, if features cover only the centre of larger ones;
        None for features of the whole image.

    Returns
    -------
    DataFrame
        A row for each draw and method, with the columns for `ablation(table, "an",
        metric="pointing")` (those about costs are missing); map (mAP over leaves) and pointing
        (share of hits of a class, mean over classes with boxes), in [0, 1]. `full` is an ordinary
        method here.

    Raises
    ------
    BadInput
        Without boxes, and for models of other classes.

    References
    ----------
    Large Loss (Kim et al., CVPR 2022), Table 4.
    """
    boxes = data.data.boxes.get("test")
    if boxes is None:
        raise BadInput("pointing: the test split has no boxes; use data with boxes, such as coco")
    truth, inputs = data.truth("test"), data.inputs("test", "maps")
    regions = None if size is None or boxes.sizes is None else middle(boxes.sizes, size)
    rows = []
    for about, trained in _each(models, inputs, truth):
        ap = average_precision(trained.scores(inputs), truth.present, data.known("test"))
        row = {"scheme": scheme, **about, "reference": False}
        row["map"] = mean_ap(ap[data.data.leaves])
        rows.append(row | {"pointing": pointed(trained, inputs, boxes, regions=regions)})
    costs = ("dollars", "seconds", "images", "labels_id")
    return pd.DataFrame(rows).reindex(columns=[*RUN, *costs, "map", "pointing"])


def blind(boxes: Boxes) -> dict[str, float]:
    """Baselines of the pointing game: means over classes with boxes, in [0, 1].

    Parameters
    ----------
    boxes
        Boxes with image sizes.

    Returns
    -------
    dict
        "centre" always points at the centre of the image, "anywhere" at a random pixel (the share
        of the image that the boxes of a class cover).
    """
    sizes, turns = _sizes(boxes), []
    objects = pd.DataFrame({"image": boxes.images, "class": boxes.classes})
    corners = np.ceil(np.maximum(boxes.corners, 0)).astype(np.int64)  # the pixels within
    for (image, c), of_class in objects.groupby(["image", "class"]):
        width, height = sizes[image]
        covered = np.zeros((height, width), bool)
        for x0, y0, x1, y1 in corners[of_class.index]:
            covered[y0:y1, x0:x1] = True
        turns.append((c, covered[(height - 1) // 2, (width - 1) // 2], covered.mean()))
    hits = pd.DataFrame(turns, columns=["class", "centre", "anywhere"]).astype(float)
    return hits.groupby("class").mean().mean().to_dict()


def _picked(
    picks: Picks, truth: Truth, boxes: Boxes | None
) -> tuple[pd.DataFrame, NDArray[np.intp]]:
    """Image, class and boxes of each pick, and the index of its class."""
    table = pd.DataFrame([*picks], columns=["image", "class"])
    c = pd.Index(truth.classes).get_indexer(table["class"])
    for name in table["class"][c < 0]:
        raise unknown("class", name, truth.classes)
    table["boxes"] = [[]] * len(table)
    if boxes is not None and boxes.sizes is not None:
        corners, cells = _shares(boxes), zip(table["image"], c, strict=True)
        where = [(boxes.images == image) & (boxes.classes == place) for image, place in cells]
        table["boxes"] = [corners[which].tolist() for which in where]
    return table, c


def _sizes(boxes: Boxes, truth: Truth | None = None) -> NDArray[np.int64]:
    """(N, 2) width and height of the images. Raises BadInput for boxes of other images."""
    if boxes.sizes is None:
        raise BadInput("the boxes have no image sizes; pass boxes with sizes")
    N, L = (len(boxes.sizes), np.inf) if truth is None else truth.shape
    if len(boxes.sizes) != N or (boxes.images >= N).any() or (boxes.classes >= L).any():
        raise BadInput("the boxes are of other images or classes than the truth; pass its boxes")
    return boxes.sizes


def _shares(boxes: Boxes) -> NDArray[np.float64]:
    """(n, 4) corners of the boxes as shares of width and height."""
    return boxes.corners / np.tile(_sizes(boxes)[boxes.images], 2)


def _inside(
    boxes: Boxes, images: NDArray[np.int64], classes: NDArray[np.int64], side: int
) -> NDArray[np.bool_]:
    """(n, C, W * W) mask of cells with their centre in a box of the class."""
    middles = (np.arange(side) + 0.5) / side
    x0, y0, x1, y1 = _shares(boxes).T[..., None]
    rows, columns = (y0 <= middles) & (middles < y1), (x0 <= middles) & (middles < x1)
    inside = np.zeros((len(images), len(classes), side, side), bool)
    for n, image in enumerate(images):
        of_image = np.flatnonzero(boxes.images == image)
        cells = rows[of_image, :, None] & columns[of_image, None]
        np.logical_or.at(inside[n], np.searchsorted(classes, boxes.classes[of_image]), cells)
    return inside.reshape(*inside.shape[:2], -1)


def _means(values: NDArray[np.float64], inside: NDArray[np.bool_]) -> dict[str, float]:
    """Means over maps (m, W * W), given the mask of object cells."""
    row = {"maps": len(values), "mean": values.mean(), "highest": values.max(1).mean()}
    if not inside.any():
        return row | dict.fromkeys(("inside", "outside", "hits"), np.nan)
    for name, cells in (("inside", inside), ("outside", ~inside)):
        row[name] = ((values * cells).sum(1) / np.maximum(cells.sum(1), 1)).mean()
    return row | {"hits": np.take_along_axis(inside, values.argmax(1)[:, None], 1).mean()}


def _each(draws: Draws, inputs: Any, truth: Truth) -> Iterator[tuple[dict[str, Any], Trained]]:
    """Every model, with its method and draw."""
    for draw, models in enumerate(draws):
        check_models(models, inputs, truth)
        for method, trained in models.items():
            yield {"method": method, "draw": draw}, trained
