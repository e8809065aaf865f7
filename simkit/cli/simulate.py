"""`simkit simulate`: ask a simulated crowd the questions of a scheme."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simkit.cli.amounts import check_amounts, images
from simkit.cli.described import describe, make_room, note_replaced, place
from simkit.cli.quantities import DOLLARS
from simkit.cli.report import cost_table, counts_line, print_json
from simkit.cli.schemes import SchemeCommand, chosen, with_hierarchy
from simkit.errors import BadInput

if TYPE_CHECKING:
    from simkit.annotate.habits import Habits
    from simkit.annotate.prices import Prices
    from simkit.annotate.schemes import Scheme
    from simkit.data import Dataset
    from simkit.labels.partial import PartialLabels


@click.command(
    cls=SchemeCommand,
    epilog="\b\nExample: simkit simulate --scheme fpc --per-class 100 --out fpc.parquet",
)
@click.option("--scheme", required=True, help="Which questions to ask; see `simkit list schemes`.")
@click.option(
    "--data",
    "spec",
    default="scenes",
    show_default=True,
    help="A source and its settings, such as folder:DIR, or a TOML file; see `simkit list data`.",
)
@click.option(
    "--split",
    help="train, val, test or train+val. [default: the training set; train+val "
    "where val was held out of the file]",
)
@click.option(
    "--images",
    default="1.0",
    show_default=True,
    metavar="SHARE|NUMBER",
    help="How many of the images to ask about.",
)
@click.option(
    "--budget",
    type=DOLLARS,
    metavar="AMOUNT",
    help="Buy as much as this pays for, instead of a stated amount.",
)
@click.option(
    "--unit",
    type=click.Choice(["dollars", "hours"]),
    default="dollars",
    show_default=True,
    help="What --budget counts.",
)
@click.option(
    "--prices",
    "price_list",
    default="coco-tagging",
    show_default=True,
    help="A preset or a TOML file; see `simkit list prices`.",
)
@click.option(
    "--workers", type=int, help="People who answer each question. [default: the price list's]"
)
@click.option(
    "--vote",
    type=click.Choice(["majority", "union"]),
    default="majority",
    show_default=True,
    help="How their answers are joined.",
)
@click.option(
    "--miss",
    type=float,
    default=0.0,
    show_default=True,
    metavar="SHARE",
    help="How often a person overlooks a class that is present.",
)
@click.option(
    "--false-alarm",
    type=float,
    default=0.0,
    show_default=True,
    metavar="SHARE",
    help="How often a person sees a class that is absent.",
)
@click.option(
    "--habits",
    "habits_file",
    type=click.Path(path_type=Path),
    help="How people err, as `simkit habits` fitted it from votes; instead of the four above.",
)
@click.option(
    "--legacy-rng", is_flag=True, help="The published simulator's own arrays, bit for bit."
)
@click.option(
    "--seed",
    type=int,
    help="Same seed, same labels. [default: 0; with --legacy-rng 1200, as published for "
    "single-positive; none is for rpa and fpc]",
)
@click.option(
    "--draw", type=int, default=0, show_default=True, help="Which repetition of the seed."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Where to write; the ending says the format. [default: SCHEME.parquet]",
)
@click.option("--no-card", is_flag=True, help="Write the labels alone, without cards beside them.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def command(**given: Any) -> None:
    """Simulate partial labels of a data set and say what they cost.

    With no further option the built-in data set `scenes` is labelled and the result is written to
    SCHEME.parquet in the current folder, with a card (SCHEME.card.md) that tells how they were
    made and the same for machines (SCHEME.croissant.json) beside it.
    """  # fmt: skip
    from simkit.annotate.prices import cost, prices
    from simkit.data import open
    from simkit.labels import formats

    fixed = {p.name for p in command.params if getattr(p, "owners", ()) == ()}
    scheme = chosen(given["scheme"], {k: v for k, v in given.items() if k not in fixed})
    price_list = prices(given["price_list"])
    out = given["out"] or Path(f"{scheme.name}.parquet")
    form = formats.for_path(out, writing=True)
    _check_name(form.name, out)
    described = place(form, out, given)
    check_amounts(scheme, given)
    data = with_hierarchy(open(given["spec"]), scheme)
    if (truth := data.truth.get(given["split"] or data.to_label)) is not None:
        note_replaced(described, truth.id)
    labels = annotated(data, scheme, price_list, given)
    wrong = labels.wrong(data.truth[given["split"] or data.to_label])
    bill = cost(labels, price_list)  # before a file is written: the list may lack a price
    replaced = os.path.isfile(out)
    make_room(described, labels.id, given)
    form.write(labels, out)
    for lost in form.loses(labels):
        warnings.warn(f"{out} does not hold {lost}", stacklevel=1)
    cards = None if given["no_card"] else describe(labels, form, out, data, given, bill, wrong)
    if given["as_json"]:
        print_json(
            {
                "id": labels.id,
                "scheme": labels.history.settings["scheme"],
                "images": len(labels.images),
                "asked": int(labels.asked.sum()),
                "classes": len(labels.classes),
                "counts": labels.counts(),
                "wrong": wrong,
                "effort": labels.effort.counts(),
                "cost": {"seconds": bill.seconds, "dollars": bill.dollars},
                "prices": price_list.name,
                "file": str(out),
                "replaced": replaced,
                "cards": cards.files if cards else [],
            }
        )
        return
    click.echo(counts_line(labels))
    if any(wrong.values()):
        told = "of these {present:,} present and {absent:,} absent contradict the truth"
        click.echo(told.format(**wrong))
    cost_table(bill, price_list, labels.effort.workers)
    if cards:
        click.echo(_plain(cards.told))
    instead = ", in place of the file that was there" if replaced else ""
    click.echo(_plain(f"wrote {out}  (content id {labels.id}){instead}"))


def _plain(text: str) -> str:
    """What a terminal takes, with bytes of a name that are no UTF-8 spelled out."""
    return text.encode("utf-8", "backslashreplace").decode()


def _check_name(form: str, out: Path) -> None:
    """Raise BadInput where Arrow, which takes paths in UTF-8 alone, could not write this one."""
    path = os.path.abspath(out)
    if form == "parquet" and path.encode("utf-8", "replace") != os.fsencode(path):
        raise BadInput(
            f"{path!r} is no UTF-8, as the path of a parquet file has to be; give --out another "
            "name, or one that ends in .csv or .npz"
        )


def annotated(
    data: Dataset, scheme: Scheme, price_list: Prices, given: dict[str, Any]
) -> PartialLabels:
    """The labels of one split: for the stated amount, or for the budget where there is one."""
    from simkit.annotate.budget import amount_for
    from simkit.annotate.simulate import simulate

    split = given["split"] or data.to_label
    if split not in data.truth:
        have = ", ".join(data.truth)
        raise BadInput(f"{data.name} has no split {split!r}; it has {have}")
    if given["legacy_rng"] and split != data.to_label and data.to_label != "train":
        note = "the published code labels the whole training file and divides it afterwards"
        warnings.warn(f"{note}; leave --split {split} out for its arrays", stacklevel=1)
    truth = data.truth[split]
    common: dict[str, Any] = {
        "images": images(given["images"]),
        "hierarchy": data.hierarchy,
        "habits": _habits(given, truth.classes),
        "boxes": data.boxes.get(split),
        "seed": given["seed"],
        "draw": given["draw"],
    }
    if given["budget"] is None:
        return simulate(truth, scheme, legacy_rng=given["legacy_rng"], **common)
    common["seed"] = common["seed"] or 0
    if given["unit"] == "hours":
        return amount_for(
            3600 * given["budget"], truth, scheme, price_list, unit="seconds", **common
        ).labels
    return amount_for(given["budget"], truth, scheme, price_list, **common).labels


def _habits(given: dict[str, Any], classes: tuple[str, ...]) -> Habits:
    """How people err: from a file, its rates by class going with the names, or from the options."""
    from simkit.annotate.habits import Habits
    from simkit.cli.habits import loaded

    own = {key: given[key] for key in ("miss", "false_alarm", "workers", "vote")}
    if given["habits_file"] is None:
        return Habits(**own)
    plain = {"miss": 0.0, "false_alarm": 0.0, "workers": None, "vote": "majority"}
    for key, value in own.items():
        if value != plain[key]:
            flag = f"--{key.replace('_', '-')}"
            raise BadInput(f"{flag} is given and --habits too; leave one of them out")
    return loaded(given["habits_file"], classes)
