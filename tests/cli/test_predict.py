"""`simkit predict` writes the scores of a trained model."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import simkit
from simkit.annotate.schemes import MISSING
from simkit.annotate.similarities import read_scores
from simkit.embed.features import read_features
from simkit.errors import BadInput

SMALL = "scenes:images=60,val=10,test=10"


@pytest.fixture
def model(shell) -> str:
    shell("simulate", "--scheme", "full-subset", "--data", SMALL, "--no-card")
    how = ("--labels", "full-subset.parquet", "--data", SMALL, "--epochs", 1, "--out", "model")
    done = shell("train", "--method", "an", *how)
    assert done.code == 0, done.err
    return "model"


@pytest.fixture
def folder(model: str) -> str:
    from PIL import Image

    Path("photos").mkdir()
    pictures = simkit.data.open(SMALL).pictures["test"]
    for i, pixels in enumerate(pictures.read(range(3))):
        Image.fromarray(pixels).save(f"photos/{i}.png")
    return "folder:photos"


@pytest.mark.parametrize("out", ["scores.csv", "new/scores.parquet"])
def test_a_folder_without_labels_is_scored(shell, model: str, folder: str, out: str) -> None:
    done = shell("predict", model, "--data", folder, "--out", out, "--json")
    assert done.code == 0, done.err
    assert done.json == {"file": out, "images": 3, "classes": 52}
    table = pd.read_csv(out) if out.endswith("csv") else pd.read_parquet(out)
    expected = simkit.predict(model, f"{folder},labels=none")
    assert table["image"].tolist() == ["0.png", "1.png", "2.png"] == expected.index.tolist()
    assert table.columns[1:].tolist() == expected.columns.tolist()
    np.testing.assert_allclose(table.iloc[:, 1:], expected, rtol=1e-6)


def test_one_split_and_another_backbone(shell, model: str) -> None:
    done = shell("predict", model, "--data", SMALL, "--split", "val", "--backbone", "scenes-net")
    assert done.code == 0, done.err
    assert done.out.startswith(
        "wrote scores.csv (10 images, 52 classes)\nEvaluation of a model: an"
    )


def test_features_replace_images(shell, model: str) -> None:
    done = shell("predict", model, "--data", SMALL, "--split", "test", "--out", "images.csv")
    assert shell("features", "--data", SMALL, "--out", "f").code == 0
    same = shell("predict", model, "--data", SMALL, "--features", "f", "--split", "test")
    assert same.code == 0, same.err
    assert same.out.replace("scores.csv", "images.csv") == done.out
    np.savez("test.npz", features=np.asarray(read_features("f/test").values))
    npz = shell(
        "predict", model, "--data", SMALL, "--features", "test=test.npz", "--out", "npz.csv"
    )
    assert npz.code == 0, npz.err
    table = pd.read_csv("images.csv")
    for other in ("scores.csv", "npz.csv"):
        pd.testing.assert_frame_equal(pd.read_csv(other), table, atol=1e-3)
    # Without --split all are scored, and test is evaluated, as from images.
    for out, more in (("images.csv", ()), ("scores.csv", ("--features", "f"))):
        every = shell("predict", model, "--data", SMALL, "--out", out, *more)
        assert every.code == 0 and ", test: 10 images" in every.out
        assert every.out.startswith(f"wrote {out} (80 images, 52 classes)")
    images, features = pd.read_csv("images.csv"), pd.read_csv("scores.csv")
    pd.testing.assert_frame_equal(features, images, atol=1e-3)
    for words, named in (
        (("train=test.npz",), "has 10 rows, but train 60 images"),
        (("test.npz",), "write a split and a file"),
    ):
        done = shell("predict", model, "--data", SMALL, "--features", *words)
        assert done.code == 2 and named in done.err


def test_labelled_images_are_evaluated(shell, model: str, folder: str) -> None:
    plain = shell("predict", model, "--data", folder, "--out", "plain.csv")
    assert plain.out == "wrote plain.csv (3 images, 52 classes)\n"
    rows = [("0.png", "red", 1), ("1.png", "red", 0), ("2.png", "red", 1)]
    cells = "".join(f"{file},{red},{1 - red},1\n" for file, _, red in rows)
    Path("photos/labels.csv").write_text(f"file,red,blue,yak\n{cells}")
    hinted = shell("predict", model, "--data", folder)
    assert hinted.out.splitlines()[-1].endswith(f"--data {folder},labels=labels.csv")
    assert shell("predict", model, "--data", folder, "--report", "m.html").code == 2
    how = ("predict", model, "--data", f"{folder},labels=labels.csv,val=0", "--report", "m.html")
    done = shell(*how, "--json")
    assert done.code == 0, done.err
    scores = pd.read_csv("scores.csv").set_index("image")
    facts = done.json["evaluation"]
    for row, present in zip(facts["by_class"], ([0, 2], [1]), strict=True):
        of_class = scores[row["class"]].to_numpy()
        expected = [
            sum(of_class[present] >= of_class[i]) / sum(of_class >= of_class[i]) for i in present
        ]
        assert row["ap"] == pytest.approx(np.mean(expected))
        assert row["present"] == len(present)
    assert facts["low"] <= facts["expected"] <= facts["high"]
    assert "data:image/jpeg" in Path("m.html").read_text()
    done = shell(*how, "--details")
    assert f"mAP    {100 * facts['expected']:.1f} mAP (95% interval " in done.out
    # Classes in 2 and 1 of 3 images: on average a random order has an AP of 0.806 and 0.611, and of
    # many images 2/3 and 1/3.
    text = " ".join(done.out.split())
    assert "expected on new images; a random order has 50.0; " in text
    assert f"on these images: {100 * facts['map']:.1f} (a random order has 70.8), too high" in text
    assert "the labels are taken as true" in done.out and facts["errors"] is None
    assert "train it again by the same simkit train command with --report" in done.out
    assert "All classes and their thresholds" in done.out and done.out.endswith("wrote m.html\n")
    assert "classes that the model does not have: 1 of 3 (yak)" in done.err
    assert "classes of the model that the labels do not have: 50 of 52" in done.err


def test_images_of_the_training_are_recognised_in_other_data(shell) -> None:
    from PIL import Image

    data = simkit.data.open(SMALL)
    present = data.truth["train"].present[:20].toarray().astype(int)
    common = present.sum(0).argsort()[-3:]
    rows: dict[str, list[str]] = {"photos": [], "renamed": []}
    for i, pixels in enumerate(data.pictures["train"].read(range(20))):
        for folder, name in (("photos", f"{i:02}.png"), ("renamed", f"x{40 - i}.png")):
            Path(folder).mkdir(exist_ok=True)
            Image.fromarray(pixels).save(Path(folder, name))
            rows[folder].append(",".join([name, *map(str, present[i, common])]))
    for folder, lines in rows.items():
        Path(folder, "labels.csv").write_text("\n".join(["file,a,b,c", *sorted(lines)]))
    plain, named = "folder:photos,labels=labels.csv", "folder:renamed,labels=labels.csv"
    how = ("--method", "an", "--epochs", 1, "--labels", "photos/labels.csv")
    done = shell("train", *how, "--data", f"{plain},test=0.5,val=0", "--out", "model")
    assert done.code == 0, done.err
    assert shell("features", "--data", "folder:renamed,labels=none", "--out", "f").code == 0
    expected = "10 of these 20 images are training images of the model; mAP is on the other 10."
    for more in ((), ("--features", "f")):  # train and val of the labels
        done = shell("predict", "model", "--data", named, "--out", "s.csv", "--json", *more)
        assert done.code == 0, done.err
        assert done.json["images"] == 20
        assert done.json["evaluation"]["training_note"] == expected
    again = simkit.evaluate("model", named, features="f")
    assert (again.training_note, again.seen, len(again.scores)) == (expected, 10, 10)
    assert again.map == done.json["evaluation"]["map"]
    done = shell("predict", "model", "--data", f"{plain},test=0.5", "--features", "test=f/train")
    assert done.code == 2 and f"--data {plain},test=0.5 --out" in done.err
    done = shell("predict", "model", "--data", plain, "--features", "test=f/train")
    assert done.code == 2 and f"{plain} has only train, val;" in done.err


def test_labels_that_measure_nothing_are_one_sentence(shell, model: str, folder: str) -> None:
    Path("photos/labels.csv").write_text("file,red\n0.png,1\n1.png,1\n2.png,1\n")
    done = shell("predict", model, "--data", f"{folder},labels=labels.csv")
    assert done.code == 0, done.err
    last = done.out.splitlines()[-1]
    assert last.startswith("not evaluated: photos: no class has both present and")
    assert "nan" not in done.out


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--out", "scores.xlsx"), ".csv or .parquet"),
        (("--weights", "w.pth"), "--backbone"),
        (("--out", "photos/0.png/scores.csv"), "cannot be written"),
        (("--split", "test"), "labels=none"),
    ],
)
def test_bad_input(shell, model: str, folder: str, words: tuple[str, ...], named: str) -> None:
    done = shell("predict", model, "--data", folder, *words)
    assert done.code == 2 and named in done.err
    assert shell("predict", "nowhere", "--data", folder).code == 2
    assert not Path("scores.csv").exists()


@pytest.mark.parametrize(
    ("content", "note"),
    [
        (
            "image,cat,dog\n0012,1.5,2\n7,-2,\n",
            r"where a score is empty: 1 of 4 scores; images with empty scores: 1 \(7\)",
        ),
        ("file;cat;dog\n7;-2;\n0012;1,5;2\n", "decimal commas"),
        ("dog,image,cat,notes\n2,0012,1.5,x\n,7,-2,y\n", r"not classes of the data: 1 \(notes\)"),
        (
            "id,cat,dog\nphotos\\0012,1.5,2\n./7,-2,\n",
            r"names of images .*: 2 of 2 .*'photos.*0012' is '0012'",
        ),
        ("image,cat,dog\n0012,1.5,2\n7,-2,\n8,1,1\n", "they are not in test: 1 .8."),
    ],
)
def test_scores_of_other_programs(tmp_path, content: str, note: str) -> None:
    (tmp_path / "scores.csv").write_text(content)
    with pytest.warns(UserWarning, match=note):
        scores = read_scores(
            tmp_path / "scores.csv", "test", np.array(["7", "0012"]), ("cat", "dog")
        )
    assert scores is not None and scores.tolist() == [[-2, MISSING], [1.5, 2]]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("image,Kat\n7,1\n", "perhaps 'Kat'"),
        ("image,cat\n7,1\n7,1\n", "'7' has two rows"),
        ("image,cat\n8.jpg,1\n", "'8.jpg', but ids such as '7' are expected"),
        ("image,cat\n7,often\n", "'cat' holds 'often' in row 2"),
        ("cat,dog\n1,2\n", "no column holds the image ids"),
    ],
)
def test_scores_that_are_refused(tmp_path, content: str, words: str) -> None:
    (tmp_path / "scores.csv").write_text(content)
    with pytest.raises(BadInput, match=words):
        classes = ("cat", "dog") if "dog" in content else ("cat",)
        read_scores(tmp_path / "scores.csv", "test", np.array(["7"]), classes)
