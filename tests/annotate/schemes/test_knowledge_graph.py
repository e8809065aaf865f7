"""One named class and the branches beside it."""

import numpy as np
import pytest

from simkit.annotate.simulate import simulate
from simkit.labels.truth import Truth


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_is_above_a_present_class_is_present(closed, diamond):
    codes = simulate(closed, "knowledge-graph", hierarchy=diamond).codes.toarray()
    for row, present in zip(codes, closed.present.toarray(), strict=True):
        ancestors = diamond.above[row == 1].any(0)
        assert (row[ancestors] == 1).all()
        assert (row == 1).any() if present.any() else (row == -1).all()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_each_present_class_is_named_equally_often(diamond):
    # All images show thing > dog; naming "thing" leaves dog open, naming "dog" does not.
    present = np.zeros((4000, 9), bool)
    present[:, [diamond.classes.index("thing"), diamond.classes.index("dog")]] = True
    truth = Truth.of(present, classes=diamond.classes)
    codes = simulate(truth, "knowledge-graph", hierarchy=diamond).codes.toarray()
    named_dog = codes[:, diamond.classes.index("dog")] == 1
    assert abs(named_dog.mean() - 0.5) < 4.5 * np.sqrt(0.25 / 4000)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_modes_differ_in_what_is_asked_beside_the_path(closed, diamond):
    made = {
        mode: simulate(closed, f"knowledge-graph(mode={mode})", hierarchy=diamond)
        for mode in ("verify", "truth", "path-only")
    }
    codes = {mode: labels.codes.toarray() for mode, labels in made.items()}
    for n, present in enumerate(closed.present.toarray()):
        path = codes["path-only"][n] > 0
        below = np.zeros(9, bool)
        if path.any():
            # What was named is the lowest class of the path.
            named = next(c for c in np.flatnonzero(path) if (diamond.above[c] == path).all())
            below = diamond.above[:, named] & ~path
        expected = np.where(present, 1, -1)
        expected[below] = 0
        assert np.array_equal(codes["truth"][n], expected)
        assert (codes["path-only"][n] >= 0).all() and path.any() == present.any()
        settled = codes["verify"][n] != 0
        assert (path <= settled).all() and not settled[below].any()
    named = {"name": 200, "workers": None, "dropped": 0}
    assert made["path-only"].effort.counts() == named
    truth = made["truth"].effort
    # Everything but the path and what is below it is a question of its own.
    asked = int((codes["truth"] != 0).sum() - (codes["path-only"] > 0).sum())
    assert truth.counts() == {"name": 200, "sweep": asked, "workers": None, "dropped": 0}
    assert made["verify"].effort.count("descend") > 0
