"""Tables for spreadsheets and vendors (CSV, JSONL), and the instructions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simkit.errors import BadInput, counted, note, noting
from simkit.files import AnyPath, reading, whole
from simkit.labels.cells import means_state
from simkit.labels.formats.base import write_lines
from simkit.labels.names import class_places, find_images, no_files
from simkit.labels.partial import PartialLabels
from simkit.labels.tables import USUAL, read_table, text_of
from simkit.orders.order import Order

TEXTS = {
    "verify": "Is this class in the image?",
    "search": "Is this class in the image?",
    "sweep": "Is this class in the image?",
    "descend": "Is this class, or any kind of it, in the image?",
    "name": "Name one class of the list that is in the image, or `nothing`.",
}
RULE = (
    "Answer `yes` if you see any part of the class, however small, and `no` if you looked and "
    "found none. Answer `unsure` if you cannot decide, for example because the image is too "
    "dark; do not guess."
)
CLASSES, EXAMPLES = "## Classes\n", "\n## Examples\n"  # headings in the instructions
TYPICAL, ALIKE = 3, 2  # examples of a class: images with it, and similar ones without it


def listed(order: Order, questions: pd.DataFrame) -> pd.DataFrame:
    """Questions with names of images and classes; gold questions look like all others."""
    classes = np.where(questions["kind"] == "name", "", np.array(order.classes, object)[
        questions["class"].to_numpy(np.int64)
    ])  # fmt: skip
    return pd.DataFrame({
        "question": questions["question"], "image": order.images[questions["image"].to_numpy()],
        "class": classes, "kind": questions["kind"], "task": questions["task"],
        "round": questions["round"],
    })  # fmt: skip


def write(order: Order, questions: pd.DataFrame, folder: Path, *, jsonl: bool = False,
          suffix: str = "", annotator: str = "") -> Path:  # fmt: skip
    """Write `questions.csv` (or .jsonl) with empty columns answer, worker and seconds.

    A question for several people has one row for each of them; the column worker has the name of
    the annotator, if it is known. Returns the file.
    """
    table = listed(order, questions).assign(order=order.id)
    table = table.loc[table.index.repeat(questions["answers"])]
    table = table.assign(answer="", worker=annotator, seconds="")
    file = folder / f"questions{suffix}{'.jsonl' if jsonl else '.csv'}"
    if jsonl:
        rows = table.to_dict("records")
        write_lines(file, (json.dumps(row, ensure_ascii=False) for row in rows))
    else:
        with whole(file) as part:
            table.to_csv(part, index=False)
    return file


def descriptions(order: Order, file: Path | None = None) -> str:
    """What people wrote about the classes in an earlier `instructions.md`, in Markdown.

    By default it is that of the previous round; without one, a line for each class to fill in.
    """
    if file is None:
        file = order.folder / f"round-{len(order.rounds) - 1}" / "instructions.md"
        if not file.is_file():
            lines = (f"* **{name}**:" for name in order.classes)
            return "\n".join([
                "Before work starts, describe what belongs to each class and what does not.", "",
                *lines,
            ])  # fmt: skip
    with reading(file, "instructions", "save it as UTF-8 text") as place:
        text = text_of(place, noting(place))
    return (text.partition(CLASSES)[2] or text).partition(EXAMPLES)[0].strip()


def shown(described: str) -> str:
    """The rule for answers and the descriptions that exist, as plain text for a page."""
    empty = re.compile(
        r"^(Before work starts, .*|\* \*\*.*\*\*:[ ]*)(\n(?=\*|\n)|\Z)", re.MULTILINE
    )
    return f"{RULE}\n\n{empty.sub('', described)}".replace("`", "").replace("**", "").strip()


def instructions(
    order: Order, questions: pd.DataFrame, folder: Path, described: str,
    labels: PartialLabels | None = None,
) -> Path:  # fmt: skip
    """Write `instructions.md` for the people who answer, with examples from known labels.

    Returns the file.
    """
    kinds = list(dict.fromkeys(questions["kind"]))
    asked = [TEXTS[kinds[0]]] if len(kinds) == 1 else [f"* `{k}`: {TEXTS[k]}" for k in kinds]
    gold = " The answers to some questions may be known already, as a check."
    text = [
        f"# Instructions for order {order.id}, round {len(order.rounds)}", "",
        f"{len(questions):,} questions about {questions['image'].nunique():,} images.", "",
        *asked, "",
        RULE + gold * bool(order.settings.gold), "",
        CLASSES, described,
        *([] if labels is None else _examples(order, questions, labels)),
    ]  # fmt: skip
    file = folder / "instructions.md"
    write_lines(file, text)
    return file


def known(labels: PartialLabels, images: NDArray[Any], classes: Sequence[str]) -> pd.DataFrame:
    """Known labels of these images and classes: columns image and class (places), gold (1, -1).

    Raises BadInput if no class or no image is among them.
    """
    among = [*map(str, images)]
    rows = find_images([*map(str, labels.images)], images, noting("known labels"))
    places = class_places(labels.classes, classes)
    for kind, names, matched, asked in (
        ("class", labels.classes, places, classes), ("image", labels.images, rows[rows >= 0], among)
    ):  # fmt: skip
        if not len(matched):
            raise BadInput(
                f"no {kind} of the known labels, such as {str(names[0])!r}, is one of the order, "
                f"such as {asked[0]!r}; give labels of the same data"
            )
    columns = np.array([places.get(name, -1) for name in labels.classes])
    image, c = labels.codes.nonzero()
    table = pd.DataFrame({"image": rows[image], "class": columns[c], "gold": labels.codes.data})
    return table[(table >= [0, 0, -1]).all(axis=1)]


def pairs(
    path: AnyPath, images: NDArray[Any], classes: Sequence[str],
    files: Callable[[], Sequence[str]] = no_files,
) -> pd.DataFrame:  # fmt: skip
    """The pairs of image and class in a table, as places, each once; or images, if it has no class.

    Images may be named by their ids or by their `files`; see `find_images`. A note counts rows with
    other images or classes. Raises BadInput if all rows have such.
    """
    with reading(path, "a list of questions (a table with the columns image and class)") as file:
        table = read_table(file)
        of_image = table.pick("image")
        names = of_image.cells()
        places = pd.DataFrame({"image": find_images(names, images, noting(file), files)})
        of_class = table.optional_column(USUAL["class"], "the class")
        if of_class is not None:
            found = class_places(of_class.texts, classes)
            places["class"] = [found.get(name, -1) for name in of_class.cells()]
            names = [f"{name}, {c}" for name, c in zip(names, of_class.cells(), strict=True)]
        states = [each.name for each in table.columns if each not in (of_image, of_class)
                  and all(map(means_state, each.texts))]  # fmt: skip
        if states:  # as whether a label is doubted
            table.note(f"columns that choose no rows: {counted(states)}; all {len(names):,} rows "
                       "count, so remove those that should not be asked")  # fmt: skip
        other = (places < 0).any(axis=1).to_numpy()
        if other.all():
            raise BadInput(
                f"none of its images and classes, such as {names[0]!r}, is in the order; name "
                f"images by id, such as {images[0]}, or by file, and classes as {classes[0]!r}"
            )
        odd = [name for name, left in zip(names, other, strict=True) if left]
        note(file, odd, "rows with an image or a class that is not in the order, left out: {}; "
             "order other splits separately, with --split", total=len(other))  # fmt: skip
        return places[~other].drop_duplicates(ignore_index=True)


def _examples(order: Order, questions: pd.DataFrame, labels: PartialLabels) -> list[str]:
    """A section with the known images of each class nearest to the mean of those that show it.

    Empty without features. These questions are left out, because gold ones have a known answer.
    """
    if order.features is None:
        return []
    table = known(labels, order.images, order.classes)
    asked = pd.MultiIndex.from_frame(questions[["image", "class"]])
    named = questions.loc[questions["kind"] == "name", "image"]
    free = ~pd.MultiIndex.from_frame(table[["image", "class"]]).isin(asked)
    lines = []
    for c, part in table[free & ~table["image"].isin(named)].groupby("class"):
        shown, features = part["gold"].to_numpy() > 0, order.features[part["image"]].astype(float)
        if shown.any():
            lengths = np.linalg.norm(features, axis=1)
            cosine = features @ features[shown].mean(0) / np.where(lengths, lengths, 1)
            near = np.argsort(-cosine, kind="stable")
            typical, alike = (
                ", ".join(f"`{order.images[image]}`" for image in part["image"].iloc[chosen])
                for chosen in (near[shown[near]][:TYPICAL], near[~shown[near]][:ALIKE])
            )
            lines.append(
                f"* **{order.classes[int(c)]}** is in {typical}"  # type: ignore[call-overload]
                + (f"; not in {alike}, which look similar" if alike else "")
            )
    return ["", "## Examples", "", *lines] if lines else []
