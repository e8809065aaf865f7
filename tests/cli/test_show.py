"""`simkit show` tells what a file holds and how it was made."""

from pathlib import Path

import pandas as pd
import pytest

from simkit.labels.formats import make
from simkit.labels.partial import PartialLabels

SMALL = "scenes:images=100,val=10,test=10"


def test_labels(shell) -> None:
    made = shell(f"simulate --scheme fpc --per-class 5 --data {SMALL} --seed 3 --json").json
    done = shell("show", "fpc.parquet")
    assert done.code == 0, done.err
    assert made["id"] in done.out
    assert "seed 3" in done.out and "per_class=5" in done.out
    assert "  from truth " in done.out and "  from hierarchy " in done.out
    facts = shell("show", "fpc.parquet", "--json").json
    assert facts["counts"] == made["counts"]
    assert facts["history"]["seed"] == 3


def test_cards_are_named_where_they_are_about_these_labels(shell) -> None:
    shell("simulate", "--scheme", "rpa", "--data", SMALL)
    told = "\ndescribed in rpa.card.md and rpa.croissant.json\n"
    assert shell("show", "rpa.parquet").out.endswith(told)
    assert shell("show", "rpa.parquet", "--json").json["cards"] == [
        "rpa.card.md", "rpa.croissant.json",
    ]  # fmt: skip
    shell("simulate", "--scheme", "rpa", "--data", SMALL, "--seed", 1, "--no-card")
    assert "described" not in shell("show", "rpa.parquet").out
    assert shell("show", "rpa.parquet", "--json").json["cards"] == []


def test_history_makes_the_same_labels_again(shell) -> None:
    from simkit import PartialLabels, data, replay

    shell(f"simulate --scheme knowledge-graph --data {SMALL} --images 0.5 --draw 2")
    labels = PartialLabels.load("knowledge-graph.parquet")
    scenes = data.open(SMALL)
    assert replay(labels.history, scenes.truth["train"], scenes.hierarchy).id == labels.id


def test_hierarchy(shell) -> None:
    from simkit.labels.hierarchy import Hierarchy

    Hierarchy.of(["dog", "cat", "animal"], [("dog", "animal"), ("cat", "animal")]).save("h.json")
    done = shell("show", "h.json")
    assert done.out.splitlines() == [
        "h.json: 3 classes, 2 of them without children",
        "  animal",
        "    dog",
        "    cat",
    ]


@pytest.mark.parametrize("name", ["coco", "fiftyone", "lvis", "mmpretrain"])
def test_label_files_in_json(shell, name: str) -> None:
    labels = PartialLabels.of([[1, -1], [1, 1]], classes=["a", "b"])
    make(name).write(labels, "x.json")
    done = shell("show", "x.json")
    assert done.code == 0, done.err
    assert done.out.splitlines()[:2] == [
        "labels: 2 of 2 images asked, 2 classes",
        "4 labels known (100.00%): 3 present, 1 absent",
    ]
    assert shell("show", "x.json", "--json").json["counts"] == labels.counts()


def test_habits_are_not_taken_for_labels(shell) -> None:
    Path("h.json").write_text('{"habits": {"miss": 0.25}, "fit": {"categories": ["a"]}}')
    assert "  miss = 0.25" in shell("show", "h.json").out


def test_features_at_every_level_of_their_folder(shell) -> None:
    how = (
        "--data",
        SMALL,
        "--split",
        "val",
        "--split",
        "test",
        "--out",
        "f",
        "--weights",
        "random",
    )
    assert shell("features", *how).code == 0
    one = shell("show", "f/val/pooled")
    assert one.code == 0, one.err
    assert one.out.splitlines()[0] == "pooled features of 10 images, 128 for each"
    for line in ("weights = random", "unreadable = stop", "from images ", "from backbone "):
        assert f"\n  {line}" in one.out
    assert ", torchvision " in one.out and ", pillow " in one.out
    assert shell("show", "f/val").out == one.out
    both = shell("show", "f")
    assert both.out.startswith("f/test/pooled: pooled features of 10 images")
    assert f"\n\nf/val/pooled: {one.out}" in both.out
    facts = shell("show", "f", "--json").json["features"]
    assert [each["folder"] for each in facts] == ["f/test/pooled", "f/val/pooled"]
    assert facts[1]["id"] == shell("show", "f/val", "--json").json["id"]


