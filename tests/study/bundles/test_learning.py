import dataclasses
import json

import pytest
import torch
from simkit.study.bundles.agenda import plan, purchases, source_of, sweep
from simkit.study.bundles.buying import buy
from simkit.study.bundles.learning import Learner
from simkit.study.bundles.rows import scored
from simkit.study.bundles.work import run
from simkit.study.material.material import opened
from simkit.study.told.described import describe
from simkit.study.working.finish import Finished

from simkit.errors import BadInput
from simkit.learn import methods
from simkit.learn.protocols import protocol
from simkit.learn.steps.optim import Settings
from simkit.learn.train import train
from simkit.study import compare as compare_file
from simkit.study import runs
from simkit.study.compare import compare

DATA = "scenes:images=30,val=10,test=20"


@pytest.fixture
def photographs(small):
    """A grid whose backbone learns from very few, small pictures."""

    def made(**values):
        return small(
            **{
                "data": DATA,
                "budgets": [],
                "schemes": ["rpa"],
                "draws": 1,
                "reference": False,
                "pictures": {"size": 32},
                "train": {"epochs": 2, "lr": 0.001},
            }
            | values
        )

    return made


def planned(grid):
    material = opened(source_of(grid))
    return plan(grid, material), material


def test_the_whole_backbone_is_trained_with_every_method(photographs):
    specs = ("ll-r+boostlu", "se", "an+scl", "csl")
    grid = photographs(methods=specs, curves=True, images=0.6)
    (bundle,), _ = planned(grid)
    done = run(bundle)
    assert not done.failures and [row["method"] for row in done.rows] == list(specs)
    assert len({row["labels_id"] for row in done.rows}) == 1
    assert len({row["map"] for row in done.rows}) == len(specs)
    for row in done.rows:
        assert set(row) == set(runs.SCHEMA.names)
        assert (row["trained"], row["stack"], row["epochs"]) == ("backbone", 1, 2)
        assert row["features_id"] == bundle.ids["backbone 32"]
        assert len(row["curve"]) == 2 and row["curve_of"] == "test"
        assert row["curve"][-1] == pytest.approx(row["map"], abs=1e-3)
        kind = "cuda (" if torch.cuda.is_available() else "cpu"
        assert json.loads(row["environment"])["device"].startswith(kind)


def test_a_run_is_the_training_that_one_would_do_by_hand(photographs):
    grid = photographs(methods=["an"], schemes=["full-subset"])
    (bundle,), material = planned(grid)
    labels = buy(bundle.purchases[0], bundle, material).train
    learner = Learner(bundle, material, bundle.purchases[0], "an")
    task = learner.task(labels)
    net = material.pixels.networks[32]
    before = net.id
    trained = train(task, methods.make("an"), settings=grid.train, backbone=net)
    scores = trained.scores(learner.inputs("test"))
    (row,) = run(bundle).rows
    # In one thread and in several the last bits differ.
    assert row["map"] == pytest.approx(scored(material, scores)["map"], abs=2e-3)
    assert net.id == before != trained.model.backbone.id


@pytest.mark.parametrize(
    "how",
    [
        {"pictures": None, "train": {"epochs": 2, "lr": 0.001, "select": "best"}},
        {
            "pictures": {
                "size": 32,
                "protocol": "large-loss-linear-init",
                "changed": {"epochs": 2, "head_epochs": 1},
            },
            "train": {},
        },
    ],
    ids=["heads", "backbones"],
)
def test_validation_labels_choose_the_epoch_of_temporary_models_too(photographs, how):
    grid = photographs(methods=["csl", "se-l"], images=0.6, validation="complete", **how)
    done = run(planned(grid)[0][0])
    assert not done.failures
    for row in done.rows:
        assert row["select"] == "best" and row["curve_of"] == "val"
        assert row["epochs"] == 1 + row["curve"].index(max(row["curve"]))


def test_a_sweep_tries_rates_of_backbones(photographs):
    tuning = {"runs": 2, "space": {"all": {"lr": [1e-4, 1e-3]}}}
    grid = photographs(methods=["an"], images=0.6, validation="complete", tuning=tuning)
    (bundle,) = sweep(grid, opened(source_of(grid)))
    assert str(bundle) == "rpa, an and rpa, an, tuning"
    assert [row["lr"] for row in run(bundle).rows] == [1e-4, 1e-3]


@pytest.mark.skipif(torch.cuda.is_available(), reason="on a GPU the last bits differ")
def test_the_same_bundle_gives_the_same_bits(photographs):
    (bundle,), _ = planned(photographs(methods=["an"], images=0.6))
    first, second = (
        [{k: v for k, v in row.items() if k not in runs.MEASURED} for row in run(bundle).rows]
        for _ in range(2)
    )
    assert first == second


