"""Maps of models that miss labels beside those of one that does not: order and size of scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from simkit.study.figures.looks import Look, look
from simkit.study.figures.previous import (
    INK,
    PALE,
    WIDTH,
    Figure,
    caption,
    heading,
    label,
    legend_below,
    register,
)

_BINS = np.linspace(-1, 1, 41)
_KINDS = {"present": True, "absent": False}


@register
@dataclass(frozen=True)
class MapDamage(Figure):
    """Left: do maps rank places as the full model's do; right: mean of their extreme scores.

    Boxes reach from quartile to quartile, whiskers over 90 % of the maps.
    Source: BoostLU (Kim et al., CVPR 2023), Fig. 2.
    """

    name: ClassVar[str] = "map-damage"
    title: ClassVar[str] = "Class maps beside those of a fully trained model"
    made_by: ClassVar[str] = "simkit.study.analysis.explaining.damage"
    reads: ClassVar = {
        "model": str, "present": bool, "agreement": float | None, "control": float | None,
        **dict.fromkeys(("top", "bottom", "full_top", "full_bottom"), float),
    }  # fmt: skip

    height: float = 4.2

    def draw(self, table: pa.Table) -> Drawing:
        models = list(dict.fromkeys(table["model"].to_pylist()))
        looks = {name: look(name, models) for name in models}
        drawing = Drawing(figsize=(WIDTH, self.height), layout="constrained")
        left, top, bottom = drawing.subplots(1, 3, width_ratios=(1.25, 1, 1))
        _order(left, table, looks)
        _ends(top, table, looks, "top", "highest 5 % of a map")
        _ends(bottom, table, looks, "bottom", "lowest 5 % of a map")
        heading(drawing, "What missing labels do to class maps")
        caption(
            drawing,
            "Boxes, in the order of the legend: half of the maps; whiskers: 90 %. Control: the "
            "full model's maps and a Gaussian in the middle of the picture.",
        )
        legend_below(drawing, _legend(looks))
        return drawing


def _order(axes: Axes, table: pa.Table, looks: dict[str, Look]) -> None:
    """How many maps of present classes have which correlation."""
    own = table.filter(table["present"])
    first = next(iter(looks))
    control = own.filter(pc.equal(own["model"], first))["control"].to_numpy()
    _steps(axes, control, {"color": PALE, "linestyle": (0, (2, 1.5))}, "control", fill=True)
    for name, style in looks.items():
        values = own.filter(pc.equal(own["model"], name))["agreement"].to_numpy()
        _steps(axes, values, {"color": style.color, "linestyle": style.dashes}, name)
    axes.axvline(0, color=INK, linewidth=0.8, zorder=0)
    axes.set(xlim=(-1, 1), xlabel="rank correlation with the full model's map")
    axes.set_ylabel("share of maps, %")
    axes.set_ylim(bottom=0)
    axes.set_title("order of places, present classes", loc="left", fontweight="bold")


def _steps(
    axes: Axes, values: NDArray[np.float64], style: dict[str, Any], gid: str, *, fill: bool = False
) -> None:
    values = values[~np.isnan(values)]
    shares = 100 * np.histogram(values, _BINS)[0] / max(len(values), 1)
    if fill:
        axes.stairs(shares, _BINS, fill=True, color=style["color"], alpha=0.25, linewidth=0)
    axes.stairs(shares, _BINS, linewidth=1.8, gid=gid, **style)


def _ends(axes: Axes, table: pa.Table, looks: dict[str, Look], key: str, title: str) -> None:
    """A box for the full model and one for each other, for present and for absent classes."""
    names = ["full", *looks]
    for group, present in enumerate(_KINDS.values()):
        own = table.filter(pc.equal(table["present"], present))
        for place, name in enumerate(names):
            which = own.filter(pc.equal(own["model"], next(iter(looks)) if not place else name))
            values = which[f"full_{key}" if not place else key].to_numpy()
            if len(values):
                color = look("full").color if not place else looks[name].color
                at = group + 0.8 * ((place + 0.5) / len(names) - 0.5)
                _box(axes, values, at, 0.6 / len(names), color, hollow=place > 0)
    axes.axhline(0, color=PALE, linewidth=0.8, zorder=0)
    axes.set_xticks(range(len(_KINDS)), list(_KINDS))
    axes.tick_params(axis="x", length=0)
    axes.grid(False, axis="x")
    axes.set_ylabel("mean attribution score")
    axes.set_title(title, loc="left", fontweight="bold")


def _box(
    axes: Axes, values: NDArray[np.float64], at: float, width: float, color: str, *, hollow: bool
) -> None:
    axes.boxplot(
        [values],
        positions=[at],
        widths=[width],
        whis=(5, 95),
        showfliers=False,
        patch_artist=True,
        manage_ticks=False,
        boxprops={"facecolor": "white" if hollow else color, "edgecolor": color, "linewidth": 1.5},
        medianprops={"color": color if hollow else "white", "linewidth": 2},
        whiskerprops={"color": color},
        capprops={"color": color},
    )


def _legend(looks: dict[str, Look]) -> dict[str, Any]:
    shown: dict[str, Any] = {"full labels": Patch(color=look("full").color)}
    for name, style in looks.items():
        shown[label(name)] = Line2D([], [], color=style.color, linestyle=style.dashes)
    return shown | {"control": Line2D([], [], color=PALE, linestyle=(0, (2, 1.5)))}
