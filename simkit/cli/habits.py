"""Estimate annotator errors from votes."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import simkit
from simkit.cli import params
from simkit.cli.output import print_json, say, table, write_figure
from simkit.errors import BadInput
from simkit.files import spare, whole

if TYPE_CHECKING:
    import pandas as pd

    from simkit.annotate.dawid_skene import Fitted
    from simkit.annotate.votes import Votes


# fmt: off
@click.command(
    epilog="\b\nExample: simkit habits votes.csv --out habits.json\n"
    "Then:    simkit simulate --scheme fpc --habits habits.json"
)
@click.argument("file", metavar="VOTES", type=params.FILE)
@click.option("--maybe", type=click.Choice(["yes", "no", "drop"]), default="yes", show_default=True,
              help="How to count a maybe.")
@click.option("--labels", "labels_file", type=params.FILE, metavar="LABELS",
              help="Complete labels: fit the naming bias instead, for `simulate --bias FILE`. "
              "VOTES is then a .csv table with columns image and class (the class named first).")
@click.option("--out", type=params.FILE,
              help="Where to write: habits.json, or with --labels weights.csv.")
@click.option("--figure", type=params.PICTURE,
              help="Draw answers by truth, workers and agreement; .png, .svg or .pdf.")
@params.seed("Seed of the simulated votes.")
@params.json
def command(
    *, file: Path, maybe: Any, labels_file: Path | None, out: Path | None, figure: Path | None,
    seed: int,
) -> None:
    """Estimate annotator errors from votes, and check the fit by simulating the votes.

    VOTES is a .csv or .parquet table with one row per vote: columns image, class, worker, answer
    (no, maybe, yes) and optionally gold (answers of experts); or an .npz file.
    """
    if labels_file is not None:
        if figure is not None:
            raise BadInput("--figure draws votes, and --labels fits no votes; leave one out")
        _naming(file, labels_file, out or Path("weights.csv"))
        return
    out = out or Path("habits.json")
    votes = simkit.read_votes(file)
    fitted = simkit.fit_annotators(votes, maybe=maybe)
    confused = simkit.analysis.confusion(votes, fitted, seed=seed)
    with whole(out) as part:
        part.write_text(json.dumps(fitted.to_json(), indent=1), "utf-8")
    if figure is not None:
        write_figure(simkit.figures.make("confusion")(confused), figure)
    print_json(_facts(votes, fitted, confused, out))
    _print(votes, fitted, confused)
    say(f"wrote {out}" + (f" and {figure}" if figure else ""))
# fmt: on


def _naming(file: Path, labels_file: Path, out: Path) -> None:
    """Fit and write the weights of the classes that people name first."""
    from simkit.annotate.label_preference import read_table

    spare(out, file, labels_file)
    named = read_table(file, ("image", "class"))
    fitted = simkit.fit_naming(named, simkit.formats.for_path(labels_file).read(labels_file))
    with whole(out) as part:
        fitted.to_csv(part, float_format="%.4g")
    used, weights = int(fitted["named"].sum()), fitted["weight"].to_dict()
    print_json({"answers": len(named), "used": used, "weights": weights, "file": str(out)})
    say(f"{used:,} of {len(named):,} answers chose among several present classes")
    say(f"wrote {out}, for simkit simulate --scheme single-positive --bias {out}")


def loaded(path: Path, classes: tuple[str, ...]) -> simkit.Habits:
    """The habits in a file for these classes; says how many of them it knows by name."""
    habits = simkit.Habits.load(path)
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
    gold = _gold(votes, fitted)
    agreed = confused[confused["part"] == "agreement"].itertuples()
    return fitted.to_json()["fit"] | {
        "votes": len(votes.vote_question),
        "workers": len(votes.workers),
        "classes": len(votes.classes),
        "experts": None if gold is None else {"miss": gold[0], "false_alarm": gold[1]},
        "agreement": {
            row.name: {"measured": row.share, "simulated": row.simulated} for row in agreed
        },
        "log_likelihood": None
        if fitted.compared is None
        else dict(zip(("without_doubt", "with_doubt"), fitted.compared, strict=True)),
        "file": str(out),
    }


def _gold(votes: Votes, fitted: Fitted) -> tuple[float, float] | None:
    """Miss and false alarm by the experts' truth; None where they saw nothing of one kind."""
    from simkit.annotate.votes import error_rates, measured

    rates = error_rates(measured(votes), fitted.maybe)
    return None if rates[0] != rates[0] or rates[1] != rates[1] else rates


def _print(votes: Votes, fitted: Fitted, confused: pd.DataFrame) -> None:
    say(
        f"{len(votes.vote_question):,} votes of {len(votes.workers):,} people on "
        f"{len(votes.question_image):,} questions, {votes.per_question} on a typical one, about "
        f"{len(votes.images):,} images and {len(votes.classes):,} classes; maybe counts as "
        + {"yes": "yes", "no": "no", "drop": "nothing"}[fitted.maybe]
    )
    rates = {"by all votes": fitted.rates}
    if gold := _gold(votes, fitted):
        rates[f"by {(votes.gold >= 0).sum():,} expert answers"] = gold
    errors = "miss, of present classes", "false alarm, of absent classes"
    rows = [[word, *(f"{rate[i]:.2%}" for rate in rates.values())] for i, word in enumerate(errors)]
    table(["error rate of a vote", *rates], rows)
    say(_about_doubt(fitted))
    agreed = confused[confused["part"] == "agreement"].itertuples()
    table(
        ["agreement", "measured", "simulated"],
        [[row.name, f"{row.share:.4f}", f"{row.simulated:.4f}"] for row in agreed],
    )
    if not fitted.converged:
        say("the fit did not converge; its rates are approximate", err=True)
    say(
        "rates by class go with the class's name, and classes of other names get their mean;\n"
        "all rates are of questions like these: annotators see a class falsely less often where "
        "nobody would suspect it"
    )


def _about_doubt(fitted: Fitted) -> str:
    """One line on questions of which nobody is sure, and their log-likelihood."""
    if fitted.compared is None:
        return "with fewer than 5 votes on a typical question, everybody is taken to be sure"
    habits, (without, doubtful) = fitted.habits, fitted.compared
    return (
        f"nobody is sure of {habits.unsure_present:.1%} of present and {habits.unsure_absent:.1%} "
        f"of absent classes, to {habits.unsure_yes:.1%} of which people say yes: log-likelihood "
        f"{doubtful:,.0f} with such questions, {without:,.0f} without"
    )
