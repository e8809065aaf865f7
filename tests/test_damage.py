"""Every kind of file beside labels and data sets: read in any state, or refused in one sentence."""

import dataclasses
import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from simkit.annotate import schemes
from simkit.annotate.annotators import Habits
from simkit.annotate.prices import prices
from simkit.annotate.similarities import Similarities, write_similarities
from simkit.annotate.simulate import simulate
from simkit.annotate.votes import read_votes
from simkit.cli.main import main
from simkit.data.dataset import open as open_data
from simkit.embed.feature_files import FeatureWriter, Index
from simkit.embed.features import read_features
from simkit.errors import BadInput, located
from simkit.history import History
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.partial import PartialLabels
from simkit.learn import checkpoint, trained
from simkit.learn.inputs import FeatureInputs
from simkit.learn.methods import Task, make
from simkit.learn.optim import Settings
from simkit.learn.side_info import ClassPrior
from simkit.learn.train import train
from simkit.orders import answer_tables
from simkit.orders.order import Order
from simkit.orders.project import Project
from simkit.orders.receiving import OrderState, checked
from simkit.planning.evidence import Evidence
from simkit.results import job_store, runs
from simkit.study.grid import DEMO, Grid
from tests.mutations import COUNT, survives
from tests.orders.label_studio import roundtrip as studio
from tests.orders.people import ordered
from tests.planning import planted as planning
from tests.results import planted

RNG = np.random.default_rng(0)
TASK = Task(RNG.integers(-1, 2, (30, 3)), FeatureInputs(RNG.normal(size=(30, 4))))
CHECKSUMS = ("checksum", "crc32")
TRAINING = {"settings": Settings(epochs=1)}


def _damaged(tmp_path: Path, read: Any, count: int = COUNT) -> None:
    files = {
        str(file.relative_to(tmp_path)): file.read_bytes()
        for file in tmp_path.rglob("*") if file.is_file()
    }  # fmt: skip
    survives(read, files, tmp_path=tmp_path, count=count)


FILES: dict[str, tuple[str, Any, Any]] = {
    "grids": ("grid.toml", Grid.load(DEMO).to_toml(), Grid.load),
    "price lists": (
        "mine.toml",
        'like = "hourly"\nworkers = 2\n[verify]\nper = "page"\npage = 5\nseconds = 2.5\n',
        prices,
    ),
    "votes": ("votes.csv", "image,class,worker,answer,gold\n7,cat,ann,yes,yes\n9,dog,bob,0,no\n",
              read_votes),
    "habits": ("habits.json", json.dumps(Habits(workers=3, miss=0.1).to_json()), Habits.load),
}  # fmt: skip


@pytest.mark.parametrize("kind", FILES)
def test_damaged_files_of(tmp_path: Path, kind: str) -> None:
    name, text, read = FILES[kind]
    (tmp_path / name).write_text(text)
    _damaged(tmp_path, lambda folder: read(folder / name))


