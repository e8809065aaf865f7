"""`simkit habits`: from a table of votes to habits, and on to labels."""

import json
from pathlib import Path

import numpy as np
import pytest

from simkit.annotate.annotators import Habits
from simkit.orders.order import Order
from simkit.orders.receiving import write
from tests.cli.conftest import truth_file
from tests.orders.people import TRUTH, answer, ordered


def votes_file(
    path: Path, *, names=("thing 0", "thing 1"), gold: bool = True, strict: int = 1
) -> Path:
    """Five of six people on 300 images and two classes; they err in a tenth.

    strict: experts call only every so-manieth of the present ones present.
    """
    rng = np.random.default_rng(1)
    lines = ["image,class,worker,answer" + (",gold" if gold else "")]
    for image in range(300):
        for c, name in enumerate(names):
            present = (image + c) % 4 == 0
            for worker in rng.choice(6, 5, replace=False):
                said = "yes" if present != (rng.random() < 0.1) else "no"
                sure = present and image % strict == 0
                expert = ["yes" if sure else "no"] if gold else []
                lines.append(",".join([str(image), name, f"w{worker}", said, *expert]))
    path.write_text("\n".join(lines) + "\n")
    return path


def test_habits_are_fitted_and_used(shell) -> None:
    votes_file(Path("votes.csv"))
    done = shell("habits", "votes.csv", "--figure", "votes.png")
    assert done.code == 0, done.err
    assert "3,000 votes of 6 people on 600 questions, 5 on a typical one" in done.out
    assert "by 600 expert answers" in done.out and "Fleiss' kappa" in done.out
    assert "\nnobody is sure of 0.0% of present and 0.0% of absent classes" in done.out
    assert done.out.endswith("wrote habits.json and votes.png\n")
    assert Path("votes.png").read_bytes().startswith(b"\x89PNG")
    habits = Habits.load("habits.json")
    assert habits.classes == ("thing 0", "thing 1") and habits.workers == 5
    truth_file(Path("truth.npz"))
    used = shell(
        "simulate --scheme rpa(keep=0.5) --data npz:truth.npz --habits habits.json",
        *("--out", "labels.parquet"),
    )
    assert used.code == 0, used.err
    assert "habits.json knows 2 of these 12 classes by name" in used.err
    assert "5 people for each question" in used.out
    made = json.loads(shell("show", "labels.parquet", "--json").out)["history"]["settings"]
    own = habits.for_classes([f"thing {c}" for c in range(12)]).to_json()
    assert made["habits"] == own and len(own["miss"]) == 12


def test_json_says_what_the_table_says(shell) -> None:
    votes_file(Path("votes.csv"))
    facts = shell("habits", "votes.csv", "--out", "people.json", "--json").json
    assert facts["votes"] == 3000 and facts["workers"] == 6 and facts["classes"] == 2
    assert facts["doubt"] is False
    assert facts["log_likelihood"]["with_doubt"] < facts["log_likelihood"]["without_doubt"] + 6
    assert abs(facts["miss"] - 0.1) < 0.03 and abs(facts["false_alarm"] - 0.1) < 0.02
    assert abs(facts["experts"]["miss"] - 0.1) < 0.03
    kappa = facts["agreement"]["Fleiss' kappa"]
    assert abs(kappa["measured"] - kappa["simulated"]) < 0.08
    assert facts["file"] == "people.json" and facts["converged"] is True


def test_show_tells_what_habits_hold(shell) -> None:
    votes_file(Path("votes.csv"))
    shell("habits", "votes.csv")
    shown = shell("show", "habits.json").out
    assert shown.startswith("annotator model: how people err\n")
    assert "  miss = [" in shown and "workers = 5" in shown
    assert "  fitted: votes = 3000\n" in shown
    assert shell("show", "habits.json", "--json").json["fit"]["questions"] == 600


