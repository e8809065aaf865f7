"""Write questions about images for annotators."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from shlex import join, quote
from typing import TYPE_CHECKING, Any, Literal

import click

import simkit
from simkit import quantities
from simkit.annotate import schemes
from simkit.annotate.schemes.full_subset import FullSubset
from simkit.cli import options
from simkit.cli.output import cost_table, print_json, say, table
from simkit.cli.simulate import IMAGES, SchemeCommand, chosen, features_of
from simkit.errors import BadInput
from simkit.files import reading
from simkit.registry import Count

if TYPE_CHECKING:
    import pandas as pd

    from simkit.annotate.prices import Cost, Prices
    from simkit.orders.annotators import Waiting
    from simkit.orders.order import Order, RoundSettings
    from simkit.orders.receiving import OrderState


def share_or_none(value: Any, option: str) -> float:
    """A share; 0 stands for none, as in a further round of an order with some."""
    return 0.0 if str(value).strip() in ("0", "0%") else quantities.share(value, option)


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the command.

    Attributes
    ----------
    data_spec : DATA
        The images, such as folder:photos,labels=none (a folder without labels).
    scheme : SCHEME
        The scheme that chooses the questions; see `simkit list schemes`.
    plan_file : PLAN
        Order the recommendation of a plan (simkit plan ... --report plan.json): its scheme, images
        and answers to each question, or further answers to the questions of --next ORDER.
    part
        The part of the plan's first round to order.
    next_ : ORDER
        Add a round to this order, with its settings unless others are given.
    only
        Ask only about the pairs of a table with the columns image and class, in its order; without
        class, about all classes of these images. [default of --scheme: full-subset]
    test : N
        With --next, in a project: label this many further test images completely, chosen at
        random from those that no round has asked about. No model is trained on them.
    ties
        With --next: ask one more person each question to which as many people said yes as no.
    budget : AMOUNT
        Largest cost of this round. Without an amount of the scheme, the largest affordable one is
        chosen.
    split
        The split to label. With --next and --answers, in a project: ask again about this
        split of its labels.csv only. [default: the training set]
    known_file : LABELS
        Labels known to be correct, for --gold and the examples of --features.
    hierarchy
        Class hierarchy for knowledge-graph: a file or a name.
    scores
        A model's scores, from simkit score or simkit predict, for machine, proposals, picked
        by=uncertainty, and searches, which start with the highest scores.
    features
        Features for picked, or for examples in the instructions: a folder from simkit features, or
        an npz file. [default: computed by scenes-net for picked, else none]
    export : ORDER
        Only write the last round of this order again, in the forms of --to.
    for_ : NAME
        With --export: who gets files with the open questions that no annotator has, or with
        those of the annotator named by --in-place-of. [default of --to: the forms of the old
        files]
    in_place_of : NAME
        With --for: the annotator who leaves.
    out : FOLDER
        The new order's folder. [default: order1]
    """

    settings: Mapping[str, str]
    data_spec: str | None = None
    classes_file: Path | None
    instructions_file: Path | None
    scheme: str | None = None
    plan_file: Path | None = None
    part: Literal["a", "b"] = "a"
    next_: Path | None = None
    only: Path | None = None
    test: Count | None = None
    ties: bool = False
    budget: float | None = None
    split: str | None = None
    images: float | int | None
    answers: int | None
    prices: str | None
    seed: int | None
    gold: float | None
    repeat: float | None
    join: str | None
    known_file: Path | None = None
    hierarchy: str | None = None
    scores: Path | None = None
    features: Path | None = None
    to: tuple[Literal["html", "csv", "jsonl", "label-studio"], ...]
    export: Path | None = None
    for_: str | None = None
    in_place_of: str | None = None
    image_root: str
    annotators: str | None
    out: Path | None = None


