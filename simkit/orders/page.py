"""One HTML file that shows images and asks questions; it needs no server and no network.

Answers stay in the browser until they are downloaded as JSONL, with the seconds of each.
"""

from __future__ import annotations

import base64
import io
import json
import os
import warnings
from importlib import resources
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pandas as pd
from PIL import Image

from simkit.data.dataset import Pictures
from simkit.data.images import FilePictures
from simkit.files import whole
from simkit.orders.order import Order

WITHIN = 500  # largest number of images in the page; with more, the page shows the files
SIDE = 800  # pixels of the longer side of an image in the page, at most


def write(
    order: Order,
    questions: pd.DataFrame,
    folder: Path,
    *,
    pictures: Pictures,
    rows: np.ndarray,
    instructions: str = "",
    suffix: str = "",
) -> Path:
    """Write `page.html`.

    Parameters
    ----------
    order : Order
    questions : DataFrame
        Rows of `order.table`.
    folder : Path
        Folder of the round.
    pictures : Pictures
    rows : (N,) int
        For each image of the order, its row in `pictures`.
    instructions : str
        Plain text for the people who answer.
    suffix : str
        At the end of the file's name, of a second page of the round.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    BadInput
        If an image cannot be read.
    """
    file = folder / f"page{suffix}.html"
    sources = _sources(np.unique(questions["image"]), pictures, rows, folder)
    tasks = []
    for _, asked in questions.groupby("task", sort=False):
        image, kind = int(asked["image"].iloc[0]), asked["kind"].iloc[0]
        named = (  # questions that ask to name classes are not about one class
            {"question": number, "class": "" if kind == "name" else order.classes[c]}
            for number, c in zip(asked["question"].tolist(), asked["class"], strict=True)
        )
        tasks.append({
            "image": str(order.images[image]), "src": sources[image], "kind": kind,
            "questions": list(named),
        })  # fmt: skip
    data = {
        "order": order.id, "round": f"{len(order.rounds)}{suffix}" if suffix else len(order.rounds),
        "classes": order.classes,
        "instructions": instructions, "tasks": tasks,
        "again": bool(suffix) or bool((order.first[questions.index] != questions.index).any()),
    }  # fmt: skip
    page = resources.files("simkit.orders").joinpath("page.html").read_text("utf-8")
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")  # no tag ends the data
    with whole(file) as part:
        part.write_text(page.replace("DATA", text, 1), "utf-8")
    return file


def _sources(
    images: np.ndarray, pictures: Pictures, rows: np.ndarray, folder: Path
) -> dict[int, str]:
    """The address of each image: its encoded bytes, or its file relative to the page."""
    if len(images) <= WITHIN or not isinstance(pictures, FilePictures):
        encoded = {
            image: base64.b64encode(_jpeg(pictures, rows[image])) for image in images.tolist()
        }
        return {image: f"data:image/jpeg;base64,{text.decode()}" for image, text in encoded.items()}
    sources, converted = {}, 0
    for image in images.tolist():
        row = int(rows[image])
        path = pictures.folder / pictures.files[row]
        if not pictures.in_browsers(row):
            converted += 1
            path = folder / "pictures" / f"{row}.jpg"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(_jpeg(pictures, row))
        sources[image] = quote(os.path.relpath(path, folder))
    also = f" (images converted for browsers: {converted:,})" * bool(converted)
    warnings.warn(
        f"the page shows {len(images):,} images from {pictures.folder} and works only on this "
        f"computer{also}; for others, order at most {WITHIN} images, or use --to label-studio",
        stacklevel=2,
    )
    return sources


def _jpeg(pictures: Pictures, row: int) -> bytes:
    """An image as JPEG, scaled down to `SIDE`."""
    image = Image.fromarray(pictures.read([row])[0])
    image.thumbnail((SIDE, SIDE))
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=85)
    return buffer.getvalue()
