"""Cards beside simulated labels: what they say is true, and their command makes them again."""

import json
import os
import re
import shlex
from pathlib import Path

import pytest
import yaml

from simkit.annotate import schemes
from simkit.annotate.annotators import Habits
from tests.cli.conftest import scores_of, truth_file

SMALL = "scenes:images=300,val=20,test=20"


def command(card: str) -> list[str]:
    """The words of the command in a card, without the program's own name."""
    (line,) = re.findall(r"```sh\n(.*)\n```", Path(card).read_text(encoding="utf-8"))
    program, *words = shlex.split(line)
    assert program == "simkit"
    return words


@pytest.mark.parametrize("scheme", schemes.names())
def test_the_command_in_the_card_makes_the_same_files(shell, scheme: str) -> None:
    scores = scores_of(shell, SMALL) if schemes.make(scheme).needs_scores else ()
    done = shell("simulate", "--scheme", scheme, "--data", SMALL, "--seed", 5, "--json", *scores)
    files = [f"{scheme}.parquet", *done.json["cards"]]
    assert files[1:] == [f"{scheme}.card.md", f"{scheme}.croissant.json"]
    before = [Path(file).read_bytes() for file in files]
    words = command(files[1])
    for file in files:
        Path(file).unlink()
    assert shell(*words, "--json").json["id"] == done.json["id"]
    assert [Path(file).read_bytes() for file in files] == before


@pytest.mark.parametrize(
    "options",
    [
        ("--scheme", "rpa", "--budget", 20, "--prices", "openimages"),
        ("--scheme", "full-subset", "--budget", 1, "--unit", "hours", "--draw", 2),
        ("--scheme", "rpa", "--images", 1),
        ("--scheme", "rpa", "--images", 0.25, "--split", "val"),
        ("--scheme", "fpc", "--miss", 0.2, "--false-alarm", 0.1, "--workers", 3, "--vote", "union"),
        ("--scheme", "rpa", "--habits", "my habits.json"),
        ("--scheme", "fpc", "--per-class", 9, "--legacy-rng", "--seed", 7),
    ],
)
def test_so_it_does_with_other_options(shell, options: tuple[object, ...]) -> None:
    habits = Habits(miss=tuple([0.1, 0.3] * 26), workers=5, quorum=2, unsure_absent=0.1)
    Path("my habits.json").write_text(json.dumps(habits.to_json()))
    done = shell("simulate", "--data", SMALL, *options, "--out", "a b.parquet", "--json")
    assert done.code == 0, done.err
    again = shell(*command("a b.card.md"), "--json")
    assert (again.code, again.json["id"]) == (0, done.json["id"]), again.err
    assert again.json["counts"] == done.json["counts"]
    assert again.json["wrong"] == done.json["wrong"]


def test_without_cards(shell) -> None:
    done = shell("simulate", "--scheme", "rpa", "--data", SMALL, "--no-card", "--json")
    assert done.json["cards"] == []
    assert [path.name for path in Path().iterdir()] == ["rpa.parquet"]
    told = shell("simulate", "--scheme", "rpa", "--data", SMALL, "--no-card").out
    assert "described" not in told


def test_what_is_no_card_of_these_labels_is_left_as_it_is(shell) -> None:
    Path("rpa.card.md").write_text("by hand")
    done = shell("simulate", "--scheme", "rpa", "--data", SMALL)
    assert done.code == 2 and done.err == (
        "simkit: rpa.parquet would have the card rpa.card.md, which is there and is no card of it; "
        "give --out another name, or leave cards away with --no-card\n"
    )
    assert Path("rpa.card.md").read_text() == "by hand" and not Path("rpa.parquet").exists()
    assert shell("simulate", "--scheme", "rpa", "--data", SMALL, "--no-card").code == 0
    assert Path("rpa.card.md").read_text() == "by hand"


