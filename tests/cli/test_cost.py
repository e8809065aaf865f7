"""`simkit cost` agrees with simulate, and with the price list by hand."""

import pytest

SMALL = "scenes:images=100,val=10,test=10"


def test_same_bill_as_when_it_was_made(shell) -> None:
    made = shell(
        "simulate", "--scheme", "rpa", "--data", SMALL, "--prices", "google", "--json"
    ).json
    done = shell("cost", "rpa.parquet", "--prices", "google", "--json")
    assert done.code == 0, done.err
    assert done.json["cost"] == made["cost"]
    assert done.json["id"] == made["id"]


def test_openimages_by_hand(shell) -> None:
    made = shell("simulate", "--scheme", "rpa", "--data", SMALL, "--json").json
    questions = made["effort"]["verify"]
    done = shell("cost", "rpa.parquet", "--prices", "openimages", "--json").json
    assert done["cost"]["dollars"] == pytest.approx(0.0058 * questions)
    assert done["cost"]["seconds"] is None


def test_a_file_without_questions_has_no_price(shell) -> None:
    shell("simulate", "--scheme", "rpa", "--data", SMALL, "--out", "a.csv")
    done = shell("cost", "a.csv")
    assert done.code == 2
    assert "a.csv does not say what people were asked, so it has no price" in done.err


def test_table_names_the_source(shell) -> None:
    shell("simulate", "--scheme", "rpa", "--data", SMALL)
    done = shell("cost", "rpa.parquet")
    assert done.code == 0
    assert "verify" in done.out and "Lin et al., ECCV 2014" in done.out and "total" in done.out


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["nowhere.parquet"], "nowhere.parquet does not exist"),
        (["rpa.parquet", "--prices", "googel"], "did you mean 'google'?"),
        (["labels.txt"], "labels.txt"),
    ],
)
def test_bad_input(shell, arguments, message) -> None:
    done = shell("cost", *arguments)
    assert done.code == 2
    assert message in done.err and done.err.count("\n") == 1
