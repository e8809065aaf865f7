"""Simulate partial labels from a truth and a scheme, and replay them from their history."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np
from scipy.sparse import csr_array

from simkit.annotate import schemes
from simkit.annotate.annotators import Habits, Ints
from simkit.annotate.crowd import Crowd
from simkit.annotate.schemes import Scheme
from simkit.chance import Chance
from simkit.data.dataset import Boxes
from simkit.errors import BadInput, whole_number
from simkit.history import History, content_id
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.papers import published_simulators as published


class Options(TypedDict, total=False):
    """The keyword arguments of `simulate`, which explains them, for type checkers."""

    images: float | int
    hierarchy: Hierarchy | None
    habits: Habits
    boxes: Boxes | None
    features: Any
    scores: Any
    seed: int | None
    draw: int
    legacy_rng: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class _Setting:
    """The keyword arguments of `simulate` with their defaults, checked."""

    images: float | int = 1.0
    hierarchy: Hierarchy | None = None
    habits: Habits = Habits()
    boxes: Boxes | None = None
    features: Any = None
    scores: Any = None
    seed: int | None = None
    draw: int = 0
    legacy_rng: bool = False

    def __post_init__(self) -> None:
        usual = published.SEED if self.legacy_rng else 0
        seed = usual if self.seed is None else whole_number(self.seed, "seed")
        object.__setattr__(self, "seed", seed)
        object.__setattr__(self, "draw", whole_number(self.draw, "draw"))

    def history(self, truth: Truth, scheme: Scheme) -> History:
        """The history of labels of this scheme: equal histories mean equal labels."""
        images = self.images
        settings: dict[str, Any] = {
            "scheme": schemes.spell(scheme),
            "images": float(images) if isinstance(images, float | np.floating) else int(images),
            "habits": self.habits.to_json(),
            "draw": self.draw,
        }
        if self.legacy_rng:
            settings |= {"images": 1.0, "legacy_rng": True}
        for name in ("boxes", "features", "scores"):
            given = getattr(self, name)
            if getattr(scheme, f"needs_{name}") and given is not None:
                settings[name] = _id(name, given)
        parents = (truth.id,) if self.hierarchy is None else (truth.id, self.hierarchy.id)
        return History("simulate", settings, self.seed, parents)

    def check_published(self, N: int) -> None:
        """Raise BadInput for settings that the published simulators lack, given N images."""
        part = isinstance(self.images, bool) or self.images not in (1.0, N)
        if self.draw or part or self.habits != Habits():
            raise BadInput(
                "draw, images or habits is given, but the published simulators label all images "
                "once, without errors; leave these or legacy_rng out (another seed gives other "
                "labels)"
            )


def simulate(truth: Truth | Any, scheme: Scheme | str, **options: Unpack[Options]) -> PartialLabels:
    """Simulate the labels that a scheme collects from annotators.

    Parameters
    ----------
    truth : Truth, or (N, L) array, scipy sparse matrix or pandas.DataFrame of 0 and 1
        The complete labels; the index of a frame gives image ids, its columns class names.
    scheme : Scheme or str
        A scheme, or its text such as "fpc(per_class=1000)".
    images : float or int, default 1.0
        The share (a float up to 1.0) or number (an int) of images to annotate; a smaller set is
        contained in a larger one, and all schemes get the same images.
    hierarchy : Hierarchy, optional
        Needed by schemes that ask along a hierarchy; the truth must be closed under it.
    habits : Habits, optional
        The annotator model; by default annotators never err.
    boxes : Boxes, optional
        Boxes of the objects, for schemes that choose by size or position.
    features : (N, D) float, optional
        Features of the images, for schemes that choose images by them.
    scores : (N, L) float, optional
        A model's scores of the images (logits, as from `predict`), for schemes that choose images
        by them.
    seed : int, optional
        0 by default; with legacy_rng 1200, as in the published code.
    draw : int, default 0
        Index of the repetition, with other images, choices and errors.
    legacy_rng : bool, default False
        Reproduce the arrays of the scheme's published simulator bit for bit.

    Returns
    -------
    PartialLabels
        Labels of all images of the truth, with the effort and the history; they depend on these
        arguments alone.

    Raises
    ------
    BadInput
        For a truth, scheme or setting that cannot be used.

    Warns
    -----
    UserWarning
        For images without any of the classes.
    """
    truth = Truth.of(truth)
    chosen = schemes.make(scheme) if isinstance(scheme, str) else scheme
    setting = _Setting(**options)
    if setting.hierarchy is not None:
        check_closed(truth, setting.hierarchy)
    assert setting.seed is not None
    if setting.legacy_rng:
        setting.check_published(truth.shape[0])
        codes, effort, asked = published.labelled(truth, chosen, setting.seed)
        history = setting.history(truth, chosen)
        return PartialLabels(codes, asked, truth.images, truth.classes, effort, history)
    root = Chance.seeded(setting.seed).of("draw", setting.draw)
    images = chosen_images(truth.shape[0], setting.images, root)
    crowd = Crowd(
        truth,
        hierarchy=setting.hierarchy,
        habits=setting.habits,
        boxes=setting.boxes,
        features=setting.features,
        scores=setting.scores,
        chance=root.of("errors"),
    )
    _warn_of_empty(truth, images)
    asked_about = crowd if images is None else crowd.among(images)
    chosen.ask(asked_about, root.of("scheme", chosen.name))
    return crowd.labels(setting.history(truth, chosen))


def replay(
    history: History,
    truth: Truth | Any,
    hierarchy: Hierarchy | None = None,
    *,
    boxes: Boxes | None = None,
    features: Any = None,
    scores: Any = None,
) -> PartialLabels:
    """Simulate labels again from their history: same content, same id.

    Parameters
    ----------
    history : History
        The history of simulated labels.
    truth : Truth
        The truth that the labels were made from.
    hierarchy : Hierarchy, optional
        The hierarchy that the labels were made with.
    boxes : Boxes, optional
        Needed if the scheme chose by boxes; ignored otherwise.
    features : (N, D) float, optional
        Needed if the scheme chose by features; ignored otherwise.
    scores : (N, L) float, optional
        Needed if the scheme chose by scores; ignored otherwise.

    Returns
    -------
    PartialLabels

    Raises
    ------
    BadInput
        If the history is not of a simulation, or has another truth, hierarchy, boxes,
        features or scores.
    """
    if history.command != "simulate":
        raise BadInput(f"this history is of {history.command!r}; only 'simulate' can be replayed")
    truth = Truth.of(truth)
    settings: dict[str, Any] = dict(history.settings)
    given = {"boxes": boxes, "features": features, "scores": scores}
    chosen_by = {name: settings.pop(name, None) for name in given}
    made_with = [*(*history.parents, None)[:2], *chosen_by.values()]
    now = [truth.id, None if hierarchy is None else hierarchy.id]
    now += [None if chosen_by[name] is None else _id(name, given[name]) for name in given]
    for what, before, here in zip(("truth", "hierarchy", *given), made_with, now, strict=True):
        if before != here:
            raise BadInput(
                f"the labels were made with {what} {before or 'none'}, but this is "
                f"{here or 'none'}; give the {what} of the same data set and split"
            )
    settings["habits"] = Habits(**settings["habits"])
    return simulate(truth, hierarchy=hierarchy, seed=history.seed or 0, **given, **settings)


def _id(name: str, given: Any) -> str | None:
    """Content id of boxes, or of an array of features or scores; None for None."""
    if given is None or isinstance(given, Boxes):
        return None if given is None else given.id
    return content_id(name, np.asarray(given))


def chosen_images(N: int, images: float | int, chance: Chance) -> Ints | None:
    """The images to annotate, ascending, the first ones of a keyed order; None for all."""
    wanted = how_many(images, N)
    if wanted == N:
        return None
    return np.sort(chance.of("images").permutation(N).at(np.arange(wanted)))


def how_many(images: float | int, N: int) -> int:
    """The number of images for a share or a number of them. Raises BadInput."""
    share = isinstance(images, float | np.floating)
    number = isinstance(images, int | np.integer) and not isinstance(images, bool)
    if share and 0 < images <= 1:
        return max(1, round(images * N))
    if number and 1 <= images <= N:
        return int(images)
    raise BadInput(
        f"images is {images!r}; a share above 0 and up to 1.0 or a whole number from 1 to {N:,} is "
        "expected"
    )


def check_closed(truth: Truth, hierarchy: Hierarchy) -> None:
    """Raise BadInput unless every class of `truth` is present with its parents in `hierarchy`."""
    mend = "call close(truth, hierarchy) from simkit.labels.hierarchy first"
    if truth.classes != hierarchy.classes:
        raise BadInput(
            f"the truth has {len(truth.classes)} classes and the hierarchy "
            f"{len(hierarchy.classes)}, or in another order; {mend}"
        )
    children = [c for c, above in enumerate(hierarchy.parents) for _ in above]
    parents = [p for above in hierarchy.parents for p in above]
    L = len(truth.classes)
    edges = csr_array((np.ones(len(parents), np.int32), (children, parents)), shape=(L, L))
    implied = (truth.present.astype(np.int32) @ edges).astype(bool)
    missing = implied > truth.present
    if missing.nnz:
        image, c = (int(where[0]) for where in missing.nonzero())
        raise BadInput(
            f"image {truth.images[image]} shows something below {truth.classes[c]!r} "
            f"but not {truth.classes[c]!r} itself; {mend}"
        )


def _warn_of_empty(truth: Truth, images: Ints | None) -> None:
    counts = np.diff(truth.present.indptr)[slice(None) if images is None else images]
    if empty := int(np.count_nonzero(counts == 0)):
        warnings.warn(
            f"{empty:,} of {len(counts):,} images show none of the {truth.shape[1]} classes; "
            "where a present class is asked for they get no label",
            stacklevel=3,
        )
