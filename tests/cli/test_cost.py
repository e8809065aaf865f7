"""`simkit cost` agrees with simulate, and with the price list by hand."""

import pytest

from tests.cli.conftest import truth_file

SMALL = "scenes:images=100,val=10,test=10"


def test_same_bill_as_when_it_was_made(shell) -> None:
    made = shell(f"simulate --scheme rpa --data {SMALL} --prices google --json").json
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


def test_table_names_the_source(shell) -> None:
    shell("simulate", "--scheme", "rpa", "--data", SMALL)
    done = shell("cost", "rpa.parquet")
    assert done.code == 0
    assert "verify" in done.out and "Bearman et al., ECCV 2016" in done.out and "total" in done.out
    assert "cost at hourly prices, $15 an hour, 1 person for each question" in done.out


def test_a_wage_of_ones_own(shell) -> None:
    made = shell("simulate", "--scheme", "rpa", "--data", SMALL, "--json").json
    done = shell("cost", "rpa.parquet", "--wage", "$36", "--json")
    # A question takes a second, and a second costs a cent.
    assert done.json["cost"]["dollars"] == pytest.approx(0.01 * made["effort"]["verify"])
    assert done.json["prices"] == "hourly"
    done = shell("cost", "rpa.parquet", "--wage", 20, "--prices", "google")
    assert done.code == 2 and "'google' has prices in dollars" in done.err


@pytest.mark.parametrize(
    "words, message",
    [
        ("nowhere.parquet", "nowhere.parquet does not exist"),
        ("rpa.parquet --prices googel", "did you mean 'google'?"),
        ("labels.txt", "labels.txt"),
        ("rpa.parquet --wage 12,5", "--wage is '12,5'; dollars an hour above 0"),
        ("rpa.parquet --level 1", "--level is '1'; a mAP above 0 and below 1"),
    ],
)
def test_bad_input(shell, words: str, message: str) -> None:
    done = shell(f"cost {words}")
    assert done.code == 2 and message in done.err and done.err.count("\n") == 1


def test_sets_to_measure_on_are_added(shell) -> None:
    shell("simulate", "--scheme", "fpc", "--per-class", 5, "--data", SMALL)
    done = shell(f"cost fpc.parquet --prices google --evaluation 4 --data {SMALL} --json")
    assert done.code == 0, done.err
    found = done.json["evaluation"]
    assert found["precision"] == 4 and 3.9 < found["half_width"] <= 4
    # The set is swept: 52 classes are three passes at $0.035.
    assert found["cost"]["dollars"] == pytest.approx(3 * 0.035 * found["images"])
    both = done.json["cost"]["dollars"] + 2 * found["cost"]["dollars"]
    assert done.json["with_evaluation"] == {"seconds": None, "dollars": pytest.approx(both)}


def test_the_table_says_how_many_images_and_what_is_left_out(shell) -> None:
    shell("simulate", "--scheme", "full-subset", "--data", SMALL)
    done = shell("cost full-subset.parquet --prices careful --evaluation 9 --level 0.6")
    found = shell(
        "cost full-subset.parquet --prices careful --evaluation 9 --level 0.6 --json"
    ).json["evaluation"]
    rows = [line for line in done.out.splitlines() if " set " in line and "known" not in line]
    assert [line.split()[:3] for line in rows] == [
        ["validation", "set", str(found["images"])],
        ["test", "set", str(found["images"])],
    ]
    assert "a model's mAP varies by +- 9 points (95 %) around a mean" in done.out
    assert done.out.index("validation set") < done.out.index("cost at careful prices")
    left = f"{len(found['rare'])} of 52 classes are expected in less than one image of each"
    assert len(found["rare"]) > 0 and left in done.out


def test_what_was_dropped_and_how_full_pages_are_stands_below(shell) -> None:
    shell("simulate", "--scheme", "fpc", "--precision", 0.2, "--per-class", 5, "--data", SMALL)
    done = shell("cost", "fpc.parquet", "--prices", "openimages")
    dropped = shell("cost", "fpc.parquet", "--prices", "openimages", "--json").json["dropped"]
    note = f"dropped: {dropped:,} answers were paid for and not kept, {0.0058 * dropped:.2f} of"
    assert dropped > 0 and note in done.out
    shell("simulate", "--scheme", "full-subset", "--data", SMALL)
    done = shell("cost", "full-subset.parquet", "--prices", "google")
    assert "sweep: 3 pages of up to 20 questions for each image and person, 87% full" in done.out


def test_a_list_of_ones_own_adds_its_lines(shell, tmp_path) -> None:
    (tmp_path / "mine.toml").write_text('like = "google"\nsetup = 500\nqa = 0.4\n')
    made = shell("simulate", "--scheme", "rpa", "--data", SMALL, "--prices", "mine.toml", "--json")
    plain = shell("cost", "rpa.parquet", "--prices", "google", "--json").json["cost"]["dollars"]
    assert made.json["cost"]["dollars"] == pytest.approx(1.4 * plain + 500)
    done = shell("cost", "rpa.parquet", "--prices", "mine.toml")
    assert "quality assurance" in done.out and "set-up" in done.out


def test_control_characters_of_a_source_do_not_reach_the_terminal(shell, tmp_path) -> None:
    shell("simulate", "--scheme", "rpa", "--data", SMALL)
    text = (
        'like = "hourly"\n[verify]\nper = "question"\nseconds = 1\nsource = "a\\u001b[2Jb\\u0007"\n'
    )
    (tmp_path / "mine.toml").write_text(text)
    done = shell("cost", "rpa.parquet", "--prices", "mine.toml")
    assert done.code == 0 and r"a\x1b[2Jb\x07" in done.out and "\x1b" not in done.out


@pytest.mark.parametrize(
    "words, message",
    [
        ("--evaluation 1", "fpc.parquet does not say; name the data set with --data"),
        ("--evaluation 1 --data npz:other.npz", "fpc.parquet has 52 classes and other 12"),
        (f"--evaluation 0 --data {SMALL}", "0.0 is not in the range 0<x<100"),
    ],
)
def test_evaluation_that_cannot_be_planned(shell, tmp_path, words: str, message: str) -> None:
    shell(f"simulate --scheme fpc --per-class 5 --data {SMALL}")
    truth_file(tmp_path / "other.npz")
    done = shell(f"cost fpc.parquet {words}")
    assert done.code == 2 and message in done.err
