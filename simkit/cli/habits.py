"""Estimate annotator errors from votes."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

import simkit
from simkit.cli import options
from simkit.cli.output import print_json, say, table, write_figure
from simkit.errors import BadInput
from simkit.files import spare, whole

if TYPE_CHECKING:
    import pandas as pd

    from simkit.annotate.dawid_skene import Fitted
    from simkit.annotate.votes import Votes

LEAST = 3  # votes on a question, with which the fit can say who errs


@click.command(
    epilog="\b\nExample: simkit habits votes.csv --out habits.json\n"
    "Then:    simkit simulate --scheme fpc --habits habits.json"
)
@click.argument("file", metavar="VOTES", type=options.FILE)
@options.signature
@options.json
def command(
    file: Path,
    *,
    maybe: Literal["yes", "no", "drop"] = "yes",
    minus: Literal["absent", "unknown"] | None = None,
    labels_file: Path | None = None,
    out: Path | None = None,
    figure: Path | None = None,
    seed: int = 0,
) -> None:
    """Estimate annotator errors from votes, and check the fit by simulating the votes.

    VOTES is a table with one row per vote: columns image, class, worker, answer (no, maybe, yes)
    and optionally gold (answers of experts); or an .npz file.

    Parameters
    ----------
    maybe
        How to count a maybe.
    minus
        The meaning of -1 in a table without 0.
    labels_file : LABELS
        Complete labels: fit the naming bias instead, for `simulate --bias FILE`. VOTES is then a
        table with columns image and class (the class named first).
    out
        Where to write: habits.json, or with --labels weights.csv.
    figure : PICTURE
        Draw answers by truth, workers and agreement; .png, .svg or .pdf.
    seed
        Seed of the simulated votes.
    """
    for name, value in (("--figure", figure), ("--minus", minus)):
        options.only_one({name: value, "--labels": labels_file})
    if labels_file is not None:
        _naming(file, labels_file, out or Path("weights.csv"))
        return
    out = out or Path("habits.json")
    try:
        votes = simkit.read_votes(file, minus=minus or "")
    except BadInput as error:
        raise BadInput(str(error).replace("minus=", "--minus ")) from None
    decided = votes.decided(maybe)
    if (
        decided.per_question < LEAST
        and (several := (decided if maybe == "drop" else votes).several(LEAST)) is not None
    ):
        asked, used = len(votes.question_image), len(several.question_image)
        say(f"a typical question has fewer than {LEAST} votes; the rates are of the {used:,} of "
            f"{asked:,} questions with {LEAST} or more")  # fmt: skip
        votes = several
    fitted = simkit.fit_annotators(votes, maybe=maybe)
    confused = simkit.analysis.confusion(votes, fitted, seed=seed)
    with whole(out) as part:
        part.write_text(json.dumps(fitted.to_json(), indent=1), "utf-8")
    if figure is not None:
        write_figure(simkit.figures.make("confusion")(confused), figure)
    print_json(_report(votes, fitted, confused) | {"file": str(out)})
    say(f"wrote {out}" + (f" and {figure}" if figure else ""))


def _naming(file: Path, labels_file: Path, out: Path) -> None:
    """Fit and write the weights of the classes that people name first."""
    from simkit.annotate.label_preference import read_named

    spare(out, file, labels_file)
    named = read_named(file)
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


def _report(votes: Votes, fitted: Fitted, confused: pd.DataFrame) -> dict[str, Any]:
    """Print the rates and how well they explain the votes; returns the facts."""
    from simkit.annotate.votes import error_rates, measured

    gold = error_rates(measured(votes), fitted.maybe)
    rates = {"by all votes": fitted.rates}
    if not any(map(math.isnan, gold)):  # experts saw present and absent classes
        rates[f"by {(votes.gold >= 0).sum():,} expert answers"] = gold
    say(
        f"{len(votes.vote_question):,} votes of {len(votes.workers):,} people on "
        f"{len(votes.question_image):,} questions, {votes.per_question} on a typical one, about "
        f"{len(votes.images):,} images and {len(votes.classes):,} classes; maybe counts as "
        f"{fitted.maybe if fitted.maybe != 'drop' else 'nothing'}"
    )
    errors = "miss, of present classes", "false alarm, of absent classes"
    rows = [[word, *(f"{rate[i]:.2%}" for rate in rates.values())] for i, word in enumerate(errors)]
    table(["error rate of a vote", *rates], rows)
    likelihoods = None
    if fitted.compared is None:
        say("with fewer than 5 votes on a typical question, everybody is taken to be sure")
    else:
        habits, (without, doubtful) = fitted.habits, fitted.compared
        likelihoods = {"without_doubt": without, "with_doubt": doubtful}
        say(
            f"nobody is sure of {habits.unsure_present:.1%} of present and "
            f"{habits.unsure_absent:.1%} of absent classes, to {habits.unsure_yes:.1%} of which "
            f"people say yes: log-likelihood {doubtful:,.0f} with such questions, {without:,.0f} "
            "without"
        )
    agreed = confused[confused["part"] == "agreement"].set_index("name")
    agreed = agreed[["share", "simulated"]].rename(columns={"share": "measured"})
    cells = [[name, *(f"{share:.4f}" for share in row)] for name, *row in agreed.itertuples()]
    table(["agreement", *agreed], cells)
    if not fitted.converged:
        say("the fit did not converge; its rates are approximate", err=True)
    say(
        "rates by class go with the class's name, and classes of other names get their mean;\n"
        "all rates are of questions like these: annotators see a class falsely less often where "
        "nobody would suspect it"
    )
    return fitted.to_json()["fit"] | {
        "votes": len(votes.vote_question), "workers": len(votes.workers),
        "classes": len(votes.classes),
        "experts": {"miss": gold[0], "false_alarm": gold[1]} if len(rates) > 1 else None,
        "agreement": agreed.to_dict("index"), "log_likelihood": likelihoods,
    }  # fmt: skip