@click.command(cls=SchemeCommand)
@options.fields_of(Options)
@options.shared("to", "annotators", "image_root", "classes_file", "instructions_file")
@options.of(
    "simkit.orders.order.RoundSettings", unset=True, images=IMAGES, answers=options.COUNT,
    prices=options.PRICES, seed=click.INT, gold=options.Quantity("share", share_or_none),
    repeat=options.Quantity("share", share_or_none),
    join=click.Choice(["majority", "union", "dawid-skene"]),
)  # fmt: skip
@options.json
def command(request: Options) -> None:
    """Write the questions of a scheme about images for annotators, and price them.

    Searches (fpc, federated) and questions down a hierarchy need several rounds. A further round
    (--next) starts from the answers that `simkit receive` has read. Open questions are not asked
    again. With --answers and no other amount, questions with fewer answers are asked again, of
    other people: first those in doubt, then images at random. --ties asks only those to which as
    many people said yes as no, which otherwise stay unknown.

    \b
    Example: simkit order --data folder:photos --classes names.txt --scheme rpa --budget 50
    """
    from simkit.orders import annotators, sheet
    from simkit.orders.order_crowd import JoinedAnswers
    from simkit.orders.rounds import file_names, round_of, write_round

    giving = {"--for": request.for_, "--in-place-of": request.in_place_of}
    options.needs(giving, "--export ORDER", request.export)
    if request.export is not None:
        _export(request)
        return
    people = annotators.names(request.annotators or "")
    request = _planned(request)
    further = {"--test": request.test, "--ties": request.ties}
    options.needs(further, "--next ORDER, the order to go on with", request.next_)
    order, terms, state = _further(request) if request.next_ else _first(request)
    only = None
    if request.only is not None:
        names = partial(file_names, order, terms)
        only = sheet.pairs(request.only, order.images, terms.classes, names)
    _refuse_too_many(order, terms)
    known, file = None, request.known_file
    if file is not None:
        used = terms.gold or order.features is not None
        options.needs({"--known": file}, "--gold, or --features for examples", used)
        known = simkit.formats.for_path(file).read(file)
    again = None if state is None else _again(state, request)
    if again is not None:
        option = "--ties" if request.ties else "--answers"
        options.only_one({option: True, "--repeat": request.repeat})
        terms = replace(terms, repeat=0.0)
    terms = replace(terms, listed=only is not None or (terms.listed and again is not None))
    listed = order.prices_of(terms)
    rates = listed if state is None else state.rates(terms)
    new_round = round_of(
        terms, order, JoinedAnswers() if state is None else state.joined,
        budget=request.budget, prices=rates, answers=known, again=again, only=only,
        largest=again is None and only is None and _largest(terms, request),
        opened=None if state is None else state.open,
    )  # fmt: skip
    order = replace(order, rounds=(*order.rounds, new_round))
    if request.repeat and "answers" not in new_round.table:
        raise BadInput(
            f"--repeat {request.repeat:.0%} repeats none of these questions: only yes-or-no "
            "questions are repeated, for this share of the images, as names measure no errors; "
            "raise the share, or leave --repeat out"
        )
    effort = order.effort(new_round.table)
    bill, at_list = (simkit.cost(effort, prices) for prices in (rates, listed))
    labels = known if state is None or order.features is None else state.labels
    forms = request.to or ("html",)
    files = write_round(order, forms, request.image_root, labels, request.instructions_file,
                        annotators=people)  # fmt: skip
    _print(order, bill, files, rates, listed=at_list.dollars, only=request.only)
    if request.plan_file is not None:
        _say_tests(request.plan_file, order)


def _refuse_too_many(order: Order, terms: RoundSettings) -> None:
    """Raise BadInput for a round of more images than can be asked about."""
    N = len(order.images) - len(order.left_out(terms))
    if terms.images <= N:
        return
    mend = f"give --images {N} or fewer" if N else "ask again about the others, with --answers"
    mend = mend.replace("--images", "--test") if terms.test else mend
    without = f": without {_left_out(order, terms)}" if N < len(order.images) else ""
    raise BadInput(
        f"the order is for {terms.images:,} images, and {N:,} of the {len(order.images):,} can "
        f"be asked about{without}; {mend}"
    )


def _left_out(order: Order, terms: RoundSettings) -> str:
    """Which images a round of these terms leaves out, in words."""
    if terms.test:
        return "those that a round has asked about"
    tests = f"{quantities.numbered(len(order.test_images), 'image')} for testing"
    return f"those of the first round, complete ones, and {tests}" if terms.others else tests


