"""The work on a job: labels and their bill, trainings, stacks, failures, what is recorded."""

import dataclasses
import json
import pickle
import re
import warnings

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.metrics import average_precision_score, precision_recall_curve

from simkit.annotate.prices import cost
from simkit.annotate.simulate import simulate
from simkit.errors import BadInput
from simkit.labels.effort import Effort
from simkit.labels.partial import PartialLabels
from simkit.learn import methods
from simkit.learn.methods import Sizes, Task
from simkit.learn.protocols import protocol
from simkit.learn.stack import RunWarning
from simkit.learn.train import train
from simkit.results import runs
from simkit.study import jobs, worker
from simkit.study.sources import ImageTransform, open_source
from simkit.study.sweep import sweep
from simkit.study.worker import buy, run, run_bytes
from tests.study.work import first, planned, repeatable, rows_of

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def bought(grid, place=0):
    """What a purchase of the first draw buys, the job, and the data."""
    (job, *_), data = planned(grid)
    return buy(job.batches[place], job, data), job, data


def test_a_budget_is_spent_and_not_exceeded(small):
    for place in range(4):
        found, job, _ = bought(small(), place)
        most = job.batches[place].limit.dollars
        assert 0.85 * most < found.dollars <= most
        assert found.dollars == pytest.approx(cost(found.train, job.prices).dollars)
        assert found.validation is None and found.validation_dollars == 0
    found, job, _ = bought(small(budgets=[], schemes=["fpc(per_class=7)"]))
    assert found.train.history.settings["scheme"].startswith("fpc(per_class=7,")
    assert found.dollars == cost(found.train, job.prices).dollars
    assert bought(small(prices="openimages"))[0].seconds is None  # times are not known


@pytest.mark.parametrize("validation", ["none", "partial", "complete"])
def test_hours_are_spent_and_not_exceeded(small, validation):
    found, *_ = bought(small(budgets=[], hours=[3], validation=validation))
    assert 0.85 * 3 * 3600 < found.seconds <= 3 * 3600


def test_images_are_picked_by_the_features_of_the_comparison(small):
    found, _, data = bought(small(budgets=[], schemes=["picked(share=0.1)"]))
    features = data.features["train", "pooled"].values
    labels = simulate(data.truth("train"), "picked(share=0.1)", features=features)
    assert found.train.id == labels.id and labels.asked.sum() == 12


def test_complete_validation_labels_are_charged_and_come_from_the_same_people(small):
    found, job, data = bought(small(validation="complete", budgets=[40]))
    val = 40 * 52 * 8 * 0.3011 * 15 / 3600  # images, classes, people, seconds, wage
    assert found.validation_dollars == pytest.approx(val) and 0.85 * 40 < found.dollars <= 40
    assert cost(found.train, job.prices).dollars == pytest.approx(found.dollars - val)
    truth, given = data.truth("val").present.toarray(), found.validation.codes.toarray()
    assert (np.abs(given) == 1).all() and ((given == 1) == truth).all()
    erring = {"miss": 0.3, "false_alarm": 0.1}
    found, *_ = bought(small(validation="complete", budgets=[40], habits=erring))
    given = found.validation.codes.toarray()
    assert (np.abs(given) == 1).all()
    assert (given[truth] == -1).mean() == pytest.approx(0.3, abs=0.08)
    assert (given[~truth] == 1).mean() == pytest.approx(0.1, abs=0.04)


def test_partial_validation_labels_come_from_the_scheme_in_proportion(small):
    partial = {"validation": "partial", "schemes": ["full-subset"]}
    found, *_ = bought(small(budgets=[40], **partial))
    assert found.validation_dollars == pytest.approx(40 * 40 / 160, rel=0.1)
    assert found.dollars <= 40 and found.seconds == pytest.approx(found.dollars / 15 * 3600)
    assert found.validation.history.settings["scheme"] == "full-subset"
    found, *_ = bought(small(budgets=[], images=30, **partial))
    assert found.train.asked.sum() == 30 and found.validation.asked.sum() == 10


