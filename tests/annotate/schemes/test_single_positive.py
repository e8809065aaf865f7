"""One present class for each image, or a few, and a few absent ones."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from simkit.annotate.annotators import Habits
from simkit.annotate.schemes.single_positive import SinglePositive
from simkit.annotate.simulate import replay, simulate
from simkit.chance import Chance
from simkit.data.dataset import Boxes
from simkit.errors import BadInput
from simkit.labels.truth import Truth
from tests.annotate.schemes.variants import boxes_of
from tests.reference.annotation import ruled_out


def test_one_label_in_each_image_that_shows_something():
    present = np.zeros((4, 3), bool)
    present[0] = True
    present[1, 2] = present[3, 0] = present[3, 1] = True
    with pytest.warns(UserWarning, match="^1 of 4 images show none"):
        labels = simulate(Truth.of(present), "single-positive")
    codes = labels.codes.toarray()
    assert (codes >= 0).all() and codes.sum(1).tolist() == [1, 1, 0, 1]
    # Everybody was asked once, the empty image too.
    assert labels.asked.all() and labels.effort.questions["name"].tolist() == [0, 4]
    assert labels.effort.counts() == {"name": 4, "workers": None, "dropped": 0}


@pytest.mark.parametrize("k,m", [(2, 0), (0, 2), (3, 4), (50, 50), (0, 0)])
def test_so_many_of_each_kind_or_all_there_are(truth, k, m):
    labels = simulate(truth, f"single-positive(positives={k}, negatives={m})")
    codes, present = labels.codes.toarray(), truth.present.sum(1)
    assert np.array_equal((codes > 0).sum(1), np.minimum(k, present))
    assert np.array_equal((codes < 0).sum(1), np.minimum(m, 12 - present))


def test_larger_numbers_contain_smaller_ones(truth):
    last = np.zeros(truth.shape, np.int8)
    for k, m in itertools.pairwise((0, 1, 1, 2, 3, 3, 7, 12)):
        labels = simulate(truth, f"single-positive(positives={k}, negatives={m})")
        codes = labels.codes.toarray()
        assert np.array_equal(codes[last != 0], last[last != 0])
        last = codes


def test_absent_classes_are_found_by_asking_one_after_the_other(truth):
    named = simulate(truth, "single-positive").codes.toarray() > 0
    labels = simulate(truth, "single-positive(negatives=3)")
    kept = simulate(truth, "single-positive(negatives=3, keep_looks=True)")
    order = Chance.seeded(0).of("draw", 0, "scheme", "single-positive", "absent").permutation(12)
    expected, with_met = named.astype(np.int8), named.astype(np.int8)
    questions = np.zeros(300, np.int64)
    for n in range(300):
        walk = order.at(np.arange(12), n).tolist()
        yes = set(truth.present[[n]].indices.tolist())
        denied, met = ruled_out(walk, yes, 3, set(np.flatnonzero(named[n]).tolist()))
        expected[n, denied] = with_met[n, denied] = -1
        with_met[n, met] = 1
        questions[n] = len(denied) + len(met)
    assert np.array_equal(labels.codes.toarray(), expected)
    assert np.array_equal(kept.codes.toarray(), with_met)
    assert labels.effort.questions["verify"].tolist()[1:] == np.bincount(questions).tolist()[1:]
    assert labels.effort.counts()["dropped"] == questions.sum() - (expected < 0).sum()
    assert kept.effort.counts()["dropped"] == 0 and kept.effort.count("verify") == questions.sum()


def test_large_and_central_objects_are_named_first():
    # Class 0 is large and in a corner, class 1 small and in the centre.
    N = 4000
    truth = Truth.of(np.ones((N, 2)))
    corners = np.array([[0, 0, 40, 40], [45, 45, 55, 55]], np.float32)
    images, classes = np.repeat(np.arange(N), 2), np.tile([0, 1], N)
    boxes = Boxes(images, classes, np.tile(corners, (N, 1)), np.full((N, 2), 100))
    large, central = (
        simulate(truth, f"single-positive(bias={bias})", boxes=boxes).per_class(1) / N
        for bias in ("size", "centre")
    )
    # Areas 1600 and 100; distances of the centres sqrt(2) * 30 and 0, which counts as 1.
    far = np.sqrt(2) * 30
    for share, expected in ((large[0], 16 / 17), (central[1], far / (1 + far))):
        assert abs(share - expected) < 4.5 * np.sqrt(expected * (1 - expected) / N)


def near(count: int, share: float, N: int) -> bool:
    return abs(count - share * N) < 4.5 * np.sqrt(share * (1 - share) * N)


def test_classes_are_named_in_proportion_to_their_weights(tmp_path):
    N, file = 12_000, tmp_path / "weights.csv"
    file.write_text("weight,class\n6,dog\n0.5, sky\n")
    truth = Truth.of(np.ones((N, 3)), classes=("sky", "dog", "cat"))  # cat: 1
    spec = f"single-positive(bias={str(file)!r})"
    first = simulate(truth, spec)
    for count, weight in zip(first.per_class(1), (0.5, 6, 1), strict=True):
        assert near(count, weight / 7.5, N)
    # The second one is chosen from the others: cat is left to the end with this probability.
    second = simulate(truth, spec.replace("(", "(positives=2, "))
    last = 0.5 / 7.5 * 6 / 7 + 6 / 7.5 * 0.5 / 1.5
    assert near(N - second.per_class(1)[2], last, N)
    assert (second.codes.toarray() >= first.codes.toarray()).all()
    # The labels remember the weights, not the file.
    file.unlink()
    assert replay(first.history, truth).id == first.id
    assert str(tmp_path) not in first.history.to_json()


def test_typical_and_rare_classes_are_those_of_many_and_few_images():
    N = 8000
    present = np.ones((N, 2))
    present[N // 4 :, 1] = 0
    truth = Truth.of(present)
    typical, rare = (simulate(truth, f"single-positive(bias={b})") for b in ("Typical", "rare"))
    assert near(typical.per_class(1)[1], 1 / 5, N // 4)
    assert near(rare.per_class(1)[1], 4 / 5, N // 4)
    # Which images are asked about changes no choice.
    some = simulate(truth, "single-positive(bias=rare)", images=0.3).codes.toarray()
    assert np.array_equal(some[some.any(1)], rare.codes.toarray()[some.any(1)])


def test_a_class_that_is_imagined_has_its_own_weight():
    N = 8000
    present = np.tile([1, 0], (N, 1))
    present[: N // 5, 1] = 1
    labels = simulate(
        Truth.of(present),
        "single-positive(bias=rare)",
        habits=Habits(false_alarm=0.5),
    )
    seen = labels.codes.toarray()[N // 5 :]
    assert near(int((seen[:, 1] > 0).sum()), 0.5 * 5 / 6, len(seen))


@pytest.mark.parametrize(
    ("bias", "message"),
    [
        ("large", "bias is 'large'; none, size, centre, typical, rare, or a table"),
        ("[3]", "a table with the columns class and weight"),
        ('{"dog": 0}', "(numbers above 0)"),
        ("missing.csv", "missing.csv does not exist; give the path of a file with a table"),
        ("class,weight\ndog,0\n", "column 'weight' holds '0' in row 2; a number above 0"),
        ("class,weight\ndog,\n", "column 'weight' holds '' in row 2; a number above 0"),
        ("class,weight\ndog,inf\n", "column 'weight' holds 'inf' in row 2; a number above 0"),
        ("class,weight\ndog,1\ndog,2\n", "class 'dog' has two rows; keep one"),
        ("class,share\ndog,1\n", "no column is called weight, but 'class', 'share'; call one"),
        ("class,weight\ndgo,2\n", "no class is called 'dgo'; did you mean 'dog'?"),
    ],
)
def test_weights_that_cannot_be_used(tmp_path, monkeypatch, bias, message):
    monkeypatch.chdir(tmp_path)
    if bias.startswith("class"):
        Path("weights.csv").write_text(bias)
        bias = "weights.csv"
    with pytest.raises(BadInput) as error:
        simulate(Truth.of(np.ones((3, 2)), classes=("dog", "cat")), SinglePositive(bias=bias))
    assert message in str(error.value)


def test_where_no_class_is_present_nobody_needs_boxes_to_name_one() -> None:
    empty = Truth.of(np.zeros((2, 3)))
    labels = simulate(empty, "single-positive(bias=size)", boxes=boxes_of(empty))
    assert labels.codes.nnz == 0 and labels.asked.all()


def test_boxes_are_part_of_the_history(truth):
    boxes = boxes_of(truth)
    labels = simulate(truth, "single-positive(bias=size)", boxes=boxes)
    assert labels.history.settings["boxes"] == boxes.id
    assert replay(labels.history, truth, boxes=boxes).id == labels.id
    other = Boxes(boxes.images[1:], boxes.classes[1:], boxes.corners[1:])
    for given in (None, other):
        with pytest.raises(BadInput, match=f"boxes {boxes.id}.*give the boxes"):
            replay(labels.history, truth, boxes=given)
    # Where the scheme does not choose by them they do not matter.
    plain = simulate(truth, "single-positive", boxes=boxes)
    assert "boxes" not in plain.history.settings
    assert replay(plain.history, truth).id == replay(plain.history, truth, boxes=other).id
