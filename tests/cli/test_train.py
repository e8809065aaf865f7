"""`simkit train`: the mAP it prints is the model's, and what does not fit is refused."""

from pathlib import Path

import pytest

import simkit
from tests.cli.conftest import scores_of
from tests.cli.test_features import photographs

SMALL = "scenes:images=300,val=20,test=200"


@pytest.fixture
def labels(shell) -> str:
    done = shell("simulate", "--scheme", "full-subset", "--data", SMALL, "--out", "full.parquet")
    assert done.code == 0, done.err
    return "full.parquet"


def train(shell, labels: str, *more: object, method: str = "an"):
    return shell(
        "train", "--method", method, "--labels", labels, "--data", SMALL, "--epochs", 3, *more
    )


def test_a_head_learns_and_is_written(shell, labels: str) -> None:
    done = train(shell, labels, "--out", "model", "--json")
    assert done.code == 0, done.err
    assert 0.25 < done.json["map"] < 1  # chance is about 0.1 over these leaf classes
    assert done.json["split"] == "test"
    assert {p.name for p in Path("model").iterdir()} == {"model.json", "model.safetensors"}
    shown = shell("show", "model")
    assert shown.code == 0 and "backbone = scenes-net" in shown.out


def test_a_report_says_more_than_map(shell, labels: str) -> None:
    done = train(shell, labels, "--report", "--json")
    assert done.code == 0, done.err
    report = done.json["report"]
    assert (report["f1_images"], report["groups"]) == (20 + 300, [])  # complete labels
    assert 0 < report["f1"] < 1 and 0 < report["top1"] <= 1 and 0 < report["pointing"] < 1
    told = train(shell, labels, "--report").out
    assert f"mF1 {100 * report['f1']:.2f}, precision " in told
    assert f"pointing game {100 * report['pointing']:.2f}" in told
    told = train(shell, labels, "--report", "--tag-precision", 0).out
    rows = train(shell, labels, "--report", "--tag-precision", 0, "--json").json["report"]
    rows = [row for row in rows["by_class"] if row["threshold"] is not None]
    twice = [row["name"] for row in rows if row["tagged"] >= 2 * row["present"] > 0]
    named = told.partition("check the tags of ")[2].partition("people say: ")[2].partition(";")[0]
    assert named and {text.split()[0] for text in named.split(", ")} - {"..."} <= {*twice}


def test_thresholds_without_val_need_no_features_of_images_without_a_question(
    shell, monkeypatch
) -> None:
    monkeypatch.setenv("SIMKIT_CACHE", str(Path("cache").absolute()))
    photographs(count=24)
    rows = [f"{i}.png,{'test' if i > 17 else 'train'},{i % 2},{i % 3 // 2}" for i in range(24)]
    for table, some in (("all.csv", rows), ("some.csv", rows[:12])):
        Path(table).write_text("\n".join(["file,split,cat,dog", *some]) + "\n")
    data = ("--data", "folder:pictures,labels=all.csv,val=0")
    how = (*data, "--labels", "some.csv", "--epochs", 3, "--report", "--out", "model", "--json")
    done = shell("train --method an", *how)
    assert done.code == 0, done.err
    report = done.json["report"]["by_class"]
    assert (done.json["unasked"], sum(one["from_present"] for one in report)) == (6, 6 + 4)
    shown = shell("predict model --json", *data).json["evaluation"]["by_class"]
    thresholds = [one["threshold"] for one in report]
    assert [one["threshold"] for one in shown] == pytest.approx(thresholds)


def test_a_plain_table_trains_the_same_head(shell, labels: str) -> None:
    shell("simulate", "--scheme", "full-subset", "--data", SMALL, "--out", "full.csv")
    shell("simulate", "--scheme", "rpa", "--data", SMALL, "--out", "rpa.csv")
    shell("simulate", "--scheme", "rpa", "--data", SMALL, "--out", "rpa.parquet")
    for name in ("full", "rpa"):
        one, other = (train(shell, f"{name}.{end}", "--json").json for end in ("csv", "parquet"))
        assert one["map"] == pytest.approx(other["map"], abs=1e-5)


def test_same_seed_same_model(shell, labels: str) -> None:
    ids = [train(shell, labels, "--seed", seed, "--json").json["id"] for seed in (0, 0, 1)]
    assert ids[0] == ids[1] != ids[2]


