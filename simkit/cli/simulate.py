"""Simulate partial labels and compute their cost."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from click.core import ParameterSource

import simkit
from simkit import quantities
from simkit.annotate import schemes
from simkit.cli import options
from simkit.cli.habits import loaded
from simkit.cli.output import cost_table, counts_line, facts_of, print_json, progress, say
from simkit.errors import BadInput
from simkit.files import may_write, spare

if TYPE_CHECKING:
    from simkit.annotate.label_card import DataSheet
    from simkit.annotate.prices import Prices
    from simkit.annotate.schemes import Scheme
    from simkit.data import Dataset

_PEOPLE = ("workers", "miss", "false_alarm", "vote")
# A command that makes labels again needs no such option, or has it from their history.
_REWRITTEN = ("data_spec", "scheme", "images", "budget", "unit", "seed", "draw", "out", "no_card")


class SchemeCommand(click.Command):
    """A command that takes every scheme's settings and shows them under the scheme's name."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = dict.fromkeys(
            s.name for scheme in schemes.schemes for s in options.settings(scheme)
        )
        self.params += [SchemeOption(name) for name in names]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        for scheme in schemes.schemes:
            rows = [
                (f"{options.flag(s.name)} VALUE", f"{s.meaning} [default: {s.spelled}]")
                for s in options.settings(scheme)
            ]
            if rows:
                with formatter.section(f"Settings of {scheme.name}"):
                    formatter.write_dl(rows)


class SchemeOption(click.Option):
    """An option that is a setting of one scheme or several; the command gets all as `settings`."""

    def __init__(self, name: str) -> None:
        flag = options.flag(name)
        super().__init__([flag, name], callback=self.collect, expose_value=False)

    def collect(self, ctx: click.Context, _: click.Parameter, text: str | None) -> None:
        """Add a setting to those that were given."""
        ctx.params.setdefault("settings", {}).update({} if text is None else {self.name: text})

    def get_help_record(self, ctx: click.Context) -> None:
        """None: the command shows it with the other settings of its scheme."""


def images_of(text: Any, option: str) -> float | int:
    """`0.5` and `50%` are half of the images and `1.0` all; `500` is five hundred and `1` one."""
    number = re.fullmatch(r"[0-9][0-9,_ ]*|.*k", str(text).strip(), re.IGNORECASE)
    try:
        return quantities.count(text, option) if number else quantities.share(text, option)
    except BadInput:
        raise BadInput(
            f"{option} is {text!r}; a share such as 0.5 or 50%, or a number of images is expected"
        ) from None


def rate_of(text: Any, option: str) -> float | tuple[float, ...]:
    """`0.1`, or `0.1,0.3` with a share for each class of the data, in their order."""
    try:
        shares = tuple(map(float, str(text).split(",")))
    except ValueError:
        raise BadInput(
            f"{option} is {text!r}; a share such as 0.1, or one for each class, such as 0.1,0.3, "
            "is expected"
        ) from None
    return shares if shares[1:] else shares[0]


