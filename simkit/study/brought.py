"""Features that were made before, brought along as files or folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from simkit.data import Dataset
from simkit.data.dataset import WHOLE
from simkit.errors import BadInput
from simkit.labels.truth import places

if TYPE_CHECKING:
    from simkit.embed.features import Features, Kind


def brought(
    given: Sequence[tuple[str, str]], kinds: Sequence[str], data: Dataset, split: str
) -> dict[Kind, Features]:
    """Features of a split by kind, from files or folders.

    given: pairs (split, npz file or folder): of one kind, of a split or of all splits. Raises
    BadInput where there are none for the split, and where they do not fit.
    """
    from simkit.embed.feature_folder import of_splits
    from simkit.embed.features import read_features

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


def _rows(found: Features, data: Dataset, split: str, file: str) -> Features:
    """One row for each image of the split; a file of the whole training set serves its parts."""
    images = data.truth[split].images
    if len(found.values) == len(images):
        return found
    whole = data.truth[WHOLE].images if WHOLE in data.truth else images
    if split == "test" or len(found.values) != len(whole):
        raise BadInput(
            f"{file} has features of {len(found.values):,} images, but {split} has "
            f"{len(images):,}; give one row for each, in the same order"
        )
    return found.select(places(whole, images))