def _seen(tmp_path: Path, read: Any) -> None:
    """No flipped bit changes a value without an error."""
    good, rng = read(tmp_path), np.random.default_rng(1)
    for file in [file for file in tmp_path.rglob("*") if file.is_file()]:
        content, refused = file.read_bytes(), 0
        for place in rng.integers(8 * len(content), size=60):
            damaged = bytearray(content)
            damaged[place // 8] ^= 1 << (place % 8)
            file.write_bytes(damaged)
            try:
                assert read(tmp_path) == good, (file, place)
            except BadInput:
                refused += 1
        assert refused or file.suffix == ".csv"
        file.write_bytes(content)


def test_damaged_projects(tmp_path: Path) -> None:
    Project(tmp_path, "scenes", ("cat", "dog", "owl"), 20.0).write()
    _damaged(tmp_path, Project.read)


def test_damaged_class_priors(tmp_path: Path) -> None:
    ClassPrior(np.array([0.5, 0.25]), ("cat", "dog")).save(tmp_path / "prior.json")
    _damaged(tmp_path, lambda folder: ClassPrior.load(folder / "prior.json"))


def test_damaged_plans_of_a_comparison(tmp_path: Path) -> None:
    table = runs.to_table([planted.row(key="a")])
    job_store.save(job_store.Result(table), tmp_path / "bundles", "a")
    about = {"classes": ["cat", "dog"], "leaves": [1]}
    job_store.begin(tmp_path, grid="draws = 2", keys=["a", "b"], about=about)
    _damaged(tmp_path, runs.describe)


def test_damaged_grids_of_runs_that_are_planned_with(tmp_path: Path) -> None:
    spec = planning.data(tmp_path / "data", 40, test=40, classes=3)
    compared = planning.write(tmp_path / "runs", spec, schemes=("full-subset",), draws=1)
    grid, good = compared / "grid.toml", (compared / "grid.toml").read_text()
    others = (('"full-subset"', '"rpa"'), ("data = ", "date = "), ("[habits]", "[habits]\nx = 0"))
    for text in ("", 'schemes = ["full-subset"]', *(good.replace(*other) for other in others)):
        grid.write_text(text)
        with pytest.raises(BadInput, match=r"grid\.toml"):
            Evidence.of(compared)
    grid.unlink()
    with pytest.raises(BadInput, match=r"no grid\.toml; restore it"):
        Evidence.of(compared)
    shutil.rmtree(tmp_path / "data")
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "grid.toml").write_text(good)

    def read(folder: Path) -> None:
        shutil.copy(folder / "grid.toml", grid)
        with located(str(folder)):
            Evidence.of(compared)

    _damaged(tmp_path / "one", read)


def test_damaged_plans_of_a_purchase(tmp_path: Path) -> None:
    order = [{"scheme": "fpc(per_class=2, keep_looks=False)", "images": 20}]
    (tmp_path / "plan.json").write_text(json.dumps({"order": order}))
    words = ["order", "--data", "scenes:images=20,val=2,test=2", "--to", "csv", "--out"]

    def read(folder: Path) -> None:
        out = folder.parent / f"{folder.name}.order"
        shutil.rmtree(out, ignore_errors=True)
        with located(str(folder)):  # a scheme that does not exist is named, its file need not be
            main([*words, str(out), "--plan", str(folder / "plan.json")], standalone_mode=False)

    _damaged(tmp_path, read)


def test_damaged_orders(tmp_path: Path, capsys: Any) -> None:
    order = ordered(tmp_path / "one", "--scheme", "rpa(keep=0.1)")
    dataclasses.replace(
        order, scores=RNG.uniform(size=order.shape),
        features=RNG.uniform(size=(len(order.images), 3)),
        hierarchy=Hierarchy.of(order.classes, ()),
    ).write(order.round_folder)  # fmt: skip
    shutil.rmtree(order.folder / "answers", ignore_errors=True)
    for page in order.round_folder.glob("*.[cm]*"):
        page.unlink()
    _damaged(order.folder, Order.read)


def test_a_flipped_bit_in_the_images_of_an_order(tmp_path: Path) -> None:
    order = ordered(tmp_path / "one", "--scheme", "rpa(keep=0.1)")
    content = (order.folder / "images.txt").read_bytes()
    for place in np.random.default_rng(1).integers(8 * len(content), size=30):
        damaged = bytearray(content)
        damaged[place // 8] ^= 1 << (place % 8)
        (order.folder / "images.txt").write_bytes(damaged)
        with pytest.raises(BadInput, match=r"images\.txt"):
            Order.read(order.folder)
    (order.folder / "images.txt").write_bytes(content)
    about = order.round_folder / "order.json"
    facts = json.loads(about.read_text())
    about.write_text(json.dumps({**facts, "order": [1]}))
    with pytest.raises(BadInput):
        Order.read(order.folder)
    del facts["order"]  # as in version 0.1
    about.write_text(json.dumps(facts))
    assert Order.read(order.folder).id == order.id


def test_damaged_answers(tmp_path: Path) -> None:
    order = ordered(tmp_path / "one", "--scheme", "rpa(keep=0.1)")
    line = {"order": order.id, "worker": "ann", "answer": "yes", "seconds": 1.5, "shared": 1}
    lines = [json.dumps({**line, "question": number}) for number in (1, 2, 3)]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "said.jsonl").write_text("\n".join(lines))
    _damaged(tmp_path / "in", lambda f: checked(order, answer_tables.read(f / "said.jsonl", order)))
    depth = "[" * 3000 + "]" * 3000
    (tmp_path / "in" / "said.jsonl").write_text(lines[0].replace('"yes"', depth))
    with pytest.raises(BadInput, match="said"):
        answer_tables.read(tmp_path / "in" / "said.jsonl", order)


