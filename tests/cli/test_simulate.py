"""`simkit simulate`: every scheme runs, numbers agree with the file, bad input is refused."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from simkit.annotate import schemes
from simkit.annotate.simulate import simulate
from simkit.data import open as open_data
from simkit.labels.partial import PartialLabels
from simkit.papers.published_simulators import simulate_published
from tests.cli.conftest import scores_of, truth_file

SMALL = "scenes:images=300,val=20,test=20"


@pytest.mark.parametrize("scheme", schemes.names())
def test_every_scheme_with_no_other_option(shell, scheme: str) -> None:
    scores = scores_of(shell, SMALL) if schemes.make(scheme).needs_scores else ()
    done = shell("simulate", "--scheme", scheme, "--data", SMALL, "--json", *scores)
    assert done.code == 0, done.err
    labels = PartialLabels.load(f"{scheme}.parquet")
    assert done.json["id"] == labels.id
    assert done.json["counts"] == labels.counts()
    assert done.json["effort"] == labels.effort.counts()
    assert done.json["cost"]["dollars"] > 0
    assert done.json["cost"]["seconds"] > 0
    assert done.json["file"] == f"{scheme}.parquet"


def test_default_data_is_scenes(shell) -> None:
    done = shell("simulate", "--scheme", "fpc")
    assert done.code == 0, done.err
    assert "wrote fpc.parquet" in done.out
    assert PartialLabels.load("fpc.parquet").shape[0] == 3000


def test_settings_of_the_scheme_and_out(shell) -> None:
    done = shell(f"simulate --scheme fpc --per-class 7 --data {SMALL} --out a.npz --json")
    assert done.code == 0, done.err
    assert "per_class=7" in done.json["scheme"]
    assert Path("a.npz").is_file() and not Path("fpc.parquet").exists()
    same = shell("simulate", "--scheme", "fpc(per_class=7)", "--data", SMALL, "--json")
    assert same.json["id"] == done.json["id"]


def test_same_seed_same_id_other_seed_other_id(shell) -> None:
    ids = [
        shell("simulate", "--scheme", "rpa", "--data", SMALL, "--json", "--seed", seed).json["id"]
        for seed in (0, 0, 1)
    ]
    assert ids[0] == ids[1] != ids[2]


def test_budget_is_kept_and_nearly_spent(shell) -> None:
    words = f"simulate --scheme rpa --data {SMALL} --json --budget"
    done = shell(words, 20, "--prices", "openimages")
    assert done.code == 0, done.err
    assert 19 < done.json["cost"]["dollars"] <= 20
    assert 3400 < shell(words, 1, "--unit", "hours").json["cost"]["seconds"] <= 3600


def test_csv_by_its_ending(shell) -> None:
    done = shell("simulate", "--scheme", "single-positive", "--data", SMALL, "--out", "labels.csv")
    assert done.code == 0, done.err
    first, *rest = Path("labels.csv").read_text().splitlines()
    assert first == "image_id,class,state"
    assert len(rest) == 300
    assert "simkit: note: labels.csv does not hold the questions asked, and with them" in done.err


def test_one_image_is_one_and_all_is_a_share(shell) -> None:
    for given, asked in (("1", 1), ("1.0", 300), ("7", 7), ("0.5", 150)):
        done = shell("simulate", "--scheme", "rpa", "--data", SMALL, "--images", given, "--json")
        assert done.json["asked"] <= asked
        assert done.json["asked"] >= 0.9 * asked


BAD = {  # words after simulate, and what the message names
    "--scheme rpa --per-class 5": "--per-class is a setting of federated, fpc, not of rpa",
    "--scheme rpa --keep 1.5": "keep is 1.5",
    "--scheme fpc --data npz:nowhere.npz": "nowhere.npz does not exist",
    "--scheme fpc --data npz:folder": "folder is a folder",
    "--scheme fpc --data scene": "no data set is called 'scene'",
    "--scheme fpc --split dev": "has no split 'dev'",
    "--scheme fpc --out folder": "folder",
    "--scheme fpc --out labels.xyz": "labels.xyz",
    "--scheme fpc --prices gogle": "did you mean 'google'?",
    "--scheme rpa --budget -5": "--budget is '-5'; dollars, 0 or more",
    "--scheme rpa --images lots": "--images is 'lots'",
    "--scheme rpa --images 0": "images is '0'",
}


@pytest.mark.parametrize("words, message", BAD.items(), ids=list(BAD))
def test_bad_input(shell, words: str, message: str) -> None:
    Path("folder").mkdir()
    done = shell(f"simulate {words}")
    assert done.code == 2 and message in done.err
    assert done.err.startswith("simkit: ") and done.err.count("\n") == 1 and done.out == ""
    assert [p.name for p in Path(".").iterdir()] == ["folder"], "something was left behind"


def test_features_from_a_file(shell) -> None:
    features = np.random.default_rng(0).normal(size=(300, 4))
    np.savez("a.npz", features=features)
    np.savez("few.npz", features=features[1:])
    words = "simulate", "--scheme", "picked", "--data", SMALL, "--json"
    done = shell(*words, "--features", "a.npz")
    truth = open_data(SMALL).truth["train"]
    assert done.json["id"] == simulate(truth, "picked", features=np.float16(features)).id
    assert "--features a.npz" in Path("picked.card.md").read_text(encoding="utf-8")
    assert shell(*words).json["id"] != done.json["id"]
    refused = shell(*words, "--features", "few.npz")
    assert refused.code == 2 and "few.npz has 299 rows" in refused.err
    refused = shell("simulate", "--scheme", "rpa", "--features", "a.npz")
    assert refused.code == 2 and "rpa uses none; leave it out" in refused.err


def test_scores_from_a_table(shell) -> None:
    truth = open_data(SMALL).truth["train"]
    scores = np.random.default_rng(0).normal(size=truth.shape)
    table = pd.DataFrame(scores, columns=list(truth.classes))
    table.insert(0, "image", truth.images)
    table[::-1].to_csv("a.csv", index=False)
    scheme = "picked(by=uncertainty)"
    words = "simulate", "--scheme", scheme, "--data", SMALL, "--json"
    done = shell(*words, "--scores", "a.csv")
    assert done.json["id"] == simulate(truth, scheme, scores=scores).id
    assert "--scores a.csv" in Path("picked.card.md").read_text(encoding="utf-8")
    table[1:].to_csv("a.csv", index=False)
    without = ("--scores", "a.csv"), "a.csv: of 300 images, these have no row"
    for options, message in (((), "--scores FILE"), without):
        refused = shell(*words, *options)
        assert refused.code == 2 and message in refused.err
    refused = shell("simulate", "--scheme", "rpa", "--scores", "a.csv")
    assert refused.code == 2 and "rpa uses none; leave it out" in refused.err


def test_unwritable_target(shell) -> None:
    Path("file").write_text("")
    done = shell("simulate", "--scheme", "fpc", "--data", SMALL, "--out", "file/labels.parquet")
    assert done.code == 2
    assert "file/labels.parquet cannot be written" in done.err


def test_warnings_do_not_stop(shell) -> None:
    path = truth_file(Path("truth.npz"))
    done = shell("simulate", "--scheme", "fpc", "--per-class", 5000, "--data", f"npz:{path}")
    assert done.code == 0
    assert "simkit: note: " in done.err
    assert Path("fpc.parquet").is_file()


def test_the_published_arrays_by_option(shell, tmp_path) -> None:
    file = truth_file(tmp_path / "truth.npz")
    made = shell(
        "simulate --scheme single-positive --data", f"npz:{file}", "--legacy-rng", "--json"
    )
    assert made.code == 0, made.err
    data = open_data(f"npz:{file}")
    truth = data.truth["train+val"]  # as published: before a part is held out
    labels = simulate_published(truth, "single-positive")
    assert made.json["id"] == labels.id and labels.history.seed == 1200
    other = shell(
        "simulate --scheme single-positive --data",
        f"npz:{file}",
        "--legacy-rng",
        "--seed",
        0,
        "--json",
    )
    assert other.json["id"] == simulate_published(truth, "single-positive", seed=0).id


@pytest.mark.parametrize(
    ("scheme", "split", "warned"),
    [
        ("single-positive", "test", ""),  # as published: with the same seed, by itself
        ("single-positive", "train", "labels the whole training file"),
        ("single-positive", "val", "labels the whole training file"),
        ("fpc", "test", "code of fpc labels the training set alone"),
    ],
)
def test_published_arrays_warn_of_the_splits_that_the_published_code_does_not_label(
    shell, tmp_path, scheme: str, split: str, warned: str
) -> None:
    spec = f"npz:{truth_file(tmp_path / 'a.npz')},test={truth_file(tmp_path / 'b.npz')}"
    done = shell(
        "simulate", "--scheme", scheme, "--data", spec, "--split", split, "--legacy-rng", "--json"
    )
    assert done.code == 0, done.err
    assert warned in done.err and ("leave --split" in done.err) == bool(warned)
    truth = open_data(spec).truth[split]
    assert done.json["id"] == simulate_published(truth, scheme).id


@pytest.mark.parametrize("spec", ["npz:src.npz", "npz:./src.npz,val=src.npz", "mine.toml"])
def test_the_files_of_the_data_set_are_not_written_over(shell, spec: str) -> None:
    before = truth_file(Path("src.npz")).read_bytes()
    Path("mine.toml").write_text('source = "npz"\ntrain = "src.npz"\n')
    done = shell("simulate", "--scheme", "rpa", "--data", spec, "--out", "src.npz")
    assert done.code == 2
    assert "src.npz is a file that is read here" in done.err
    assert Path("src.npz").read_bytes() == before


def test_it_says_when_a_file_is_replaced(shell) -> None:
    words = ("simulate", "--scheme", "rpa", "--data", SMALL, "--out", "x.npz")
    assert "in place of" not in shell(*words).out
    assert shell(*words).out.endswith(", in place of the file that was there\n")
    assert shell(*words, "--json").json["replaced"] is True
    Path("x.npz").unlink()
    assert shell(*words, "--json").json["replaced"] is False


def test_wrong_labels_are_told(shell) -> None:
    done = shell("simulate", "--scheme", "rpa", "--false-alarm", "0.2", "--data", SMALL, "--json")
    found = done.json
    assert found["wrong"]["present"] > 100 and found["wrong"]["absent"] == 0
    told = shell("simulate", "--scheme", "rpa", "--false-alarm", "0.2", "--data", SMALL).out
    many = f"{found['wrong']['present']:,}"
    assert f"wrong labels: {many} present, 0 absent" in told
    assert "contradict" not in shell("simulate", "--scheme", "rpa", "--data", SMALL).out
