"""The scores of a pilot's images for plans, by models that have not seen them."""

import numpy as np

from simkit.annotate.similarities import PILOT_SCORES, PilotScores
from simkit.metrics.ap import ap_of_classes
from simkit.study.compare import compare

ASSUMING = {"schemes": ["fpc(per_class=5)", "rpa"], "reference": True, "draws": 1}


def test_every_image_is_scored_by_a_model_that_has_not_seen_it(tiny, tmp_path):
    grid = tiny(**ASSUMING, train={"epochs": 200, "lr": 0.1, "batch_size": 8})
    rng = np.random.default_rng(1)
    for file in grid.features.values():  # by which every image, and no class, is recognised
        np.savez(file, features=rng.normal(size=(40, 200)).astype(np.float32))
    compare(grid, out=tmp_path / "runs", workers=1)
    pilot = PilotScores.read(tmp_path / "runs" / PILOT_SCORES)
    guess = pilot.truth.counts / 40
    assert np.mean(ap_of_classes(pilot.values, pilot.truth) - guess) < 0.2
    again = compare(grid, out=tmp_path / "again", workers=1)
    assert not again.failures
    same = PilotScores.read(tmp_path / "again" / PILOT_SCORES)
    assert np.array_equal(pilot.values, same.values) and pilot.truth.id == same.truth.id


def test_scores_predict_what_features_show_and_resuming_keeps_them(tiny, tmp_path):
    grid = tiny(**ASSUMING, train={"epochs": 100, "lr": 0.1, "batch_size": 8})
    for file in grid.features.values():
        labels = np.load(file.replace("-features", ""))
        shown = np.zeros(labels["shape"], np.float32)
        shown[np.repeat(np.arange(40), np.diff(labels["indptr"])), labels["indices"]] = 1
        np.savez(file, features=shown)
    compare(grid, out=tmp_path / "runs", workers=1)
    file = tmp_path / "runs" / PILOT_SCORES
    pilot = PilotScores.read(file)
    assert np.mean(ap_of_classes(pilot.values, pilot.truth)) > 0.95
    assert pilot.history.settings["method"] and pilot.truth.id in pilot.history.parents
    written = file.stat().st_mtime_ns
    compare(grid, out=tmp_path / "runs", workers=1)
    assert file.stat().st_mtime_ns == written


def test_nothing_is_written_where_no_scheme_assumes_a_machine(tiny, tmp_path):
    grid = tiny(**{**ASSUMING, "schemes": ["fpc(per_class=5, search=random)", "rpa"]})
    compare(grid, out=tmp_path / "runs", workers=1)
    assert not (tmp_path / "runs" / PILOT_SCORES).exists()