def test_every_method_runs(shell, labels: str) -> None:
    from simkit.learn import methods

    scores = scores_of(shell, SMALL)
    for name in methods.names():
        spec = f"an+{name}" if "inner" in methods.get(name).__dataclass_fields__ else name
        done = train(shell, labels, *scores, method=spec)
        assert done.code == 0, done.err
        assert "mAP " in done.out


def test_fine_tuning_from_pixels(shell, labels: str) -> None:
    done = train(shell, labels, "--fine-tune", "--json", method="ll-r")
    assert done.code == 0, done.err
    assert 0 < done.json["map"] < 1


def test_a_protocol_is_followed_but_for_what_is_set(shell, labels: str) -> None:
    small = ("--backbone", "scenes-net", "--size", 64, "--set", "head_epochs=1")
    options = ("--protocol", "spatial-consistency", "--fine-tune", *small, "--out", "model")
    done = train(shell, labels, *options, "--checkpoint", "training.safetensors")
    assert done.code == 0, done.err
    assert "complete labels of 20 further images (split val) chose epoch" in done.out
    shown = shell("show", "model", "--json").json
    settings = shown["settings"]["training"]
    assert (settings["epochs"], settings["batch_size"], settings["head_epochs"]) == (3, 8, 1)
    assert settings["schedule"] == "cosine" and shown["settings"]["crop"] == [0.25, 1.0]
    assert Path("training.safetensors").exists()


def test_any_setting_can_be_given(shell, labels: str) -> None:
    more = ("--set", "schedule=step", "--set", "milestones=1,2", "--set", "accumulate=2")
    done = train(shell, labels, *more, "--device", "cpu", "--out", "model")
    assert done.code == 0, done.err
    settings = shell("show", "model", "--json").json["settings"]["training"]
    assert (settings["milestones"], settings["accumulate"]) == ([1, 2], 2)


@pytest.mark.slow
def test_pictures_can_be_cropped_for_methods_that_compare_views(shell, labels: str) -> None:
    for crop, shown in ((("--crop", 0.5), [0.5, 1.0]), ((), [0.25, 1.0])):
        options = ("--fine-tune", *crop, "--out", "model")
        done = train(shell, labels, *options, method="en+scl(warmup=1)")
        assert done.code == 0 and "warning" not in done.err.lower(), done.err
        assert shell("show", "model", "--json").json["settings"]["crop"] == shown


BAD = {  # words after --method an --labels full.parquet, and what the message names
    "--protocol csl": "--protocol needs --fine-tune",
    "--protocol csl --fine-tune": "give --weights FILE, or imagenet",
    "--protocol large --fine-tune": "did you mean 'large-loss'?",
    "--fine-tune --crop 1.5": "--crop",
    "--fine-tune --crop 0": "--crop",
    "--set batch-size=2 --set batch_size=3": "--set gives batch_size twice",
    "--checkpoint full.parquet/training": "full.parquet/training cannot be written",
    "--out full.parquet": "'full.parquet' is a file",
    "--out full.parquet/model": "full.parquet/model/model.json cannot be written",
    "--set ema": "--set is 'ema'; write a setting and its value",
    "--set emma=1": "did you mean 'ema'?",
    "--device gpu": "device is 'gpu'",
    "--set head_epochs=2": "head_epochs is 2",
    "--data scenes:images=200": "are labels of another data set",
    f"--data {SMALL},seed=1": "the truth behind them differs",
    "--labels nowhere.parquet": "nowhere.parquet does not exist",
    "--lr -1": "--lr",
    "--backbone resnet": "resnet",
    "--weights nowhere.pth": "nowhere.pth does not exist",
    "--features a.npz": "--features",
    "--features train=a.npz --features train=b.npz": "--features gives train twice",
}


@pytest.mark.parametrize("words, message", BAD.items(), ids=list(BAD))
def test_bad_input(shell, labels: str, words: str, message: str) -> None:
    out = () if "--out" in words else ("--out", "model")
    start = ("--method", "an", "--labels", "full.parquet", "--data", SMALL)
    done = shell("train", *start, *out, *words.split())
    assert done.code == 2 and message in done.err
    assert not Path("model").exists()


@pytest.mark.slow
def test_another_backbone_than_the_protocols_brings_its_own_weights(shell, labels: str) -> None:
    options = ("--fine-tune", "--backbone", "scenes-net", "--protocol", "csl", "--size", 64)
    done = train(shell, labels, *options, "--epochs", 1, "--out", "model")
    assert done.code == 0, done.err
    assert shell("show", "model", "--json").json["settings"]["backbone"] == "scenes-net"


