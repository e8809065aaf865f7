"""Simulate partial labels and compute their cost."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

import simkit
from simkit import quantities
from simkit.annotate import schemes
from simkit.cli import options, params
from simkit.cli.habits import loaded
from simkit.cli.output import cost_table, counts_line, print_json, progress, say
from simkit.cli.settings import settings, spelled
from simkit.errors import BadInput
from simkit.files import may_write, spare

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simkit.annotate.label_card import DataSheet
    from simkit.annotate.prices import Prices
    from simkit.annotate.schemes import Scheme
    from simkit.data import Dataset

_PEOPLE = ("workers", "miss", "false_alarm", "vote")
# A command that makes labels again needs no such option, or has it from their history.
_REWRITTEN = ("spec", "scheme", "images", "budget", "unit", "seed", "draw", "out", "no_card")


class SchemeCommand(click.Command):
    """A command that takes every scheme's settings and shows them under the scheme's name."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = dict.fromkeys(s.name for scheme in schemes.schemes for s in settings(scheme))
        self.params += [SchemeOption([params.flag(name), name], metavar="VALUE") for name in names]

    def invoke(self, ctx: click.Context) -> Any:
        """The scheme's settings that were given are one parameter, `settings`."""
        names = [param.name for param in self.params if isinstance(param, SchemeOption)]
        given = {name: ctx.params.pop(name) for name in names}
        ctx.params["settings"] = {name: text for name, text in given.items() if text is not None}
        return super().invoke(ctx)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The example stands before the options, which take several screens."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        shown = [p for p in self.get_params(ctx) if not isinstance(p, SchemeOption)]
        with formatter.section("Options"):
            formatter.write_dl([record for p in shown if (record := p.get_help_record(ctx))])
        for scheme in schemes.schemes:
            rows = [
                (f"{params.flag(s.name)} VALUE", f"{s.meaning} [default: {spelled(s.default)}]")
                for s in settings(scheme)
            ]
            if rows:
                with formatter.section(f"Settings of {scheme.name}"):
                    formatter.write_dl(rows)


class SchemeOption(click.Option):
    """An option that is a setting of one scheme or several."""


def images_of(text: Any, option: str) -> float | int:
    """`0.5` and `50%` are half of the images and `1.0` all; `500` is five hundred and `1` one."""
    number = re.fullmatch(r"[0-9][0-9,_ ]*|.*k", str(text).strip(), re.IGNORECASE)
    try:
        return quantities.count(text, option) if number else quantities.share(text, option)
    except BadInput:
        raise BadInput(
            f"{option} is {text!r}; a share such as 0.5 or 50%, or a number of images is expected"
        ) from None


IMAGES = params.Quantity("images", images_of)


# fmt: off
@click.command(
    cls=SchemeCommand,
    epilog="\b\nExample: simkit simulate --scheme fpc --per-class 100 --out fpc.parquet",
)
@click.option("--scheme", type=params.SCHEME,
              help="Which questions to ask; see `simkit list schemes`. Required.")
@params.data("A source and its settings, such as folder:DIR, or a TOML file; see `simkit list "
             "data`.")
@click.option("--split", help="train, val, test or train+val. [default: the training set; "
              "train+val if val was held out of the training file]")
@options.of("simkit.annotate.simulate.simulate", "draw", images=IMAGES)
@click.option("--budget", type=params.DOLLARS, metavar="AMOUNT",
              help="Buy the largest amount that this pays for.")
@click.option("--unit", type=click.Choice(["dollars", "hours"]), default="dollars",
              show_default=True, help="What --budget counts.")
@click.option("--features", type=params.FILE,
              help="Features for picked: a folder from simkit features, or an npz file. [default: "
              "computed by scenes-net]")
@click.option("--scores", type=params.FILE,
              help="A model's scores for machine, proposals by=scores and picked by=uncertainty: "
              "from simkit score, or a table from simkit predict.")
@click.option("--habits", "habits_file", type=params.FILE,
              help="Annotator model fitted by `simkit habits`; replaces the four options below.")
@options.of("simkit.annotate.annotators.Habits", "vote", workers=click.INT, miss=click.FLOAT,
            false_alarm=click.FLOAT)
@params.prices
@click.option("--legacy-rng", is_flag=True,
              help="Reproduce the published simulator's labels bit for bit.")
@click.option("--seed", type=int,
              help="Same seed, same labels. [default: 0; with --legacy-rng 1200, the published "
              "seed for single-positive; rpa and fpc have none]")
@click.option("--out", type=params.FILE,
              help="Output file; its extension selects the format. [default: SCHEME.parquet]")