IMAGES = options.Quantity("images", images_of)
RATE = options.Quantity("share", rate_of)


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the command.

    Attributes
    ----------
    scheme : SCHEME
        Which questions to ask; see `simkit list schemes`.
    data_spec : DATA
        A source and its settings, such as folder:DIR, or a TOML file; see `simkit list data`.
    split
        train, val, test or train+val. [default: the training set; train+val if val was held out of
        the training file]
    budget : AMOUNT
        Buy the largest amount that this pays for.
    unit
        What --budget counts.
    features
        Features for picked: a folder from simkit features, or an npz file. [default: computed by
        scenes-net]
    scores
        A model's scores for machine, proposals by=scores and picked by=uncertainty: from simkit
        score, or a table from simkit predict.
    habits_file
        Annotator model fitted by `simkit habits`; replaces --workers, --miss, --false-alarm and
        --vote.
    legacy_rng
        Reproduce the published simulator's labels bit for bit.
    seed
        Same seed, same labels. [default: 0; with --legacy-rng 1200, the published seed for
        single-positive; rpa and fpc have none]
    out
        Output file; its extension selects the format. [default: SCHEME.parquet]
    no_card
        Write the labels alone, without cards beside them.
    """

    scheme: str
    settings: Mapping[str, str]
    data_spec: str = "scenes"
    split: str | None = None
    images: float | int
    draw: int
    budget: float | None = None
    unit: Literal["dollars", "hours"] = "dollars"
    features: Path | None = None
    scores: Path | None = None
    habits_file: Path | None = None
    workers: int
    miss: float | tuple[float, ...]
    false_alarm: float | tuple[float, ...]
    vote: Literal["majority", "union"]
    prices: str
    legacy_rng: bool = False
    seed: int | None = None
    out: Path | None = None
    no_card: bool = False


@click.command(cls=SchemeCommand)
@options.fields_of(Options)
@options.of("simkit.annotate.simulate.simulate", "draw", images=IMAGES)
@options.of(
    "simkit.annotate.annotators.Habits", "vote", workers=click.INT, miss=RATE, false_alarm=RATE,
)  # fmt: skip
@options.shared("prices")
@options.json
def command(request: Options) -> None:
    """Simulate partial labels of a data set and compute their cost.

    By default this labels the built-in data set `scenes` and writes SCHEME.parquet to the current
    folder, with a card on procedure, counts and cost (SCHEME.card.md) and the same as metadata
    (SCHEME.croissant.json).

    \b
    Example: simkit simulate --scheme fpc --per-class 100 --out fpc.parquet
    """
    from simkit.annotate.budget import assumed, free_scores
    from simkit.annotate.label_card import DataSheet
    from simkit.data.dataset import terms

    scheme = _scheme(request)
    price_list = simkit.prices(request.prices)
    out = request.out or Path(f"{scheme.name}.parquet")
    form = simkit.formats.for_path(out, writing=True)
    _check_places(out, request)
    data = _with_hierarchy(simkit.data.open(request.data_spec), scheme)
    split = options.split_of(data, request.split)
    labels = _annotate(data, split, scheme, price_list, request)
    wrong = labels.wrong(data.truth[split])
    bill = simkit.cost(labels, price_list)  # before a file is written: the list may lack a price
    replaced = out.is_file()
    sheet = DataSheet(
        labels=labels, files=form.files(out), form=form.name, lost=form.loses(labels),
        data=data.name, split=split, terms=terms(request.data_spec, data.classes), bill=bill,
        wrong=wrong, command=_again(labels, request, out),
    )  # fmt: skip
    cards = _write(sheet, form, out, card=not request.no_card)
    made = simkit.schemes.make(labels.history.settings["scheme"])
    images = labels.history.settings["images"]
    machine = None if request.legacy_rng else assumed(
        made, labels.effort, data.truth[split], price_list, images=images,
        seed=labels.history.seed or 0, draw=request.draw,
    )  # fmt: skip
    print_json(facts_of(labels) | {
        "assumes": machine and asdict(machine),
        "scheme": labels.history.settings["scheme"], "wrong": wrong,
        "cost": {"seconds": bill.seconds, "dollars": bill.dollars}, "prices": price_list.name,
        "file": str(out), "replaced": replaced, "cards": cards,
    })  # fmt: skip
    if machine is not None:
        say(f"{scheme.name} {machine.text(bill.dollars)}")
    if free := free_scores(made, labels.effort, data.truth[split], price_list, images=images):
        say(f"{scheme.name} {free}")
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


def _scheme(request: Options) -> Scheme:
    """The scheme with its settings. Raises BadInput where options do not go together."""
    budgeted = request.budget is not None
    scheme, amount = chosen(request.scheme, request.settings), ""
    if scheme.amount in request.settings or f"{scheme.amount}=" in request.scheme:
        amount = f"the {scheme.amount} of {scheme.name}"
    options.needs({"--unit hours": request.unit != "dollars"}, "--budget", budgeted)
    options.only_one({"--budget": budgeted, amount: amount})
    options.only_one({"--budget": budgeted, "--legacy-rng": request.legacy_rng})
    return scheme


def chosen(spec: str, settings: Mapping[str, Any]) -> Scheme:
    """The scheme `spec` with these options. Raises BadInput for those of another scheme."""
    name = spec.partition("(")[0].strip()
    fields = {s.name for s in options.settings(schemes.get(name))}
    for key in settings:
        if key not in fields:
            named = ((s.name, {f.name for f in options.settings(s)}) for s in schemes.schemes)
            owners = [owner for owner, names in named if key in names]
            raise BadInput(
                f"{options.flag(key)} is a setting of {', '.join(owners)}, not of {name}; leave "
                "it out"
            )
        twice = f"{key}=" in spec.replace(" ", "")
        options.only_one({options.flag(key): True, f"{key} in {spec!r}": twice})
    return schemes.make(spec, **settings)


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
    data: Dataset, split: str, scheme: Scheme, price_list: Prices, request: Options
) -> simkit.PartialLabels:
    """The labels of one split: for the stated amount, or for the budget where there is one."""
    truth = data.truth[split]
    for name in ("features", "scores"):
        if getattr(request, name) is not None and not getattr(scheme, f"needs_{name}"):
            raise BadInput(f"--{name} is given, but {scheme.name} uses none; leave it out")
    if request.habits_file is None:
        habits = simkit.Habits(**{name: getattr(request, name) for name in _PEOPLE})
    else:
        for name in _PEOPLE:
            origin = click.get_current_context().get_parameter_source(name)
            typed = origin is ParameterSource.COMMANDLINE
            options.only_one({options.flag(name): typed, "--habits": True})
        habits = loaded(request.habits_file, truth.classes)  # rates by class go with the names
    if request.legacy_rng:
        part = request.images not in (1.0, truth.shape[0])
        if request.draw or part or habits != simkit.Habits():
            raise BadInput(
                "--draw, --images and annotator errors do not apply to the published simulators, "
                "which label all images once, without errors; leave these or --legacy-rng out "
                "(another seed gives other labels)"
            )
        return _published(data, split, scheme, request.seed)
    how: dict[str, Any] = {
        "images": request.images, "hierarchy": data.hierarchy, "habits": habits,
        "boxes": data.boxes.get(split), "seed": request.seed or 0, "draw": request.draw,
        "features": features_of(scheme, request.features, data, request.data_spec, split),
    }  # fmt: skip
    if request.scores is not None:
        from simkit.annotate.similarities import read_scores  # loads scipy.special

        files = partial(data.file_names, split)
        how["scores"] = read_scores(request.scores, split, truth.images, truth.classes, files=files)
    if request.budget is None:
        return simkit.simulate(truth, scheme, **how)
    if request.unit == "hours":
        how["unit"] = "seconds"
    amount = request.budget * (3600 if request.unit == "hours" else 1)
    return simkit.amount_for(amount, truth, scheme, price_list, **how).labels


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


def features_of(scheme: Scheme, file: Path | None, data: Dataset, spec: str, split: str) -> Any:
    """(N, D) features of a split, from --features or by scenes-net; None if not needed."""
    if not scheme.needs_features and file is None:
        return None
    from simkit.study.sources import SCENES_NET  # imports torch, which most schemes do without

    precomputed = () if file is None else ((split, str(file)),)
    source = simkit.Source(spec, (split,), ("pooled",), SCENES_NET, features=precomputed)
    with progress("features") as (advance,):
        opened = simkit.open_source(source, data=data, progress=advance)
    return opened.features[split, "pooled"].values


def _check_places(out: Path, request: Options) -> None:
    """Raise BadInput where labels or cards cannot be written or would replace what is read."""
    from simkit.annotate import label_card
    from simkit.data.dataset import originals

    for path in (out,) if request.no_card else (out, *label_card.paths(out)):
        read = [file or "" for file in (request.habits_file, request.features, request.scores)]
        spare(path, *read, *originals(request.data_spec))
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


def _again(labels: simkit.PartialLabels, request: Options, out: Path) -> tuple[str, ...]:
    """The words of a command that makes these labels again, with the amount that was bought."""
    made = labels.history.settings
    words: list[Any] = ["simkit", "simulate", "--data", request.data_spec]
    words += ["--scheme", made["scheme"]]
    for param in command.params:
        value = None if param.name in _REWRITTEN else getattr(request, str(param.name), None)
        if value not in (None, False, param.default):
            words += [param.opts[0]] if value is True else [param.opts[0], value]
    if not request.legacy_rng and (made["images"] != 1.0 or isinstance(made["images"], int)):
        words += ["--images", made["images"]]
    words += ["--seed", labels.history.seed]
    words += ["--draw", made["draw"]] if made["draw"] else []
    return tuple(str(word) for word in (*words, "--out", out))