def test_without_experts_and_with_known_classes(shell) -> None:
    names = tuple(f"thing {c}" for c in range(12))
    votes_file(Path("votes.csv"), names=names, gold=False)
    done = shell("habits", "votes.csv")
    assert done.code == 0 and "expert" not in done.out
    assert shell("habits", "votes.csv", "--json").json["experts"] is None
    truth_file(Path("truth.npz"))
    used = shell("simulate --scheme rpa(keep=0.5) --data npz:truth.npz --habits habits.json")
    assert used.code == 0 and "by name" not in used.err


def test_doubt_that_is_found_and_doubt_that_cannot_be(shell) -> None:
    rng = np.random.default_rng(2)
    for people, said in (
        (6, "\nnobody is sure of "),
        (4, "\nwith fewer than 5 votes on a typical question, everybody is taken to be sure\n"),
    ):
        lines = ["image,class,worker,answer"]
        for image in range(600):
            rate = (0.05, 0.05, 0.95, 0.5)[image % 4]
            for worker in range(people):
                lines.append(f"{image},cat,w{worker},{int(rng.random() < rate)}")
        Path("votes.csv").write_text("\n".join(lines) + "\n")
        assert said in shell("habits", "votes.csv").out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("votes.csv", "votes.csv: column 'answer' holds 'often' in row 2; write yes, maybe or no"),
        ("minus.csv", "minus.csv: no cell is 0, so -1 may mean absent or unknown; add --minus abs"),
        ("votes.csv --figure votes.gif", "--figure is votes.gif; a name that ends in .png"),
    ],
)
def test_bad_input(shell, words: str, message: str) -> None:
    Path("votes.csv").write_text("image,class,worker,answer\n1,cat,ann,often\n")
    Path("minus.csv").write_text("image,class,worker,answer\n1,cat,ann,1\n1,cat,bob,-1\n")
    done = shell(f"habits {words}")
    assert done.code == 2 and done.err.startswith(f"simkit: {message}")
    assert not Path("habits.json").exists()


def test_what_people_name_first_goes_from_an_order_to_a_simulation(shell, tmp_path) -> None:
    order = ordered(tmp_path / "one", "--scheme", "single-positive(bias=rare)")
    write(answer(order))
    assert shell("order", "--next", "one", "--scheme", "full-subset").code == 0
    write(answer(Order.read(tmp_path / "one")))
    fit = ("habits", "one/named.csv", "--labels", "one/labels.parquet")
    done = shell(*fit)
    assert done.code == 0, done.err
    several = int((np.diff(TRUTH.present.indptr) > 1).sum())
    assert f"{several} of {TRUTH.shape[0]} answers chose among several present classes" in done.out
    assert "--scheme single-positive --bias weights.csv" in done.out
    facts = shell(*fit, "--out", "again.csv", "--json").json
    assert facts["used"] == several
    assert Path("again.csv").read_text() == Path("weights.csv").read_text()
    used = shell(
        "simulate --data scenes:images=60 --scheme single-positive --bias weights.csv",
        *("--out", "labels.parquet"),
    )
    assert used.code == 0, used.err
    refused = shell(*fit, "--figure", "votes.png")
    assert refused.code == 2 and "--figure and --labels" in refused.err
    assert shell(*fit, "--out", "one/named.csv").code == 2


def test_questions_with_three_votes_serve_where_most_have_one(shell) -> None:
    votes_file(Path("votes.csv"), gold=False)
    assert shell("habits", "votes.csv", "--out", "alone.json").code == 0
    more = [f"x{n},thing 0,w0,no\n" for n in range(2000)]
    Path("more.csv").write_text(Path("votes.csv").read_text() + "".join(more))
    done = shell("habits", "more.csv", "--out", "more.json")
    assert done.code == 0, done.err
    assert "the rates are of the 600 of 2,600 questions with 3 or more" in done.out
    assert "3,000 votes of 6 people on 600 questions" in done.out
    assert Path("more.json").read_bytes() == Path("alone.json").read_bytes()
    Path("single.csv").write_text("image,class,worker,answer\n" + "".join(more))
    assert "a typical question has 1 votes" in shell("habits", "single.csv").err
