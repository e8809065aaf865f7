"""`simkit cost`: price the questions behind a label file, and sets to measure on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simkit.cli.options import DATA, DOLLARS, FILE, PRICES, SCORE, json_option
from simkit.cli.output import cost_table, counts_line, hours, print_json, table
from simkit.errors import BadInput

if TYPE_CHECKING:
    from simkit.annotate.prices import Cost
    from simkit.annotate.test_set_size import EvaluationSet
    from simkit.labels.partial import PartialLabels
    from simkit.labels.truth import Truth

SETS = ("validation set", "test set")


# fmt: off
@click.command(epilog="\b\nExample: simkit cost fpc.parquet --wage 22 --evaluation 1 --data scenes")
@click.argument("file", type=FILE)
@click.option("--prices", "price_list", type=PRICES, default="hourly", show_default=True,
              help="A preset or a TOML file; see `simkit list prices`.")
@click.option("--wage", type=DOLLARS,
              help="Dollars an hour, in place of the price list's, where it counts seconds.")
@click.option("--evaluation", type=float, metavar="POINTS",
              help="Add a validation and a test set on which mAP is known to +- so many points "
              "(95 %).")
@click.option("--data", "spec", type=DATA,
              help="The data set whose classes --evaluation is about, for how often each occurs. "
              "[default: as often as in the labels, if their scheme does not choose, as rpa]")
@click.option("--level", type=SCORE, default=0.5, show_default=True, metavar="AP",
              help="The AP that --evaluation expects of each class; 0.5 takes most images.")
@json_option
def command(
    file: Path, price_list: str, wage: float | None, evaluation: float | None, spec: str | None,
    level: float, as_json: bool,
) -> None:
    """Say what the questions behind a label file cost at a price list.

    With --evaluation the bill goes on with complete labels for images to measure on: as many as
    are needed, the same number for validation and for testing.
    """
    from simkit.annotate.prices import cost, prices
    from simkit.annotate.test_set_size import evaluation_set
    from simkit.labels import formats

    chosen = prices(price_list) if wage is None else prices(price_list).at_wage(wage)
    labels = formats.for_path(file).read(file)
    if not labels.effort.kinds():
        raise BadInput(
            f"{file} does not hold the questions asked, so it has no price; give the parquet or "
            "npz file that `simkit simulate` wrote"
        )
    bill, extra = cost(labels, chosen), None
    if evaluation is not None:
        extra = evaluation_set(
            evaluation, _frequencies(labels, spec, file), chosen,
            level=level, workers=labels.effort.workers,
        )  # fmt: skip
    elif spec is not None:
        raise BadInput("--data says what --evaluation is about, but there is none; add one")
    if as_json:
        print_json(_facts(labels, bill, extra))
        return
    click.echo(counts_line(labels))
    if extra is not None:
        _sets_table(bill, extra, labels.classes)
    cost_table(bill, chosen, labels.effort.workers)
# fmt: on


def _frequencies(labels: PartialLabels, spec: str | None, file: Path) -> Truth | Any:
    """The truth that tells how often each class occurs, or (L,) shares of images."""
    from simkit.annotate.schemes import of_labels
    from simkit.data import open
    from simkit.labels.partial import ABSENT, PRESENT

    if spec is not None:
        data = open(spec)
        truth = data.truth[data.to_label]
        if truth.classes != labels.classes:
            raise BadInput(
                f"{file} has {len(labels.classes)} classes and {data.name} {len(truth.classes)}, "
                "or others; name the data set that the labels are about"
            )
        return truth
    if not getattr(of_labels(labels), "even", False):
        raise BadInput(
            f"--evaluation must know how often each class occurs, and {file} does not say; name "
            "the data set with --data"
        )
    present, absent = (labels.per_class(code) for code in (PRESENT, ABSENT))
    return present / (present + absent).clip(1)


def _facts(labels: PartialLabels, bill: Cost, extra: EvaluationSet | None) -> dict[str, Any]:
    values = bill.to_json()
    total = {key: values.pop(key) for key in ("seconds", "dollars")}
    facts = {"id": labels.id, **values, "cost": total}
    if extra is None:
        return facts
    costs = [bill, *(extra.cost for _ in SETS)]
    return facts | {
        "evaluation": extra.to_json(),
        "with_evaluation": {"seconds": _seconds(costs), "dollars": _dollars(costs)},
    }


def _sets_table(bill: Cost, extra: EvaluationSet, classes: tuple[str, ...]) -> None:
    """Labels to train on, validation set and test set, one below the other."""
    parts = {"labels above": ("", bill)}
    parts |= {name: (f"{extra.images:,}", extra.cost) for name in SETS}
    rows = [
        [name, images, hours(part.seconds), f"{part.dollars:,.2f}"]
        for name, (images, part) in parts.items()
    ]
    costs = [part for _, part in parts.values()]
    total = ["total", "", hours(_seconds(costs)), f"{_dollars(costs):,.2f}"]
    click.echo()
    table(["set", "images", "hours", "$"], [*rows, total])
    click.echo(
        f"on each a model's mAP varies by +- {extra.half_width:.2g} points (95 %) around a mean\n"
        f"roughly {extra.bias:.2g} points too high for every model: few present images flatter AP"
    )
    if extra.rare:
        names = ", ".join(classes[c] for c in extra.rare[:3])
        ellipsis = " ..." if len(extra.rare) > 3 else ""
        click.echo(
            f"{len(extra.rare)} of {len(classes)} classes are expected in less than one image of "
            f"each and left out: {names}{ellipsis}"
        )
    click.echo()


def _seconds(costs: list[Cost]) -> float | None:
    known = [part.seconds for part in costs if part.seconds is not None]
    return sum(known) if len(known) == len(costs) else None


def _dollars(costs: list[Cost]) -> float:
    return round(sum(part.dollars for part in costs), 9)