def _export(request: Options) -> None:
    """Write an order's last round in further forms, or give open questions to somebody else."""
    from simkit.orders.order import Order
    from simkit.orders.receiving import OrderState
    from simkit.orders.rounds import export

    assert request.export is not None
    stated = {field.name: getattr(request, field.name) for field in fields(request)}
    for name, value in (stated | dict(request.settings)).items():
        if name not in ("settings", "part", "export", "for_", "in_place_of", "to", "image_root"):
            options.only_one({"--export": request.export, options.flag(name): value})
    options.needs({"--in-place-of": request.in_place_of}, "--for NAME", request.for_)
    order = Order.read(request.export)
    if request.for_ is not None:
        _hand_over(OrderState.of(order), request)
        return
    if not request.to:
        raise BadInput("--export writes an order in further forms; name them with --to, such as "
                       "--to csv or --to label-studio")  # fmt: skip
    files = export(OrderState.of(order), request.to, request.image_root)
    print_json({"order": order.id, "folder": str(order.folder), "files": files})
    for file in files:
        say(f"wrote {file}")
    say("the questions of the round that wait for answers; answers to any of its files count: "
        f"simkit receive {quote(str(order.folder))} FILE")  # fmt: skip


def _hand_over(state: OrderState, request: Options) -> None:
    """Give somebody the open questions of another annotator, or those that no annotator has."""
    from simkit.orders.receiving import OrderState
    from simkit.orders.rounds import hand_over

    assert request.for_ is not None
    name, leaver = request.for_, request.in_place_of or ""
    given, files, removed = hand_over(state, name, leaver, forms=request.to,
                                      image_root=request.image_root)  # fmt: skip
    print_json({"order": state.order.id, "folder": str(state.order.folder), "files": files,
                "removed": removed})  # fmt: skip
    own = sum(len(part.questions) for part in given if part.annotator)
    whose = f"of {leaver}" if leaver else "that no annotator has"
    numbers = [question for part in given if part.annotator for question in part.questions.index]
    only = int((~state.order.table.loc[numbers].index.isin(state.open.index)).sum())
    what = f", {only:,} of them only for further answers, which measure errors" * (only > 0)
    say(f"{name} gets {own:,} questions {whose}{what}")
    if any(not part.annotator for part in given):
        say("others have to answer the questions in the files without a name, as a person answers "
            "a question once")  # fmt: skip
    for file in files:
        say(f"wrote {file}")
    for file in removed:
        say(f"removed {file}; answers to it still count")
    _say_next(OrderState.of(state.order))


def _planned(request: Options) -> Options:
    """The options with the scheme, images and answers of a plan, if one is given."""
    from simkit.orders.order import Order

    file = request.plan_file
    if file is None:
        return request
    options.only_one({"--plan": file, "--scheme": request.scheme})
    options.only_one({"--plan": file, "--images": request.images})
    mend = "write one with: simkit plan RUNS --budget ... --report plan.json"
    with reading(file, "a plan", mend) as path:
        plan = json.loads(path.read_text("utf-8"))
        parts = plan["order"]
        if not parts:
            raise BadInput(f"{file} spends nothing; give --scheme and --budget to order anyway")
        if request.part == "b" and len(parts) == 1:
            raise BadInput(f"{file} has no part (b); leave --part out")
        part = parts["ab".index(request.part)]
        # Plans simulate the papers' schemes; all answers of people are kept nevertheless.
        scheme = re.sub(", keep_looks=False", "", str(part["scheme"]))
        images = int(part["images"])
        # Where errors are unknown, a plan chooses no number of answers.
        answers = request.answers or (part.get("answers") if plan.get("errors") else None)
        if part.get("again") and request.next_ is None:
            raise BadInput(f"{file} asks questions again; give their order with --next ORDER")
        if part.get("again"):
            paid = float(part["dollars"]) + 0.005 if request.budget is None else request.budget
            return replace(request, answers=answers or int(part["answers"]), budget=paid)
    if request.next_ is not None and not _in_project(request):
        order = Order.read(request.next_)
        images = min(images + int(order.table["image"].nunique()), len(order.images))
    # The plan's price is without further answers to some questions.
    repeat = 0.0 if request.repeat is None else request.repeat
    return replace(request, scheme=scheme, images=images, answers=answers, repeat=repeat)


