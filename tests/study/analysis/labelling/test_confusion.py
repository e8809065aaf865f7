"""The table behind the figure says what the fit and the votes say."""

import numpy as np
import pytest

from simkit.annotate.people.fitting import fit, simulate_votes
from simkit.annotate.people.votes import YES, Votes, agreement
from simkit.study.analysis.labelling.confusion import confusion


@pytest.fixture(scope="module")
def votes() -> Votes:
    """Three of four workers on 400 questions, a third present; experts saw every fifth."""
    rng = np.random.default_rng(6)
    question = np.repeat(np.arange(400), 3)
    worker = (question + np.tile([0, 1, 2], 400)) % 4
    present = np.arange(400) % 3 == 0
    yes = rng.random(1200) < np.where(present[question], 0.8, 0.1)
    answer = np.where(yes, YES, np.where(rng.random(1200) < 0.1, 1, 0)).astype(np.int8)
    gold = np.where(np.arange(400) % 5 == 0, present, -1).astype(np.int8)
    names = tuple("abcd")
    return Votes(
        np.arange(400), ("cat",), names, np.arange(400), np.zeros(400, np.int64),
        question, worker, answer, gold,
    )  # fmt: skip


def rows(table, part: str) -> list[dict]:
    return [row for row in table.to_pylist() if row["part"] == part]


def test_matrix_and_experts(votes) -> None:
    fitted = fit(votes)
    table = confusion(votes, fitted)
    cells = {(r["name"], r["answer"]): (r["votes"], r["share"]) for r in rows(table, "matrix")}
    absent, present = fitted.confusion
    assert cells["present", "yes"] == (present[2], pytest.approx(present[2] / present.sum()))
    assert cells["absent", "maybe"] == (absent[1], pytest.approx(absent[1] / absent.sum()))
    assert sum(number for number, _ in cells.values()) == pytest.approx(1200)
    known = votes.gold == 1
    said = {r["answer"]: r["votes"] for r in rows(table, "gold") if r["name"] == "present"}
    assert list(said.values()) == votes.counts[known].sum(0).tolist()


def test_workers_and_agreement(votes) -> None:
    fitted = fit(votes)
    table = confusion(votes, fitted, seed=4)
    workers = rows(table, "worker")
    assert [row["name"] for row in workers] == list("abcd")
    assert [row["votes"] for row in workers] == [300] * 4
    assert [row["miss"] for row in workers] == fitted.miss.tolist()
    real, again = agreement(votes), agreement(simulate_votes(fitted, votes, seed=4))
    assert [r["share"] for r in rows(table, "yes")] == real.yes_counts.tolist()
    assert [r["simulated"] for r in rows(table, "yes")] == again.yes_counts.tolist()
    numbers = {r["name"]: (r["share"], r["simulated"]) for r in rows(table, "agreement")}
    assert numbers["Fleiss' kappa"] == (real.kappa, again.kappa)
