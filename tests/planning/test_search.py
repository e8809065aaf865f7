"""The price of a search in a plan: that of real looks, by a measured model or at random."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit

from simkit import data as datasets
from simkit.annotate.prices import prices
from simkit.annotate.similarities import PILOT_SCORES, PROJECT_SCORES, PilotScores, write_scores
from simkit.errors import BadInput
from simkit.history import History
from simkit.planning.costs import count
from simkit.planning.curves import EASY
from simkit.planning.evidence import OF_PROJECT, Evidence, LabelOption
from simkit.planning.plan import plan
from tests.planning import planted

PRICES = prices("hourly")
FPC, RANDOM = LabelOption.of("fpc"), LabelOption.of("fpc(search=random)")


@pytest.fixture
def no_easy_images(monkeypatch):
    """As in planted comparisons, whose labels are worth the same, whichever images have them."""
    monkeypatch.setattr("simkit.planning.curves.EASY", (0.0, 0.0))


@pytest.fixture
def runs(tmp_path):
    spec = planted.data(tmp_path / "data", 300)
    return planted.write(tmp_path / "runs", spec, schemes=("fpc", "proposals", "full-subset"))


def score(runs, right):
    """A pilot's own model, one of whose `right` candidates shows the class, at any depth."""
    truth = datasets.open(Evidence.of(runs).grid["data"]).truth["train"]
    values = np.zeros(truth.shape, np.float32)
    for c, present in enumerate(truth.present.toarray().T):
        shown, others = np.flatnonzero(present), np.flatnonzero(~present)
        ranked = np.full(300, -1)
        places = np.arange(right - 1, 300, right)[: len(shown)]
        ranked[places] = shown[: len(places)]
        ranked[ranked < 0] = np.concatenate([others, shown[len(places) :]])
        values[ranked, c] = np.linspace(4, -4, 300)
    history = History("compare", {"method": "an"}, 0, (truth.id,))
    PilotScores(values, truth, history).write(runs / PILOT_SCORES)


def looks(option, pool, per_class):
    """Looks at each class that the plan pays for, for so many of it."""
    curve = count(option, pool, PRICES)
    seconds = PRICES.rates["search"].seconds
    assert curve.dollars == pytest.approx(PRICES.wage * curve.seconds / 3600)
    return float(np.interp(per_class, curve.amounts, curve.seconds)) / seconds / planted.CLASSES


@pytest.mark.parametrize("right", [2, 5])
def test_a_search_costs_what_the_pilots_own_model_makes_people_look_at(runs, right):
    score(runs, right)
    pool = Evidence.of(runs).pool
    assert looks(FPC, pool, 3) == pytest.approx(3 * right)
    # Without the data: their labels lie beside the scores.
    for file in (runs.parent / "data").iterdir():
        file.unlink()
    alone = Evidence.of(runs).pool
    assert alone.opened and alone.truth.id == pool.truth.id
    assert looks(FPC, alone, 3) == pytest.approx(3 * right)


def test_without_a_measured_model_images_are_searched_at_random(runs):
    pool = Evidence.of(runs).pool
    bought, random = count(FPC, pool, PRICES), count(RANDOM, pool, PRICES)
    assert np.array_equal(bought.dollars, random.dollars)
    # 6 of the m images with a class are found after about 6 x 301 / (m + 1) looks.
    expected = (6 * 301 / (pool.truth.counts + 1)).mean()
    assert looks(FPC, pool, 6) == pytest.approx(expected, rel=0.15)
    made = plan(runs, 100, images=600, prices="openimages")
    assert any("nobody has the machine" in text for text in made.unpriced)


def test_a_plan_says_with_which_model_its_purchase_is_searched_for(runs, no_easy_images):
    for words in ("at random", "class 11 20%"):
        made = plan(runs, 30, images=600, prices="openimages")
        fpc = [one for one in made.choice.every if one.option == FPC]
        assert fpc, words
        if made.chosen.option == FPC:
            assert words in dict(made.page.answers)["Needs"]
        score(runs, 5)
    assert made.chosen.option == FPC
    assert 0.2 <= made.to_json()["searched"]["right"] <= 0.3  # more among the frequent classes


def test_labels_that_a_model_finds_count_less(runs, monkeypatch):
    """On average by 0.2 of logit mAP; those of images that are drawn count as measured."""
    score(runs, 2)

    def medians(easy):
        monkeypatch.setattr("simkit.planning.curves.EASY", (easy, 0.0))
        made = plan(runs, 30, images=600, prices="openimages")
        return {(one.pair, one.dollars, one.images): logit(one.median) for one in made.choice.every}

    assert EASY == (0.2, 0.1)
    before, after = medians(0.0), medians(0.2)
    assert before.keys() == after.keys() and any(key[0][0] == FPC for key in before)
    for key, value in before.items():
        lost = 0.2 if key[0][0].part.name in ("fpc", "proposals") else 0.0
        assert value - after[key] == pytest.approx(lost, abs=0.02)