def test_labels_of_another_form_keep_their_cards(shell) -> None:
    words = ("simulate", "--scheme", "rpa", "--data", SMALL, "--out")
    assert shell(*words, "a.parquet").code == 0
    before = Path("a.card.md").read_bytes()
    refused = shell(*words, "a.csv", "--seed", 1)
    assert refused.code == 2 and "which is there and describes a.parquet, which has" in refused.err
    assert Path("a.card.md").read_bytes() == before and not Path("a.csv").exists()
    assert shell(*words, "a.csv").code == 0  # the same labels: the cards are now of this file


@pytest.mark.skipif(os.name == "nt", reason="such names are of other systems")
@pytest.mark.parametrize("name", ["a 'b' \"c\"", "a\\b", "`a`", "a|b", "<a>"])
def test_odd_names_of_files_and_data(shell, name: str) -> None:
    """Labels are replaced with their cards, and the command makes them again."""
    truth_file(Path(f"{name}.npz"))
    words = ("simulate", "--scheme", "rpa", "--data", f"npz:{name}.npz", "--out")
    assert shell(*words, f"{name}.parquet").code == 0
    done = shell(*words, f"{name}.parquet", "--seed", 1, "--json")
    assert done.code == 0, done.err
    assert shell(*command(f"{name}.card.md"), "--json").json["id"] == done.json["id"]


@pytest.mark.parametrize("no_card", [True, False])
def test_cards_of_labels_that_are_replaced_do_not_stay(shell, monkeypatch, no_card) -> None:
    shell("simulate", "--scheme", "fpc", "--data", SMALL, "--out", "a.parquet")
    if no_card:
        words = ["--no-card"]
    else:  # an end between the labels and their cards
        words = []
        monkeypatch.setattr("simkit.annotate.label_card.write", lambda *_: (_ for _ in ()).throw(
            KeyboardInterrupt))  # fmt: skip
    shell("simulate", "--scheme", "rpa", "--data", SMALL, "--out", "a.parquet", *words)
    assert not Path("a.card.md").exists() and not Path("a.croissant.json").exists()
    assert Path("a.parquet").exists()


@pytest.mark.parametrize("name", ["rpa.card.md", "rpa.croissant.json"])
def test_nothing_is_written_where_a_card_cannot_be(shell, name: str) -> None:
    Path(name).mkdir()
    done = shell("simulate", "--scheme", "rpa", "--data", SMALL)
    assert done.code == 2 and done.err.startswith(f"simkit: {name} is a folder")
    assert [path.name for path in Path().iterdir()] == [name]
    assert shell("simulate", "--scheme", "rpa", "--data", SMALL, "--no-card").code == 0


def test_a_card_does_not_replace_what_is_read(shell) -> None:
    truth_file(Path("t.npz"))
    Path("rpa.croissant.json").write_text(json.dumps(Habits(miss=0.1).to_json()))
    done = shell("simulate --scheme rpa --data npz:t.npz --habits rpa.croissant.json")
    assert done.code == 2 and "rpa.croissant.json is a file that is read here" in done.err
    assert not Path("rpa.parquet").exists()


def test_own_data_have_no_licence_of_others(shell) -> None:
    truth_file(Path("t.npz"))
    shell("simulate", "--scheme", "rpa", "--data", "npz:t.npz")
    text = Path("rpa.card.md").read_text(encoding="utf-8")
    assert yaml.safe_load(text.split("---\n")[1])["license"] == "unknown"
    assert "Nothing is known of its owner" in text and "Data set: t, split `train+val`" in text
    shell("simulate", "--scheme", "rpa", "--data", SMALL)
    text = Path("rpa.card.md").read_text(encoding="utf-8")
    assert yaml.safe_load(text.split("---\n")[1])["license"] == "mit"


def test_arrays_of_several_files_are_all_described(shell) -> None:
    done = shell(
        f"simulate --scheme single-positive --data {SMALL} --json",
        *("--out", "formatted_train_labels_obs.npy"),
    )
    assert done.code == 0, done.err
    machine = json.loads(Path("formatted_train_labels_obs.croissant.json").read_text())
    named = {file["name"] for file in machine["distribution"]}
    assert named == {"formatted_train_labels_obs.npy", "formatted_train_images.npy"}
    assert {path.name for path in Path().glob("*.npy")} == named