def _say_tests(file: Path, order: Order) -> None:
    """Print how the test images of a plan are ordered, which its purchase leaves out."""
    from simkit.orders.project import order_of_tests

    tests = json.loads(file.read_text("utf-8")).get("test_images")
    if not tests or len(order.test_images):
        return
    what = "a further answer to the questions about the test images" if "answers" in tests else (
        f"{quantities.numbered(tests['images'], 'more test image')}"
    )  # fmt: skip
    words = ["simkit", "order", "--next", str(order.folder), *order_of_tests(tests)]
    say(f"not in this round: the plan's {what} ({quantities.exact_money(tests['dollars'])}):\n"
        f"  {join(words)}")  # fmt: skip


def _in_project(request: Options) -> bool:
    """Whether the order of --next belongs to a project."""
    from simkit.orders.project import project_of

    return request.next_ is not None and project_of(request.next_) is not None


def _first(request: Options) -> tuple[Order, RoundSettings, None]:
    """An order without rounds, the terms of the first round, and no answers."""
    from simkit.annotate.similarities import read_scores
    from simkit.data.folder import classes_of
    from simkit.data.leaks import open_checked
    from simkit.labels.hierarchy import by_name_or_file
    from simkit.orders.order import ABOUT, Order, RoundSettings
    from simkit.orders.project import with_absolute_paths

    if request.only is not None and request.scheme is None:
        request = replace(request, scheme=FullSubset.name)
    if request.data_spec is None or request.scheme is None:
        raise BadInput("--data and --scheme are needed; give both, or --next ORDER for a further "
                       "round")  # fmt: skip
    out = request.out or Path("order1")
    if (out / "round-1" / ABOUT).exists():
        raise BadInput(f"{out} is an order already; add a round with --next {out}, or name another "
                       "folder with --out")  # fmt: skip
    scheme, hierarchy = _scheme(request.scheme, request), None
    spec = with_absolute_paths(request.data_spec)
    data = open_checked(spec, asked=request.split or "train")
    split = options.split_of(data, request.split)
    classes = classes_of(request.classes_file, data)
    if schemes.make(scheme).needs_hierarchy:
        tree = by_name_or_file(request.hierarchy) if request.hierarchy else data.hierarchy
        if tree is None:
            raise BadInput(
                "this scheme needs a class hierarchy; give --hierarchy, a file (make "
                "one with: simkit hierarchy --classes FILE) or a shipped one"
            )
        hierarchy = tree.over(classes)
        classes = hierarchy.classes
    elif request.hierarchy:
        raise BadInput(f"--hierarchy is given, but {request.scheme} uses none; leave it out")
    images = data.truth[split].images
    terms = RoundSettings(spec, classes, scheme, split=split, **_stated(request))
    scores = read_scores(request.scores, split, images, classes,
                         files=lambda: data.file_names(split))  # fmt: skip
    used = request.known_file or terms.parsed_scheme.needs_features
    options.needs({"--features": request.features}, "--known LABELS, for examples", used)
    features = features_of(terms.parsed_scheme, request.features, data, spec, split)
    return Order(out, images, (), hierarchy, scores, features), terms, None


