"""More metrics of a trained model: by hand on planted scores, and those that a trial takes."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from simkit.study.bundles.detailed import Scored, detailed

from simkit.annotate.simulate import simulate
from simkit.data import open
from simkit.learn import methods
from simkit.learn.steps.optim import Settings
from simkit.study.trial import trial

DATA = "scenes:images=40,val=20,test=40"
LEAVES = np.array([0, 2])
#                  class 1 is no leaf and is looked at nowhere
SCORES = np.array([[3, 9, 0], [2, 9, 1], [1, 9, 2], [0, 9, 3]], np.float32)
PRESENT = csr_array(np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]], bool))


def test_over_leaves_by_hand() -> None:
    test = Scored(SCORES, PRESENT, None)
    found = detailed(test, test, leaves=LEAVES, annotations=np.array([7, 0, 3]), pointing=0.5)
    # Of class 0 images 0, 1 and 3 are present: precisions 1, 1, 3/4; class 2 is perfect.
    assert found.groups == pytest.approx((1, 11 / 12))  # class 2 has fewer annotations
    assert found.f1 == pytest.approx((6 / 7 + 1) / 2) and found.f1_images == 4
    assert found.top1 == 1 and found.pointing == 0.5
    assert [(p.name, p.images) for p in found.by_labels] == [
        ("1", 3),
        ("2", 1),
        ("3", 0),
        (">=4", 0),
    ]
    assert found.facts()["by_labels"][2] == {"name": "3", "images": 0, "map": None}
    assert found.lines()[0] == "mF1 92.86 (thresholds from 4 pictures of val)"
    assert found.lines()[2].endswith("3: none (0), >=4: none (0)")


def test_what_does_not_count_is_nowhere() -> None:
    known = np.ones(SCORES.shape, bool)
    known[3, 2] = False
    found = detailed(
        Scored(SCORES, PRESENT, known), None, leaves=LEAVES, annotations=np.array([7, 0, 3])
    )
    assert found.f1 is None and found.f1_images == 0
    assert [p.images for p in found.by_labels] == [4, 0, 0, 0]
    assert found.top1 == 1  # of the last image class 0 is all that counts
    assert found.lines()[0] == (
        "mF1 not measured, as there is no val split to take thresholds from"
    )
    assert found.lines()[4] == (
        "pointing game not played, as it needs boxes, and pictures that simkit reads"
    )


@pytest.mark.parametrize("more", [{}, {"fine_tune": True}, {"planted": True}])
def test_a_trial_reports_what_its_scores_say(more, tmp_path) -> None:
    scenes = open(DATA)
    labels = simulate(scenes.truth["train"], "full-subset")
    if more.pop("planted", False):
        for split, truth in scenes.truth.items():
            present = truth.rows(range(len(truth.images)))
            np.savez(tmp_path / f"{split}.npz", features=present.astype(np.float32) + 0.1)
        more = {"features": tuple((s, str(tmp_path / f"{s}.npz")) for s in scenes.truth)}
    how = {"data": DATA, "settings": Settings(epochs=1), **more}
    done = trial(labels, methods.make("full"), report=True, **how)
    if "features" in more:
        plain = trial(labels, methods.make("full"), **how)
        assert plain.detailed is None and plain.trained.id == done.trained.id
        assert (plain.map, plain.chosen_by) == (done.map, done.chosen_by) and done.chosen_by == 0
    found = done.detailed
    assert found.f1_images == 20 and 0 < found.f1 < 1 and 0 < found.top1 <= 1
    assert np.mean(found.groups) == pytest.approx(done.map, abs=0.1) and len(found.groups) == 5
    assert sum(p.images for p in found.by_labels) == 40
    assert (found.pointing is None) == ("features" in more)
    assert found.pointing is None or 0 < found.pointing < 1