def test_pictures_of_many_sizes_are_fine_tuned_on(shell) -> None:
    photographs(count=20)
    data = "coco:mine.json,images=pictures"
    assert shell("simulate", "--scheme", "full-subset", "--data", data).code == 0
    options = ("--labels", "full-subset.parquet", "--data", data, "--epochs", 1)
    done = shell("train", "--method", "an", *options, "--fine-tune", "--json")
    assert done.code == 0, done.err
    # A fifth of the file, four of twenty pictures, is held out: labelled, and not trained on.
    assert (done.json["asked"], done.json["held_out"], done.json["split"]) == (16, 4, "val")
    done = shell("train", "--method", "an", *options)
    assert "16 asked images" in done.out
    assert "4 further asked images are not trained on" in done.out


def test_an_interrupted_training_goes_on(shell, labels: str, monkeypatch) -> None:
    from simkit.cli.train import TrainingBar

    report = TrainingBar.report

    def stopped(self, here) -> None:
        report(self, here)
        if here.epochs == 2:
            raise KeyboardInterrupt

    whole = train(shell, labels, "--json").json["id"]
    monkeypatch.setattr(TrainingBar, "report", stopped)
    done = train(shell, labels)
    assert done.code == 130 and "interrupted in epoch 2 of 3, and nothing is kept" in done.err
    done = train(shell, labels, "--checkpoint", "ck")
    assert done.code == 130 and "ck keeps the finished epochs (1 of 3)" in done.err
    monkeypatch.setattr(TrainingBar, "report", report)
    done = train(shell, labels, "--checkpoint", "ck", "--out", "model")
    assert done.err == "goes on after epoch 1 of 3\n"
    assert shell("show", "model", "--json").json["id"] == whole
    shown = shell("show", "ck")
    assert shown.out.startswith("unfinished training: an\nphase: all\nepoch: 3\nepochs: 3\n")


def test_the_mean_says_over_how_many_classes_it_is(shell, labels: str) -> None:
    done = train(shell, labels, "--json").json
    assert done["leaves"] == 41 and done["classes"] == 52 and done["processes"] == 1
    assert done["leaves_scored"] <= 41 and done["classes_scored"] <= 52
    few = "scenes:images=300,val=20,test=5"
    done = shell("train --method an --out model --labels", labels, "--data", few, "--epochs", 1)
    counted = shell(
        "train --method an --labels", labels, "--data", few, "--epochs", 1, "--json"
    ).json
    leaves, own = counted["leaves_scored"], counted["classes_scored"]
    expected = simkit.Trained.load("model").scored
    ends = f"{100 * expected['low']:.1f} to {100 * expected['high']:.1f}"
    chance = f"a random order has {100 * expected['chance']:.1f}"
    line = f"{100 * expected['expected']:.1f} mAP (95% interval {ends}) expected on new images; "
    line += f"{chance}\n"
    assert line in done.out and expected["map"] == counted["map"]
    assert (counted["low"], counted["high"]) == (expected["low"], expected["high"])
    assert f"mAP {100 * counted['map']:.1f} over {leaves} of 41 leaf classes, " in done.out
    assert f" over {own} of 52 classes in all" in done.out


@pytest.mark.parametrize("table", ["file,class", "file;cat;dog", "split"])
def test_the_table_of_a_folder_serves_as_labels(shell, table: str) -> None:
    photographs(count=24)
    lines = {"split": ["file,class,split"]}.get(table, [table])
    for i in range(24):
        name = ("cat", "dog")[i % 2]
        row = {"file,class": f"{i}.png,{name}", "file;cat;dog": f"{i}.png;{1 - i % 2};"}
        lines.append(row.get(table, f"{i}.png,{name},{('train', 'val', 'test')[i // 8]}"))
    Path("pictures/labels.csv").write_text("\n".join(lines) + "\n")
    data = "folder:pictures" + (",unknown=absent" if ";" in table else "")
    how = ("--labels", "pictures/labels.csv", "--data", data, "--epochs", 1, "--json")
    done = shell("train", "--method", "an", *how)
    assert done.code == 0, done.err
    assert (done.json["asked"], done.json["held_out"]) == ((8, 0) if table == "split" else (19, 5))
