"""Maps and scores against boxes: on planted maps, and as counted by hand."""

import dataclasses

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

import simkit
from simkit.data.dataset import Boxes
from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.methods import make
from simkit.learn.optim import Settings
from simkit.learn.pointing_game import pointed
from simkit.metrics import average_precision, map_by_labels, mean_ap
from simkit.papers.analysis.explaining import (
    HeatMaps,
    activation,
    blind,
    explanations,
    heat_maps,
    located,
    models,
    object_size,
    pointing,
    positives,
)
from simkit.results.comparisons import ablation


@pytest.fixture(scope="module")
def test(scenes):
    return scenes.inputs("test", "maps"), scenes.truth("test"), scenes.data.boxes["test"]


def test_a_class_map_for_each_model_and_pick(test, trained) -> None:
    inputs, truth, boxes = test
    n, c = int(boxes.images[5]), int(boxes.classes[5])
    absent = truth.classes[int(np.flatnonzero(~truth.rows([n])[0])[0])]
    picks = [(n, truth.classes[c]), (n, absent), (0, "star")]
    some = {key: trained[key] for key in ("full", "an+boostlu")}
    table = activation(some, inputs, picks, truth=truth, boxes=boxes)
    assert table["model"].tolist() == [model for model in some for _ in picks]
    assert list(zip(table["image"], table["class"], strict=True)) == picks * 2
    assert table["present"].tolist()[:2] == [True, False]
    own = (boxes.images == n) & (boxes.classes == c)
    np.testing.assert_allclose(table["boxes"][0], boxes.corners[own] / 64, rtol=1e-6)
    assert table["boxes"][1] == []
    boosted = trained["an+boostlu"]
    parts = (boosted.model, boosted.method, boosted.state, inputs, np.array([n]))
    ((_, maps, _),) = explanations(*parts)
    np.testing.assert_allclose(table["map"][3], maps[0, c], rtol=1e-5, atol=1e-5)
    score = trained["an+boostlu"].scores(inputs)[n, c]
    np.testing.assert_allclose(table["probability"][3], 1 / (1 + np.exp(-score)), rtol=1e-4)
    assert activation(some, inputs, picks, truth=truth)["boxes"].tolist() == [[]] * 6


SPEC = "an+scl(weight=0)+boostlu(alpha=2)"
SHORT = Settings(epochs=3, batch_size=64, lr=0.03)


def test_heat_maps_begin_with_what_is_known_and_move(scenes) -> None:
    kept = HeatMaps(make(SPEC), [5, 2])
    models(scenes, [SPEC], "single-positive", settings=SHORT, watch={SPEC: [kept]})
    truth, boxes = scenes.truth("train"), scenes.data.boxes["train"]
    about = {"hierarchy": scenes.hierarchy, "boxes": boxes}
    labels = simkit.simulate(truth, "single-positive", **about)
    known = labels.rows([5, 2]) == 1
    assert list(kept.maps) == [0, 1, 2, 3]
    assert kept.maps[0].shape == (2, 52, 16, 16) and kept.maps[0].dtype == np.uint8
    assert (kept.maps[0] == np.where(known, 255, 0)[..., None, None]).all()
    change = np.abs(kept.maps[1].astype(int) - kept.maps[0])
    assert 0 < change.max() <= 52  # a fifth of the way at most
    hidden = int(np.flatnonzero(truth.rows([2])[0] & ~known[1])[0])
    picks = [(2, truth.classes[int(np.flatnonzero(known[1])[0])]), (2, truth.classes[hidden])]
    table = heat_maps({"a": kept}, picks, labels=labels, truth=truth, boxes=boxes, epochs=[3, 0])
    assert table["epoch"].tolist() == [3, 3, 0, 0]
    assert table["kind"].tolist() == ["annotated positive", "unannotated positive"] * 2
    assert np.min(table["map"][2]) == 1
    np.testing.assert_allclose(table["map"][1], kept.maps[3][1, hidden] / 255)


LABELS = PartialLabels.of([[1, 0, 0], [0, 1, 0]], [0, 1], ("a", "b", "c"))
TRUTH = Truth.of([[1, 1, 0], [0, 1, 0]], classes=("a", "b", "c"))
PARTLY = Truth.of(TRUTH.present, classes=TRUTH.classes, known=[[1, 1, 0], [0, 1, 1]])
BOXES = Boxes(
    np.array([0, 0, 1, 1]),
    np.array([0, 1, 1, 2]),
    np.array([[0, 0, 5, 5], [5, 5, 10, 10], [0, 0, 10, 5], [0, 0, 1, 1]], np.float32),
    np.array([[10, 10], [10, 10]]),
)


