"""How sure models are of what they name first, second, third."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure as Drawing

from simkit.study.figures.looks import look
from simkit.study.figures.previous import (
    WIDTH,
    Figure,
    caption,
    heading,
    label,
    legend_below,
    register,
)

_STEPS = 101


@register
@dataclass(frozen=True)
class TopScores(Figure):
    """A panel for each rank, a line for each model: how many images have p or more.
    Source: "Spatial Consistency Loss" (WACV 2023), Fig. 5a.
    """

    name: ClassVar[str] = "top-scores"
    title: ClassVar[str] = "Distributions of the highest probabilities, model by model"
    made_by: ClassVar[str] = "simkit.study.analysis.explaining.top_scores"
    reads: ClassVar = {"model": str, "rank": int, "probability": float}

    height: float = 3.9

    def draw(self, table: pa.Table) -> Drawing:
        model, rank = (np.array(table[name].to_pylist()) for name in ("model", "rank"))
        values = table["probability"].to_numpy()
        models, ranks = list(dict.fromkeys(model.tolist())), sorted(set(rank.tolist()))
        p = np.linspace(0, 1, _STEPS)
        handles: dict[str, Any] = {}
        drawing = Drawing(figsize=(WIDTH, self.height), layout="constrained")
        panels = drawing.subplots(1, len(ranks), sharex=True, sharey=True, squeeze=False)[0]
        for axes, place in zip(panels, ranks, strict=True):
            for name in models:
                own = np.sort(values[(model == name) & (rank == place)])
                share = 100 * (1 - np.searchsorted(own, p, "left") / len(own))
                line = {**look(name, models).line(), "markevery": 20, "gid": f"{name} {place}"}
                (drawn,) = axes.plot(p, share, **line)
                handles["Full labels" if name == "full" else label(name)] = drawn
            axes.set_title(_ORDER.get(place, f"{place}th"), loc="left", fontweight="bold")
            axes.set_xlabel("probability p")
        panels[0].set_ylabel("images with at least p, %")
        panels[0].set_ylim(-2, 102)
        heading(drawing, "How sure are models of what they rank highest?")
        caption(drawing, "Highest, second ... probability of each image not trained on.")
        legend_below(drawing, handles)
        return drawing


_ORDER = {1: "highest", 2: "second", 3: "third", 4: "fourth"}