def test_damaged_exports_of_label_studio(tmp_path: Path) -> None:
    order = studio.ordered(tmp_path / "one", "rpa")
    (tmp_path / "in").mkdir()
    shutil.copy(studio.HERE / "rpa.json", tmp_path / "in")
    _damaged(tmp_path / "in", lambda f: checked(order, answer_tables.read(f / "rpa.json", order)))


def test_damaged_kept_answers(tmp_path: Path) -> None:
    order = ordered(tmp_path / "one", "--scheme", "rpa(keep=0.1)")
    line = {"order": order.id, "question": 1, "worker": "w", "answer": "yes", "seconds": None,
            "shared": 1}  # fmt: skip
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0001.jsonl").write_text(json.dumps(line))

    def read(folder: Path) -> None:
        text = (folder / "0001.jsonl").read_bytes()
        shutil.rmtree(order.folder / "answers", ignore_errors=True)
        (order.folder / "answers").mkdir()
        name = f"0001-{hashlib.sha256(text).hexdigest()[:12]}.jsonl"  # as if received like this
        (order.folder / "answers" / name).write_bytes(text)
        with located(str(folder)):
            _ = OrderState.of(order).labels

    _damaged(tmp_path / "in", read)


@pytest.mark.parametrize("saved", [np.savez, np.savez_compressed])
def test_damaged_features(tmp_path: Path, saved: Any) -> None:
    saved(tmp_path / "own.npz", features=RNG.normal(size=(30, 4)))
    _damaged(tmp_path, lambda folder: read_features(folder / "own.npz"))


def _features(folder: Path, values: Any) -> None:
    writer = FeatureWriter(folder, Index("x", "pooled", values.shape, History("features")))
    writer.put(writer.blocks[0], values)
    writer.finish()


def test_damaged_folders_of_features(tmp_path: Path) -> None:
    _features(tmp_path, RNG.normal(size=(30, 4)).astype(np.float16))
    _damaged(tmp_path, lambda folder: read_features(folder).values[:])


def test_a_flipped_bit_in_features(tmp_path: Path) -> None:
    _features(tmp_path, RNG.normal(size=(30, 4)).astype(np.float16))

    def read(folder: Path) -> Any:
        found = read_features(folder)
        return found.values[:].tobytes(), found.id, found.history

    _seen(tmp_path, read)


def test_a_flipped_bit_in_labels(tmp_path: Path) -> None:
    labels = simulate(
        open_data("scenes:images=30,val=2,test=2").truth["train"], schemes.make("rpa")
    )
    labels.save(tmp_path / "rpa.parquet")

    def read(folder: Path) -> Any:
        found = PartialLabels.load(folder / "rpa.parquet")
        return found.id, found.history, found.effort.to_json(), found.asked.tobytes()

    _seen(tmp_path, read)
    good = read(tmp_path)
    facts = json.loads(pq.read_metadata(tmp_path / "rpa.parquet").metadata[b"simkit"])
    del facts["checksum"]  # as in version 0.1
    table = pq.read_table(tmp_path / "rpa.parquet")
    table = table.replace_schema_metadata({"simkit": json.dumps(facts)})
    pq.write_table(table, tmp_path / "rpa.parquet")
    assert read(tmp_path) == good
    renamed = {"simkiu": json.dumps(facts, separators=(",", ":"))}
    pq.write_table(table.replace_schema_metadata(renamed), tmp_path / "rpa.parquet")
    with pytest.raises(BadInput, match="damaged"):
        read(tmp_path)