def _further(request: Options) -> tuple[Order, RoundSettings, OrderState]:
    """The earlier order, the terms of its next round, and the answers so far."""
    from simkit.annotate.similarities import read_scores
    from simkit.orders.order import Order
    from simkit.orders.receiving import OrderState
    from simkit.orders.rounds import file_names, rows_in

    again = request.answers is not None and not _amount(request) and _in_project(request)
    if request.split is not None and not again:
        raise BadInput("--split is given with --next, but only questions that a project asks again "
                       "can be those of one split; give --answers, and no scheme or images, or "
                       "leave --split out")  # fmt: skip
    for name in ("data_spec", "classes_file", "hierarchy", "out"):
        options.only_one({"--next": request.next_, options.flag(name): getattr(request, name)})
    for name in ("plan_file", "scheme", "images", "budget", "only"):
        options.only_one({"--test": request.test, options.flag(name): getattr(request, name)})
    for name in ("plan_file", "test", "answers", "scheme", "images"):
        options.only_one({"--ties": request.ties, options.flag(name): getattr(request, name)})
    assert request.next_ is not None
    order = Order.read(request.next_)
    state, changes = OrderState.of(order), _stated(request)
    if request.scheme is not None:
        changes["scheme"] = _scheme(request.scheme, request)
    elif request.settings:
        before = order.settings.parsed_scheme
        changes["scheme"] = schemes.spell(chosen(before.name, {**vars(before), **request.settings}))
    if request.test is not None:
        if not _in_project(request):
            raise BadInput("--test is given, but only a project has test images of its own; order "
                           "complete labels of new images with --scheme full-subset, and add them "
                           "to the test split of your data")  # fmt: skip
        changes |= {"scheme": FullSubset.name, "images": request.test, "test": True,
                    "others": False, "repeat": request.repeat or 0.0}  # fmt: skip
    elif request.plan_file is not None and request.scheme and _in_project(request):
        # A plan counts the images besides the pilot's, and what is found in them.
        changes["others"] = True
        left = len(order.images) - len(order.left_out(replace(order.settings, **changes)))
        if not left:
            raise BadInput(f"{order.folder} already asks about every class of all images, so "
                           f"nothing of {request.plan_file} is left to order; ask further people "
                           "the same questions with --answers")  # fmt: skip
        if changes["images"] > left:
            say(f"the plan is for {changes['images']:,} images, but only {left:,} are left")
        changes["images"] = min(changes["images"], left)
    elif request.scheme is not None or request.images is not None:
        changes["others"] = False
    terms = replace(order.settings, **changes)
    scheme, scores, features = terms.parsed_scheme, order.scores, order.features
    if request.scores is not None and scheme.by_model:
        raise BadInput("--scores is given with --next, but machine goes on with the scores of its "
                       "first round; leave it out, or start a new order")  # fmt: skip
    if request.scores is not None:
        names = partial(file_names, order, terms)
        scores = read_scores(request.scores, terms.split, order.images, order.classes, files=names)
    if features is None and (scheme.needs_features or request.features):
        used = len(state.answers) or scheme.needs_features
        options.needs({"--features": request.features}, "answers, for examples", used)
        data = simkit.data.open(terms.data)
        features = features_of(scheme, request.features, data, terms.data, terms.split)
        features = features[rows_in(order, data)]
    return replace(order, scores=scores, features=features), terms, state


def _again(state: OrderState, request: Options) -> pd.DataFrame | None:
    """The questions to ask again, if any; with --split, about these images of the project."""
    from simkit.orders.project import pilot_split, project_of

    if request.ties:
        if not len(state.ties):
            raise BadInput(f"{state.order.folder} has no question to which as many said yes as no, "
                           "or one more person was asked already; leave --ties out")  # fmt: skip
        return state.ties
    if request.answers is None or _amount(request):
        return None
    project = project_of(state.order.folder)
    if request.split is not None and project is not None:
        images, splits = pilot_split(project, state.order)
        state = state.about(images[splits == request.split])
        if not len(state.order.rounds):
            raise BadInput(f"--split is {request.split}; give train, val or test, the splits of "
                           f"{project.folder / 'labels.csv'}")  # fmt: skip
    return state.again(request.answers)


def _stated(request: Options) -> dict[str, Any]:
    """The settings of the round that were given as options."""
    from simkit.orders.project import absolute_path

    names = ("images", "answers", "join", "gold", "repeat", "seed", "prices")
    stated = {name: getattr(request, name) for name in names if getattr(request, name) is not None}
    if "prices" in stated:
        stated["prices"] = absolute_path(stated["prices"])
    return stated


