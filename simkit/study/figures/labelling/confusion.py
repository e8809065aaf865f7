"""How people answer: what they say by truth, how they differ, how often they agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator, PercentFormatter

from simkit.errors import BadInput
from simkit.study.figures.previous import INK, PALE, WIDTH, Figure, register

RIGHT, WRONG, DOUBT = "#0072B2", "#E69F00", "#8a8a8a"
_NEEDED = {"matrix": ("votes",), "worker": ("votes",), "yes": ("share", "simulated")}
_NO_VOTES = "confusion: the table holds no votes; make it from votes and their fit"
_TRUTHS = ("present", "absent")
_SHARES = ("share", "simulated", "miss", "false_alarm")  # but for the numbers of agreement
LEAST = 1e-3  # fewer false alarms stand at the edge of the log axis


@register
@dataclass(frozen=True)
class Confusion(Figure):
    """Answers by truth, each worker's misses over false alarms, yes votes real and simulated.

    Raises BadInput for a table without votes, of other truths than present and absent, and where
    votes are below 0 or shares outside 0 to 1.
    """

    name: ClassVar[str] = "confusion"
    title: ClassVar[str] = "What people say, who errs, and how far they agree"
    made_by: ClassVar[str] = "simkit.analysis.confusion"
    reads: ClassVar = {
        "part": str, "name": str, "answer": str | None,
        **dict.fromkeys(("votes", "share", "simulated", "miss", "false_alarm"), float | None),
    }  # fmt: skip

    def draw(self, table: pa.Table) -> Drawing:
        parts: dict[str, list[dict[str, Any]]] = {}
        for row in table.to_pylist():
            if all(row[name] is not None for name in _NEEDED.get(row["part"], ())):
                parts.setdefault(row["part"], []).append(row)
        if not {"matrix", "worker", "yes"} <= set(parts):
            raise BadInput(_NO_VOTES)
        _check(parts)
        drawing = Drawing(figsize=(WIDTH, 3.5), layout="constrained")
        left, middle, right = drawing.subplots(1, 3, width_ratios=[1.25, 1, 1])
        _matrix(left, parts["matrix"], parts.get("gold", []))
        _workers(middle, parts["worker"])
        _agreement(right, parts["yes"])
        drawing.suptitle(
            f"How {len(parts['worker']):,} people answer: "
            f"{sum(row['votes'] for row in parts['matrix']):,.0f} votes",
            x=0.01,
            ha="left",
            fontsize=13,
            fontweight="bold",
        )
        return drawing


def _check(parts: dict[str, list[dict[str, Any]]]) -> None:
    mend = "give what simkit.analysis.confusion returns"
    for row in parts["matrix"]:
        if row["name"] not in _TRUTHS:
            raise BadInput(
                f"confusion: a row of the matrix is of {row['name']!r}, where present or absent is "
                f"expected; {mend}"
            )
    for part in ("matrix", "gold", "worker", "yes"):
        for row in parts.get(part, ()):
            for name in _SHARES:
                if row[name] is not None and not 0 <= row[name] <= 1 + 1e-9:
                    raise BadInput(
                        f"confusion: column {name!r} holds {row[name]:g} where a share from 0 to 1 "
                        f"is expected; {mend}"
                    )
            if row["votes"] is not None and row["votes"] < 0:
                raise BadInput(f"confusion: column 'votes' holds {row['votes']:g}; {mend}")
    if not all(any(row["votes"] for row in parts[part]) for part in ("matrix", "worker")):
        raise BadInput(_NO_VOTES)


def _matrix(axes: Axes, rows: list[dict[str, Any]], gold: list[dict[str, Any]]) -> None:
    """Cells as dark as their share of the truth's votes; experts' shares stand below ours."""
    said = {row["answer"] for row in rows if row["votes"] > 0}
    answers = [answer for answer in ("no", "maybe", "yes") if answer in said or answer != "maybe"]
    experts = {(row["name"], row["answer"]): row["share"] for row in gold}
    for row in rows:
        if row["answer"] not in answers:
            continue
        x, y = answers.index(row["answer"]), _TRUTHS.index(row["name"])
        share = row["share"] or 0.0  # null: nobody was asked of such a class
        right = (row["answer"] == "yes") == (row["name"] == "present")
        color = DOUBT if row["answer"] == "maybe" else RIGHT if right else WRONG
        box = {"width": 0.94, "height": 0.92, "lw": 0, "zorder": 1}
        axes.add_patch(_rectangle(x, y, facecolor="#f3f3f3", **box))
        axes.add_patch(_rectangle(x, y, facecolor=color, alpha=0.12 + 0.78 * share, **box))
        ink = "white" if share > 0.6 and color != WRONG else INK
        place: dict[str, Any] = {"ha": "center", "va": "center", "color": ink, "zorder": 2}
        axes.text(x, y - 0.14, f"{share:.1%}", fontsize=13, fontweight="bold", **place)
        axes.text(x, y + 0.09, f"{row['votes']:,.0f}", fontsize=8.5, **place)
        expert = experts.get((row["name"], row["answer"]))
        if expert is not None:
            axes.text(x, y + 0.27, f"experts: {expert:.1%}", fontsize=8, **place)
    axes.set_xlim(-0.5, len(answers) - 0.5)
    axes.set_ylim(1.5, -0.5)
    axes.set_xticks(range(len(answers)), [f"says {answer}" for answer in answers])
    axes.set_yticks(range(2), _TRUTHS, rotation=90, va="center")
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("share and number of votes, by estimated truth", color=PALE, fontsize=9)


def _rectangle(x: int, y: int, *, width: float, height: float, **style: Any) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x - width / 2, y - height / 2), width, height, **style)


def _workers(axes: Axes, rows: list[dict[str, Any]]) -> None:
    shown = [row for row in rows if None not in (row["miss"], row["false_alarm"])]
    most = max((row["votes"] for row in rows), default=1.0)
    axes.scatter(
        [max(row["false_alarm"], LEAST) for row in shown],
        [row["miss"] for row in shown],
        s=[12 + 260 * row["votes"] / most for row in shown],
        color=RIGHT,
        alpha=0.45,
        linewidths=0.8,
        edgecolors="white",
    )
    axes.set_axisbelow(True)
    axes.set_title("Each worker", loc="left")
    axes.set_xlabel("false alarms, of absent classes (log)")
    axes.set_ylabel("misses, of present classes")
    # False alarms are rare with most people and the rule with some: a log axis shows both.
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{100 * x:g}%"))
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.xaxis.set_minor_locator(NullLocator())
    # At least a decade, so that there are ticks; two a decade where they have room.
    rates = [max(row["false_alarm"], LEAST) for row in shown] or [LEAST, 1.0]
    low, high = 0.6 * min(rates), max(1.7 * max(rates), 8 * min(rates))
    axes.set_xlim(low, high)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 3) if high < 100 * low else (1,)))
    top = max([row["miss"] for row in shown] + [0.05])
    axes.set_ylim(-0.08 * top, 1.22 * top)
    axes.set_yticks([tick for tick in axes.get_yticks() if 0 <= tick <= 1])
    note = f"area: votes, at most {most:,.0f}"
    axes.text(0.97, 0.97, note, transform=axes.transAxes, ha="right", va="top", color=PALE, size=8)


def _agreement(axes: Axes, rows: list[dict[str, Any]]) -> None:
    places = np.arange(len(rows))
    axes.bar(
        places - 0.2, [row["share"] for row in rows], width=0.4, color=RIGHT, label="these votes"
    )
    axes.bar(
        places + 0.2,
        [row["simulated"] for row in rows],
        width=0.4,
        color="white",
        edgecolor=INK,
        label="simulated",
    )
    axes.set_xticks(places, [row["name"] for row in rows])
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.grid(False, axis="x")
    axes.set_axisbelow(True)
    axes.set_title("How many agree", loc="left")
    axes.set_xlabel(f"yes among {len(rows) - 1} votes")
    axes.set_ylabel("questions")
    axes.legend(fontsize=8.5)