@pytest.mark.parametrize("validation", ["complete", "partial"])
def test_a_project_is_set_up_once(small, tmp_path, validation):
    agency = str(tmp_path / "agency.toml")
    (tmp_path / "agency.toml").write_text('like = "coco-tagging"\nsetup = 7\n')
    settings = {"validation": validation, "budgets": [], "schemes": ["full-subset"]}
    plain, dear = (bought(small(prices=p, **settings))[0] for p in ("coco-tagging", agency))
    assert dear.validation_dollars == plain.validation_dollars > 0
    assert dear.dollars == pytest.approx(plain.dollars + 7)
    settings |= {"budgets": [50]}
    assert 0.8 * 50 < bought(small(prices=agency, **settings))[0].dollars <= 50


def test_validation_that_uses_up_a_budget_is_refused(small):
    complete = {"validation": "complete", "budgets": [], "schemes": ["single-positive"]}
    for values, words in (
        ({"budgets": [10]}, r"\$20\.88 of \$10; raise the budget"),
        ({"hours": [1]}, r"1\.39 hours of 1 hour; raise the budget"),
        ({"hours": [1], "prices": "openimages"}, "hours.* budget in dollars"),
    ):
        with pytest.raises(BadInput, match=words):
            bought(small(**complete | values))


def trained_by_hand(job, data, labels, **settings):
    """Scores of a split by `an` on features, trained alone on these labels."""
    task = Task(labels=labels, inputs=data.inputs("train", "pooled"))
    own = dataclasses.replace(job.grid.train, select="last", **settings)
    trained = train(task, methods.make("an"), settings=own, seed=0, draw=job.draw)
    return lambda split: trained.scores(data.inputs(split, "pooled"))


def aps(data, scores, split="test"):
    """AP of each class by scikit-learn, None where it is present nowhere."""
    present = data.truth(split).present.toarray()
    some = np.flatnonzero(present.any(0))
    found = {c: average_precision_score(present[:, c], scores[:, c]) for c in some}
    return [found.get(c) for c in range(present.shape[1])]


def test_scores_are_those_of_a_training_by_hand(small):
    job, data = first(small(methods=["an", "ignore"], schemes=["full-subset"], budgets=[]))
    expected = aps(data, trained_by_hand(job, data, buy(job.batches[0], job, data).train)("test"))
    row = rows_of(run(job))[0]
    assert [ap is None for ap in row["ap"]] == [ap is None for ap in expected]
    some = [c for c in range(52) if expected[c] is not None]
    # The stack trains with others; that changes nothing but the last bits, which may swap ranks.
    assert np.allclose([row["ap"][c] for c in some], [expected[c] for c in some], atol=2e-3)
    leaves = [c for c in data.data.leaves if c in some]
    counts = data.truth("test").present.toarray().sum(0)
    weighted = sum(expected[c] * counts[c] for c in leaves) / sum(counts[c] for c in leaves)
    assert row["map"] == pytest.approx(np.mean([expected[c] for c in leaves]), abs=1e-3)
    assert row["map_all"] == pytest.approx(np.mean([expected[c] for c in some]), abs=1e-3)
    assert row["map_o"] == pytest.approx(weighted, abs=1e-3)
    assert row.get("precision") is row.get("recall") is None  # no validation labels


@pytest.mark.parametrize("how", [{"validation": "complete"}, {"fair": True}])
def test_precision_and_recall_are_those_at_thresholds_of_the_validation_split(tiny, how):
    job, data = first(tiny(schemes=["full-subset"], draws=1, **how))
    (row,) = rows_of(run(job))
    labels = buy(job.batches[0], job, data).train
    val, test = map(trained_by_hand(job, data, labels, epochs=row["epochs"]), ("val", "test"))
    present = {split: data.truth(split).present.toarray() for split in ("val", "test")}
    precisions, recalls = [], []
    for c in range(4):
        p, r, limits = precision_recall_curve(present["val"][:, c], val[:, c])
        f1 = 2 * p * r / np.maximum(p + r, 1e-12)
        # Of equally good ones the highest threshold.
        limit = limits[np.flatnonzero(np.isclose(f1[:-1], f1[:-1].max(), atol=1e-12)).max()]
        called, shown = test[:, c] >= limit, present["test"][:, c]
        precisions.append((called & shown).sum() / called.sum() if called.any() else np.nan)
        recalls.append((called & shown).sum() / shown.sum())
    assert row["precision"] == pytest.approx(np.nanmean(precisions), abs=0.02)
    assert row["recall"] == pytest.approx(np.mean(recalls), abs=0.02)