def _scheme(name: str, request: Options) -> str:
    """The scheme as text. All answers are kept by default, because all are paid for."""
    scheme = chosen(name, request.settings)
    stated = {*request.settings, *re.split(r"\W", name)}
    if hasattr(scheme, "keep_looks") and "keep_looks" not in stated:
        scheme = replace(scheme, keep_looks=True)  # type: ignore[type-var]
    return schemes.spell(scheme)


def _amount(request: Options) -> bool:
    """Whether a scheme, an amount of it, or images are given."""
    stated = request.images is not None or request.test is not None
    return stated or bool(request.scheme or request.settings)


def _largest(terms: RoundSettings, request: Options) -> bool:
    """Whether the budget decides the amount, because none was given."""
    amount, further = terms.parsed_scheme.amount, request.next_ is not None
    if amount is None:
        return not further and request.images is None
    stated = amount in request.settings or f"{amount}=" in (request.scheme or "").replace(" ", "")
    return not (stated or (further and hasattr(terms.parsed_scheme, "search")))


def say_repeated(order: Order, rates: Prices) -> None:
    """Print the number and price of the questions that other people answer, too."""
    last = order.rounds[-1]
    each = last.answers[last.table["gold"] == 0]
    more = each[each > each.min()]
    if not len(more):
        return
    images, others = last.table.loc[more.index, "image"].nunique(), int(more.max() - each.min())
    once = last.answers.clip(upper=each.min())
    efforts = [order.effort(last.table.assign(answers=n)) for n in (last.answers, once)]
    with_them, without = (simkit.cost(effort, rates).dollars for effort in efforts)
    who = "1 other person answers" if others == 1 else f"{others} other people answer"
    say(f"{who} {len(more):,} of the questions, about {images:,} images, to measure errors "
        f"({quantities.exact_money(with_them - without)} of the price)")  # fmt: skip


def say_open(state: OrderState, step: str = "") -> None:
    """Print each file with questions that wait for answers, and who is to answer it.

    step: the line on the next command, which the caller prints.
    """
    from simkit.orders.annotators import NEW, files_of, handover_command, reopened, waiting
    from simkit.orders.who_errs import price_again

    parts, order = waiting(state), state.order
    rows = []
    for one in parts:
        forms = dict[str, list[Path]]()
        for form, file in files_of(order, one.part):
            forms.setdefault(form, []).append(file)
        for files in forms.values():
            files.sort(key=lambda file: (len(file.name), file.name))  # page.html, ..., page-10.html
        none = order.folder / f"round-{one.part.round}" / "no file"
        first, *others = [*forms.values()] or [[none]]
        text = f"{first[0]} to {first[-1].name}" if len(first) > 1 else str(first[0])
        asked = one.part.questions["image"]
        left, images = asked[one.waits].nunique(), asked.nunique()
        rows.append([
            " or ".join([text, *(files[0].name for files in others)]), _by_whom(one),
            f"{images - left:,} of {images:,}",
        ])  # fmt: skip
    if rows:
        table(["to answer", "by", "images answered"], rows, words=(0, 1), folded=False)
    if any(one.free is not None for one in parts):
        words = ["simkit", "order", "--export", str(order.folder), "--for", NEW]
        say(f"a page of their own for a further person, with a name in place of {NEW}:\n"
            f"  {join(words)}")  # fmt: skip
    _say_further(state)
    for name, questions in reopened(state, state.lacking).items():
        words = handover_command(state, name)
        how = "" if step.endswith(join(words)) else (
            f"; to give them to somebody else, put a name in place of {NEW}:\n  {join(words)}"
        )  # fmt: skip
        say(f"answers of {name} are set aside, so {len(questions):,} questions wait again; "
            f"asking them costs {price_again(state, questions)}{how}")  # fmt: skip


