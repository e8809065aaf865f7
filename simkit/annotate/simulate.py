"""From a truth and a scheme to partial labels, and from their history to the same labels again."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.annotate import schemes
from simkit.annotate.crowd import Crowd
from simkit.annotate.habits import Habits
from simkit.annotate.published import SEED, published
from simkit.annotate.schemes import Scheme
from simkit.chance import Chance
from simkit.data.dataset import Boxes
from simkit.errors import BadInput, whole_number
from simkit.history import History
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth


def simulate(
    truth: Truth | Any,
    scheme: Scheme | str,
    *,
    images: float | int = 1.0,
    hierarchy: Hierarchy | None = None,
    habits: Habits = Habits(),
    boxes: Boxes | None = None,
    seed: int | None = None,
    draw: int = 0,
    legacy_rng: bool = False,
) -> PartialLabels:
    """The labels that people give when a scheme's questions are put to them.

    truth   a Truth, or a 0/1 array, scipy sparse matrix or pandas frame (index: images, columns:
            classes), as `Truth.of` takes them.
    scheme  a value, or its text such as "fpc(per_class=1000)".
    images  which share of the images is asked about at all (a float up to 1.0) or how many (a whole
            number); fewer images are a part of more, and all schemes get the same ones.
    boxes   where the objects are, for schemes that choose by size or place.
    draw    the repetition: other images, other choices, other errors.
    seed    None: 0, or with legacy_rng the 1200 of the published code.
    legacy_rng  the arrays of the published simulator of this scheme, bit for bit.

    The result covers all images of the truth and depends on these arguments alone. Raises BadInput;
    warns about images that show none of the classes.
    """
    truth = Truth.of(truth)
    part = schemes.make(scheme) if isinstance(scheme, str) else scheme
    if hierarchy is not None:
        check_closed(truth, hierarchy)
    usual = SEED if legacy_rng else 0
    seed = usual if seed is None else whole_number(seed, "seed")
    draw = whole_number(draw, "draw")
    if legacy_rng:
        return published(
            truth, part, seed=seed, draw=draw, images=images, habits=habits, hierarchy=hierarchy
        )
    root = Chance.seeded(seed).of("draw", draw)
    asked = chosen_images(truth, images, root)
    _warn_of_empty(truth, asked)
    crowd = Crowd(
        truth,
        images=asked,
        hierarchy=hierarchy,
        habits=habits,
        boxes=boxes,
        chance=root.of("errors"),
    )
    part.ask(crowd, root.of("scheme", part.name))
    settings: dict[str, Any] = {
        "scheme": schemes.spell(part),
        "images": float(images) if isinstance(images, float | np.floating) else int(images),
        "habits": habits.to_json(),
        "draw": draw,
    }
    if part.needs_boxes and boxes is not None:
        settings["boxes"] = boxes.id
    parents = (truth.id,) if hierarchy is None else (truth.id, hierarchy.id)
    return crowd.labels(History("simulate", settings, seed, parents))


def replay(
    history: History,
    truth: Truth,
    hierarchy: Hierarchy | None = None,
    *,
    boxes: Boxes | None = None,
) -> PartialLabels:
    """The labels again whose `history` this is: same content, same id.

    boxes are needed where the scheme chose by them, and passed over otherwise. Raises BadInput when
    the history is not a simulation, or another truth, hierarchy or other boxes made it.
    """
    if history.command != "simulate":
        raise BadInput(f"this history is of {history.command!r}; only 'simulate' can be replayed")
    settings: dict[str, Any] = dict(history.settings)
    made_with = [*(*history.parents, None)[:2], settings.pop("boxes", None)]
    seen = None if boxes is None or made_with[2] is None else boxes.id
    now = [truth.id, None if hierarchy is None else hierarchy.id, seen]
    for what, before, given in zip(_MENDS, made_with, now, strict=True):
        if before != given:
            raise BadInput(
                f"the labels were made with {what} {before or 'none'}, but this is "
                f"{given or 'none'}; {_MENDS[what]}"
            )
    settings["habits"] = Habits.from_json(settings["habits"])
    return simulate(truth, seed=history.seed or 0, hierarchy=hierarchy, boxes=boxes, **settings)


_MENDS = {
    "truth": "give the truth of the same split of the same data set, such as "
    "data.truth[data.to_label]",
    "hierarchy": "give the data set's own, as in hierarchy=data.hierarchy",
    "boxes": "give those of the same split, as in boxes=data.boxes[split]",
}


def chosen_images(truth: Truth, images: float | int, chance: Chance) -> NDArray[np.int64] | None:
    """The images asked about, ascending, or None for all: the first ones of a keyed order."""
    N = truth.shape[0]
    wanted = how_many(images, N)
    if wanted == N:
        return None
    return np.sort(chance.of("images").permutation(N).at(np.arange(wanted)))


def how_many(images: float | int, N: int) -> int:
    """The number of images for a share or a number of them. Raises BadInput."""
    if isinstance(images, float | np.floating):
        if not 0 < images <= 1:
            raise BadInput(
                f"images is {images!r}; a share above 0 and up to 1.0 or a whole number is expected"
            )
        return max(1, round(images * N))
    if isinstance(images, bool) or not isinstance(images, int | np.integer) or images < 1:
        raise BadInput(
            f"images is {images!r}; a share up to 1.0 or a whole number from 1 on is expected"
        )
    if images > N:
        raise BadInput(f"images is {images}, but there are {N:,}; ask for that many or for fewer")
    return int(images)


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


def _warn_of_empty(truth: Truth, asked: NDArray[np.int64] | None) -> None:
    counts = np.diff(truth.present.indptr)
    own = counts if asked is None else counts[asked]
    empty = int(np.count_nonzero(own == 0))
    if empty:
        warnings.warn(
            f"{empty:,} of {len(own):,} images show none of the {truth.shape[1]} classes; "
            "where a present class is asked for they get no label",
            stacklevel=3,
        )
