"""Checks of the images before labelling: size, unreadable files, duplicates, neighbours."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simkit.data.dataset import Dataset, Pictures
from simkit.data.images import FilePictures, exact
from simkit.embed.decoding import cores
from simkit.embed.features import extract
from simkit.embed.neighbours import nearest
from simkit.embed.networks import Backbone
from simkit.embed.unit_features import UnitFeatures
from simkit.errors import BadInput
from simkit.history import content_id
from simkit.learn.inputs import FeatureInputs
from simkit.progress import Progress, silent

COPY, BROKEN = "copy of ", "cannot be read: "


def check_images(data: Dataset, split: str, progress: Progress = silent) -> pd.DataFrame:
    """Decode every image of a split.

    Parameters
    ----------
    data : Dataset
    split : str
    progress : callable
        Called with (done, total).

    Returns
    -------
    DataFrame
        One row per image: image (id), width and height in pixels (0: unreadable), and left_out, the
        reason for leaving the image out: "copy of X" if the file of image X has the same pixels,
        "cannot be read: ...", or "". Of several copies, the one with the shortest name is kept, or
        else the earliest: a.jpg, not "a (1).jpg".
    """
    pictures, ids = data.pictures[split], data.truth[split].images.tolist()
    rows, alike, first = [], dict[str, int](), dict[str, int]()
    copies: dict[int, list[int]] = {}
    with ThreadPoolExecutor(cores()) as pool:
        looks = pool.map(partial(_seen, pictures), range(len(ids)))
        for row, (width, height, digest, left_out) in enumerate(looks):
            other = alike.setdefault(digest, row) if digest else row
            if other != row and isinstance(pictures, FilePictures):
                # Perhaps they are only equal after the reduction to 8 bits or to the first frame.
                for each in (other, row):
                    other = first.setdefault(exact(pictures.folder / pictures.files[each]), each)
            copies.setdefault(other, []).append(row)
            rows.append((ids[row], width, height, left_out))
            progress(len(rows), len(ids))
    for group in copies.values():
        kept = min(group, key=lambda row: len(str(ids[row])))
        for row in {*group} - {kept}:
            rows[row] = (*rows[row][:3], f"{COPY}{ids[kept]}")
    return pd.DataFrame(rows, columns=["image", "width", "height", "left_out"])


def with_nearest(
    table: pd.DataFrame, data: Dataset, split: str, net: Backbone, progress: Progress = silent
) -> pd.DataFrame:
    """Add the nearest other image to the table of `look`.

    Images that are left out neither have nor are neighbours.

    Parameters
    ----------
    table : DataFrame
        As returned by `look`.
    data : Dataset
    split : str
    net : Backbone
        Network that computes the features.
    progress : callable
        Called with (done, total).

    Returns
    -------
    DataFrame
        The table with columns nearest (id) and distance (1 - cosine of the features; nan without a
        neighbour).
    """
    features = extract(
        data, split, net, kinds=("pooled",), unreadable="skip", progress=progress
    )["pooled"]  # fmt: skip
    rows = np.flatnonzero(table["left_out"] == "")
    table = table.assign(nearest="", distance=np.nan)
    if len(rows) > 1:
        inputs = FeatureInputs(cast(NDArray[np.float16], features.values))
        near = nearest(UnitFeatures(inputs, rows, "neighbours"), 1)
        table.loc[rows, "nearest"] = table["image"].to_numpy()[rows[near.place[:, 0]]].astype(str)
        table.loc[rows, "distance"] = near.cosine[:, 0].round(4)
    return table


def _seen(pictures: Pictures, row: int) -> tuple[int, int, str, str]:
    try:
        (pixels,) = pictures.read([row])
    except BadInput as error:
        return 0, 0, "", f"{BROKEN}{error}"
    return pixels.shape[1], pixels.shape[0], content_id(pixels), ""