def planted() -> HeatMaps:
    one = HeatMaps(make("an+scl"), [0, 1])
    maps = np.zeros((2, 3, 4, 4), np.uint8)
    maps[0, 0, :2, :2] = 255  # on its object
    maps[0, 1, 0, 0], maps[0, 1, 2:, 2:] = 102, 51  # its highest place is beside its object
    maps[1, 1] = 51
    one.maps[2] = maps
    return one


KEPT, ABOUT = {"m": planted()}, {"labels": LABELS, "truth": TRUTH}


def test_planted_heat_maps_are_measured() -> None:
    table = located(KEPT, boxes=BOXES, **ABOUT)
    assert table["kind"].tolist() == ["annotated positive", "unannotated positive", "negative"]
    assert table["maps"].tolist() == [2, 1, 3] and set(table["epoch"]) == {2}
    np.testing.assert_allclose(table["inside"], [0.6, 0.2, np.nan])
    np.testing.assert_allclose(table["outside"], [0.1, 0.4 / 12, np.nan])
    np.testing.assert_allclose(table["hits"], [1, 0, np.nan])
    np.testing.assert_allclose(table["mean"][1:], [1.2 / 16, 0])
    np.testing.assert_allclose(table["highest"], [0.6, 0.4, 0])
    partly = located(KEPT, labels=LABELS, truth=PARTLY, boxes=BOXES)
    assert partly["maps"].tolist() == [2, 1, 1]  # of three absent ones one is known


def test_sizes_are_ranked_against_absent_images(test, trained) -> None:
    inputs, truth, boxes = test
    table = object_size([{"an": trained["an"]}], *test, groups=2)
    assert [part.split(",")[0] for part in table["part"]] == ["small", "large"]
    largest = np.zeros(truth.shape)
    for image, c, (x0, y0, x1, y1) in zip(boxes.images, boxes.classes, boxes.corners, strict=True):
        largest[image, c] = max(largest[image, c], (x1 - x0) * (y1 - y0) / 64**2)
    assert table["count"].sum() == (largest > 0).sum()
    middle, scores = np.median(largest[largest > 0]), trained["an"].scores(inputs)
    present = truth.rows(range(80))
    for row, inside in zip(table["map"], (largest < middle, largest >= middle), strict=True):
        own = (largest > 0) & inside
        kept = own | ~present
        wanted = [
            average_precision_score(own[kept[:, c], c], scores[kept[:, c], c])
            for c in np.flatnonzero(own.any(0))
        ]
        assert row == pytest.approx(np.mean(wanted))


def boxes_of(areas) -> tuple[Truth, Boxes]:
    """Boxes that cover these shares of pictures of 10 by 10; 0 is no box."""
    areas = np.asarray(areas, float)
    images, classes = np.nonzero(areas)
    ends = np.stack([0 * images, 0 * images, 10 + 0 * images, 10 * areas[images, classes]], 1)
    truth = Truth.of(np.ones(areas.shape, bool))
    return truth, Boxes(images, classes, ends, np.full((len(areas), 2), 10))


class Constant:
    """Scores of a model that knows nothing."""

    def __init__(self, truth) -> None:
        self.classes, self.shape = truth.classes, truth.shape

    def scores(self, inputs):
        return np.zeros(self.shape, np.float32)


def counts_of_sizes(areas, groups) -> list[int]:
    truth, boxes = boxes_of(areas)
    models = [{"an": Constant(truth)}]
    return object_size(models, truth.images, truth, boxes, groups=groups)["count"].tolist()


def test_equal_sizes_stay_together() -> None:
    areas = [[0.1, 0.2, 0.2], [0.2, 0.3, 0.0], [0.4, 0.5, 0.6]]
    assert counts_of_sizes(areas, 2) == [4, 4]  # 0.1 and those of 0.2; the rest
    assert counts_of_sizes(areas, 3) == [1, 4, 3]  # the edge is on the three of 0.2
    for other, groups in (([[0.2, 0.2, 0.2, 0.2, 0.5]], 3), ([[0.2, 0.0]], 2)):
        with pytest.raises(BadInput, match=f"{groups} groups"):
            counts_of_sizes(other, groups)


