"""Which classes people name first, fitted to their answers and complete labels."""

import json

import numpy as np
import pandas as pd
import pytest

from simkit.annotate.label_preference import fit_naming, read_named
from simkit.annotate.schemes.single_positive import SinglePositive
from simkit.annotate.simulate import simulate
from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth

PLANTED = np.array([4, 0.2, 1, 1, 2.5, 0.5, 1])
CLASSES = tuple("abcdefg")


def world(images: int = 6000) -> tuple[Truth, PartialLabels]:
    """Images of some of six classes; the seventh is in none."""
    present = np.random.default_rng(0).random((images, 7)) < [0.3, 0.5, 0.4, 0.2, 0.3, 0.6, 0]
    truth = Truth.of(present, classes=CLASSES)
    return truth, simulate(truth, "full-subset")


def answers(truth: Truth, weights: np.ndarray) -> pd.DataFrame:
    bias = json.dumps(dict(zip(CLASSES, weights.tolist(), strict=True)))
    rows, classes = simulate(truth, SinglePositive(bias=bias)).codes.nonzero()
    return pd.DataFrame({"image": truth.images[rows], "class": np.array(CLASSES)[classes]})


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_planted_weights_are_found():
    truth, labels = world()
    fitted = fit_naming(answers(truth, PLANTED), labels)
    assert fitted["weight"].mean() == pytest.approx(1)
    assert fitted["weight"]["g"] == pytest.approx(1) and fitted["choices"]["g"] == 0
    # Each class has about a thousand choices; the scale is that of the mean of all seven.
    ratios = (fitted["weight"] / fitted["weight"]["c"])[:6]
    assert np.abs(np.log(ratios / PLANTED[:6])).max() < 0.2
    several = truth.present.sum(1) > 1
    assert fitted["named"].sum() == several.sum()


def test_two_classes_by_hand():
    # Always both: b named 3 of 4 times. Each has one more answer by the prior, and weights
    # w and 2 - w: (1 + 1) / (4 / 2 + 1) = 2/3 and (3 + 1) / (4 / 2 + 1) = 4/3.
    labels = simulate(Truth.of(np.ones((4, 2)), classes=("a", "b")), "full-subset")
    named = pd.DataFrame({"image": range(4), "class": list("abbb")})
    fitted = fit_naming(named, labels)
    assert fitted["weight"].tolist() == pytest.approx([2 / 3, 4 / 3])
    assert fitted["named"].tolist() == [1, 3] and fitted["choices"].tolist() == [4, 4]


def test_answers_without_a_choice_are_left_out():
    codes = np.array([[1, 1, -1], [1, -1, -1], [1, 1, 1], [1, 1, 0]], np.int8)
    labels = PartialLabels.of(codes, np.array(["p", "q", "r", "s"]), ("a", "b", "c"))
    rows = [("p", "b"), ("r", "c"), ("r", "a")]
    without = [("q", "a"), ("p", "c"), ("s", "a"), ("t", "a")]
    # One class, a class that is not there, unknown labels, an image of another data set.
    with pytest.warns(UserWarning, match="4 of 7; image not in the labels: 1 .'a' in t.; "):
        fitted = fit_naming(pd.DataFrame(rows + without, columns=["image", "class"]), labels)
    assert fitted["named"].tolist() == [1, 1, 1] and fitted["choices"].tolist() == [3, 3, 2]


def test_what_cannot_be_fitted(tmp_path):
    _, labels = world(50)
    with pytest.raises(BadInput, match="no class is called 'apple'"):
        fit_naming(pd.DataFrame({"image": [1], "class": ["apple"]}), labels)
    with pytest.raises(BadInput, match="no answer names one of several present classes"):
        fit_naming(pd.DataFrame({"image": [1000], "class": ["a"]}), labels)
    (tmp_path / "named.csv").write_text("what,class\n1,a\n")
    with pytest.raises(BadInput, match="call one image"):
        read_named(tmp_path / "named.csv")


def test_names_of_images_may_be_spelled_otherwise(tmp_path):
    labels = simulate(
        Truth.of(np.ones((2, 2)), ["kä.jpg", "b.jpg"], classes=("a", "b")), "full-subset"
    )
    path = tmp_path / "named.csv"
    path.write_bytes("file;label\nphotos\\ka\u0308.jpg;a\n./b.jpg;b\n".encode())
    with pytest.warns(UserWarning, match=r"names .*: 2 of 2 .*'photos\\\\kä.jpg' is 'kä.jpg'"):
        assert fit_naming(read_named(path), labels)["named"].tolist() == [1, 1]


@pytest.mark.parametrize(
    "text",
    [
        "class;weight\na;0,5\nb;2\n",
        'category,weight\na,"0,5"\nb,2\n',
        "class\tweight\na\t50%\nb\t2\n",
    ],
)
@pytest.mark.filterwarnings("ignore:.*decimal commas")
def test_weights_of_other_programs(tmp_path, text):
    (tmp_path / "w.csv").write_text(text, encoding="utf-16")
    bias = SinglePositive(bias=str(tmp_path / "w.csv")).bias
    assert json.loads(bias) == {"a": 0.5, "b": 2}
