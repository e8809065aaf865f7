"""`simkit habits`: how people err, fitted from their votes."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simkit.cli.options import FILE, PICTURE, json_option, seed_option
from simkit.cli.output import print_json, table, write_figure
from simkit.files import whole

if TYPE_CHECKING:
    import pandas as pd

    from simkit.annotate.annotators import Habits
    from simkit.annotate.dawid_skene import Fitted
    from simkit.annotate.votes import Votes

FAR_OFF = 0.05  # between rates by estimated truth and by experts', worth a word


# fmt: off
@click.command(
    epilog="\b\nExample: simkit habits votes.csv --out habits.json\n"
    "Then:    simkit simulate --scheme fpc --habits habits.json"
)
@click.argument("file", metavar="VOTES", type=FILE)
@click.option("--maybe", type=click.Choice(["yes", "no", "drop"]), default="yes", show_default=True,
              help="What a maybe counts as.")
@click.option("--out", type=FILE, default=Path("habits.json"), show_default=True,
              help="Where to write the habits.")
@click.option("--figure", type=PICTURE,
              help="Draw answers by truth, workers and agreement; .png, .svg or .pdf.")
@seed_option("Of the simulated votes.")
@json_option
def command(
    file: Path, maybe: Any, out: Path, figure: Path | None, seed: int, as_json: bool
) -> None:
    """Fit how people err from their votes, and simulate the votes again to see how well it fits.

    VOTES is a .csv or .parquet table with columns image, class, worker, answer (no, maybe, yes) and
    perhaps gold (what experts say), one row for each vote, or an .npz file.
    """
    from simkit.annotate.dawid_skene import fit_annotators
    from simkit.annotate.votes import read_votes
    from simkit.study import figures
    from simkit.study.analysis.labelling import confusion

    votes = read_votes(file)
    fitted = fit_annotators(votes, maybe=maybe)
    confused = confusion(votes, fitted, seed=seed)
    with whole(out) as part:
        part.write_text(json.dumps(fitted.to_json(), indent=1), "utf-8")
    if figure is not None:
        write_figure(figures.make("confusion")(confused), figure)
    if as_json:
        print_json(_facts(votes, fitted, confused, out))
        return
    _print(votes, fitted, confused)
    click.echo(f"wrote {out}" + (f" and {figure}" if figure else ""))
# fmt: on


def loaded(path: Path, classes: tuple[str, ...]) -> Habits:
    """The habits in a file for these classes; says how many of them it knows by name."""
    from simkit.annotate.annotators import Habits

    habits = Habits.load(path)
    if habits.classes is not None:
        shared = len(set(classes) & set(habits.classes))
        if shared < len(classes):
            warnings.warn(
                f"{path} knows {shared} of these {len(classes)} classes by name; "
                "the others get the mean of its rates (names must be equal: rename them in the "
                "votes to use rates by class)",
                stacklevel=1,
            )
    return habits.for_classes(classes)


def _facts(votes: Votes, fitted: Fitted, confused: pd.DataFrame, out: Path) -> dict[str, Any]:
    miss, false_alarm = fitted.rates
    gold = _gold(votes, fitted)
    agreed = confused[confused["part"] == "agreement"].itertuples()
    return {
        "votes": len(votes.vote_question),
        "questions": len(votes.question_image),
        "workers": len(votes.workers),
        "classes": len(votes.classes),
        "miss": miss,
        "false_alarm": false_alarm,
        "experts": None if gold is None else {"miss": gold[0], "false_alarm": gold[1]},
        "agreement": {
            row.name: {"measured": row.share, "simulated": row.simulated} for row in agreed
        },
        "doubt": fitted.doubt,
        "log_likelihood": None
        if fitted.compared is None
        else dict(zip(("without_doubt", "with_doubt"), fitted.compared, strict=True)),
        "converged": fitted.converged,
        "file": str(out),
    }


def _gold(votes: Votes, fitted: Fitted) -> tuple[float, float] | None:
    """Miss and false alarm by the experts' truth; None where they saw nothing of one kind."""
    from simkit.annotate.votes import error_rates, measured

    rates = error_rates(measured(votes), fitted.maybe)
    return None if rates[0] != rates[0] or rates[1] != rates[1] else rates


def _print(votes: Votes, fitted: Fitted, confused: pd.DataFrame) -> None:
    click.echo(
        f"{len(votes.vote_question):,} votes of {len(votes.workers):,} people on "
        f"{len(votes.question_image):,} questions, {votes.per_question} on a typical one, about "
        f"{len(votes.images):,} images and {len(votes.classes):,} classes; maybe counts as "
        + {"yes": "yes", "no": "no", "drop": "nothing"}[fitted.maybe]
    )
    gold = _gold(votes, fitted)
    rows = [
        ["miss, of present classes", *_pair(0, fitted, gold)],
        ["false alarm, of absent classes", *_pair(1, fitted, gold)],
    ]
    if gold is not None:
        experts = f"by {(votes.gold >= 0).sum():,} expert answers"
        table(["a vote errs", "by all votes", experts], rows)
        off = [abs(ours - theirs) for ours, theirs in zip(fitted.rates, gold, strict=True)]
        if max(off) > FAR_OFF:
            click.echo(
                "the experts say otherwise: rates written are those of all votes, whose truth is "
                "estimated; another --maybe may come nearer"
            )
    else:
        table(["a vote errs", "by all votes"], rows)
    click.echo(_about_doubt(fitted))
    agreed = confused[confused["part"] == "agreement"].itertuples()
    table(
        ["agreement", "measured", "simulated"],
        [[row.name, f"{row.share:.4f}", f"{row.simulated:.4f}"] for row in agreed],
    )
    if not fitted.converged:
        click.echo("the fit had not settled when it was stopped; its numbers are rough", err=True)
    click.echo(
        "rates by class go with the class's name, and classes of other names get their mean;\n"
        "all rates are of questions like these: classes that nobody would suspect in an image are "
        "falsely seen less often"
    )


def _about_doubt(fitted: Fitted) -> str:
    """One line: how many questions there are of which nobody is sure, and what speaks for it."""
    habits = fitted.habits
    if fitted.compared is None:
        return "with fewer than 5 votes on a typical question, everybody is taken to be sure"
    without, doubtful = (f"{number:,.0f}" for number in fitted.compared)
    if not fitted.doubt:
        return (
            f"no sign of questions of which nobody is sure: log-likelihood {without} without "
            f"and {doubtful} with them"
        )
    return (
        f"nobody is sure of {habits.unsure_present:.1%} of present and {habits.unsure_absent:.1%} "
        f"of absent classes, to {habits.unsure_yes:.1%} of which people say yes: "
        f"log-likelihood {doubtful}, {without} without"
    )


def _pair(which: int, fitted: Fitted, gold: tuple[float, float] | None) -> list[str]:
    return [f"{rates[which]:.2%}" for rates in (fitted.rates, gold) if rates is not None]
