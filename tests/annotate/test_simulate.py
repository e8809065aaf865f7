"""From truth to labels: the same images, errors and ids whatever else happens."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from simkit.annotate.annotators import Habits
from simkit.annotate.budget import amount_for
from simkit.annotate.schemes import make
from simkit.annotate.simulate import replay, simulate
from simkit.errors import BadInput
from simkit.history import History
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.truth import Truth
from tests.annotate.conftest import random_truth


def test_a_scheme_is_a_value_or_its_text(truth):
    assert simulate(truth, "rpa(keep=0.3)").id == simulate(truth, make("rpa", keep=0.3)).id


def test_a_scheme_that_returns_labels_in_place_of_asking_is_refused(truth):
    class Returns(type(make("rpa"))):
        def ask(self, crowd, chance):
            return np.zeros(crowd.shape)

    with pytest.raises(BadInput, match=r"ask of rpa returns ndarray, which .*: return nothing$"):
        simulate(truth, Returns())


@pytest.mark.parametrize("kind", ["verify", "sweep", "search"])
@pytest.mark.parametrize("place", [-1, 999])
def test_a_scheme_that_asks_about_what_is_not_there_is_named(truth, kind, place):
    class Strange(type(make("rpa"))):
        def ask(self, crowd, chance):
            if kind == "search":
                crowd.search([place], chance=chance, present=1, absent=1)
            else:
                getattr(crowd, kind)([0], [place])

    said = f"ask of rpa: the crowd is asked about class {place}, but the 12 classes are 0 to 11;"
    with pytest.raises(BadInput, match=said):
        simulate(truth, Strange())


@pytest.mark.parametrize(
    "form",
    [
        np.asarray,
        csr_matrix,
        pd.DataFrame,
        lambda a: pd.DataFrame.sparse.from_spmatrix(csr_matrix(a)),
    ],
)
def test_labels_in_other_forms_are_a_truth(truth, form):
    present = truth.present.toarray()
    given = form(present.astype(np.int8))
    if isinstance(given, pd.DataFrame):
        given.columns = [*truth.classes]
    expected = simulate(truth, "rpa(keep=0.3)", seed=2)
    assert simulate(given, "rpa(keep=0.3)", seed=2).id == expected.id
    assert amount_for(3, given, "rpa", "openimages").labels.shape == truth.shape


def test_a_frame_names_images_and_classes():
    frame = pd.DataFrame({"cat": [True, False], "dog": [True, True]}, index=["a.jpg", "b.jpg"])
    labels = simulate(frame, "full-subset")
    assert labels.classes == ("cat", "dog") and labels.images.tolist() == ["a.jpg", "b.jpg"]


@pytest.mark.parametrize("scheme", ["proposals(by=scores, per_image=1)", "picked(share=0.5)"])
def test_frames_of_scores_and_features_are_matched_by_name(scheme):
    rng = np.random.default_rng(0)
    truth = pd.DataFrame(rng.integers(0, 2, (8, 3)), [*"abcdefgh"], ["cat", "dog", "car"])
    values = pd.DataFrame(rng.normal(size=(8, 3)), truth.index, truth.columns)
    aid = "scores" if "scores" in scheme else "features"
    labels = simulate(truth, scheme, **{aid: values.to_numpy()})
    moved = {aid: values.iloc[::-1, :: -1 if aid == "scores" else 1]}
    assert simulate(truth, scheme, **moved).id == labels.id
    assert replay(labels.history, truth, **moved).id == labels.id
    with pytest.raises(BadInput, match=rf"images of the truth differ from .* {aid}, such as 'h'"):
        simulate(truth, scheme, **{aid: values[:7]})


@pytest.mark.parametrize(
    "values",
    [[[0, 2]], [[-1, 1]], [[0.5, 1]], [[np.nan, 1]], [0, 1], [[[0, 1]]], [["a", "b"]],
     [[1], [0, 1]], np.zeros((0, 3)), pd.DataFrame({"a": [1, None]}), pd.DataFrame(), "coco"],
)  # fmt: skip
def test_arrays_that_are_no_truth_are_refused(values):
    with pytest.raises(BadInput):
        simulate(values, "rpa")


def test_history_tells_everything(truth):
    labels = simulate(truth, "rpa", images=0.5, habits=Habits(miss=0.1, workers=2), seed=4, draw=2)
    history = labels.history
    assert history.command == "simulate" and history.seed == 4
    assert history.parents == (truth.id,)
    assert dict(history.settings) == {
        "scheme": "rpa(keep=0.1)",
        "images": 0.5,
        "habits": {"miss": 0.1, "false_alarm": 0.0, "workers": 2, "vote": "majority"},
        "draw": 2,
    }
    assert labels.effort.workers == 2


def test_replay_refuses_what_it_cannot_repeat(truth, closed, diamond):
    history = simulate(truth, "rpa").history
    with pytest.raises(BadInput, match="this history is of 'train'"):
        replay(History("train"), truth)
    with pytest.raises(BadInput, match=f"truth {truth.id}, but this is {closed.id}"):
        replay(history, closed)
    with pytest.raises(BadInput, match=f"hierarchy none, but this is {diamond.id}"):
        replay(history, truth, diamond)


def test_seeds_and_draws_give_other_labels(truth):
    ids = {simulate(truth, "rpa", seed=s, draw=d).id for s in range(3) for d in range(3)}
    assert len(ids) == 9


def test_fewer_images_are_part_of_more_and_the_same_for_all_schemes(truth):
    few, many = (simulate(truth, "full-subset", images=n) for n in (40, 0.5))
    assert few.asked.sum() == 40 and many.asked.sum() == 150
    assert (few.asked <= many.asked).all()
    assert np.array_equal(simulate(truth, "single-positive", images=40).asked, few.asked)
    assert many.shape == truth.shape and np.array_equal(many.images, truth.images)


def test_all_images_in_any_spelling(truth):
    ids = {simulate(truth, "rpa", images=n).id for n in (1.0, 300, np.int64(300), np.float32(1.0))}
    assert len(ids) == 1


@pytest.mark.parametrize("scheme", ["rpa(keep=0.4)", "single-positive"])
def test_an_image_gets_the_same_labels_among_fewer_images(scheme, truth):
    few, all_of_them = (simulate(truth, scheme, images=n) for n in (60, 1.0))
    rows = np.flatnonzero(few.asked)
    assert np.array_equal(few.rows(rows), all_of_them.rows(rows))


def test_compared_schemes_meet_the_same_errors(truth):
    habits = Habits(miss=0.4, false_alarm=0.1)
    swept, verified = (
        simulate(truth, scheme, habits=habits) for scheme in ("full-subset", "rpa(keep=0.5)")
    )
    both = verified.codes.toarray() != 0
    assert np.array_equal(swept.codes.toarray()[both], verified.codes.toarray()[both])


def test_images_without_a_present_class_are_warned_of():
    present = random_truth(N=50, L=4).present.toarray()
    present[[3, 8]] = False
    with pytest.warns(UserWarning, match="2 of 50 images show none") as heard:
        simulate(Truth.of(present), "single-positive")
    assert heard[0].filename == __file__


def test_a_truth_must_be_closed_under_the_hierarchy(diamond):
    present = np.zeros((3, 9), bool)
    present[1, diamond.classes.index("terrier")] = True
    truth = Truth.of(present, images=[10, 20, 30], classes=diamond.classes)
    with pytest.raises(
        BadInput, match="image 20 shows something below 'pet dog' but not 'pet dog'"
    ):
        simulate(truth, "rpa", hierarchy=diamond)
    with pytest.raises(
        BadInput, match="the truth has 9 classes and the hierarchy 2, or in another"
    ):
        simulate(truth, "rpa", hierarchy=Hierarchy.of(["a", "b"], [("b", "a")]))


@pytest.mark.parametrize(
    "images,message",
    [
        (0.0, "images is 0.0"),
        (1.5, "images is 1.5"),
        (float("nan"), "images is nan"),
        (0, "images is 0"),
        (True, "images is True"),
        ("all", "images is 'all'"),
        (301, "images is 301"),
    ],
)
def test_numbers_of_images_that_cannot_be(truth, images, message):
    with pytest.raises(BadInput) as error:
        simulate(truth, "rpa", images=images)
    assert message in str(error.value)


@pytest.mark.parametrize("value", [1.7, "1", True, [], np.float64(1)])
@pytest.mark.parametrize("setting", ["seed", "draw"])
def test_seeds_and_draws_are_whole_numbers(truth, setting, value):
    with pytest.raises(BadInput) as error:
        simulate(truth, "rpa", **{setting: value})
    assert f"{setting} is {value!r}" in str(error.value)


def test_numbers_of_numpy_give_the_same_labels_and_can_be_replayed(truth):
    keep = make("rpa", keep=0.1).__class__(keep=np.float64(0.1))
    habits = Habits(miss=np.float64(0.2), workers=np.int64(3))
    plain = simulate(truth, "rpa(keep=0.1)", habits=Habits(0.2, workers=3), seed=1, draw=2)
    numpys = simulate(truth, keep, habits=habits, seed=np.int64(1), draw=np.uint8(2))
    assert numpys.id == plain.id and numpys.history.to_json() == plain.history.to_json()
    assert replay(History.from_json(numpys.history.to_json()), truth).id == plain.id
