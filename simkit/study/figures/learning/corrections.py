"""Pictures, and which of their labels are corrected in which epoch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.patches import Rectangle
from numpy import uint8
from numpy.typing import NDArray

from simkit.errors import BadInput
from simkit.study.figures.previous import (
    INK,
    PALE,
    WIDTH,
    Figure,
    caption,
    cut,
    heading,
    label,
    register,
)

RIGHT, WRONG, BLANK = "#0072B2", "#D55E00", "#efefef"
_SIGNS = {RIGHT: "+", WRONG: "×"}
_ROW = 0.2  # inches for a class


@register
@dataclass(frozen=True, eq=False)
class Corrections(Figure):
    """For each picture a row of cells for each class, a column for each epoch, two side by side.

    + on blue: corrected, and the class is there; × on orange: corrected, and it is not. Grey
    throughout: known from the start. Names in grey are of classes that are not there.
    pictures: (H, W, 3) uint8, in the order of the table. Raises BadInput for fewer
    pictures than images.
    """

    name: ClassVar[str] = "corrections"
    title: ClassVar[str] = "Which labels of a picture are corrected, epoch by epoch"
    made_by: ClassVar[str] = "simkit.study.analysis.learning.corrections"
    reads: ClassVar = {
        "method": str, "row": int, "why": str, "class": str, "epoch": int,
        **dict.fromkeys(("given", "present", "corrected"), bool),
    }  # fmt: skip

    pictures: tuple[NDArray[uint8], ...] | None = None
    classes: int = field(default=14, metadata={"help": "most classes shown of a picture"})

    def draw(self, table: pa.Table) -> Drawing:
        rows = table.to_pylist()
        shown: dict[int, list[dict[str, Any]]] = {}
        for row in rows:
            shown.setdefault(row["row"], []).append(row)
        if self.pictures is not None and len(self.pictures) != len(shown):
            raise BadInput(
                f"corrections: {len(self.pictures)} pictures came for {len(shown)} images; give "
                "one for each image of the table"
            )
        epochs = max(row["epoch"] for row in rows)
        classes = [list(dict.fromkeys(row["class"] for row in some)) for some in shown.values()]
        pairs = [range(at, min(at + 2, len(shown))) for at in range(0, len(shown), 2)]
        deep = [_ROW * max(min(self.classes, len(classes[n])) for n in pair) for pair in pairs]
        heights = [max(depth, 1.2) + 0.55 for depth in deep]
        drawing = Drawing(figsize=(WIDTH, sum(heights) + 0.9), layout="constrained")
        across = min(2, len(shown))
        grid = drawing.subplots(
            len(pairs), 2 * across, squeeze=False,
            width_ratios=[1, 1.6] * across, height_ratios=heights,
        )  # fmt: skip
        for place, (some, names) in enumerate(zip(shown.values(), classes, strict=True)):
            picture, cells = grid[place // 2, 2 * (place % 2) :][:2]
            self._picture(picture, place, some[0])
            _cells(cells, some, names[: self.classes], epochs, len(names) - self.classes)
        for axes in grid.ravel()[2 * len(shown) :]:
            axes.set_axis_off()
        heading(drawing, f"What {label(rows[0]['method'])} corrects, epoch by epoch")
        caption(
            drawing,
            "+ corrected, and there; × corrected, and not there (names in grey are not there); "
            "grey bar: known from the start; no mark: taken for absent.",
        )
        return drawing

    def _picture(self, axes: Axes, place: int, row: dict[str, Any]) -> None:
        axes.set_axis_off()
        axes.set_title(row["why"], loc="left", fontsize=9.5)
        if self.pictures is not None:
            axes.imshow(self.pictures[place], interpolation="nearest")
            axes.set_anchor("N")


def _cells(
    axes: Axes, rows: list[dict[str, Any]], names: list[str], epochs: int, left_out: int
) -> None:
    place = {name: n for n, name in enumerate(names)}
    there = {row["class"]: row["present"] or row["given"] for row in rows}
    for row in rows:
        y = place.get(row["class"])
        if y is None:
            continue
        color = RIGHT if row["present"] else WRONG
        color = PALE if row["given"] else color if row["corrected"] else BLANK
        x = row["epoch"]
        axes.add_patch(Rectangle((x - 0.46, y - 0.44), 0.92, 0.88, color=color, linewidth=0))
        if color in _SIGNS:
            given: dict[str, Any] = {"ha": "center", "va": "center_baseline", "weight": "bold"}
            axes.text(x, y, _SIGNS[color], color="white", fontsize=9, **given)
    axes.set_xlim(0.5, epochs + 0.5)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), [cut(name, 20) for name in names], fontsize=8)
    for name, text in zip(names, axes.get_yticklabels(), strict=True):
        text.set_color(INK if there[name] else PALE)
    step = max(1, -(-epochs // 10))
    axes.set_xticks(range(1, epochs + 1, step))
    axes.tick_params(axis="x", labelsize=8)
    more = f" ({left_out} more classes)" if left_out > 0 else ""
    axes.set_xlabel(f"epoch{more}", fontsize=8.5)
    axes.tick_params(length=0)
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(False)
