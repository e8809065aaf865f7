"""The published simulators, bit for bit: functions of a truth and numpy's old random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.annotate import schemes
from simkit.annotate.annotators import Bools, Habits
from simkit.annotate.crowd import check_room
from simkit.annotate.simulate import check_closed
from simkit.annotate.simulated_crowd import SimulatedCrowd
from simkit.annotate.sparse_draws import entries_of
from simkit.chance import Chance
from simkit.errors import BadInput, whole_number
from simkit.history import History
from simkit.labels.effort import Effort, histogram
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.partial import ABSENT, PRESENT, PartialLabels
from simkit.labels.truth import Truth, locked, sealed

SEED = 1200  # the default of the code of Cole et al.; the code of the others sets no seed
_PUBLISHED = ("single-positive", "rpa", "fpc")
PLACES = 1 << 21  # random numbers drawn at a time; changes no result


def simulate_published(
    truth: Truth | Any,
    scheme: schemes.Scheme | str,
    *,
    hierarchy: Hierarchy | None = None,
    seed: int = SEED,
) -> PartialLabels:
    """The labels that the published code of a scheme makes, billed like the scheme.

    single-positive  Cole et al., CVPR 2021: `observe_uniform` with RandomState(seed).
    rpa, fpc         Ben-Baruch et al., CVPR 2022: `simulate_coco` after numpy.random.seed(seed).

    All images are labelled once, without errors. The arrays depend on the order of the images; that
    of the published label matrices of COCO is `data.split.published_order`. Give the training set
    before validation is held out, and the test set by itself with the same seed, as the published
    code does. That code takes labels from the truth and asks nobody: the effort is the effort of
    the scheme with the same settings (for rpa a question for each label kept). Asked are the images
    that carry a label, for single-positive all.

    Parameters
    ----------
    truth : Truth, or (N, L) array, scipy sparse matrix or pandas.DataFrame of 0 and 1
        The complete labels, as for `simulate`.
    scheme : Scheme or str
        single-positive without bias, rpa or fpc, without keep_looks.
    hierarchy : Hierarchy, optional
        The hierarchy under which the truth is closed; it becomes part of the history.
    seed : int, default 1200
        From 0 to 2**32 - 1; the default is that of Cole et al., the other code sets no seed.

    Returns
    -------
    PartialLabels

    Raises
    ------
    BadInput
        For other schemes and settings, of which no simulator was published.
    """
    truth, seed = Truth.of(truth), whole_number(seed, "seed")
    scheme = schemes.make(scheme) if isinstance(scheme, str) else scheme
    if hierarchy is not None:
        check_closed(truth, hierarchy)
    codes, effort, asked = _labelled(truth, scheme, seed)
    settings = {"scheme": schemes.spell(scheme), "images": 1.0, "habits": Habits().to_json()}
    settings |= {"draw": 0, "legacy_rng": True}
    parents = (truth.id,) if hierarchy is None else (truth.id, hierarchy.id)
    history = History("simulate", settings, seed, parents)
    return PartialLabels(codes, asked, truth.images, truth.classes, effort, history)


def replay_published(
    history: History, truth: Truth | Any, hierarchy: Hierarchy | None = None
) -> PartialLabels:
    """Make labels of a published simulator again from their history: same content, same id.

    Parameters
    ----------
    history : History
        The history of labels that `simulate_published` made.
    truth : Truth
        The truth that the labels were made from.
    hierarchy : Hierarchy, optional
        The hierarchy that the labels were made with.

    Returns
    -------
    PartialLabels

    Raises
    ------
    BadInput
        If the history is of other labels, or has another truth or hierarchy.
    """
    if "legacy_rng" not in history.settings:
        raise BadInput("no published simulator made these labels; call simkit.replay")
    scheme, seed = str(history.settings["scheme"]), history.seed or 0
    labels = simulate_published(truth, scheme, hierarchy=hierarchy, seed=seed)
    if labels.history.parents != history.parents:
        raise BadInput(
            f"the labels were made with truth and hierarchy {history.parents}, but these are "
            f"{labels.history.parents}; give those of the same data set and split"
        )
    return labels


def _labelled(truth: Truth, scheme: schemes.Scheme, seed: int) -> tuple[csr_array, Effort, Bools]:
    """Codes (N, L) int8, the effort, and (N,) the images that were asked about."""
    root = Chance.seeded(seed).of("draw", 0)
    crowd = SimulatedCrowd(truth, chance=root.of("errors"))
    settings: dict[str, Any] = vars(scheme)
    changed = settings.get("keep_looks", False) or settings.get("bias", "none") != "none"
    if scheme.name not in _PUBLISHED or changed or not 0 <= seed < 2**32:
        raise BadInput(
            f"no published simulator of {schemes.spell(scheme)} with seed {seed} is known: there "
            "are those of single-positive without bias, rpa and fpc, without keep_looks and with "
            "seeds from 0 to 2**32 - 1; call simkit.simulate (in commands: leave --legacy-rng out)"
        )
    random = np.random.RandomState(seed)
    if scheme.name == "rpa":
        # 1 - keep as it is written: in binary fractions 1 - 0.7 is not 0.3.
        unknown = float(1 - Decimal(repr(settings["keep"])))
        codes = sealed(random_per_annotation(truth, random, unknown=unknown))
        labels = np.diff(codes.indptr)
        effort = Effort({"verify": histogram(labels)}, np.zeros(truth.shape[1], np.int64))
        return codes, effort, locked(labels > 0)
    if scheme.name == "fpc":
        codes = fixed_per_class(truth, random, per_class=settings["per_class"])
    else:
        kept = {kind: settings[kind] for kind in ("positives", "negatives")}
        codes = observed(truth, random, **kept)
    # What fpc looks at beyond its labels is chosen by the scheme's own numbers, so that only the
    # images that carry a label are known to be asked.
    asked = np.diff(codes.indptr) > 0
    scheme.ask(crowd, root.of("scheme", scheme.name))
    bought = crowd.labels(History("simulate"))
    if scheme.name == "single-positive":
        asked |= bought.asked
    return sealed(codes), bought.effort, locked(asked)


def observed(
    truth: Truth, random: np.random.RandomState, *, positives: int, negatives: int
) -> csr_array:
    """(N, L) int8: up to so many `positives` and `negatives` of each image; L of them: all.

    Row by row the present classes are shuffled and the first ones kept, then the absent ones. Both
    are shuffled however many are kept, for the random numbers that this takes. Source: Cole et al.,
    CVPR 2021, preproc/generate_observed_labels.py. Raises BadInput for a truth without any present
    or without any absent class, which the code refuses too.
    """
    N, L = truth.shape
    entries = truth.present.nnz
    if entries in (0, N * L):
        what = "no class is present" if not entries else "every class is present"
        raise BadInput(f"{what} in any image; the published simulator needs labels of both kinds")
    kept = positives, negatives
    check_room(min(N * kept[0], entries) + min(N * kept[1], N * L - entries))
    pointers, present = truth.present.indptr, truth.present.indices
    absent = np.ones(L, bool)
    chosen: list[NDArray[np.int32]] = []  # copies, so that the rest of a row is let go
    counts = np.empty((N, 2), np.int64)
    for i in range(N):
        shown = present[pointers[i] : pointers[i + 1]].astype(np.int64)
        absent[shown] = False
        others = np.flatnonzero(absent)
        absent[shown] = True
        for j, classes in enumerate((shown, others)):
            random.shuffle(classes)
            chosen.append(classes[: kept[j]].astype(np.int32))
            counts[i, j] = len(chosen[-1])
    rows = np.repeat(np.arange(N).repeat(2), counts.ravel())
    signs = np.repeat(np.tile(np.array([PRESENT, ABSENT], np.int8), N), counts.ravel())
    return _matrix([(rows, np.concatenate(chosen), signs)], truth.shape)


def random_per_annotation(
    truth: Truth, random: np.random.RandomState, *, unknown: float
) -> csr_array:
    """(N, L) int8: every label unknown with this probability, by one number for each in C order.

    Source: Ben-Baruch et al., CVPR 2022, coco_simulation.py, mode "rps". Rows are drawn block by
    block, which takes the same numbers as all at once.
    """
    N, L = truth.shape
    check_room(N * L * (1 - unknown))
    step = max(1, PLACES // L)
    parts = []
    for start in range(0, N, step):
        stop = min(start + step, N)
        dense = np.full((stop - start, L), ABSENT, np.int8)
        dense[entries_of(truth.present, start, stop)] = PRESENT
        dense[random.random_sample((stop - start, L)) < unknown] = 0
        rows, columns = np.nonzero(dense)
        parts.append((rows + start, columns, dense[rows, columns]))
    return _matrix(parts, truth.shape)


def fixed_per_class(truth: Truth, random: np.random.RandomState, *, per_class: int) -> csr_array:
    """(N, L) int8: class by class `per_class` of the images that show it, then of the others.

    A class that fewer images show keeps all of them. Source: Ben-Baruch et al., CVPR 2022,
    coco_simulation.py, mode "fpc".
    """
    N, L = truth.shape
    pointers, images = truth.by_class
    absent = np.ones(N, bool)
    check_room(2 * L * min(per_class, N))
    parts = []
    for c in range(L):
        shown = images[pointers[c] : pointers[c + 1]]
        absent[shown] = False
        for sign, pool in ((PRESENT, shown), (ABSENT, np.flatnonzero(absent))):
            some = min(per_class, len(pool))  # an empty pool takes no random numbers
            taken = random.choice(pool, some, replace=False) if len(pool) else pool[:0]
            parts.append((taken, np.full(len(taken), c), np.full(len(taken), sign, np.int8)))
        absent[shown] = True
    return _matrix(parts, truth.shape)


def _matrix(
    parts: Sequence[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]], shape: tuple[int, int]
) -> csr_array:
    """From pieces of images, classes and codes, every place at most once."""
    rows, columns, codes = (np.concatenate(column) for column in zip(*parts, strict=True))
    matrix = csr_array((codes, (rows, columns)), shape=shape)
    matrix.sort_indices()
    return matrix