def test_images_that_nobody_asked_about_train_where_they_shall(tiny):
    found = {}
    for unasked in ("skip", "absent"):
        job, data = first(tiny(schemes=["full-subset"], images=0.5, unasked=unasked, draws=1))
        labels = buy(job.batches[0], job, data).train
        (row,) = rows_of(run(job))
        assert labels.asked.sum() == row["images"] == 20
        assert row["present"] + row["absent"] == 80 and row["unknown"] == 0
        asked = labels.asked if unasked == "skip" else np.ones(40, bool)
        labels = PartialLabels.of(labels.codes, labels.images, labels.classes, asked)
        scores = trained_by_hand(job, data, labels)("test")
        assert row["map"] == pytest.approx(np.mean(aps(data, scores)), abs=1e-6)
        found[unasked] = row
    equal = {name for name in row if found["skip"][name] == found["absent"][name]}
    assert {"labels_id", "dollars"} <= equal and not {"losses", "map", "key"} & equal


def test_a_row_for_each_method_in_the_grids_order_says_what_was_done(small):
    job, data = first(small(methods=["an+boostlu", "ignore", "an"]))
    before = torch.get_num_threads()
    rows = rows_of(run(job))
    assert torch.get_num_threads() == before
    assert [row["method"] for row in rows] == ["an+boostlu", "ignore", "an"]
    codes = buy(job.batches[0], job, data).train.codes.toarray()
    for row in rows:
        assert set(row) <= set(runs.SCHEMA.names) and len(runs.to_table(rows)) == 3
        assert row["key"] == job.stem and row["budget"] == 10 and row["draw"] == 0
        assert row["present"] + row["absent"] + row["unknown"] == row["images"] * 52
        assert row["scheme_spec"].startswith("single-positive(positives=1,")
        assert row["class_present"] == (codes == 1).sum(0).tolist()
        assert row["class_absent"] == (codes == -1).sum(0).tolist()
        assert row["present"] == row["images"] == sum(row["class_present"])
        assert 0 < row["train_seconds"] < row["bundle_seconds"] and row["peak_memory_mb"] > 10
        made = json.loads(row["environment"])
        assert {"simkit", "torch", "numpy", "python", "system", "machine", "device"} < set(made)
        assert (made["threads"], made["code"]) == (1, job.code)
        assert len(row["losses"]) == 2 and np.isfinite(row["losses"]).all()
    assert rows[1]["method_spec"].startswith("ignore(")
    again = rows_of(run(pickle.loads(pickle.dumps(job))))
    assert repeatable(again) == repeatable(rows)


@pytest.mark.parametrize(
    ("values", "of"),
    [({}, None), ({"curves": True}, "test"), ({"validation": "complete", "budgets": [60]}, "val")],
)
def test_the_curve_says_which_split_it_is_of_and_watching_changes_nothing(small, values, of):
    rows = rows_of(run(first(small(methods=["an"], **values))[0]))
    for row in rows:
        assert row["curve_of"] == of and len(row["curve"]) == (0 if of is None else 2)
    if of == "test":
        assert rows[0]["curve"][-1] == pytest.approx(rows[0]["map"], abs=1e-6)
        plain = rows_of(run(first(small(methods=["an"]))[0]))
        assert [row["ap"] for row in plain] == [row["ap"] for row in rows]


@pytest.mark.parametrize("validation", ["none", "complete"])
def test_the_questions_can_be_priced_again(small, validation):
    (job, *_), _ = planned(small(budgets=[60], methods=["an"], validation=validation))
    for row in rows_of(run(job)):
        dollars = cost(Effort.from_json(json.loads(row["effort"])), job.prices).dollars
        assert (row["validation_effort"] is None) == (validation == "none")
        if row["validation_effort"]:
            held = Effort.from_json(json.loads(row["validation_effort"]))
            dollars += cost(held, job.prices.once_set_up()).dollars
            assert row["validation_dollars"] > 20 and row["select"] == "best"
        assert dollars == pytest.approx(row["dollars"], abs=1e-9)