def _say_further(state: OrderState) -> None:
    """Print how further answers are declined, once only they wait, and what is cheaper."""
    from simkit.orders.annotators import further_people, in_place_of_new
    from simkit.orders.who_errs import price_again

    further = state.further
    if not len(further) or len(state.open):
        return
    folder = str(state.order.folder)
    price = price_again(state, further, further["lacking"])
    say(f"to decline the further answers to these {len(further):,} questions ({price}):\n"
        f"  {join(['simkit', 'receive', folder, '--no-further'])}")  # fmt: skip
    after = replace(state, declined=state.declined | {*further["question"]})
    if len(ties := after.ties):
        words = ["simkit", "order", "--next", folder, "--ties", *further_people(after)]
        say(f"cheaper: decline them, and then ask one more person only where people differ, "
            f"{len(ties):,} of the questions ({price_again(after, ties)})"
            f"{in_place_of_new(words)}:\n  {join(words)}")  # fmt: skip


def _by_whom(one: Waiting) -> str:
    """Who is to answer a part of a round."""
    if name := one.part.annotator:
        leaver = f" for {one.part.in_place_of}" if one.part.in_place_of else ""
        return f"{name}{leaver}{' (again)' * one.part.again}"
    if one.free is None:
        return "somebody else than before" if one.part.again else "anybody"
    return f"a further person{''.join(f', or {name} in part' for name in one.free)}"


def _print(
    order: Order, bill: Cost, files: list[str], rates: Prices, *, listed: float, only: Path | None
) -> None:
    """rates: as of `OrderState.rates`.  listed: dollars of the round by the price list."""
    from simkit.orders.receiving import OrderState

    table, terms = order.rounds[-1].table, order.rounds[-1].settings
    gold, images = int((table["gold"] != 0).sum()), int(table["image"].nunique())
    print_json({
        "order": order.id, "folder": str(order.folder), "round": len(order.rounds),
        "scheme": terms.scheme, "questions": table["kind"].value_counts().to_dict(),
        "gold": gold, "images": images,
        "dollars": bill.dollars, "dollars_by_prices": listed, "seconds": bill.seconds,
        "files": files,
    })  # fmt: skip
    say(
        f"round {len(order.rounds)} of {order.folder}: {len(table):,} questions about "
        f"{images:,} of {len(order.images):,} images, {len(terms.classes)} classes"
        + (f"; {gold} of them gold" if gold else "")
    )
    asked = order.table.loc[table["question"]].index
    if (order.first[asked] != asked).any():
        turn = f"in the order of {only}" if only else (
            "first those in doubt, then images in random order"
        )  # fmt: skip
        say(
            f"asked again, of people who have not answered them, for {terms.answers} answers in "
            f"all (one more where as many said yes as no): {turn}"
        )
    else:
        what = ", of test images, on which no model is trained" if terms.test else ""
        say(f"scheme: {terms.scheme}{what}")
        if terms.others and (complete := len(order.complete(terms))):
            number = quantities.numbered(complete, "image")
            say(f"left out: {number} of which earlier rounds ask about every class")
    say_repeated(order, rates)
    cost_table(bill, rates)
    at_list = quantities.exact_money(listed)
    if at_list != quantities.exact_money(bill.dollars):
        say(f"measured are the times of the answers so far; at {terms.prices} prices: {at_list}")
    if (table["kind"] == "search").any():
        if order.scores is None:
            say("without --scores images are searched in random order, whatever search= says, "
                "which takes more looks and costs more than a search by a model; make scores with: "
                "simkit score, or simkit predict")  # fmt: skip
        say("a search takes several rounds; the price is that of this round")
    for file in files:
        say(f"wrote {file}")
    _say_next(OrderState.of(order))


def _say_next(state: OrderState) -> None:
    """Print which files are to be answered, and how their answers are received."""
    from simkit.orders.annotators import files_to_fill
    from simkit.orders.project import project_of

    say_open(state)
    order, files = state.order, dict(files_to_fill(state))
    # The page's answers name their order, so that the project's folder is enough.
    project = project_of(order.folder) if "html" in files else None
    folder = quote(str(order.folder if project is None else project.folder))
    if "html" not in files:
        say(f"next: have the questions answered, then run: simkit receive {folder} FILE")
    else:
        say(f"next: have these answered in a browser, then run:\n"
            f"  simkit receive {folder} ~/Downloads/answers-{order.id}-*.jsonl")  # fmt: skip
