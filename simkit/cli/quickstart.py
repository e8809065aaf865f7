"""Start a project: check photographs, and order the first labels."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Literal

import click

import simkit
from simkit.cli import options
from simkit.cli.order import say_open, say_repeated, share_or_none
from simkit.cli.output import print_json, progress, say
from simkit.errors import BadInput, unknown
from simkit.files import expanded, may_write, whole
from simkit.quantities import duration, exact_money, numbered

if TYPE_CHECKING:
    import pandas as pd

    from simkit.annotate.prices import Cost, Prices
    from simkit.data.dataset import Dataset
    from simkit.orders.order import Order
    from simkit.orders.project import Project
    from simkit.planning.pilot import PilotPlan

NEAR = 0.1  # largest cosine distance of near duplicates
SHOWN = 3  # images named in a line
ROOM = 0.8  # of the budget: complete labels of everything for at most that are bought at once
SAVING = 0.1  # of the budget: a pilot that could save less is not mentioned


@click.command(epilog="\b\nExample: simkit quickstart photos --classes names.txt --budget 2000")
@click.argument("spec", metavar="DATA")
@options.signature
@options.shared("to", "annotators", "image_root", "classes_file", "instructions_file", "weights")
@options.of(
    "simkit.orders.project.Project", budget=options.DOLLARS, prices=options.PRICES,
    answers=options.COUNT, repeat=options.Quantity("share", share_or_none), seed=click.INT,
)  # fmt: skip
@options.of("simkit.planning.costs.Staff", wage=options.WAGE)
@options.json
def command(
    spec: str,
    *,
    classes_file: Path | None,
    instructions_file: Path | None,
    scores: Path | None = None,
    per_image: float | None = None,
    backbone: str | None = None,
    weights: str | None,
    out: Path = Path("project"),
    prices: str,
    wage: float | None,
    to: tuple[Literal["html", "csv", "jsonl", "label-studio"], ...],
    image_root: str,
    annotators: str | None,
    **settings: Any,
) -> None:
    """Check photographs, and recommend and order the first labels.

    DATA is a folder of images or a data set. The project is a folder with project.toml, a table of
    the images, and order1: complete labels of images chosen at random. `simkit status` prints the
    next command.

    Parameters
    ----------
    scores
        Scores of the images by a model, from simkit score or in a table: the pilot measures them,
        and later rounds use them.
    per_image : X
        Expected mean number of classes in an image. [default: 2, or half of the classes]
    backbone
        Network of the project, such as mobilenet_v2 or timm:NAME; it then finds near duplicates
        too. By default mobilenet_v2 with torchvision's weights, downloaded once (14 MB).
    out : FOLDER
        The new project's folder.
    """
    from simkit.annotate.similarities import read_scores
    from simkit.data.folder import classes_of
    from simkit.data.leaks import open_checked
    from simkit.orders import annotators as people
    from simkit.orders import project as projects
    from simkit.orders.order import Order
    from simkit.orders.rounds import write_round

    names = people.names(annotators or "")
    _check_path(spec)
    spec = projects.with_absolute_paths(spec)
    data = open_checked(spec)
    _check_project(spec, backbone, out)
    classes = classes_of(classes_file, data)
    settings |= _network(backbone, weights)
    listed, usual = projects.absolute_path(prices), min(2.0, len(classes) / 2)
    settings |= {"prices": _at_wage(listed, wage), "per_image": per_image or usual}
    project = projects.Project(out, spec, classes, **settings)
    # A network that cannot be loaded is refused before labels are paid.
    net = simkit.backbone(project.backbone, project.weights or None)
    if project.unlabelled:
        projects.pilot_data(project)  # an impossible path is refused before people answer
    split = data.to_label
    data.pictures_of(split)  # refused before the images are read
    scored = read_scores(scores, split, data.truth[split].images, classes, strict=True,
                         files=lambda: data.file_names(split))  # fmt: skip
    table = _checked(data, split, net if backbone else None)
    kept = (table["left_out"] == "").to_numpy()
    images = data.truth[split].images[kept]
    if not len(images):
        raise BadInput(f"none of the {len(table):,} images of {spec} can be read; replace them")
    plan = _pilot(project, len(images), classes_file)
    first = Order(out / projects.FIRST, images, (), scores=None if scored is None else scored[kept])
    order = projects.first_round(project, first, split, _needed(plan, project, first))
    files = write_round(order, to or ("html",), image_root, described=instructions_file,
                        annotators=names)  # fmt: skip
    files += _write(project, order, table)
    bill = simkit.cost(order.effort(order.table), project.prices)
    _print_answer(project, plan, order, bill, files)
    _print_pictures(table, data.name, backbone, project)
    _print_next(project, order)
    print_json(_facts(table, order, bill, files))


def _network(backbone: str | None, weights: str | None) -> dict[str, str]:
    """The network among the settings of a project, if one is named."""
    from simkit.orders.project import absolute_path

    options.needs({"--weights": weights}, "--backbone", backbone)
    if backbone is None:
        return {}
    return {"backbone": backbone, "weights": absolute_path(weights) if weights else ""}


def _at_wage(prices: str, wage: float | None) -> str:
    """The name of a price list at a wage, which the orders and plans of a project use."""
    from simkit.annotate.prices import AT_WAGE

    if wage is None:
        return prices
    if prices.endswith(".toml"):
        raise BadInput(
            f"--wage is not for a price list of your own; write wage = {wage:g} in {prices}"
        )
    return f"{prices}{AT_WAGE}{wage:.15g}"


def _checked(data: Dataset, split: str, net: Any) -> pd.DataFrame:
    """The table of the images of a split, with their nearest others by a network, if any."""
    from simkit.study.image_check import check_images, with_nearest

    with progress("reading images", "features") as (looking, computing):
        table = check_images(data, split, looking)
        return table if net is None else with_nearest(table, data, split, net, computing)


def _write(project: Project, order: Order, table: pd.DataFrame) -> list[str]:
    """Write the table of the images, the scores, and last the project; returns the paths."""
    from simkit.orders import project_scores
    from simkit.orders.project import FILE, PICTURES

    with whole(project.folder / PICTURES) as part:
        table.to_csv(part, index=False)
    scores = project_scores.keep(project, order)
    project.write()
    return [str(project.folder / PICTURES), *scores, str(project.folder / FILE)]


def _pilot(project: Project, images: int, classes_file: Path | None) -> PilotPlan | None:
    """The pilot of a project; the order that a refusal names is one of its data and classes."""
    from simkit.planning.pilot import YOURS

    try:
        return project.pilot(images)
    except BadInput as error:
        classes = "" if classes_file is None else f" --classes {quote(str(classes_file))}"
        yours = f"--data {quote(project.data)}{classes}"
        raise BadInput(str(error).replace(YOURS, yours)) from None


def _facts(table: pd.DataFrame, order: Order, bill: Cost, files: list[str]) -> dict[str, Any]:
    """What --json prints."""
    left_out = table[table["left_out"] != ""].set_index("image")["left_out"]
    return {
        "images": len(table), "left_out": left_out.to_dict(),
        "near": int((table["distance"] < NEAR).sum()) if "distance" in table else None,
        "order": order.id, "questions": len(order.table),
        "asked": int(order.table["image"].nunique()),
        "dollars": bill.dollars, "seconds": bill.seconds, "files": files,
    }  # fmt: skip


def _check_path(spec: str) -> None:
    """Refuse a name of neither a folder nor a data set, with the nearest of both."""
    from simkit.data.dataset import sources

    place, names = expanded(spec), sources.names()
    if ":" in spec or place.suffix or place.exists() or spec.strip().lower() in names:
        return  # opening the data refuses files, and paths that do not exist
    if place.parent.is_dir():
        names += [other.name for other in place.parent.iterdir() if other.is_dir()]
    raise unknown("folder or data set", place.name, names)


def _check_project(spec: str, backbone: str | None, out: Path) -> None:
    """Refuse an unsuitable backbone and an existing project."""
    from simkit.data.dataset import read_spec
    from simkit.orders.project import FILE
    from simkit.study.sources import SCENES_NET

    if backbone == SCENES_NET and read_spec(spec)[0].name != "scenes":
        raise BadInput(f"backbone {SCENES_NET} was trained on the synthetic data set scenes and "
                       "does not fit photos; give --backbone mobilenet_v2 --weights FILE, or "
                       "--weights imagenet to download them")  # fmt: skip
    if out.exists() and any(out.iterdir()):
        done = (out / FILE).exists()
        see = f"see simkit status {out}" if done else "the project is incomplete: move it away"
        raise BadInput(f"{out} exists and is not overwritten; {see}, or name another folder with "
                       "--out")  # fmt: skip
    may_write(out / FILE)


def _print_pictures(table: pd.DataFrame, name: str, backbone: str | None, project: Project) -> None:
    from simkit.orders.project import PICTURES
    from simkit.study.image_check import BROKEN, COPY

    def some(title: str, texts: list[str], remark: str) -> None:
        """Print the number of texts, a remark on them, and the first ones."""
        more = ", ..." if len(texts) > SHOWN else ""
        text = f"{len(texts):,}{remark}: {', '.join(texts[:SHOWN])}{more}" if texts else "none"
        say(f"{title}: {text}")

    read = table.loc[table["width"] > 0, ["width", "height"]]
    by_size = read.loc[read.prod(axis=1).sort_values(kind="stable").index].to_numpy()
    places = {"smallest": 0, "median": len(by_size) // 2, "largest": -1}
    sizes = ("{} {} x {}".format(size, *by_size[place]) for size, place in places.items())
    say("")
    say(f"{len(table):,} images in {name}; pixels: {', '.join(sizes)}")
    reasons = table.set_index(table["image"].astype(str))["left_out"]
    broken, copies = (reasons[reasons.str.startswith(word)] for word in (BROKEN, COPY))
    some("damaged", [*broken.index], ", left out")
    same = [f"{image} = {reason.removeprefix(COPY)}" for image, reason in copies.items()]
    some("exact duplicates", same, ", left out")
    if "distance" not in table:
        network = (
            f"--backbone {project.backbone} --weights {project.weights} (or a file of weights)"
        )
        say("near duplicates: not checked, as the project computes features later; to check them, "
            f"start another project with {network}")  # fmt: skip
    else:
        near = table[table["distance"] < NEAR].sort_values("distance", kind="stable")
        pairs = dict.fromkeys(
            f"{' ~ '.join(sorted((str(a), str(b))))} ({distance:.3f})"
            for a, b, distance in near[["image", "nearest", "distance"]].itertuples(False)
        )
        title = f"near duplicates by {backbone} (cosine distance below {NEAR:g})"
        some(title, [*pairs], " pair, kept" if len(pairs) == 1 else " pairs, kept")
    say(f"table of all images: {project.folder / PICTURES}")


def _print_answer(
    project: Project, plan: PilotPlan | None, order: Order, bill: Cost, files: list[str]
) -> None:
    """Print the first order, its purpose, and its page; then how its price is made up."""
    from simkit.orders import page

    asked, N, L = order.table["image"].nunique(), len(order.images), len(project.classes)
    images = (
        f"all {numbered(N, 'image')}" if asked == N else f"{asked:,} of the {N:,} images, at random"
    )
    spend = f"{exact_money(bill.dollars)} on all {L} classes of {images}."
    if bill.seconds is not None:
        spend += f" {duration(bill.seconds)} of work"
        if (most := _most(project, order)) is not None:
            spend += f", or at most {exact_money(most.dollars)} and {duration(most.seconds)}"
        spend += "."
    rows, left = {"Spend": spend}, project.budget - bill.dollars
    most = _most(project, order)
    if plan is None:
        rows["Why"] = f"No pilot comes first: {_without_pilot(project, N)}."
        rows["Then"] = "No comparison and no plan follow: a model is trained on these labels."
    elif asked == N:
        rows |= _at_once(project, plan, bill if most is None else most, left)
    else:
        rest = exact_money(left)
        if most is not None:
            rest = f"{exact_money(max(project.budget - most.dollars, 0))} to {rest}"
        rows["Why"] = (
            f"This pilot, {plan.images:,} images for training and {plan.test_images:,} for "
            f"testing, shows which labels to buy for the other {rest}."
        )
        rows["Precision"] = (
            "It measures mAP (how many of 100 images that a model picks for a class are right) to "
            f"±{plan.half_width:.1f}, if an image shows {project.per_image:g} classes on average "
            "(--per-image)."
        )
        if bill.dollars * (N / asked - 1) <= left:
            everything = f"simkit order --next {quote(str(order.folder))} --images {N}"
            price = exact_money(bill.dollars * N / asked)
            if most is not None:
                price += f", at most {exact_money(most.dollars * N / asked)}"
            rows["Or all"] = (f"All {N:,} images, each for as much as one of the pilot: {price} in "
                              f"total; later, with {everything}")  # fmt: skip
    if pages := page.named(order.round_folder):
        rows["People"] = f"They answer the page in a browser: {pages}"
    say(f"What to label first, for {exact_money(project.budget)}")
    say("")
    for name, text in rows.items():
        say(f"{name:<11}{text}")
    say("")
    _print_order(project, order, bill, files)


def _at_once(project: Project, plan: PilotPlan, most: Cost, left: float) -> dict[str, str]:
    """Why all images are labelled at once, what follows, and the pilot if it could save much.

    most: the highest price to expect.  left: dollars, by the lowest one.
    """
    from simkit.planning.pilot import TEST

    unspent = exact_money(project.budget - most.dollars)
    if exact_money(left) != unspent:
        unspent += f" to {exact_money(left)}"
    rows = {
        "Why": f"The budget pays for all labels, so that no choice of labels is needed; {unspent} "
               "of it stays unspent.",
        "Then": f"A model is trained on these labels; {TEST:.0%} of the images, chosen at random, "
                "test it.",
    }  # fmt: skip
    less = math.floor(most.dollars)
    lower = most.dollars * (plan.images + plan.test_images) / plan.exist if plan.exist else 0.0
    if most.dollars - lower >= SAVING * project.budget:
        try:
            first = replace(project, budget=float(less)).pilot(plan.exist or 0)
        except BadInput:
            first = None
        if first is not None:
            rows["Or less"] = (
                f"A pilot of {first.images + first.test_images:,} images shows whether cheaper "
                f"labels do as well: start another project with --budget {less}"
            )
    return rows


def _print_order(project: Project, order: Order, bill: Cost, files: list[str]) -> None:
    """Print how the price is made up, and the files for people."""
    from simkit.orders import page
    from simkit.orders.annotators import FILE
    from simkit.orders.receiving import OrderState

    swept, each = project.price_list.rates["sweep"], project.answers
    price = f"{exact_money(bill.dollars)} at {project.prices} prices"
    if swept.per == "question" and swept.dollars is None:
        once = simkit.cost(order.effort(order.table.assign(answers=each)), project.prices).dollars
        if (check := bill.dollars - once) >= 0.005:
            price = f"{exact_money(once)}; with the error check ({exact_money(check)}) {price}"
        price = (f"x {numbered(each, 'answer')} x {swept.seconds:g} s at "
                 f"${project.price_list.wage:g} an hour = {price}")  # fmt: skip
    else:
        price = f"for {price}"
    say(f"{order.folder.name}: {numbered(len(order.table), 'question')} {price}")
    if (most := _most(project, order)) is not None:
        alone = project.price_list.rates["verify"]
        say(f"a class took {swept.seconds:.1f} s with 91 on a page, and {alone.seconds:.1f} s "
            f"alone; with {len(project.classes)} expect up to {exact_money(most.dollars)}, "
            f"{duration(most.seconds)} of work; `simkit receive` measures it")  # fmt: skip
        if (over := most.dollars - project.budget) >= 0.005:
            say(f"warning: that is {exact_money(over)} over the budget"
                f"{_within(project, order, bill.dollars / most.dollars)}")  # fmt: skip
    say_repeated(order, project.price_list)
    _print_possible(project, order)
    say_open(OrderState.of(order))
    if page.named(order.round_folder):
        later = order.round_folder / "instructions.md"
        say("to describe the classes on this page, start with --instructions FILE; the page of a "
            f"further round shows the descriptions in {later}")  # fmt: skip
    rest = [file for file in files if str(order.round_folder) in file]
    if others := [file for file in rest if not file.endswith((".html", ".md", FILE))]:
        say(f"files for people: {', '.join(others)}")


def _print_next(project: Project, order: Order) -> None:
    from simkit.orders.project import next_step
    from simkit.orders.receiving import OrderState

    say("")
    say(f"next: {next_step(project, [OrderState.of(order)])}")
    say(f"at any time: simkit status {quote(str(project.folder))}")


def _most(project: Project, order: Order) -> Cost | None:
    """The price if each class takes as long as one that is asked alone; None if the price list does
    not have the time of a longer page."""
    listed = _dear(project)
    return None if listed is None else simkit.cost(order.effort(order.table), listed)


def _dear(project: Project) -> Prices | None:
    """The project's price list with all classes of an image at the price of one asked alone; None
    as for `_most`."""
    from simkit.orders.rounds import PAGE

    listed = project.price_list
    alone, swept = listed.rates.get("verify", listed.rates["sweep"]), listed.rates["sweep"]
    if len(project.classes) >= PAGE or "91 classes" not in swept.source:
        return None
    if (alone.seconds or 0) <= (swept.seconds or 0):
        return None
    return replace(listed, rates={**listed.rates, "sweep": alone})


def _needed(plan: PilotPlan | None, project: Project, order: Order) -> PilotPlan | None:
    """The pilot; None if the budget pays for everything at once, and no scores could save labels of
    people, which a pilot would show."""
    enough = _everything(project, len(order.images)) <= ROOM * project.budget
    return None if enough and order.scores is None else plan


def _everything(project: Project, images: int) -> float:
    """At most the dollars of complete labels of all images, with the answers that measure errors
    and the set-up."""
    from simkit.annotate.evaluation_set import complete_cost
    from simkit.orders.rounds import REPEATED

    listed, L = _dear(project) or project.price_list, len(project.classes)
    further = max(REPEATED - project.answers, 0) / project.answers * project.repeated(images)
    once = listed.setup + listed.setup_class * L
    return complete_cost(images, L, listed).dollars * (1 + further) + once


def _without_pilot(project: Project, images: int) -> str:
    """Why a project begins without a pilot."""
    from simkit.planning.pilot import MOST_SHARE, SMALLEST, THIRD, least_budget

    if images < THIRD * SMALLEST:
        return "there are too few for a pilot that compares schemes"
    least = math.ceil(least_budget(len(project.classes), project.price_list))
    return (f"{exact_money(project.budget)} pays for that, and not for a pilot that compares "
            f"schemes, which takes at most {MOST_SHARE:.0%} of a budget and so needs "
            f"--budget {least}")  # fmt: skip


def _within(project: Project, order: Order, share: float) -> str:
    """With which budget another project's first labels stay within this or that budget; or "".

    share: the listed price as a share of the price with all classes asked alone.
    """
    from simkit.orders.project import first_round
    from simkit.planning.pilot import least_budget

    less = math.floor(100 * project.budget * share) / 100
    least = math.ceil(least_budget(len(project.classes), project.price_list))
    empty = replace(order, rounds=())
    for budget in (less, float(least)):
        try:
            trial = replace(project, budget=budget)
            plan = trial.pilot(len(order.images))
            made = first_round(trial, empty, order.settings.split, plan)
        except BadInput:
            continue
        if (most := _most(trial, made)) is not None and most.dollars <= max(
            budget, project.budget
        ) + 0.005:
            what = "to stay within it" if budget <= project.budget else (
                "to stay within a budget, label a pilot of fewer images"
            )  # fmt: skip
            return f"; {what}: start another project with --budget {budget:.2f}"
    return ""


def _print_possible(project: Project, order: Order) -> None:
    """Say where few of the classes that three people look for are expected to be present."""
    from simkit.orders.project import REPEATED_SHOWN
    from simkit.orders.rounds import REPEATED

    table = order.table
    images = table.loc[table["answers"] >= REPEATED, "image"].nunique()
    shown, every = round(images * project.per_image), int(table["image"].nunique())
    if project.answers < REPEATED and 0 < shown < REPEATED_SHOWN and images < every:
        share = min(1.0, REPEATED_SHOWN / project.per_image / every)
        say(f"about {shown:,} present classes are expected in these images, too few for a precise "
            f"rate of missed ones; --repeat {math.ceil(100 * share)}% asks about "
            f"{round(share * every):,} images")  # fmt: skip