def test_the_epoch_is_chosen_over_leaves_and_without_difficult_objects(small, monkeypatch):
    grid = small(validation="complete", budgets=[60], train={"epochs": 1, "select": "best"})
    job, data = first(grid)
    difficult = np.zeros(data.truth("val").shape, bool)
    difficult[:, ::2] = True
    data.data.difficult["val"] = csr_array(difficult)
    monkeypatch.setattr(worker.sources, "opened_as", lambda *of: data)
    seen = []
    monkeypatch.setattr(worker, "train_stack", lambda *a, validation, **k: seen.append(validation))
    assert rows_of(run(job)) == []  # nothing is trained here
    assert (seen[0].known == ~difficult).all() and (seen[0].classes == data.data.leaves).all()
    assert isinstance(seen[0].labels, PartialLabels)


def test_a_sweep_scores_its_settings_on_complete_validation_labels(tiny):
    for validation in ("none", "partial"):
        grid = tiny(fair=True, validation=validation, methods=["an", "ll-r"], draws=1)
        data = open_source(jobs.source_of(grid))
        job = dataclasses.replace(sweep(grid, data)[0], draws=(runs.SWEEP,))
        rows = rows_of(run(job))
        assert len(rows) == 5 + 5 and {row["draw"] for row in rows} == {runs.SWEEP}
        rates = [row["lr"] for row in rows if row["method"] == "an"]
        assert rates == [0.001, 0.00316, 0.01, 0.0316, 0.1]
        labels = buy(job.batches[0], job, data).train
        assert {row["labels_id"] for row in rows} == {labels.id}
        scores = trained_by_hand(job, data, labels, epochs=rows[0]["epochs"], lr=0.001)("val")
        assert rows[0]["tuned_map"] == pytest.approx(np.mean(aps(data, scores, "val")), abs=1e-3)
        assert {row["validation_dollars"] for row in rows} == {0.0}


def stacked(grid, **changes):
    """Rows of the first draw, by scheme and method."""
    (job, *_), _ = planned(grid)
    done = run(dataclasses.replace(job, grid=dataclasses.replace(job.grid, **changes)))
    assert not done.failures
    return {(row["scheme"], row["method"]): row for row in rows_of(done)}


def test_runs_about_the_same_images_and_validation_labels_train_together(small):
    grid = small(budgets=[], methods=["an", "an+boostlu", "ll-r"], images=0.5, reference=False)
    rows = stacked(grid)
    # Two schemes: four heads on pooled features, two on maps.
    assert [row["stack"] for row in rows.values()] == [4, 2, 4] * 2
    one = {"methods": ["an"], "reference": False}
    other = stacked(small(budgets=[10], schemes=["full-subset", "single-positive"], **one))
    assert [row["stack"] for row in other.values()] == [1, 1]  # other images
    for validation, size in (("partial", 1), ("complete", 2)):
        schemes = ["rpa", "rpa(keep=0.5)"]  # with absent labels, to choose an epoch by
        held = stacked(small(budgets=[], validation=validation, schemes=schemes, **one))
        assert {row["stack"] for row in held.values()} == {size}


def test_a_stack_stays_within_its_memory_which_changes_the_last_bits_alone(small):
    grid = small(budgets=[], methods=["an", "ignore", "ll-r", "role(expected=9)"], reference=False)
    sizes = Sizes(120, 52, 128)
    how = {"width": 128, "rows": 120, "scored": 80}
    an, role = (run_bytes(methods.make(spec), sizes, **how) for spec in ("an", "role(expected=9)"))
    assert an == round(1.4 * (16 * 52 * 128 + 52 * (120 + 4 * 80)))
    assert role > an + 4 * 120 * 52  # it keeps an estimate of every label
    together, few, alone = (stacked(grid, memory=m) for m in (1.0, 3.5 * an / 1e9, 1e-9))
    assert {row["stack"] for row in together.values()} == {8}
    assert max(row["stack"] for row in few.values()) in (2, 3)
    assert {row["stack"] for row in alone.values()} == {1}
    for place, row in together.items():
        for other in (few[place], alone[place]):
            assert row["labels_id"] == other["labels_id"]
            np.testing.assert_allclose(row["losses"], other["losses"], atol=1e-5)
            assert row["map"] == pytest.approx(other["map"], abs=2e-3)
    assert len({row["map"] for row in together.values()}) > 4


