"""Start a project: check photographs, and order the first labels."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

import simkit
from simkit import quantities
from simkit.cli import options, params
from simkit.cli.output import print_json, progress, say
from simkit.errors import BadInput
from simkit.files import expanded, may_write, whole

if TYPE_CHECKING:
    import pandas as pd

    from simkit.annotate.prices import Cost
    from simkit.orders.order import Order
    from simkit.orders.project import Project
    from simkit.planning.pilot import PilotPlan

NEAR = 0.1  # largest cosine distance of near duplicates
SHOWN = 3  # images named in a line


# fmt: off
@click.command(
    epilog="\b\nExample: simkit quickstart photos --classes names.txt --budget 2000"
)
@click.argument("spec", metavar="DATA")
@params.classes
@params.instructions
@options.of("simkit.orders.project.Project", budget=params.DOLLARS, prices=params.PRICES,
            people=params.COUNT, seed=click.INT)
@click.option("--per-image", type=float, metavar="X",
              help="Expected mean number of classes in an image. [default: 2, or half of the "
              "classes]")
@params.backbone("Network that finds near duplicates, such as mobilenet_v2 or timm:NAME.")
@click.option("--out", type=params.FOLDER, default=Path("project"), show_default=True,
              help="The new project's folder.")
@params.json
def command(
    *, spec: str, names_file: Path | None, described: Path | None, out: Path, **given: Any
) -> None:
    """Check photographs, and recommend and order the first labels.

    DATA is a folder of images or a data set. The project is a folder with project.toml, a table of
    the images, and order1: complete labels of images chosen at random. `simkit status` prints the
    next command.
    """
    from simkit.data.folder import classes_of
    from simkit.orders import project as projects
    from simkit.orders.order import Order
    from simkit.orders.rounds import write_round
    from simkit.study.image_check import check_images, with_nearest
    from simkit.study.sources import SCENES_NET

    if out.exists() and any(out.iterdir()):
        done = (out / projects.FILE).exists()
        see = f"see simkit status {out}" if done else "it is no complete project: move it away"
        raise BadInput(f"{out} exists and is not overwritten; {see}, or name another folder with "
                       "--out")  # fmt: skip
    may_write(out / projects.FILE)
    _check_folder(spec)
    spec = projects.with_absolute_paths(spec)
    data = simkit.data.open(spec)
    net = params.network(given["backbone"], given["weights"])
    if given["backbone"] == SCENES_NET and data.name != "scenes":
        raise BadInput(f"backbone {SCENES_NET} was trained on the drawn data set scenes and does "
                       "not fit photographs; give --backbone mobilenet_v2 --weights FILE, or "
                       "--weights imagenet to download them")  # fmt: skip
    project = _project(spec, classes_of(names_file, data), out, given)
    if project.unlabelled:
        projects.pilot_data(project)  # an impossible path is refused before people answer
    split = data.to_label
    if split not in data.pictures:
        raise BadInput(f"{spec} has no images; name their folder in the data")
    with progress("reading images", "features") as (looking, computing):
        table = check_images(data, split, looking)
        if net is not None:
            table = with_nearest(table, data, split, net, computing)
    images = data.truth[split].images[(table["left_out"] == "").to_numpy()]
    if not len(images):
        raise BadInput(f"none of the {len(table):,} images of {spec} can be read; replace them")
    plan = project.pilot(len(images))
    order = projects.first_round(project, Order(out / projects.FIRST, images, ()), split, plan)
    with whole(out / projects.PICTURES) as part:
        table.to_csv(part, index=False)
    files = [
        *write_round(order, ("html",), described=described),
        str(out / projects.PICTURES), str(out / projects.FILE),
    ]
    project.write()
    bill = simkit.cost(order.effort(order.table), project.prices)
    print_json(_facts(table, order, bill, files))
    _print_pictures(table, data.name, given["backbone"], out)
    _print_order(project, plan, order, bill)
# fmt: on


def _check_folder(spec: str) -> None:
    """Refuse a single image, and a name that is neither a folder nor a data set."""
    from simkit.data.dataset import sources
    from simkit.data.images import ENDINGS

    place = expanded(spec)
    if ":" in spec or place.is_dir() or spec.strip().lower() in sources.names():
        return
    if place.suffix.lower() in ENDINGS:
        raise BadInput(f"{spec} is not a folder; give the folder of the images")
    if not place.suffix:
        beside = place.parent.iterdir() if place.parent.is_dir() else ()
        folders = [other.name for other in beside if other.is_dir()]
        hint = "check the path, or name a data set of: simkit list data"
        if near := get_close_matches(place.name, folders, n=1):
            hint = f"did you mean {str(Path(spec).parent / near[0])!r}?"
        raise BadInput(f"there is no folder {spec!r}; {hint}")


def _project(spec: str, classes: tuple[str, ...], out: Path, given: Any) -> Project:
    from simkit.orders.project import Project, absolute_path

    names = ("prices", "backbone", "weights")
    texts = {name: absolute_path(given[name]) for name in names if given[name]}
    if given["backbone"]:
        texts.setdefault("weights", "")
    per_image = given["per_image"] or min(2.0, len(classes) / 2)
    return Project(
        out, spec, classes, given["budget"], people=given["people"], per_image=per_image,
        seed=given["seed"], **texts,
    )  # fmt: skip


def _facts(table: pd.DataFrame, order: Order, bill: Cost, files: list[str]) -> dict[str, Any]:
    left_out = table[table["left_out"] != ""].set_index("image")["left_out"]
    near = table[table["distance"] < NEAR] if "distance" in table else None
    return {
        "images": len(table), "left_out": left_out.to_dict(),
        "near": None if near is None else len(near), "order": order.id,
        "questions": len(order.table), "asked": int(order.table["image"].nunique()),
        "dollars": bill.dollars, "seconds": bill.seconds, "files": files,
    }  # fmt: skip


def _print_pictures(table: pd.DataFrame, name: str, backbone: str | None, out: Path) -> None:
    from simkit.orders.project import PICTURES
    from simkit.study.image_check import BROKEN, COPY

    left_out = table["left_out"]
    read = table.loc[table["width"] > 0, ["width", "height"]]
    by_size = read.loc[read.prod(axis=1).sort_values(kind="stable").index].to_numpy()
    places = {"smallest": 0, "median": len(by_size) // 2, "largest": -1}
    sizes = ("{} {} x {}".format(size, *by_size[place]) for size, place in places.items())
    say(f"{len(table):,} images in {name}; pixels: {', '.join(sizes)}")
    for reason, title in ((BROKEN, "cannot be read"), (COPY, "exact duplicates")):
        rows = table[left_out.str.startswith(reason)]
        texts = rows["image"].astype(str)
        if reason == COPY:
            texts = texts + " = " + rows["left_out"].str.removeprefix(COPY)
        say(f"{title}: {_some(texts.tolist(), ', left out')}")
    if "distance" not in table:
        say("near duplicates: not checked; add a network, such as "
            "--backbone mobilenet_v2 --weights imagenet")  # fmt: skip
    else:
        near = table[table["distance"] < NEAR].sort_values("distance", kind="stable")
        pairs = dict.fromkeys(
            f"{' ~ '.join(sorted((str(a), str(b))))} ({distance:.3f})"
            for a, b, distance in near[["image", "nearest", "distance"]].itertuples(False)
        )
        say(f"near duplicates by {backbone} (cosine distance below {NEAR:g}): "
            f"{_some(list(pairs), ' pairs, kept')}")  # fmt: skip
    say(f"table of all images: {out / PICTURES}")


def _some(texts: list[str], remark: str) -> str:
    """The number of texts, a remark on them, and the first ones."""
    if not texts:
        return "none"
    more = ", ..." if len(texts) > SHOWN else ""
    return f"{len(texts):,}{remark}: {', '.join(texts[:SHOWN])}{more}"


def _print_order(project: Project, plan: PilotPlan | None, order: Order, bill: Cost) -> None:
    from simkit.orders.project import next_step
    from simkit.orders.receiving import OrderState
    from simkit.orders.rounds import PAGE

    asked, N = order.table["image"].nunique(), len(order.images)
    images = "all images" if asked == N else f"{asked:,} of the {N:,} images"
    say("")
    if plan is None:
        say(f"Label {images} completely: there are too few for a pilot that compares schemes.")
    else:
        say(
            f"{plan.recommendation} This pilot measures mAP to ±{plan.half_width:.1f} points, "
            f"if an image shows {project.per_image:g} classes on average (--per-image), and leaves "
            f"{quantities.exact_money(project.budget - bill.dollars)} of the budget."
        )
    chosen = "" if asked == N else ", chosen at random"
    time = "" if bill.seconds is None else f", {quantities.duration(bill.seconds)} of work"
    say(
        f"{order.folder.name}: {len(order.table):,} questions, all {len(project.classes)} classes "
        f"of {images}{chosen}; {quantities.exact_money(bill.dollars)} of "
        f"{quantities.exact_money(project.budget)} at {project.prices} prices{time}"
    )
    shown, source = min(len(project.classes), PAGE), project.price_list.rates["sweep"].source
    if shown < PAGE and "91 classes" in source:
        say(f"the time of a question was measured with 91 classes on a page; with {shown} expect "
            "more for each class, and `simkit receive` measures it")  # fmt: skip
    say(f"people answer the page in a browser: {order.round_folder / 'page.html'}")
    say("describe the classes: this page shows the descriptions in --instructions FILE, and the "
        f"page of a further round those in {order.round_folder / 'instructions.md'}")  # fmt: skip
    say(f"next: {next_step(project, [OrderState.of(order)])}")
    say(f"at any time: simkit status {quote(str(project.folder))}")
