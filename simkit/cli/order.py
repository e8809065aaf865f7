"""Write questions about images for annotators."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

import simkit
from simkit import quantities
from simkit.annotate import schemes
from simkit.cli import options, params
from simkit.cli.output import cost_table, print_json, say
from simkit.cli.settings import settings
from simkit.cli.simulate import IMAGES, SchemeCommand, chosen, features_of
from simkit.errors import BadInput
from simkit.files import reading

if TYPE_CHECKING:
    from simkit.annotate.prices import Cost
    from simkit.orders.order import Order, RoundSettings
    from simkit.orders.receiving import OrderState

FORMS = ("html", "csv", "jsonl", "label-studio")


def _share_or_none(value: Any, option: str) -> float:
    """A share; 0 stands for no gold questions, as in a further round of an order with some."""
    return 0.0 if str(value).strip() in ("0", "0%") else quantities.share(value, option)


# fmt: off
@click.command(
    cls=SchemeCommand,
    epilog="\b\nExample: simkit order --data folder:photos,labels=none --classes names.txt "
    "--scheme rpa --budget 50",
)
@click.option("--data", "spec", type=params.DATA,
              help="The images, such as folder:photos,labels=none (a folder without labels).")
@params.classes
@params.instructions
@click.option("--scheme", type=params.SCHEME,
              help="The scheme that chooses the questions; see `simkit list schemes`.")
@click.option("--plan", "plan_file", type=params.FILE, metavar="PLAN.json",
              help="Order the recommendation of a plan (simkit plan ... --report plan.json): its "
              "scheme and images.")
@click.option("--part", type=click.Choice(["a", "b"]), default="a", show_default=True,
              help="The part of the plan's first round to order.")
@click.option("--next", "earlier", type=params.FOLDER, metavar="ORDER",
              help="Add a round to this order, with its settings unless others are given.")
@click.option("--budget", type=params.DOLLARS, metavar="AMOUNT",
              help="Largest cost of this round. Without an amount of the scheme, the largest "
              "affordable one is chosen.")
@click.option("--split", help="The split to label. [default: the training set]")
@options.of("simkit.orders.order.RoundSettings", unset=True, images=IMAGES, people=params.COUNT,
            prices=params.PRICES, seed=click.INT, gold=params.Quantity("share", _share_or_none),
            join=click.Choice(["majority", "union", "dawid-skene"]))
@click.option("--known", "known_file", type=params.FILE, metavar="LABELS",
              help="Labels known to be correct, for --gold and the examples of --features.")
@click.option("--hierarchy", "tree", help="Class hierarchy for knowledge-graph: a file or a name.")
@click.option("--scores", "scores_file", type=params.FILE,
              help="A model's scores, from simkit score or simkit predict, for machine, proposals, "
              "picked by=uncertainty, and searches, which start with the highest scores.")
@click.option("--features", type=params.FILE,
              help="Features for picked, or for examples in the instructions: a folder from simkit "
              "features, or an npz file. [default: computed by scenes-net for picked, else none]")
@click.option("--to", "forms", type=click.Choice(FORMS), multiple=True,
              help="Files for people: a page for the browser, a table, Label Studio; repeatable. "
              "[default: html]")
@click.option("--image-root", default="", metavar="ADDRESS",
              help="Where Label Studio finds the images. [default: its local files, in a folder of "
              "the same name]")
@click.option("--out", type=params.FOLDER, help="The new order's folder. [default: order1]")
@params.json
def command(**arguments: Any) -> None:
    """Write the questions of a scheme about images for annotators, and price them.

    Searches (fpc, federated) and questions down a hierarchy need several rounds. A further round
    (--next) starts from the answers that `simkit receive` has read. Answered questions are not
    asked again; open ones are, so receive all answers first.
    """
    from simkit.orders.order_crowd import JoinedAnswers
    from simkit.orders.rounds import round_of, write_round

    begin = _further if arguments["earlier"] else _first
    order, terms, state = begin(_planned(arguments))
    N = len(order.images)
    if terms.images > max(1, N):
        raise BadInput(f"the order is for {terms.images:,} images, but there are {N:,}; plan again "
                       f"with --images {N}, or order at most as many")  # fmt: skip
    joined, opened = (JoinedAnswers(), None) if state is None else (state.joined, state.open)
    file = arguments["known_file"]
    answers = None if file is None else simkit.formats.for_path(file).read(file)
    if answers is not None and not terms.gold and order.features is None:
        raise BadInput("--known is given, but neither gold questions nor examples use it; leave it "
                       "out, or add --gold or --features")  # fmt: skip
    new_round = round_of(
        terms, order, joined,
        budget=arguments["budget"], largest=_largest(terms, arguments), answers=answers,
        opened=opened,
    )
    order = replace(order, rounds=(*order.rounds, new_round))
    effort = order.effort(new_round.table)
    labels = answers if state is None or order.features is None else state.labels
    files = write_round(
        order, arguments["forms"] or ("html",), arguments["image_root"], labels,
        arguments["described"],
    )
    times = None if state is None else state.prices()
    timed = None if times is None else simkit.cost(effort, times)
    _tell(order, simkit.cost(effort, terms.prices), files, timed)
# fmt: on


def _planned(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments with the scheme and images of a plan, if one is given."""
    from simkit.orders.order import Order

    file = arguments["plan_file"]
    if file is None:
        return arguments
    for name in ("scheme", "images"):
        if arguments[name] is not None:
            raise BadInput(f"--plan and --{name} are both given; leave one of them out")
    mend = "write one with: simkit plan RUNS --budget ... --report plan.json"
    with reading(file, "a plan", mend) as path:
        parts = json.loads(path.read_text("utf-8"))["order"]
        if arguments["part"] == "b" and len(parts) == 1:
            raise BadInput(f"{file} has no part (b); leave --part out")
        part = parts["ab".index(arguments["part"])]
        # Plans simulate the papers' schemes; all answers of people are kept nevertheless.
        scheme = re.sub(", keep_looks=False", "", str(part["scheme"]))
        bought: dict[str, Any] = {"scheme": scheme, "images": int(part["images"])}
    if arguments["earlier"] is not None:  # a plan counts the images besides the pilot's
        order = Order.read(arguments["earlier"])
        images = bought["images"] + int(order.table["image"].nunique())
        bought["images"] = min(images, len(order.images))
    return {**arguments, **bought}


