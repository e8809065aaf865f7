"""Read the answers to an order; write labels, votes and times."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from shlex import join, quote
from typing import TYPE_CHECKING, Literal

import click

from simkit.cli import options
from simkit.cli.order import say_open
from simkit.cli.output import counts_line, print_json, say, table
from simkit.errors import BadInput
from simkit.labels.names import person
from simkit.quantities import duration, exact_money, numbered

if TYPE_CHECKING:
    import pandas as pd

    from simkit.orders.receiving import Checked, OrderState

MOST_PEOPLE = 5  # whose numbers of new answers are named
MOST_CLASSES = 3  # in the table of differences; all are in a file
_AGREEMENT = [
    f"{word}{end}" for word in ("yes", "no") for end in ("", "_low", "_high", "_questions")
]


@click.command(epilog="Example: simkit receive order1 answers-anna.jsonl answers-ben.jsonl")
@click.argument("folder", type=options.FOLDER, metavar="ORDER")
@click.argument("files", type=options.FILE, nargs=-1)
@options.signature
@options.json
def command(
    folder: Path, files: tuple[Path, ...], *, columns: tuple[str, ...] = (),
    minus: Literal["absent", "unknown"] | None = None, without: tuple[str, ...] = (),
    with_: tuple[str, ...] = (), correct: bool = False, no_further: bool = False,
) -> None:  # fmt: skip
    """Add answers to an order: from its page, a table (CSV, JSON, Excel) or Label Studio.

    Answers are checked and added, and none is deleted; receiving the same file again changes
    nothing.
    Labels, votes, measured times and open questions are written into the order's folder. Without
    FILES they are written again from the answers so far. ORDER may be a project: the files name
    their order.

    Parameters
    ----------
    columns : FIELD=NAME
        Column of a table for question, image, class, answer, worker, seconds or milliseconds; none
        if the table has no such column.
    minus
        Meaning of -1 in answers with 1 and -1 but no 0.
    without : NAME[:CLASS,...]
        Set this person's answers aside, all or those about some classes, from now on: they are paid
        and kept, but labels, votes and times are computed without them, and their questions are
        open again.
    with_ : NAME[:CLASS,...]
        Use the answers of this person again.
    correct
        Where FILES have another answer of the same person than before, use the new one.
    no_further
        Wait no longer for further answers, which only measure errors; they count if they come.
    """
    import pandas as pd

    from simkit.orders import answer_tables, side_tables
    from simkit.orders.order import Order
    from simkit.orders.project import next_step, order_of, project_of, write_pilot
    from simkit.orders.project_scores import ProjectScores
    from simkit.orders.receiving import OrderState, checked, keep, kept, write

    options.needs({"--correct": correct}, "FILES with the corrections", files)
    named, folder = folder, order_of(folder, files)
    project = project_of(folder)
    order = Order.read(folder)
    names = options.pairs(columns, "--columns", "field=NAME, such as answer=label")
    raw = [pd.DataFrame(columns=["file", *answer_tables.RAW])]
    for file in files:
        raw.append(answer_tables.read(file, order, names, minus or "").assign(file=str(file)))
    result = checked(order, pd.concat(raw), correct=correct)
    for name in side_tables.COLUMNS:
        side_tables.read(folder, name)  # a damaged one is refused before answers are stored
    aside = _set_aside(OrderState.of(order), result, without, with_)
    keep(order, result.answers)
    side = side_tables.add(folder, side_tables.NAMES, result.names)
    side += side_tables.add(folder, side_tables.NOTES, result.notes)
    if without or with_:
        side_tables.set_aside(folder, aside)
    if no_further:
        side += _decline(OrderState.of(order))
    state = None
    while state is None or len(kept(order)) > len(state.received):  # others may receive, too
        state = OrderState.of(order)
        if not len(state.answers):
            texts, mend = ", ".join(map(str, files)), "give the files with people's answers"
            if len(result.problems):
                first = result.problems.iloc[0]
                mend = (f"{len(result.problems):,} rows of {texts} were refused, such as row "
                        f"{first.row} ({first.problem}); correct them")  # fmt: skip
            elif files:
                why = ", ".join(f"{n:,} rows: {reason}" for reason, n in result.left_out.items())
                mend = f"no row of {texts} has an answer{f' ({why})' if why else ''}; have the "
                mend += "questions answered"
            raise BadInput(f"{folder} has no answers yet; {mend}")
        written = [*write(state), *side]
        if project is not None:
            written += [f"../{name}" for name in write_pilot(project, state)]
            if (scores := ProjectScores.of(project, project.states[0])) is not None:
                written += [f"../{name}" for name in scores.write()]
    if state.aside:
        written.append(side_tables.WITHOUT)
    step = _next(state) if project is None else next_step(project, project.states)
    _print(state, result, written)
    say_open(state, step)
    _say_correct(result, named)
    say(f"next: {step}")


def _decline(state: OrderState) -> list[str]:
    """Wait for no further answers, which only measure errors; the name of the table."""
    from simkit.orders import side_tables

    folder, further = state.order.folder, state.of_others
    if not (len(further) and len(state.answers)):
        raise BadInput(f"--no-further is given, but no question of {folder} waits for further "
                       "answers; leave it out")  # fmt: skip
    return side_tables.add(folder, side_tables.DECLINED, further)


def _set_aside(
    state: OrderState, new: Checked, without: tuple[str, ...], with_: tuple[str, ...]
) -> set[tuple[str, str]]:
    """Which answers are set aside from now on, as `OrderState.aside`. Raises BadInput for people
    without answers, and for unknown classes.

    new: answers that are not stored yet.
    """
    from simkit.orders import side_tables

    folder, known = state.order.folder, {*state.received["worker"], *new.answers["worker"]}
    names = dict(new.names.to_numpy().tolist())
    names |= dict(side_tables.read(folder, side_tables.NAMES).to_numpy().tolist())
    found = dict[str, set[tuple[str, str]]]()
    for option, texts in (("--with", with_), ("--without", without)):
        found[option] = set()
        for text in texts:
            who, classes = _person_and_classes(state, text, known)
            if who not in known:
                people = ", ".join(sorted(names.get(who, who) for who in known))
                raise BadInput(f"{option} is {text}, who has no answers in {folder}; name one of "
                               f"{people or 'the people with answers'}")  # fmt: skip
            for name in classes:
                if name and name not in state.order.classes:
                    raise BadInput(f"{option} is {text}, and {name!r} is no class of {folder}; "
                                   f"name a class of it")  # fmt: skip
                if name and (who, "") in state.aside and (who, "") not in found["--with"]:
                    raise BadInput(f"{option} is {text}, and all answers of {names.get(who, who)} "
                                   "are set aside; use them again with --with first")  # fmt: skip
            found[option] |= {(who, name) for name in classes}
    back, out = found.values()
    if both := out & back:
        who = min(both)[0]
        raise BadInput(f"--without and --with both name {names.get(who, who)}; name the person in "
                       "one of them")  # fmt: skip
    used = {who for who, name in back if not name}
    aside = {pair for pair in state.aside - back if pair[0] not in used} | out
    each = Counter(who for who, name in aside if name)
    gone = {who for who, name in aside if not name or each[who] == len(state.order.classes)}
    if known and gone >= known and (without or with_):
        raise BadInput(f"--without leaves no answers in {folder}; keep those of one person or more")
    return {(who, "") for who in gone} | {pair for pair in aside if pair[0] not in gone}


def _person_and_classes(
    state: OrderState, text: str, known: set[str]
) -> tuple[str, tuple[str, ...]]:
    """The pseudonym and the classes in a text such as "ben" or "ben:shoes,hat"; "" for all
    classes."""
    from simkit.orders.annotators import pseudonyms_of

    def worker(name: str) -> str:
        return name if name in known else pseudonyms_of(state, [name])[name]

    name, colon, rest = text.rpartition(":")
    if not colon or worker(text) in known:
        return worker(text), ("",)
    listed = (rest,) if rest in state.order.classes else tuple(map(str.strip, rest.split(",")))
    return worker(name), tuple(one or "?" for one in listed)


def _print(state: OrderState, result: Checked, written: list[str]) -> None:
    from simkit.orders.order import LABELS
    from simkit.orders.project_state import TABLE
    from simkit.orders.who_errs import errors_line, errs

    order, total, names = state.order, len(state.order.table), state.names
    found = errs(state)
    added, problems = len(result.answers), result.problems
    print_json({
        "order": order.id, "added": added, "corrected": result.corrected,
        "answers": len(state.answers), "open": len(state.open),
        "counts": state.labels.counts(), "tied": state.tied,
        "labels": state.labels.id, "seconds": state.seconds.to_dict(),
        "pauses": state.pauses, "files": written,
        "problems": problems[["file", "row", "problem"]].to_dict("records"),
        "left_out": result.left_out, "errors": state.errors, "further": len(state.of_others),
        "people": [{"person": who, "name": names.get(str(who), ""), "answers": int(one.answers),
                    **{key: None if one[key] != one[key] else float(one[key])
                       for key in ("time", "untimed", "pay", *_AGREEMENT)},
                    "aside": bool(one.aside), "errs": str(who) in found}
                   for who, one in state.people.iterrows()],
    })  # fmt: skip
    say(f"{_came_in(state, result)}; "
        f"{total - len(state.open):,} of {total:,} questions are answered")  # fmt: skip
    if others := _without_part(state, result):
        words = [word for name in others for word in ("--without", name)]
        say(f"{', '.join(others)} had no part of this order; the answers count, and are paid; if "
            "somebody answered under another name, set them aside:\n  "
            f"{join(['simkit', 'receive', str(order.folder), *words])}")  # fmt: skip
    say(counts_line(state.labels))
    if state.tied:
        say(f"{state.tied:,} unknown: people disagreed")
    if result.left_out:
        say("left out: " + ", ".join(f"{n:,} ({why})" for why, n in result.left_out.items()))
    if len(problems):
        verb = "does" if len(problems) == 1 else "do"
        say(f"{numbered(len(problems), 'row')} {verb} not count:")
        causes = [same for _, same in problems.groupby(["file", "cause"], sort=False)]
        for same in causes[:5]:
            one, more = same.iloc[0], len(same) - 1
            rest = f" and {more:,} more" if more else ""
            say(f"  {one.file}, row {one.row}{rest}: {one.problem}")
        if len(causes) > 5:
            say(f"  ... and {len(causes) - 5:,} other problems (--json lists all rows)")
    if len(state.seconds):
        times = ", ".join(f"{kind} {value:.2f} s" for kind, value in state.seconds.items())
        cut = f" (times cut for a pause: {state.pauses:,})" if state.pauses else ""
        say(f"mean time per question: {times}{cut}")
    _print_people(state)
    say(errors_line(state))
    say_errors(state)
    _say_aside(state)
    shown = " and ".join(name for name in written if name in (LABELS, f"../{TABLE}"))
    say(f"wrote {len(written)} files in {order.folder}, such as {shown} (--json lists them)")


def _say_aside(state: OrderState) -> None:
    """Print whose answers are set aside, and how they are used again."""
    from simkit.orders.who_errs import option

    for who in sorted({who for who, _ in state.aside}):
        name = state.names.get(who, who)
        classes = [about for about in state.order.classes if (who, about) in state.aside]
        own = state.received[state.received["worker"] == who]
        number = int(state.are_aside(who, own["class"]).sum())
        again = join(
            ["simkit", "receive", str(state.order.folder), *option("--with", name, classes)]
        )
        about = f" about {', '.join(classes)}" * bool(classes)
        say(f"set aside: the {number:,} answers of {name}{about}, which are paid and not used; to "
            f"use them again: {again}")  # fmt: skip


def _came_in(state: OrderState, result: Checked) -> str:
    """How many answers were added, and whose they are."""
    counts = result.answers["worker"].value_counts()
    whose = [f"{n:,} of {state.names.get(str(who), str(who))}" for who, n in counts.items()]
    if len(whose) > MOST_PEOPLE:
        whose[MOST_PEOPLE:] = [f"{counts.iloc[MOST_PEOPLE:].sum():,} of others"]
    text = f"{len(result.answers):,} answers added"
    if whose:
        text += f" ({', '.join(whose)})"
    if result.corrected:
        text += f", {result.corrected:,} of them in place of earlier ones of the same person"
    return text


def _without_part(state: OrderState, result: Checked) -> list[str]:
    """Who gave answers and is none of the annotators of an order that is divided."""
    from simkit.orders.annotators import annotators_of

    invited, names = annotators_of(state.order), dict(result.names.to_numpy().tolist())
    gave = [names[who] for who in result.answers["worker"].unique() if who in names]
    return [name for name in gave if invited and person(name) not in invited]


def _say_correct(result: Checked, folder: Path) -> None:
    """Print how other answers of the same person are used in place of those that count."""
    from simkit.orders.receiving import TWICE

    twice = result.problems[result.problems["cause"] == TWICE]
    for file in twice["file"].unique():
        words = ["simkit", "receive", str(folder), "--correct", file]
        say(f"to use the answers in {file} instead, if they are the later ones: {join(words)}")


def _print_people(state: OrderState) -> None:
    """Answers, times, pay and agreement of each person, with the names that are known."""
    people, pay, names = state.people, state.pay, state.names
    last, paid = pay.columns.max(), {"pay": people["pay"]}
    if len(pay.columns) > 1:
        before = pay.drop(columns=last).sum(axis=1, min_count=1)
        paid = {"earlier rounds": before, f"round {last}": pay[last], **paid}

    def money(dollars: float) -> str:
        return "" if dollars != dollars else exact_money(dollars)

    def agreed(one: pd.Series[float], word: str) -> str:
        share, low, high = one[word], one[f"{word}_low"], one[f"{word}_high"]
        return "" if share != share else (
            f"{share:.0%} ({low:.0%} to {high:.0%}) of {int(one[f'{word}_questions']):,}"
        )  # fmt: skip

    rows = [
        [names.get(str(who), str(who)), int(one.answers), f"{one.unsure:.0%}",
         "" if one.seconds != one.seconds else f"{one.seconds:.1f}",
         "" if one.time != one.time else duration(one.time),
         *(money(column[who]) for column in paid.values()),
         "" if one.gold != one.gold else f"{one.right:.0%} of {int(one.gold)}"]
        for who, one in people.iterrows()
    ]  # fmt: skip
    heads = ["person", "answers", "unsure", "s each", "time", *paid, "gold correct"]
    if len(rows) > 1:
        sums = [money(column.sum(min_count=1)) for column in paid.values()]
        rows.append(["all", int(people["answers"].sum()), "", "", "", *sums, ""])
    always = 5 + len(paid)
    kept = [n for n in range(len(heads)) if n < always or any(row[n] for row in rows)]
    table([heads[n] for n in kept], [[row[n] for n in kept] for row in rows])
    agreement = [
        [names.get(str(who), str(who)), agreed(one, "yes"), agreed(one, "no")]
        for who, one in people.iterrows()
    ]
    if agreement := [row for row in agreement if any(row[1:])]:
        table(["person", "says yes where others do", "says no where others do"], agreement)
        shown, used = {row[0] for row in agreement}, people.index[~people["aside"]]
        if alone := [name for who in used if (name := names.get(str(who), str(who))) not in shown]:
            say(f"not in this table: {', '.join(alone)} (no questions in common with others, apart "
                "from those asked because of earlier answers)")  # fmt: skip
    if untimed := len(state.untimed):
        say(f"{untimed:,} answers have no time, so pay by the hour leaves them out; simkit status "
            "counts them at the measured times")  # fmt: skip


def say_errors(state: OrderState) -> None:
    """Print who errs, where people say yes at different rates, and what would tell more."""
    from simkit.orders import who_errs

    found = who_errs.errs(state)
    for sentence in found.values():
        say(sentence)
    _say_differences(state)
    if not found and (text := who_errs.third_answers(state)):
        say(text)


def _say_differences(state: OrderState) -> None:
    """Print the classes about which people say yes at different rates."""
    from simkit.orders.receiving import YES_BY_CLASS
    from simkit.orders.who_errs import ClassDifference, class_differences

    def share(one: ClassDifference, place: int) -> str:
        who, answers = one.workers[place], one.answers[place]
        return f"{state.names.get(who, who)} {one.yes[place] / answers:.0%} of {answers:,}"

    if differ := class_differences(state):
        file = state.order.folder / YES_BY_CLASS
        say(f"people say yes at different rates about {len(differ):,} of "
            f"{len(state.order.classes):,} classes, though images are divided at random: look at "
            f"the answers of both, as one may miss the class or see it where it is not; all rates "
            f"are in {file}")  # fmt: skip
        table(
            ["class", "most yes", "fewest yes"],
            [[state.order.classes[one.about], share(one, 0), share(one, 1)]
             for one in differ[:MOST_CLASSES]],
            words=(0, 1, 2),
        )  # fmt: skip


def _next(state: OrderState) -> str:
    """What to do next, outside a project."""
    import simkit
    from simkit.annotate.simulate import how_many
    from simkit.orders import annotators
    from simkit.orders.receiving import DATA

    for name in annotators.reopened(state, state.open):
        words = join(annotators.handover_command(state, name))
        return f"put a name in place of {annotators.NEW}: {words}"
    if len(state.open):
        return f"receive the answers to the {len(state.open):,} open questions (open.csv)"
    order = state.order
    data, labels = (quote(str(order.folder / name)) for name in (DATA, "labels.parquet"))
    drawn = order.settings.data.partition(":")[0] == "scenes"
    network = "" if drawn else " --backbone mobilenet_v2 --weights imagenet"
    train = f"simkit train --method an --data {data} --labels {labels}{network} --out model"
    further = ["simkit", "order", "--next", str(order.folder)]
    if len(state.ties_to_ask):
        further += ["--ties", *annotators.further_people(state)]
        return (f"ask one more person where as many said yes as no"
                f"{annotators.in_place_of_new(further)}: {join(further)}\n"
                f"or train on these labels: {train}")  # fmt: skip
    if order.exhausted(state.joined):
        return train
    if all(part.settings.listed for part in order.rounds if not part.settings.test):
        return f"all questions of the list are answered: {train}"
    shared = annotators.annotators_option(state)
    if len(order.ask(order.settings, state.joined).questions):
        return (f"order the further questions of the scheme: {join([*further, *shared])}\n"
                f"or train on these labels: {train}")  # fmt: skip
    if order.settings.parsed_scheme.amount is None:  # the number of images is its amount
        N = len(order.images)
        before = how_many(order.settings.images, N)
        if before == N:
            return train
        further += ["--images", str(min(2 * before, N))]
    else:
        last = simkit.cost(order.effort(order.rounds[-1].table), state.rates()).dollars
        further += ["--budget", f"{max(last, 0.01):.2f}"]
    return f"{train}\nor order as much again: {join([*further, *shared])}"