def test_a_project_is_planned_with_its_scores_where_they_rank_better(
    runs, no_easy_images, tmp_path
):
    (tmp_path / "project.toml").touch()
    score(runs, 5)
    truth = Evidence.of(runs).pool.truth
    values = np.where(truth.present.toarray(), 3.0, -3.0)
    write_scores(values, truth.images, truth.classes, tmp_path / PROJECT_SCORES)
    made = plan(runs, 30, images=600, prices="openimages")
    needs, searched = dict(made.page.answers)["Needs"], made.to_json()["searched"]
    assert made.chosen.option == FPC and (searched["model"], searched["right"]) == (OF_PROJECT, 1)
    assert (
        "the project's scores: 100% of the candidates" in needs and "Score the images" not in needs
    )
    amount = made.chosen.amount / made.chosen.times
    pool = made.evidence.pool
    by_price = [
        np.interp(amount, curve.amounts, curve.dollars)
        for curve in (count(FPC, one, made.prices) for one in (pool, replace(pool, machine=None)))
    ]
    assert searched["at_random"] == pytest.approx(by_price[1] / by_price[0], rel=0.05)
    assert f"cost {searched['at_random']:.2g} times as much" in needs
    write_scores(-values, truth.images, truth.classes, tmp_path / PROJECT_SCORES)
    assert Evidence.of(runs).pool.machine_name == "the pilot's own model"


def test_scores_of_another_model_take_the_place_of_the_pilots(runs, no_easy_images, tmp_path):
    """Candidates of `--scores` that are all right cost one look each, as do images without."""
    score(runs, 5)
    pool = Evidence.of(runs).pool
    file = tmp_path / "clip.csv"
    shown = pool.truth.present.toarray().astype(float)
    table = pd.DataFrame(8 * shown - 4, pool.truth.images, pool.truth.classes)
    table.to_csv(file, index_label="image")
    assert looks(FPC, pool.searched_by(file), 3) == pytest.approx(3 + 3)
    made = plan(runs, 30, images=600, prices="openimages", scores=file)
    assert made.chosen.option == FPC and made.to_json()["searched"]["right"] == 1
    assert "clip.csv: 100% of the candidates" in dict(made.page.answers)["Needs"]
    assert f"--scores {file}" in made.command
    (100 / (1 + np.exp(-table))).to_csv(file, index_label="image")
    with pytest.raises(BadInput, match="p / 100 in a table"):
        plan(runs, 30, images=600, scores=file)
    (1 / (1 + np.exp(-table))).to_csv(file, index_label="image")
    with pytest.warns(match="are read as probabilities"):
        assert looks(FPC, pool.searched_by(file), 3) == pytest.approx(3 + 3)
    table.iloc[1:].to_csv(file, index_label="image")
    with pytest.raises(BadInput, match="these have no row"):
        plan(runs, 30, images=600, scores=file)
    with pytest.raises(BadInput, match="cannot be opened"):
        replace(pool, opened=False).searched_by(file)


def test_scores_of_another_model_may_name_the_files_of_images(tmp_path):
    """As in COCO, whose ids are numbers."""
    spec = planted.data(tmp_path / "data", 300)
    files = {split: tmp_path / f"{split}.json" for split in ("train", "test")}
    for split, file in files.items():
        truth = datasets.open(spec).truth[split]
        images = [{"id": n, "file_name": f"a/{n + 7:06}.jpg"} for n in range(truth.shape[0])]
        shown = [
            {"id": k, "image_id": n, "category_id": c, "bbox": [0, 0, 1, 1], "area": 1}
            for k, (n, c) in enumerate(np.argwhere(truth.present.toarray()).tolist())
        ]
        names = [{"id": c, "name": name} for c, name in enumerate(truth.classes)]
        file.write_text(json.dumps({"images": images, "annotations": shown, "categories": names}))
    runs = planted.write(tmp_path / "runs", f"coco:{files['train']},test={files['test']}",
                         schemes=("fpc", "full-subset"), draws=2)  # fmt: skip
    pool = Evidence.of(runs).pool
    values, images = np.random.default_rng(0).normal(size=pool.truth.shape), pool.truth.images
    table = pd.DataFrame(values, [f"{int(n) + 7:06}.jpg" for n in images], pool.truth.classes)
    table.to_csv(tmp_path / "clip.csv", index_label="image")
    with pytest.warns(match="matched by file name: 240 of 240"):
        searched = pool.searched_by(tmp_path / "clip.csv")
    assert searched.machine == pytest.approx(values)