def test_a_method_that_cannot_work_with_the_labels_fails_alone(small):
    grid = small(methods=["an", "full", "ignore", "ll-r"], schemes=["rpa"], budgets=[30])
    done = run(first(grid)[0])
    assert [row["method"] for row in rows_of(done)] == ["an", "ignore", "ll-r"] and done.lasting
    ((name, why),) = done.failures.items()
    assert name == "rpa, budget 30, draw 0, full" and "'full' needs complete labels" in why
    without = rows_of(run(first(dataclasses.replace(grid, methods=("an", "ignore", "ll-r")))[0]))
    for one, other in zip(rows_of(done), without, strict=True):
        assert one["map"] == pytest.approx(other["map"], abs=1e-3)
    none = run(first(small(methods=["full", "full+boostlu"], schemes=["rpa"], budgets=[30]))[0])
    assert rows_of(none) == [] and none.lasting and len(none.failures) == 2
    poor = run(first(small(schemes=["full-subset"], budgets=[0.01]))[0])
    runs_of_both = [f"full-subset, budget 0.01, draw 0, {name}" for name in ("an", "ll-r+boostlu")]
    assert list(poor.failures) == runs_of_both


def test_an_error_that_is_no_fault_of_the_input_does_not_last(small, monkeypatch):
    def broken(self, task, chance=None):
        raise MemoryError("too much")

    monkeypatch.setattr(type(methods.make("ignore")), "start", broken)
    done = run(first(small(methods=["an", "ignore"]))[0])
    assert [row["method"] for row in rows_of(done)] == ["an"] and not done.lasting
    name = "single-positive, budget 10, draw 0, ignore"
    assert [*done.failures] == [name] and done.failures[name].startswith("MemoryError: too much (")


def test_what_was_odd_is_noted_with_the_runs_it_is_about(small, tiny, monkeypatch):
    rows = rows_of(run(first(small(schemes=["full-subset"], budgets=[1000]))[0]))
    assert all("everything was bought" in row["notes"][0] for row in rows)
    grid = small(schemes=["single-positive", "rpa"], methods=["an", "ignore"], budgets=[], draws=1)
    notes = {place: " ".join(row["notes"]) for place, row in stacked(grid).items()}
    known = [place for place, text in notes.items() if "learns from known labels alone" in text]
    assert known == [("single-positive", "ignore")]
    late = "ll-r-abs(delta=0.8)"
    whole = {"schemes": ["full-subset"], "budgets": [], "methods": ["an", late, "ll-r"]}
    notes = {place: " ".join(row["notes"]) for place, row in stacked(small(**whole)).items()}
    of_late = [place for place, text in notes.items() if "is modified from epoch 2" in text]
    assert of_late == [("full-subset", late)]  # though all three are one training
    for lr, count in ((0.01, 0), (1e30, 1)):
        (row,) = rows_of(run(first(tiny(train={"epochs": 2, "lr": lr}))[0]))
        assert sum("diverged" in note for note in row["notes"]) == count

    def noisy(*args, **how):
        warnings.warn(RunWarning("of the second", 1), stacklevel=1)
        for _ in range(2):
            warnings.warn("of all", stacklevel=1)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        return train_stack(*args, **how)

    train_stack = worker.train_stack
    monkeypatch.setattr(worker, "train_stack", noisy)
    one, two = rows_of(run(first(tiny(methods=["an", "ll-r"]))[0]))
    assert one["notes"] == ["of all"] and two["notes"] == ["of the second", "of all"]


@pytest.fixture
def photographs(small):
    """A grid whose backbone learns from very few, small pictures."""

    def made(**values):
        plain = {
            "data": "scenes:images=30,val=10,test=20", "budgets": [], "schemes": ["rpa"],
            "draws": 1, "reference": False, "pictures": {"size": 32},
            "train": {"epochs": 2, "lr": 0.001},
        }  # fmt: skip
        return small(**plain | values)

    return made