def test_numbers_of_present_labels(scenes, test, trained) -> None:
    (inputs, truth, _), leaves = test, scenes.data.leaves
    draws = [{"an": trained["an"]}, {"an": trained["full"]}]
    table = positives(draws, inputs, truth, counts=(2, 3), at_least=4, classes=leaves)
    assert table["draw"].tolist() == [0] * 3 + [1] * 3
    assert table["part"].tolist() == ["2", "3", ">=4"] * 2
    scores, present = trained["full"].scores(inputs)[:, leaves], truth.rows(range(80))[:, leaves]
    wanted = map_by_labels(scores, present, counts=(2, 3), at_least=4)
    assert table["map"][3:].tolist() == [part.map for part in wanted]
    assert table["count"][0] == (present.sum(1) == 2).sum()


def test_the_pointing_game_of_each_model_and_draw(scenes, test, trained) -> None:
    inputs, truth, boxes = test
    draws = [{key: trained[key] for key in ("full", "an")}, {"an": trained["an"]}]
    table = pointing(scenes, draws, scheme="single-positive", size=64)
    assert table["method"].tolist() == ["full", "an", "an"] and table["draw"].tolist() == [0, 0, 1]
    for row in table.to_dict("records"):
        own = trained[row["method"]]
        assert row["pointing"] == pointed(own, inputs, boxes) and row["scheme"] == "single-positive"
        ap = average_precision(own.scores(inputs), truth.present)
        assert row["map"] == mean_ap(ap[scenes.data.leaves])
    assert table["pointing"][0] > table["pointing"][1] > blind(boxes)["centre"]
    both = pointing(scenes, draws[:1] * 2, scheme="single-positive")  # compared as runs are
    rows = ablation(both, "full", metric="pointing").set_index("method")
    assert rows["base"]["full"] and rows["draws"]["an"] == 2
    assert rows["gap"]["an"] == pytest.approx(rows["mean"]["an"] - rows["mean"]["full"])


def test_features_of_the_middle_see_boxes_there_alone(scenes, trained) -> None:
    boxes = scenes.data.boxes["test"]
    wide = dataclasses.replace(boxes, corners=2 * boxes.corners, sizes=2 * boxes.sizes)
    data = dataclasses.replace(scenes.data, boxes={"test": wide})
    large = dataclasses.replace(scenes, data=data)
    draws = [{"an": trained["an"]}]
    middle, whole = (pointing(large, draws, size=size)["pointing"][0] for size in (64, None))
    assert middle != whole


def test_without_looking() -> None:
    sizes = np.array([[20, 10], [20, 10]])  # width and height
    corners = np.array([[0, 0, 20, 5], [0, 3, 20, 10], [8, 4, 12, 6]], np.float32)
    boxes = Boxes(np.array([0, 0, 1]), np.array([0, 0, 3]), corners, sizes)
    found = blind(boxes)
    assert found["centre"] == 1
    np.testing.assert_allclose(found["anywhere"], (1 + 8 / 200) / 2)
    away = dataclasses.replace(boxes, corners=np.array([[0, 0, 5, 5]] * 3, np.float32))
    assert blind(away)["centre"] == 0


MODEL = [{"an": Constant(TRUTH)}]
FAR = dataclasses.replace(BOXES, images=BOXES.images + 1)


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda: activation(MODEL[0], [0, 1], [(0, "x")], truth=TRUTH), "no class .* called 'x'"),
        (lambda: HeatMaps(make("en+cl"), [0]), "'cl' has no heat maps"),
        (lambda: heat_maps(KEPT, [(0, "a")], epochs=[1], **ABOUT), "epochs and images of 'm'"),
        (
            lambda: heat_maps(KEPT, [(0, "c")], labels=LABELS, truth=PARTLY),
            "unknown to the truth",
        ),
        (lambda: located(KEPT, labels=LABELS, truth=TRUTH, boxes=FAR), "other images or classes"),
        (lambda: blind(dataclasses.replace(BOXES, sizes=None)), "have no image sizes"),
    ],
)
def test_what_cannot_be_located_is_refused(act, said) -> None:
    with pytest.raises(BadInput, match=said):
        act()


def test_pointing_needs_boxes(scenes, trained) -> None:
    bare = dataclasses.replace(scenes, data=dataclasses.replace(scenes.data, boxes={}))
    with pytest.raises(BadInput, match="the test split has no boxes"):
        pointing(bare, [{"an": trained["an"]}])