def _first(arguments: Mapping[str, Any]) -> tuple[Order, RoundSettings, None]:
    """An order without rounds, the terms of the first round, and no answers."""
    from simkit.annotate.similarities import read_scores
    from simkit.data.folder import classes_of
    from simkit.labels.hierarchy import by_name_or_file
    from simkit.orders.order import ABOUT, Order, RoundSettings
    from simkit.orders.project import with_absolute_paths

    for name, option in (("spec", "--data"), ("scheme", "--scheme")):
        if arguments[name] is None:
            raise BadInput(f"{option} is missing; give it, or --next ORDER for a further round")
    out = arguments["out"] or Path("order1")
    if (out / "round-1" / ABOUT).exists():
        raise BadInput(f"{out} is an order already; add a round with --next {out}, or name another "
                       "folder with --out")  # fmt: skip
    scheme, hierarchy = _scheme(arguments["scheme"], arguments), None
    arguments = {**arguments, "spec": with_absolute_paths(arguments["spec"])}
    data = simkit.data.open(arguments["spec"])
    split = params.split_of(data, arguments["split"])
    classes = classes_of(arguments["names_file"], data)
    if schemes.make(scheme).needs_hierarchy:
        tree = by_name_or_file(arguments["tree"]) if arguments["tree"] else data.hierarchy
        if tree is None:
            raise BadInput(
                "this scheme needs a class hierarchy; give --hierarchy, a file (make "
                "one with: simkit hierarchy --classes FILE) or a shipped one"
            )
        hierarchy = tree.over(classes)
        classes = hierarchy.classes
    elif arguments["tree"]:
        raise BadInput(f"--hierarchy is given, but {arguments['scheme']} uses none; leave it out")
    images = data.truth[split].images
    terms = RoundSettings(arguments["spec"], classes, scheme, split=split, **_given(arguments))
    scores = read_scores(arguments["scores_file"], split, images, classes)
    useful = arguments["known_file"] is not None  # for examples in the instructions
    if arguments["features"] and not (useful or terms.parsed_scheme.needs_features):
        raise BadInput("--features is given for examples in the instructions, and they need known "
                       "labels; add --known LABELS, or leave --features out")  # fmt: skip
    features = features_of(terms.parsed_scheme, arguments, data, split, useful=useful)
    return Order(out, images, (), hierarchy, scores, features), terms, None