def test_each_method_has_a_purchase_of_its_own(photographs):
    grid = photographs(schemes=["rpa", "fpc"], reference=True)
    told = [(one.scheme, one.methods) for one in purchases(grid)]
    assert told == [
        *((scheme, (spec,)) for scheme in ("rpa", "fpc") for spec in ("an", "ll-r+boostlu")),
        ("full-subset", ("full",)),
        ("full-subset", ("full+boostlu",)),
        *(("full-subset", (spec,)) for spec in ("an", "ll-r+boostlu")),
    ]
    longer = dataclasses.replace(grid, train=Settings(epochs=1000))
    bundles, _ = planned(longer)
    assert [bundle.runs for bundle in bundles] == [1] * 8
    assert str(bundles[1]) == "rpa, ll-r+boostlu, draw 0"


def test_only_what_is_near_needs_features(photographs):
    plain, near = (source_of(photographs(methods=[spec])) for spec in ("csl", "se"))
    assert (plain.kinds, plain.featured, plain.sizes) == ((), (), (32,))
    assert (near.kinds, near.featured) == (("pooled",), ("train",))
    assert opened(plain).features == {} and list(opened(near).features) == [("train", "pooled")]


def test_what_decides_is_in_the_key(photographs):
    (one,), _ = planned(photographs())
    others = [
        photographs(pictures={"size": 64}),
        photographs(pictures={"size": 32, "flip": False}),
        photographs(pictures={"size": 32, "crop": [0.5, 1]}),
        photographs(data="scenes:images=30,val=10,test=20,seed=1"),
        photographs(pictures=None),
    ]
    assert len({one.key, *(planned(other)[0][0].key for other in others)}) == 6


def test_methods_are_trained_after_their_protocols(photographs):
    papers = {"protocols": {"ll-r": "large-loss"}, "changed": {"select": "last"}, "size": 32}
    (bundle, *_), material = planned(photographs(methods=["an", "ll-r"], pictures=papers))
    an, ll_r = (Learner(bundle, material, one, *one.methods) for one in bundle.purchases)
    preset = protocol("large-loss").changed({"select": "last"})
    assert ll_r.training["settings"] == preset and ll_r.lr == 1e-5
    assert an.training["settings"] == bundle.train and an.lr == 0.001
    assert an.shared != ll_r.shared
    assert an.inputs_id == ll_r.inputs_id == bundle.ids["backbone 32"]


def test_a_method_that_fails_is_named_and_the_others_run_on(photographs):
    done = run(planned(photographs(methods=["full", "an"], images=0.6))[0][0])
    assert [row["method"] for row in done.rows] == ["an"]
    (name,) = done.failures
    assert name == "rpa, draw 0, full" and done.lasting


def test_heads_and_backbones_are_told_apart_in_the_table(photographs, tmp_path):
    found = compare(photographs(methods=["an"], images=0.6), out=tmp_path / "whole", workers=1)
    heads = compare(
        photographs(methods=["an"], images=0.6, pictures=None), out=tmp_path / "heads", workers=1
    )
    assert found.table["trained"].to_pylist() == ["backbone"]
    assert heads.table["trained"].to_pylist() == ["head"]
    said = "1 runs: 1 schemes, 1 methods, 1 draws"
    assert describe(tmp_path / "whole")["text"].startswith(f"{said}; whole backbones were trained")
    assert describe(tmp_path / "heads")["text"].startswith(f"{said}\nmade with")


def test_what_is_finished_is_kept(photographs, tmp_path, monkeypatch):
    grid = photographs(methods=["an"], images=0.6)
    first = compare(grid, out=tmp_path, workers=1)
    monkeypatch.setattr("simkit.study.working.finish.run", None)
    assert compare(grid, out=tmp_path, workers=1).table.equals(first.table)


@pytest.mark.parametrize(("gpus", "count"), [([], None), (["0", "1"], 2)])
def test_backbones_have_a_worker_for_each_gpu(photographs, tmp_path, monkeypatch, gpus, count):
    asked = []

    def none_done(bundles, folder, *, workers, **more):
        asked.append(workers)
        return Finished({}, {bundle.key: "not now" for bundle in bundles})

    monkeypatch.setattr("simkit.study.forecast.forecast.gpus", lambda: gpus)
    monkeypatch.setattr(compare_file, "finish", none_done)
    for how in ({}, {"workers": 5}, {"pictures": None}):
        workers = how.pop("workers", None)
        with pytest.raises(BadInput, match="every run failed"):
            compare(photographs(methods=["an"], **how), out=tmp_path, workers=workers)
    assert asked == [count, 5, None]


def test_data_without_pictures_are_refused(tiny, tmp_path):
    grid = tiny(pictures={"size": 32})
    with pytest.raises(BadInput, match=r"has no pictures for 'train', which fine-tuning needs; "):
        compare(grid, out=tmp_path, workers=1)