@click.option("--no-card", is_flag=True, help="Write the labels alone, without cards beside them.")
@params.json
def command(**arguments: Any) -> None:
    """Simulate partial labels of a data set and compute their cost.

    By default this labels the built-in data set `scenes` and writes SCHEME.parquet to the current
    folder, with a card on procedure, counts and cost (SCHEME.card.md) and the same as metadata
    (SCHEME.croissant.json).
    """
    from simkit.annotate.label_card import DataSheet
    from simkit.data.dataset import terms

    if arguments["scheme"] is None:
        raise BadInput(
            "--scheme is missing, such as --scheme fpc; see simkit list schemes"
        )
    scheme = _scheme(arguments)
    price_list = simkit.prices(arguments["prices"])
    out = arguments["out"] or Path(f"{scheme.name}.parquet")
    form = simkit.formats.for_path(out, writing=True)
    _check_places(out, arguments)
    data = _with_hierarchy(simkit.data.open(arguments["spec"]), scheme)
    split = params.split_of(data, arguments["split"])
    labels = _annotate(data, split, scheme, price_list, arguments)
    wrong = labels.wrong(data.truth[split])
    bill = simkit.cost(labels, price_list)  # before a file is written: the list may lack a price
    replaced = out.is_file()
    sheet = DataSheet(
        labels=labels, files=form.files(out), form=form.name, lost=form.loses(labels),
        data=data.name, split=split, terms=terms(arguments["spec"], data.classes), bill=bill,
        wrong=wrong, command=_again(labels, arguments, out),
    )
    cards = _write(sheet, form, out, card=not arguments["no_card"])
    print_json({
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
        "cards": cards,
    })
    say(counts_line(labels))
    if scheme.by_model:
        people = labels.effort.count("verify")
        say(f"{labels.codes.nnz - people:,} labels by the machine, {people:,} by people")
    if any(wrong.values()):
        say(f"wrong labels: {wrong['present']:,} present, {wrong['absent']:,} absent")
    cost_table(bill, price_list)
    if cards:
        say(f"described in {' and '.join(cards)}")
    instead = ", in place of the file that was there" if replaced else ""
    say(f"wrote {out}  (content id {labels.id}){instead}")
# fmt: on


def _scheme(arguments: Mapping[str, Any]) -> Scheme:
    """The scheme with its settings. Raises BadInput where options do not go together."""
    options = arguments["settings"]
    scheme = chosen(arguments["scheme"], options)
    amount = scheme.amount
    if arguments["budget"] is None:
        if arguments["unit"] != "dollars":
            raise BadInput("--unit is for --budget, which is not given; add it or leave --unit out")
        return scheme
    if amount and (amount in options or f"{amount}=" in arguments["scheme"]):
        raise BadInput(
            f"--budget looks for the {amount} of {scheme.name} that it pays for, but {amount} is "
            "given too; leave one of them out"
        )
    if arguments["legacy_rng"]:
        raise BadInput(
            "--legacy-rng makes the published arrays, whose amount is stated and not bought; leave "
            "--budget or --legacy-rng out"
        )
    return scheme


def chosen(spec: str, options: Mapping[str, Any]) -> Scheme:
    """The scheme `spec` with these options. Raises BadInput for those of another scheme."""
    name = spec.partition("(")[0].strip()
    fields = {s.name for s in settings(schemes.get(name))}
    for key in options:
        if key not in fields:
            owners = [s.name for s in schemes.schemes if key in {f.name for f in settings(s)}]
            raise BadInput(
                f"{params.flag(key)} is a setting of {', '.join(owners)}, not of "
                f"{name}; leave it out"
            )
        if f"{key}=" in spec.replace(" ", ""):
            raise BadInput(f"{key} is given in {spec!r} and as an option; leave one of them out")
    return schemes.make(spec, **options)


def _with_hierarchy(data: Dataset, scheme: Scheme) -> Dataset:
    """The data set, under a shipped hierarchy of its classes where the scheme cannot do without."""
    from simkit.labels.hierarchy import shipped, shipped_for

    name = shipped_for(data.classes) if scheme.needs_hierarchy and data.hierarchy is None else None
    if name is None:
        return data
    warnings.warn(
        f"{data.name} came without a hierarchy; the shipped one of {name} is used and adds the "
        "ancestors as classes",
        stacklevel=1,
    )
    return data.closed_under(shipped(name))


def _annotate(
    data: Dataset, split: str, scheme: Scheme, price_list: Prices, arguments: dict[str, Any]
) -> simkit.PartialLabels:
    """The labels of one split: for the stated amount, or for the budget where there is one."""
    from simkit.annotate.similarities import read_scores

    truth, file, seed = data.truth[split], arguments["scores"], arguments["seed"]
    if file is not None and not scheme.needs_scores:
        raise BadInput(f"--scores is given, but {scheme.name} uses none; leave it out")
    shared: dict[str, Any] = {
        "images": arguments["images"],
        "hierarchy": data.hierarchy,
        "habits": _habits(arguments, truth.classes),
        "boxes": data.boxes.get(split),
        "features": features_of(scheme, arguments, data, split),
        "scores": read_scores(file, split, truth.images, truth.classes),
        "seed": seed or 0,
        "draw": arguments["draw"],
    }
    if arguments["legacy_rng"]:
        part = shared["images"] not in (1.0, truth.shape[0])
        if shared["draw"] or part or shared["habits"] != simkit.Habits():
            raise BadInput(
                "draw, images or habits is given, but the published simulators label all images "
                "once, without errors; leave these or --legacy-rng out (another seed gives other "
                "labels)"
            )
        return _published(data, split, scheme, seed)
    if arguments["budget"] is None:
        return simkit.simulate(truth, scheme, **shared)
    budget = arguments["budget"]
    if arguments["unit"] == "hours":
        budget, shared["unit"] = 3600 * budget, "seconds"
    return simkit.amount_for(budget, truth, scheme, price_list, **shared).labels