def test_a_flipped_bit_in_a_table_of_runs(tmp_path: Path) -> None:
    about = {"classes": ["cat", "dog"], "leaves": [1], "planned": 153}
    runs.write(runs.writers(runs.to_table(planted.rows(draws=1), about)), tmp_path)

    def read(folder: Path) -> Any:
        every = runs.open_runs(folder).every
        return every.to_json(), str(every.attrs)

    _seen(tmp_path, read)


def test_damaged_similarities(tmp_path: Path) -> None:
    values = RNG.uniform(-1, 1, (30, 3))
    part = Similarities(values, np.arange(30), ("a", "b", "c"), bias=-1.0)
    write_similarities({"train": part}, tmp_path / "scores.npz")
    _damaged(tmp_path, lambda folder: Similarities.read(folder / "scores.npz", "train"))


def test_damaged_models(tmp_path: Path) -> None:
    train(TASK, make("ll-r"), **TRAINING).save(tmp_path)

    def read(folder: Path) -> None:
        trained.describe(folder)
        model = trained.Trained.load(folder)
        assert len({*model.classes}) == model.scores(TASK.inputs).shape[1]
        "".join(model.classes).encode()

    _damaged(tmp_path, read)


def test_a_flipped_bit_in_a_model(tmp_path: Path) -> None:
    train(TASK, make("ll-r"), **TRAINING).save(tmp_path)

    def read(folder: Path) -> Any:
        model = trained.Trained.load(folder)
        return model.scores(TASK.inputs).tobytes(), model.history, trained.describe(folder)

    _seen(tmp_path, read)


def test_a_flipped_bit_in_a_checkpoint(tmp_path: Path) -> None:
    train(TASK, make("ll-r"), **TRAINING, checkpoint=tmp_path / "a.safetensors")

    def read(folder: Path) -> Any:
        resumed = train(TASK, make("ll-r"), **TRAINING, checkpoint=folder / "a.safetensors")
        return resumed.scores(TASK.inputs).tobytes(), resumed.losses

    _seen(tmp_path, read)


def test_files_of_version_0_1_have_no_checksums_and_are_read(tmp_path: Path) -> None:
    _features(tmp_path / "features", np.ones((30, 4), np.float16))
    train(TASK, make("ll-r"), **TRAINING).save(tmp_path / "model")
    for file in (tmp_path / "features" / "index.json", tmp_path / "model" / "model.json"):
        facts = json.loads(file.read_text())
        file.write_text(json.dumps({k: v for k, v in facts.items() if k not in CHECKSUMS}))
    assert read_features(tmp_path / "features").values[:].sum() == 120
    assert trained.Trained.load(tmp_path / "model").scores(TASK.inputs).shape == (30, 3)


@pytest.mark.parametrize("names", [["a", "b"], list("abcd"), ["a", "b", "a"], ["a", "b", "\ud800"]])
def test_classes_that_do_not_fit_a_model_are_refused(tmp_path: Path, names: Any) -> None:
    train(TASK, make("an"), **TRAINING).save(tmp_path)
    facts = json.loads((tmp_path / "model.json").read_text())
    del facts["checksum"]
    (tmp_path / "model.json").write_text(json.dumps({**facts, "classes": names}))
    with pytest.raises(BadInput, match=r"model\.json"):
        trained.Trained.load(tmp_path)


def test_a_diverged_training_is_saved_as_json(tmp_path: Path, capsys: Any) -> None:
    diverged = train(TASK, make("an"), settings=Settings(epochs=2, lr=1e4))
    replace(diverged, losses=(1.0, float("nan"))).save(tmp_path)
    text = (tmp_path / "model.json").read_text()
    assert json.loads(text, parse_constant=pytest.fail)["losses"] == [1.0, None]
    assert np.isnan(trained.Trained.load(tmp_path).losses[1])
    main(["show", str(tmp_path), "--json"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail)["loss"] is None
    main(["show", str(tmp_path)], standalone_mode=False)


def test_damaged_checkpoints(tmp_path: Path) -> None:
    train(TASK, make("ll-r"), **TRAINING, checkpoint=tmp_path / "a.safetensors")

    def read(folder: Path) -> None:
        checkpoint.describe(folder / "a.safetensors")
        train(TASK, make("ll-r"), **TRAINING, checkpoint=folder / "a.safetensors")

    _damaged(tmp_path, read)
