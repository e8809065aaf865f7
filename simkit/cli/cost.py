"""Price the questions behind a label file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

import simkit
from simkit.cli import options
from simkit.cli.output import cost_table, counts_line, hours, print_json, say, table
from simkit.errors import BadInput, located
from simkit.quantities import exact_money
from simkit.registry import Range

if TYPE_CHECKING:
    from simkit.annotate.evaluation_set import EvaluationSet
    from simkit.annotate.prices import Cost

SETS = ("validation set", "test set")


@click.command(epilog="\b\nExample: simkit cost fpc.parquet --wage 22 --evaluation 1 --data scenes")
@click.argument("file", type=options.FILE)
@options.shared("prices")
@options.signature
@options.of("simkit.annotate.evaluation_set.evaluation_set", level=options.SCORE)
@options.json
def command(
    file: Path,
    *,
    prices: str,
    wage: float | None = None,
    evaluation: Annotated[float, Range(above=0, below=100)] | None = None,
    data_spec: str | None = None,
    level: float,
) -> None:
    """Compute the cost of the questions behind a label file, at a price list.

    With --evaluation the bill includes complete labels of a validation and a test set, each with
    the number of images that the precision needs.

    Parameters
    ----------
    wage : WAGE
        Dollars an hour, in place of the wage of the price list, for lists with times.
    evaluation : POINTS
        Add a validation and a test set that measure mAP to +- POINTS (95 %).
    data_spec : DATA
        The data set with the class frequencies for --evaluation. [default: those of the labels, if
        their scheme does not select classes, such as rpa]
    """
    options.needs({"--data": data_spec}, "--evaluation", evaluation is not None)
    chosen = simkit.prices(prices)
    if wage is not None:
        chosen = chosen.at_wage(wage)
    labels = simkit.formats.for_path(file).read(file)
    with located(str(file)):
        bill, extra = simkit.cost(labels, chosen), None
    total: tuple[float | None, float] = None, 0.0
    if evaluation is not None:
        shares, workers = _frequencies(labels, data_spec, file), labels.effort.workers
        extra = simkit.evaluation_set(evaluation, shares, chosen, level=level, workers=workers)
        times = bill.seconds, extra.cost.seconds
        seconds = None if None in times else times[0] + len(SETS) * times[1]  # type: ignore
        total = seconds, round(bill.dollars + len(SETS) * extra.cost.dollars, 9)
    values = bill.to_json()
    facts = {"id": labels.id, "cost": {key: values.pop(key) for key in ("seconds", "dollars")}}
    if extra is not None:
        both = dict(zip(("seconds", "dollars"), total, strict=True))
        facts |= {"evaluation": extra.to_json(), "with_evaluation": both}
    print_json(values | facts)
    say(counts_line(labels))
    if extra is not None:
        _sets_table(file.name, bill, extra, total, labels.classes)
    cost_table(bill, chosen)


def _frequencies(labels: simkit.PartialLabels, spec: str | None, file: Path) -> Any:
    """The truth that tells how often each class occurs, or (L,) shares of images."""
    from simkit.annotate.schemes import of_labels
    from simkit.labels.partial import ABSENT, PRESENT

    if spec is not None:
        data = simkit.data.open(spec)
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


def _sets_table(
    name: str, bill: Cost, extra: EvaluationSet, total: tuple[float | None, float],
    classes: tuple[str, ...],
) -> None:  # fmt: skip
    """Labels to train on, with the name of their file, validation set and test set, in rows."""
    one = extra.images, extra.cost.seconds, extra.cost.dollars
    rows: list[tuple[Any, ...]] = [(name, None, bill.seconds, bill.dollars)]
    rows += [*((name, *one) for name in SETS), ("total", None, *total)]
    say()
    cells = [[name, n, hours(time), exact_money(price, sign="")] for name, n, time, price in rows]
    table(["set", "images", "hours", "$"], cells)
    # Both are of a single model: the bias is common to all and cancels where models are compared.
    say(
        f"on each, a model's mAP varies by +- {extra.half_width:.2g} points (95 %) around a mean\n"
        f"that is about {extra.bias:.2g} points too high for every model (small-sample AP bias)"
    )
    if extra.rare:
        names = ", ".join(classes[c] for c in extra.rare[:3])
        ellipsis = " ..." if len(extra.rare) > 3 else ""
        say(
            f"{len(extra.rare)} of {len(classes)} classes are expected in less than one image of "
            f"each and left out: {names}{ellipsis}"
        )
    say()