def _published(data: Dataset, split: str, scheme: Scheme, seed: int | None) -> simkit.PartialLabels:
    """The labels of the scheme's published simulator; warns of a split that it labels otherwise."""
    from simkit.annotate.schemes.single_positive import SinglePositive
    from simkit.papers.published_simulators import SEED, simulate_published

    # Cole et al. label the training file, before val is held out of it, and the test file by itself
    # with the same seed (preproc/generate_observed_labels.py); rpa and fpc the training file alone.
    problem = ""
    if split == "test" and not isinstance(scheme, SinglePositive):
        problem = f"the published code of {scheme.name} labels the training set alone"
    elif split not in ("test", data.to_label) and data.to_label != "train":
        problem = "the published code labels the whole training file and divides it afterwards"
    if problem:
        warnings.warn(f"{problem}; leave --split {split} out for its arrays", stacklevel=1)
    seed = SEED if seed is None else seed
    return simulate_published(data.truth[split], scheme, hierarchy=data.hierarchy, seed=seed)


def features_of(
    scheme: Scheme, arguments: Mapping[str, Any], data: Dataset, split: str, *, useful: bool = False
) -> Any:
    """(N, D) features of a split, from --features or by scenes-net; None if not needed.

    useful: --features is accepted for a scheme that uses none.
    """
    file, spec = arguments["features"], arguments["spec"]
    if not scheme.needs_features and file is None:
        return None
    if not (scheme.needs_features or useful):
        raise BadInput(f"--features is given, but {scheme.name} uses none; leave it out")
    from simkit.study.sources import SCENES_NET  # imports torch, which most schemes do without

    precomputed = () if file is None else ((split, str(file)),)
    source = simkit.Source(spec, (split,), ("pooled",), SCENES_NET, features=precomputed)
    with progress("features") as (advance,):
        opened = simkit.open_source(source, data=data, progress=advance)
    return opened.features[split, "pooled"].values


def _habits(arguments: dict[str, Any], classes: tuple[str, ...]) -> simkit.Habits:
    """How people err: from a file, its rates by class going with the names, or from the options."""
    if arguments["habits_file"] is None:
        return simkit.Habits(**{name: arguments[name] for name in _PEOPLE})
    for name in _PEOPLE:
        source = click.get_current_context().get_parameter_source(name)
        if source is ParameterSource.COMMANDLINE:
            raise BadInput(f"{params.flag(name)} is given and --habits too; leave one of them out")
    return loaded(arguments["habits_file"], classes)


def _check_places(out: Path, arguments: dict[str, Any]) -> None:
    """Raise BadInput where labels or cards cannot be written or would replace what is read."""
    from simkit.annotate import label_card
    from simkit.data.dataset import originals

    for path in (out,) if arguments["no_card"] else (out, *label_card.paths(out)):
        read = [arguments[name] or "" for name in ("habits_file", "features", "scores")]
        spare(path, *read, *originals(arguments["spec"]))
        may_write(path)


def _write(sheet: DataSheet, form: simkit.formats.Format, out: Path, *, card: bool) -> list[str]:
    """Write labels, and their cards where wanted; returns the paths of the cards."""
    from simkit.annotate import label_card

    file, labels = sheet.files[0], sheet.labels
    if card:
        label_card.check_free(file, labels.id)
    # First, so that an interrupt leaves no card beside labels that it does not describe.
    for old in label_card.own(file):
        old.unlink()
    form.write(labels, out)
    for part in sheet.lost:
        warnings.warn(f"{out} does not hold {part}", stacklevel=1)
    if not card:
        return []
    written = tuple(path for path in sheet.files if path.is_file())
    return [str(path) for path in label_card.write(replace(sheet, files=written))]


def _again(labels: simkit.PartialLabels, arguments: dict[str, Any], out: Path) -> tuple[str, ...]:
    """The words of a command that makes these labels again, with the amount that was bought."""
    made = labels.history.settings
    words: list[Any] = ["simkit", "simulate", "--data", arguments["spec"]]
    words += ["--scheme", made["scheme"]]
    for param in command.params:
        value = None if param.name in _REWRITTEN else arguments.get(str(param.name))
        if value not in (None, False, param.default):
            words += [param.opts[0]] if value is True else [param.opts[0], value]
    if not arguments["legacy_rng"] and (made["images"] != 1.0 or isinstance(made["images"], int)):
        words += ["--images", made["images"]]
    words += ["--seed", labels.history.seed]
    words += ["--draw", made["draw"]] if made["draw"] else []
    return tuple(str(word) for word in (*words, "--out", out))
