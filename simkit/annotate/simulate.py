"""Simulate partial labels from a truth and a scheme, and replay them from their history."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from simkit.annotate import schemes
from simkit.annotate.annotators import Habits, Ints
from simkit.annotate.crowd import NotThere
from simkit.annotate.schemes import Scheme
from simkit.annotate.simulated_crowd import SimulatedCrowd
from simkit.chance import Chance
from simkit.data.dataset import Boxes
from simkit.errors import BadInput, whole_number
from simkit.history import History, content_id
from simkit.labels.coding import is_frame
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.metrics.ranking import names_of, places_of


def simulate(
    truth: Truth | Any,
    scheme: Scheme | str,
    *,
    images: float | int = 1.0,
    hierarchy: Hierarchy | None = None,
    habits: Habits = Habits(),
    boxes: Boxes | None = None,
    features: Any = None,
    scores: Any = None,
    seed: int = 0,
    draw: int = 0,
) -> PartialLabels:
    """Simulate the labels that a scheme collects from annotators.

    Parameters
    ----------
    truth : Truth, or (N, L) array, scipy sparse matrix or pandas.DataFrame of 0 and 1
        The complete labels; the index of a frame gives image ids, its columns class names.
    scheme : Scheme or str
        A scheme, or its text such as "fpc(per_class=1000)".
    images : float or int, default 1.0
        Share (up to 1.0) or number of the images to annotate.

        A float is a share and an int is a number. A smaller set is contained in a larger one, and
        all schemes get the same images.
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
        by them. Frames of scores and features are matched with the names of a truth, in any order.
    seed : int, default 0
        Same seed, same labels.
    draw : int, default 0
        Index of the repetition, with other images, choices and errors.

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
    features, scores = (
        _in_order(truth, name, value)
        for name, value in (("features", features), ("scores", scores))
    )
    truth = Truth.of(truth)
    scheme = schemes.make(scheme) if isinstance(scheme, str) else scheme
    seed, draw = whole_number(seed, "seed"), whole_number(draw, "draw")
    if hierarchy is not None:
        check_closed(truth, hierarchy)
    root = Chance.seeded(seed).of("draw", draw)
    chosen = chosen_images(truth.shape[0], images, root)
    # Errors are keyed without the scheme's name: compared schemes meet the same errors.
    crowd = SimulatedCrowd(
        truth, hierarchy=hierarchy, habits=habits, boxes=boxes, features=features, scores=scores,
        chance=root.of("errors"),
    )  # fmt: skip
    counts = np.diff(truth.present.indptr)[slice(None) if chosen is None else chosen]
    if empty := int(np.count_nonzero(counts == 0)):
        warnings.warn(
            f"{empty:,} of {len(counts):,} images show none of the {truth.shape[1]} classes; "
            "where a present class is asked for they get no label",
            stacklevel=2,
        )
    asked = crowd if chosen is None else crowd.among(chosen)
    ask: Callable[..., Any] = scheme.ask
    try:
        made = ask(asked, root.of("scheme", scheme.name))
    except NotThere as error:
        raise BadInput(f"ask of {scheme.name}: {error}") from None
    if made is not None:
        raise BadInput(
            f"ask of {scheme.name} returns {type(made).__name__}, which would be lost; labels are "
            "the answers to questions such as crowd.verify(images, classes): return nothing"
        )
    settings: dict[str, Any] = {
        "scheme": schemes.spell(scheme),
        # One image (1) and all images (1.0) are different settings.
        "images": float(images) if isinstance(images, float | np.floating) else int(images),
        "habits": habits.to_json(),
        "draw": draw,
    }
    for name, value in (("boxes", boxes), ("features", features), ("scores", scores)):
        if getattr(scheme, f"needs_{name}") and value is not None:
            settings[name] = _content_id(name, value)
    parents = (truth.id,) if hierarchy is None else (truth.id, hierarchy.id)
    return crowd.labels(History("simulate", settings, seed, parents))


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
    settings: dict[str, Any] = dict(history.settings)
    if history.command != "simulate":
        raise BadInput(f"this history is of {history.command!r}; only 'simulate' can be replayed")
    if "legacy_rng" in settings:
        raise BadInput(
            "a published simulator made these labels; call replay_published from "
            "simkit.papers.published_simulators"
        )
    aids = {"boxes": boxes, "features": features, "scores": scores}
    aids = {name: _in_order(truth, name, value) for name, value in aids.items()}
    truth = Truth.of(truth)
    chosen_by = {name: settings.pop(name, None) for name in aids}
    made_with = [*(*history.parents, None)[:2], *chosen_by.values()]
    now = [truth.id, None if hierarchy is None else hierarchy.id]
    now += [None if chosen_by[name] is None else _content_id(name, aids[name]) for name in aids]
    for what, before, here in zip(("truth", "hierarchy", *aids), made_with, now, strict=True):
        if before != here:
            raise BadInput(
                f"the labels were made with {what} {before or 'none'}, but this is "
                f"{here or 'none'}; give the {what} of the same data set and split"
            )
    settings["habits"] = Habits(**settings["habits"])
    return simulate(truth, hierarchy=hierarchy, seed=history.seed or 0, **aids, **settings)


def _in_order(truth: Any, name: str, value: Any) -> Any:
    """A frame of features or scores in the order of a truth with names; other values unchanged."""
    if not is_frame(value) or (named := names_of(truth)) is None:
        return value
    rows = places_of(value.index, named[0], "the images of the truth", f"the {name}")
    columns: Any = slice(None)
    if name == "scores":
        columns = places_of(value.columns, named[1], "the classes of the truth", "the scores")
    return value.iloc[rows, columns].to_numpy()


def _content_id(name: str, value: Any) -> str | None:
    """Content id of boxes, or of an array of features or scores; None for None."""
    if value is None or isinstance(value, Boxes):
        return None if value is None else value.id
    return content_id(name, np.asarray(value))


def chosen_images(
    N: int, images: float | int, chance: Chance, without: Collection[int] | Ints = ()
) -> Ints | None:
    """The images to annotate, ascending, the first ones of a keyed order; None for all.

    without: images to leave out; `images` is of the others.
    """
    wanted = how_many(images, N - len(without))
    if wanted == N:
        return None
    order = chance.of("images").permutation(N).at(np.arange(N if len(without) else wanted))
    return np.sort(order[~np.isin(order, np.asarray(without, np.int64))][:wanted])


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
    # The product counts, for each image and class, the children of the class that are present.
    implied = (truth.present.astype(np.int32) @ edges).astype(bool)
    missing = implied > truth.present
    if missing.nnz:
        image, c = (int(where[0]) for where in missing.nonzero())
        raise BadInput(
            f"image {truth.images[image]} shows something below {truth.classes[c]!r} "
            f"but not {truth.classes[c]!r} itself; {mend}"
        )