def test_the_whole_backbone_is_trained_with_every_method(photographs):
    specs = ("ll-r+boostlu", "se", "an+scl", "csl", "full")
    (job,), _ = planned(photographs(methods=specs, curves=True, images=0.6))
    done = run(job)
    assert list(done.failures) == ["rpa, draw 0, full"] and done.lasting
    assert [row["method"] for row in rows_of(done)] == list(specs[:-1])
    assert len({row["labels_id"] for row in rows_of(done)}) == 1
    assert len({row["map"] for row in rows_of(done)}) == len(specs) - 1
    for row in rows_of(done):
        assert (row["trained"], row["stack"], row["epochs"]) == ("backbone", 1, 2)
        assert row["features_id"] == job.ids["backbone 32"]
        assert len(row["curve"]) == 2 and row["curve_of"] == "test"
        assert row["curve"][-1] == pytest.approx(row["map"], abs=1e-3)
        kind = "cuda (" if torch.cuda.is_available() else "cpu"
        assert json.loads(row["environment"])["device"].startswith(kind)


def test_a_backbone_learns_as_one_would_train_it_by_hand(photographs):
    grid = photographs(methods=["an"], schemes=["full-subset"])
    (job,), data = planned(grid)
    labels, transform = buy(job.batches[0], job, data).train, ImageTransform(32)
    net = data.networks[32]
    before = net.id
    task = Task(labels=labels, inputs=data.images("train", transform))
    trained = train(task, methods.make("an"), settings=grid.train, backbone=net)
    expected = aps(data, trained.scores(data.images("test", transform)))
    leaves = [expected[c] for c in data.data.leaves if expected[c] is not None]
    (row,) = rows_of(run(job))
    # In one thread and in several the last bits differ.
    assert row["map"] == pytest.approx(np.mean(leaves), abs=2e-3)
    assert net.id == before != trained.model.backbone.id
    if not torch.cuda.is_available():  # on a GPU the last bits differ from run to run
        assert repeatable(rows_of(run(job))) == repeatable([row])


LINEAR = {"protocol": "large-loss-linear-init", "changed": {"epochs": 2, "head_epochs": 1}}


@pytest.mark.parametrize(("pictures", "train"), [(None, {"epochs": 2}), (LINEAR, {})])
def test_validation_labels_choose_the_epoch_of_temporary_models_too(photographs, pictures, train):
    some = {"methods": ["csl", "se-l"], "images": 0.6, "validation": "complete", "train": train}
    grid = photographs(pictures=pictures and {"size": 32, **pictures}, **some)
    done = run(planned(grid)[0][0])
    assert not done.failures
    for row in rows_of(done):
        assert row["select"] == "best" and row["curve_of"] == "val"
        assert row["epochs"] == 1 + row["curve"].index(max(row["curve"]))


def test_backbones_are_tuned_and_follow_protocols(photographs):
    tuning = {"runs": 2, "space": {"all": {"lr": [1e-4, 1e-3]}}}
    grid = photographs(methods=["an"], images=0.6, tuning=tuning)
    tried = sweep(grid, open_source(jobs.source_of(grid)))
    rates = [row["lr"] for job in tried for row in rows_of(run(job))]
    assert rates == 2 * [1e-4, 1e-3]
    papers = {"protocols": {"ll-r": "large-loss"}, "changed": {"select": "last"}, "size": 32}
    (job, *_), _ = planned(photographs(methods=["an", "ll-r"], pictures=papers))
    assert job.grid.training("ll-r") == protocol("large-loss").changed({"select": "last"})
    assert job.grid.training("an") == job.grid.train
    assert jobs.transform_of(job.grid, "ll-r").size == 32


def test_errors_of_code_of_ones_own_have_a_place() -> None:
    def loss() -> None:
        torch.zeros(2) @ torch.zeros(3)

    with pytest.raises(RuntimeError) as caught:
        loss()
    assert re.search(r"^RuntimeError: .* \(test_worker.py, line \d+, in loss\)$",
                     worker.sentence(caught.value))  # fmt: skip
    with pytest.raises(TypeError) as caught:
        json.dumps(torch)
    caught.value.__traceback__ = caught.value.__traceback__.tb_next  # without this test
    assert worker.sentence(caught.value).endswith("is not JSON serializable")
    assert worker.sentence(BadInput("x is 1; give 2")) == "x is 1; give 2"