def _further(arguments: Mapping[str, Any]) -> tuple[Order, RoundSettings, OrderState]:
    """The earlier order, the terms of its next round, and the answers so far."""
    from simkit.annotate.similarities import read_scores
    from simkit.orders.order import Order
    from simkit.orders.receiving import OrderState
    from simkit.orders.rounds import rows_in

    for name in ("spec", "names_file", "split", "tree", "out"):
        if arguments[name] is not None:
            raise BadInput(
                f"{arguments[name]} is given with --next, but a further round has the images, "
                "classes and folder of its order; leave it out, or start a new order without --next"
            )
    order = Order.read(arguments["earlier"])
    state = OrderState.of(order)
    changes = _given(arguments)
    if arguments["scheme"] is not None:
        changes["scheme"] = _scheme(arguments["scheme"], arguments)
    elif stated := arguments["settings"]:
        before = order.settings.parsed_scheme
        changes["scheme"] = schemes.spell(chosen(before.name, {**vars(before), **stated}))
    terms = replace(order.settings, **changes)
    file, scores = arguments["scores_file"], order.scores
    if file is not None and terms.parsed_scheme.by_model:
        raise BadInput("--scores is given with --next, but machine goes on with the scores of its "
                       "first round; leave it out, or start a new order")  # fmt: skip
    if file is not None:
        scores = read_scores(file, terms.split, order.images, order.classes)
    features, about = order.features, {**arguments, "spec": terms.data}
    if features is None and (terms.parsed_scheme.needs_features or arguments["features"]):
        data, useful = simkit.data.open(terms.data), len(state.answers) > 0
        features = features_of(terms.parsed_scheme, about, data, terms.split, useful=useful)
        features = features[rows_in(order, data)]
    return replace(order, scores=scores, features=features), terms, state


def _given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The terms that were given as options."""
    from simkit.orders.project import absolute_path

    names = ("images", "people", "join", "gold", "seed")
    terms = {name: arguments[name] for name in names if arguments[name] is not None}
    price_list = arguments["prices"]
    return terms if price_list is None else terms | {"prices": absolute_path(price_list)}


def _scheme(name: str, arguments: Mapping[str, Any]) -> str:
    """The scheme as text. All answers are kept by default, because all are paid for."""
    scheme = chosen(name, arguments["settings"])
    stated = {
        *arguments["settings"],
        *(part.partition("=")[0].strip() for part in re.split("[(,]", name)),
    }
    if "keep_looks" in {setting.name for setting in settings(type(scheme))} - stated:
        scheme = replace(scheme, keep_looks=True)  # type: ignore[type-var]
    return schemes.spell(scheme)


def _largest(terms: RoundSettings, arguments: Mapping[str, Any]) -> bool:
    """Whether the budget decides the amount, because none was given."""
    amount, further = terms.parsed_scheme.amount, arguments["earlier"] is not None
    if amount is None:
        return not further and arguments["images"] is None
    stated = f"{amount}=" in (arguments["scheme"] or "").replace(" ", "")
    going_on = further and hasattr(terms.parsed_scheme, "search")
    return not (stated or amount in arguments["settings"] or going_on)


def _tell(order: Order, bill: Cost, files: list[str], timed: Cost | None) -> None:
    """timed: the bill by the measured times of earlier answers."""
    table, terms = order.rounds[-1].table, order.settings
    gold, images = int((table["gold"] != 0).sum()), int(table["image"].nunique())
    print_json({
        "order": order.id, "folder": str(order.folder), "round": len(order.rounds),
        "scheme": terms.scheme, "questions": table["kind"].value_counts().to_dict(),
        "gold": gold, "images": images,
        "dollars": bill.dollars, "seconds": bill.seconds, "files": files,
    })  # fmt: skip
    say(
        f"round {len(order.rounds)} of {order.folder}: {len(table):,} questions about "
        f"{images:,} of {len(order.images):,} images, {len(terms.classes)} classes"
        + (f"; {gold} of them gold" if gold else "")
    )
    say(f"scheme: {terms.scheme}")
    cost_table(bill, simkit.prices(terms.prices))
    if timed is not None:
        say(
            "by the measured times of the answers so far: "
            f"{quantities.exact_money(timed.dollars)}, {quantities.duration(timed.seconds)}"
        )
    if (table["kind"] == "search").any():
        if order.scores is None:
            say("without --scores images are searched in random order, which takes more looks and "
                "costs more than a plan with search=proposals assumes; make scores with: simkit "
                "score, or simkit predict")  # fmt: skip
        say("a search takes several rounds; the price is that of this round")
    for file in files:
        say(f"wrote {file}")
    folder = quote(str(order.folder))
    page = next((file for file in files if file.endswith("page.html")), None)
    if page is None:
        say(f"next: have the questions answered, then run: simkit receive {folder} FILE")
    else:
        say(f"next: have {page} answered in a browser, then run:\n"
            f"  simkit receive {folder} ~/Downloads/answers-{order.id}-*.jsonl")  # fmt: skip
