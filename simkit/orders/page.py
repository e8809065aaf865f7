"""HTML files that show images and ask questions; they need no server, no network, no other file.

Answers stay in the browser until they are downloaded as JSONL, with the seconds of each.
"""

from __future__ import annotations

import base64
import io
import json
import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import resources
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from simkit.data.dataset import Pictures
from simkit.data.images import FilePictures
from simkit.files import whole
from simkit.history import sha256
from simkit.orders.annotators import AGAIN, Part
from simkit.orders.order import Order

WITHIN = 500  # images in one page, at most; with more, a round has several pages
SIDE = 800  # pixels of the longer side of an image in the page, at most


def write(
    order: Order,
    part: Part,
    folder: Path,
    *,
    pictures: Pictures,
    rows: np.ndarray,
    instructions: str = "",
) -> list[Path]:
    """Write `page.html` (`page-round-2.html` in the second round), and with more than `WITHIN`
    images `page-2.html` and so on.

    Each page holds its pictures, so that it can be sent to somebody else.

    Parameters
    ----------
    order : Order
    part : Part
        The questions, and who answers them; the name is filled in on the page.
    folder : Path
        Folder of the round.
    pictures : Pictures
    rows : (N,) int
        For each image of the order, its row in `pictures`.
    instructions : str
        Plain text for the people who answer.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    BadInput
        If an image cannot be read.
    """
    questions = part.questions
    again = part.again or bool((order.first[questions.index] != questions.index).any())
    about = {"order": order.id, "classes": order.classes, "instructions": instructions,
             "again": again, "annotator": part.annotator}  # fmt: skip
    template = resources.files("simkit.orders").joinpath("page.html").read_text("utf-8")
    files, pages = [], _pages(questions)
    for number, asked in enumerate(pages, 1):
        ending = f"-{number}" * (number > 1)
        images, places = np.unique(asked["image"], return_inverse=True)
        with ThreadPoolExecutor() as pool:
            addresses = pool.map(partial(address, pictures), rows[images].tolist())
        # Questions that ask to name a class are not about one.
        classes = asked["class"].where(asked["kind"] != "name", -1)
        columns = (asked["task"], asked["kind"], places, asked["question"], classes)
        lines = zip(*(column.tolist() for column in columns), strict=True)
        tasks = [
            {"image": image, "kind": kind, "questions": [line[3:] for line in task]}
            for (_, kind, image), task in groupby(lines, itemgetter(0, 1, 2))
        ]
        data = {
            **about, "round": f"{part.round}{part.whose}{part.again_written}{ending}",
            "part": [number, len(pages)],
            # Work that a browser keeps is found by the tasks: a page written again may have others.
            "key": sha256(json.dumps(tasks).encode())[:8],
            "images": [
                {"name": str(name), "src": address}
                for name, address in zip(order.images[images], addresses, strict=True)
            ],
            "tasks": tasks,
        }  # fmt: skip
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        text = text.replace("<", "\\u003c")  # no tag ends the data
        files.append(folder / f"page{part.suffix}{ending}.html")
        with whole(files[-1]) as place:
            place.write_text(template.replace("DATA", text, 1), "utf-8")
    return files


def named(folder: Path) -> str:
    """The pages in a round's folder, for a message, without those for further people; or ""."""
    if not (folder / "page.html").is_file():
        return ", ".join(str(file) for file in sorted(folder.glob("page-*.html"))
                         if not re.search(rf"{AGAIN}(-[0-9]+)?$", file.stem))  # fmt: skip
    count = 1 + len([*folder.glob("page-[0-9]*.html")])
    more = f" to page-{count}.html ({count} files, which can be sent to different people)"
    return f"{folder / 'page.html'}{more * (count > 1)}"


def _pages(questions: pd.DataFrame) -> list[pd.DataFrame]:
    """The questions of each page: whole tasks, in their order, about at most `WITHIN` images."""
    images = questions.groupby("task", sort=False)["image"].first()
    count = images.nunique()
    most = -(-count // -(-count // WITHIN))  # as many on each page
    seen, part, numbers = set[int](), 0, []
    for image in images.tolist():
        if image not in seen and len(seen) == most:
            seen, part = set(), part + 1
        seen.add(image)
        numbers.append(part)
    parts = pd.Series(numbers, images.index)[questions["task"]].to_numpy()
    return [questions[parts == number] for number in range(part + 1)]


def address(pictures: Pictures, row: int, *, side: int = SIDE) -> str:
    """An image as an address that holds its bytes: JPEG, scaled down to so many pixels."""
    if isinstance(pictures, FilePictures):
        (pixels,) = pictures.read([row], least=side)
    else:
        (pixels,) = pictures.read([row])
    image = Image.fromarray(pixels)
    image.thumbnail((side, side))
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=85)
    return f"data:image/jpeg;base64,{base64.b64encode(buffer.getvalue()).decode()}"
