"""`simkit neighbours`: what it prints is what the library finds."""

from pathlib import Path

import numpy as np
import pytest

from simkit.data import open as open_data
from simkit.errors import BadInput

SMALL = "scenes:images=120,val=10,test=30"


@pytest.fixture
def features(tmp_path: Path) -> Path:
    angles = np.deg2rad(np.arange(120.0) ** 1.01 / 2)  # the farther on, the farther apart
    np.savez(tmp_path / "f.npz", features=np.stack([np.cos(angles), np.sin(angles)], 1))
    return tmp_path / "f.npz"


def ask(shell, features: Path, *more: object):
    return shell("neighbours", "--data", SMALL, "--features", features, "--query", 50, *more)


def test_nearest_with_their_truth(shell, features: Path) -> None:
    done = ask(shell, features, "--k", 4, "--json")
    assert done.code == 0, done.err
    rows = done.json["neighbours"]
    assert [row["image"] for row in rows] == ["50", "49", "51", "48", "52"]
    truth = open_data(SMALL).truth["train"]
    for row in rows:
        names = np.array(truth.classes)[truth.rows([row["row"]])[0]].tolist()
        assert row["present"] == names and row["unknown"] == 0


def test_a_table_for_people(shell, features: Path) -> None:
    lines = ask(shell, features, "--k", 2).out.splitlines()
    assert lines[0].split() == ["image", "distance", "1", "-", "cosine", "labels"]
    assert lines[1].startswith("query  50 ") and lines[2].startswith("1      49 ")
    assert len(lines) == 4


def test_partial_labels_and_a_figure(shell, features: Path) -> None:
    shell("simulate", "--scheme", "rpa", "--data", SMALL, "--out", "rpa.parquet")
    done = ask(shell, features, "--labels", "rpa.parquet", "--figure", "near.PNG", "--k", 3)
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1] == "wrote near.PNG"
    assert Path("near.PNG").read_bytes()[:4] == b"\x89PNG"
    assert "? 4" in done.out and "(in truth " in done.out


def test_features_of_a_backbone_are_the_default(shell, monkeypatch) -> None:
    monkeypatch.setenv("SIMKIT_CACHE", "cache")
    done = shell("neighbours", "--data", SMALL, "--split", "test", "--query", 3, "--k", 1, "--json")
    assert done.code == 0, done.err
    assert len(done.json["neighbours"]) == 2 and done.json["split"] == "test"


BAD = {
    "another image": (["--query", "x"], "no image is called 'x'; known are 0, 1, 10"),
    "another format": (
        ["--figure", "near.gif"],
        "--figure is near.gif; a name that ends in .png, .pdf or .svg is expected",
    ),
}


@pytest.mark.parametrize("given, message", BAD.values(), ids=BAD)
def test_bad_input(shell, features: Path, given: list[str], message: str) -> None:
    done = ask(shell, features, *given)
    assert done.code == 2 and done.err.startswith(f"simkit: {message}")


def test_a_place_that_cannot_be_written_is_said_first(shell, features: Path) -> None:
    Path("near.png").mkdir()
    done = ask(shell, features, "--figure", "near.png")
    assert done.code == 2 and done.out == ""
    assert done.err.strip() == "simkit: near.png is a folder; give the name of a file to write"


def test_what_was_found_is_printed_though_drawing_fails(shell, features: Path, monkeypatch) -> None:
    def broken(*given):
        raise BadInput("the pictures cannot be drawn; try another ending")

    monkeypatch.setattr("simkit.cli.neighbours.write_figure", broken)
    done = ask(shell, features, "--k", 1, "--figure", "near.png")
    assert done.code == 2 and "1      " in done.out and "cannot be drawn" in done.err
