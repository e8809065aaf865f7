"""Features that were made before, brought along as files or folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, cast

from simkit.data import Dataset
from simkit.data.dataset import WHOLE
from simkit.errors import BadInput
from simkit.labels.truth import places

if TYPE_CHECKING:
    from simkit.embed.features.features import Features, Kind


def brought(
    given: Sequence[tuple[str, str]], kinds: Sequence[str], data: Dataset, split: str
) -> dict[Kind, Features]:
    """Features of a split by kind, from files or folders.

    given: pairs (split, npz file or folder): of one kind, of a split or of all splits. Raises
    BadInput where there are none for the split, where they have other rows, where a folder says
    that they were made of other pictures, and where they are pooled and maps are needed.
    """
    from simkit.embed.features.feature_folder import of_splits
    from simkit.embed.features.features import read_features

    files = dict(given)
    held_out = split not in files and "train" in files and WHOLE in data.truth
    if split not in files and not held_out:
        raise BadInput(f'features names no file for the {split} split; add {split} = "FILE.npz"')
    file = files["train" if held_out else split]
    splits = of_splits(Path(file))  # the folder above one for each split will do as well
    file = str(splits.get(split) or (splits.get("train") if held_out else None) or file)
    found = {}
    for kind in cast(tuple["Kind", ...], kinds):
        one = _rows(read_features(file, kind), data, split, file)
        if one.kind == "pooled" and kind == "maps":
            raise BadInput(
                f"{file} holds pooled features (N, D), but a method here needs maps "
                "(N, D, h, w); give maps or leave that method out"
            )
        found[kind] = one if one.kind == kind else one.pooled()
    return found


def from_one_network(found: Mapping[tuple[str, str], Features]) -> None:
    """Raise BadInput where features, by split and kind, are known to come from two networks.

    Nothing is known of arrays that were computed elsewhere.
    """
    known = [(split, one) for (split, _), one in found.items() if _pictures(one)]
    for (first, one), (second, other) in pairwise(known):
        if _network(one) != _network(other):
            raise BadInput(
                f"features of {first} come from {_network(one)}, and those of {second} from "
                f"{_network(other)}; extract both with the same backbone, weights and size"
            )


def _rows(found: Features, data: Dataset, split: str, file: str) -> Features:
    """One row for each image of the split; a file of the whole training set serves its parts."""
    images, N = data.truth[split].images, len(found.values)
    whole = data.truth[WHOLE].images if WHOLE in data.truth and split != "test" else images
    if N not in (len(images), len(whole)):
        raise BadInput(
            f"{file} has features of {N:,} images, but {split} has {len(images):,}; give one row "
            "for each, in the same order"
        )
    of = split if N == len(images) else WHOLE
    made_of = _pictures(found)
    if made_of and of in data.pictures and made_of != data.pictures[of].id:
        raise BadInput(
            f"{file} has features of other pictures than those of {of}, or of the same in another "
            "order; extract them again from this data set"
        )
    return found if of == split else found.select(places(whole, images))


def _pictures(found: Features) -> str:
    """Content id of the pictures that features were made of; "" where nobody knows."""
    made = found.history.command == "features" and found.history.parents
    return found.history.parents[0] if made else ""


def _network(found: Features) -> str:
    settings = found.history.settings
    weights = " ".join(found.history.parents[1:])
    return f"{settings.get('backbone')} at {settings.get('size')} pixels (weights {weights})"
