"""The sentences of a card agree with the labels."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from simkit.annotate import schemes
from simkit.annotate.cards.croissant import croissant
from simkit.annotate.cards.markdown import card
from simkit.annotate.habits import Habits
from simkit.annotate.prices import cost, prices
from simkit.errors import BadInput
from simkit.history import History
from tests.annotate.cards.examples import OWNED, subject


def test_the_summary_counts_the_labels(tmp_path: Path) -> None:
    one = subject(tmp_path)
    counts = one.labels.counts()
    known = counts["present"] + counts["absent"]
    assert known + counts["unknown"] == 60 * 12
    for number in (*counts.values(), known, 60, 12):
        assert f"{number:,} " in one.summary()
    assert f"({known / 720:.2%})" in one.summary()
    assert one.title == "Partial labels of zoo, simulated: RPA"
    assert replace(one, terms=OWNED).title == "Partial labels of Zoo, simulated: RPA"


def test_people_who_never_err_and_people_who_do(tmp_path: Path) -> None:
    one = subject(tmp_path)
    assert one.people() == (
        "Simulated people who never err; one answer to each question, on which the 8 people paid "
        "for it agree."
    )
    alone = replace(one, bill=cost(one.labels, replace(prices("coco-tagging"), workers=1)))
    assert alone.people() == "Simulated people who never err; one answer to each question."
    assert len(one.biases()) == 2
    erring = Habits(miss=0.4, false_alarm=tuple([0.1] * 11 + [0.2]), workers=3, vote="union")
    two = subject(tmp_path, habits=erring)
    assert sum(two.wrong.values()) > 0
    assert two.people() == (
        "Simulated people who err (miss 0.4, false_alarm 0.1 to 0.2 by class); 3 answers to each "
        "question, a class taken for present by at least 1 of them. "
        f"{two.wrong['present']} present and {two.wrong['absent']} absent labels contradict the "
        "truth."
    )
    assert len(two.biases()) == 3
    assert two.limits() != one.limits()


@pytest.mark.parametrize("scheme", ["fpc(per_class=1000)", "full-subset", "rpa(keep=1)"])
def test_where_everything_is_known_nothing_is_said_of_missing_labels(
    tmp_path: Path, scheme: str
) -> None:
    one = subject(tmp_path, scheme=scheme)
    assert one.labels.counts()["unknown"] == 0
    assert one.biases()[0].startswith("Every label is known")
    assert one.scheme.caution not in one.biases()
    markdown, machine = card(one), json.loads(croissant(one, "zoo.card.md"))
    assert "artial" not in markdown and "none is unknown." in one.summary()
    assert "partial labels" not in machine["keywords"]
    assert machine["rai:dataCollectionMissingData"] == "No label is missing."


def test_a_caution_is_said_of_what_is_partly_known(tmp_path: Path) -> None:
    one = subject(tmp_path, scheme="fpc(per_class=5)")
    assert one.biases()[0] == one.scheme.caution and "As far as there are so many" in card(one)
    assert "partial-labels" in card(one)
    assert "partial labels" in json.loads(croissant(one, "zoo.card.md"))["keywords"]


def test_what_people_were_asked(tmp_path: Path) -> None:
    one = subject(tmp_path)
    (line,) = one.questions()
    assert line == f"verify: is this class in this image? yes or no ({one.labels.codes.nnz:,})"


def test_what_a_file_does_not_hold_is_among_the_limits(tmp_path: Path) -> None:
    assert len(subject(tmp_path).limits()) == 1
    told = subject(tmp_path, "zoo.csv").limits()
    assert any("what people were asked" in text for text in told)
    assert any("the history" in text for text in told)


def test_labels_of_no_simulation_have_no_card(tmp_path: Path) -> None:
    one = subject(tmp_path)
    given = replace(one.labels, history=History("given"))
    with pytest.raises(BadInput, match="these labels are of 'given', and a card tells of a"):
        replace(one, labels=given)


@pytest.mark.parametrize("name", schemes.names())
def test_every_scheme_says_what_it_misrepresents(name: str) -> None:
    told = getattr(schemes.make(name), "caution", None)
    if told is None:
        pytest.skip("it says nothing, and need not")
    assert len(told) > 80 and told.endswith(".") and "  " not in told


def test_a_mixture_says_what_its_weak_part_misrepresents() -> None:
    told = schemes.make("mixed(rest='rpa')").caution
    assert told.endswith(schemes.make("rpa").caution) and told != schemes.make("rpa").caution
