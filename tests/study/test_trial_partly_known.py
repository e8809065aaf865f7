"""Real partial labels from end to end: trained on as they are, scored on what is known."""

from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from simkit import data
from simkit.labels import formats
from simkit.labels.partial import PRESENT, PartialLabels
from simkit.learn import methods
from simkit.learn.feeding.inputs import FeatureInputs
from simkit.learn.steps.optim import Settings
from simkit.study.trial import trial
from tests.reference.metrics import average_precision


def _split(folder: Path, name: str, N: int, seed: int) -> PartialLabels:
    """A label file of N images and 4 classes, a third of it unknown, and features that show it."""
    rng = np.random.default_rng(seed)
    present = rng.random((N, 4)) < 0.4
    codes = np.where(rng.random((N, 4)) < 0.67, np.where(present, 1, -1), 0)
    codes[:, 0] = np.where(codes[:, 0] == 0, -1, codes[:, 0])  # every image has a row
    labels = PartialLabels.of(codes, [f"{name}-{i}" for i in range(N)], ["a", "b", "c", "d"])
    formats.make("openimages").write(labels, folder / f"{name}.csv")
    noise = 0.3 * rng.standard_normal((N, 4))
    np.savez(folder / f"{name}.npz", features=(present + noise).astype(np.float32))
    return labels


def test_metrics_count_known_entries_only(tmp_path: Path) -> None:
    _split(tmp_path, "train", 60, 0)
    test = _split(tmp_path, "test", 40, 1)
    spec = f"openimages:{tmp_path}/train.csv,val={tmp_path}/test.csv,test={tmp_path}/test.csv"
    done = trial(
        formats.for_path(tmp_path / "train.csv").read(tmp_path / "train.csv"),
        methods.make("ignore"),
        data=spec,
        features=tuple((split, str(tmp_path / f"{split}.npz")) for split in ("train", "test")),
        settings=Settings(epochs=3, lr=0.1),
    )
    with np.load(tmp_path / "test.npz") as file:
        scores = done.trained.scores(FeatureInputs(file["features"].astype(np.float16)))
    order = [test.classes.index(name) for name in data.open(spec).classes]
    codes = csr_array(test.codes).toarray()[:, order]
    expected = average_precision(scores, codes == PRESENT, known=codes != 0)
    assert np.isclose(done.map, np.mean(expected)) and 0.5 < done.map < 1
    assert not np.isclose(done.map, np.mean(average_precision(scores, codes == PRESENT)))