def test_projects_and_orders_are_named(shell) -> None:
    rpa = ("order", "--data", SMALL, "--scheme", "rpa(keep=0.2)", "--to", "csv")
    assert shell(*rpa, "--out", "project/order1").code == 0
    assert "rpa(keep=0.2)\n" in shell("show", "project/order1").out  # no settings at defaults
    Path("project/project.toml").write_text(
        f'data = "{SMALL}"\nclasses = ["a", "b", "c"]\nbudget = 9\n'
    )
    for folder in ("project", "project/order1"):
        assert "simkit status project\n" in shell("show", folder).out


def test_bad_input(shell) -> None:
    Path("labels.parquet").write_bytes(b"PAR1 but not really")
    for name in ("nowhere", "labels.parquet"):
        done = shell("show", name)
        assert done.code == 2
        assert name in done.err and done.err.count("\n") == 1


def test_models_and_their_scores(shell) -> None:
    shell("simulate", "--scheme", "full-subset", "--data", SMALL, "--no-card")
    train = ("train", "--labels", "full-subset.parquet", "--data", SMALL, "--epochs", 2)
    assert shell(*train, "--method", "an", "--out", "plain").code == 0
    report = ("--report", "--tag-precision", 0)
    assert shell(*train, "--method", "an", "--out", "model", *report).code == 0
    facts = shell("show", "model", "--json").json
    scored = facts["scored"]
    done = shell("show", "model")
    lines = done.out.splitlines()
    assert lines[0] == "model is a model of 52 classes: zero, one, two, three, four, ..."
    assert lines[1:3] == ["method: an", "trained on: scenes; network: scenes-net"]
    said = f"scored: {100 * scored['expected']:.1f} mAP (95% interval "
    assert lines[3].startswith(said)
    assert f"interval {100 * scored['low']:.1f} to {100 * scored['high']:.1f}" in lines[3]
    said = "with the highest F1, on 110 images: val, and training images with labels of nearly all"
    assert said in lines[4]
    limit, number = facts["thresholds"][0], facts["thresholds_present"][0]
    assert lines[6].split() == ["zero", f"{limit:.2f}", str(number)]
    assert "thresholds: logit 0, probability 1/2" in shell("show", "plain").out
    how = ("predict", "model", "--data", SMALL, "--split")
    done = shell(*how, "train", "--tags", "tags.csv", "--labels", "full-subset.parquet")
    table = pd.read_csv("tags.csv")
    number = (table["source"] == "people").sum()
    assert number == table["people"].notna().sum() > 0
    assert (
        f"wrote tags.csv: {len(table):,} rows (image and class), {number:,} tags by pe" in done.out
    )
    differ = (table["people"] != table["model"])[table["people"].notna() & table["model"].notna()]
    assert f"which differs in {differ.sum():,} of {len(differ):,} tags" in done.out
    assert shell(*how, "test", "--labels", "full-subset.parquet").code == 2
    shell(*how, "test")
    scores = pd.read_csv("scores.csv").set_index("image")
    done = shell("show", "scores.csv")
    low, high = scores.to_numpy().min(), scores.to_numpy().max()
    assert done.out.splitlines() == [
        "scores.csv holds scores of 10 images and 52 classes: zero, one, two, three, four, ...",
        f"scores from {low:.4g} to {high:.4g}; empty: 0",
    ]
    scores.reset_index().to_parquet("scores.parquet")
    assert shell("show", "scores.parquet", "--json").json["images"] == 10
    Path("table.csv").write_text("name,cat\na,often\n")
    assert shell("show", "table.csv").code == 2
