"""The test split behind a comparison."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from simkit.data import open as open_data
from simkit.planning.evidence import tested
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.pilot.half_width import of_counts
from tests.planning import planted

FEW, MANY = "scenes:images=40,val=1,test=15", "scenes:images=40,val=1,test=2000"


def of(write_runs, data, **values):
    """Of planted runs that say they were scored by this data, of all its classes."""
    found = open_data(data)
    shown = found.truth["test"].counts
    values.setdefault("ap", [0.7 if n else None for n in shown.tolist()])
    changes = {"test_id": found.truth["test"].id, **values}
    classes = found.classes[: len(planted.CLASSES)]
    return tested.Tested.of(
        Evidence.of(write_runs(grid={"data": data}, classes=classes, **changes))
    )


def counts(data):
    found = open_data(data)
    return found.truth["test"].counts[found.leaves]


@pytest.fixture
def shareless(monkeypatch):
    """Planted runs have ten classes of their own, and `scenes` has others."""
    monkeypatch.setattr("simkit.planning.evidence.evidence.shares", lambda *_: None)


def test_few_images_are_counted_in_the_data(write_runs, shareless) -> None:
    found = of(write_runs, FEW)
    assert found.images == 15 and found.small
    assert found.half_width == of_counts(counts(FEW))
    assert 10 < found.half_width < 20
    assert found.off(0.9) == pytest.approx(0.6 * found.off(0.5), rel=1e-6)


def test_what_is_taken_off_may_be_wrong_by_a_quarter(write_runs, shareless) -> None:
    found = of(write_runs, FEW)
    alone = replace(found, measured=0.0)
    assert alone.off(0.5) == pytest.approx(found.half_width, rel=1e-6)
    score = found.measured
    angles = np.arcsin(np.sqrt([score, found.elsewhere(np.array([score]))[0]]))
    assert found.doubt == pytest.approx((angles[0] - angles[1]) / 4) and found.doubt > 0.02
    assert found.spread == pytest.approx(np.hypot(alone.spread, found.doubt))


def test_many_images_that_flatter_are_small_too() -> None:
    flattering = tested.Tested(2500, 1200, 300, 1.8, (0.0, 0.2, 1.0), (0.0, 0.1, 1.0), 0.14)
    assert flattering.small and flattering.on_it(0.07) == pytest.approx(0.14)
    assert not replace(flattering, there=(0.0, 0.19, 1.0)).small


def test_few_images_flatter(write_runs, shareless) -> None:
    found = of(write_runs, FEW)
    here = np.array([0.6, 0.7, 0.8])
    elsewhere = found.elsewhere(here)
    assert (here - elsewhere > 0.03).all() and (np.diff(elsewhere) > 0).all()
    assert [found.on_it(one) for one in elsewhere] == pytest.approx(here.tolist())


def test_many_images_are_taken_for_all(write_runs, shareless) -> None:
    found = of(write_runs, MANY)
    assert found.images == 2000 and 0.5 < found.half_width < tested.NEGLIGIBLE
    scores = np.array([0.1, 0.5, 0.9])
    assert found.elsewhere(scores) is scores and found.on_it(0.3) == 0.3
    assert (found.small, found.spread, found.off(0.5)) == (False, 0.0, 0.0)


def test_how_frequent_classes_are_is_taken_from_the_labels_too(write_runs, monkeypatch) -> None:
    rare = np.full(len(open_data(FEW).classes), 0.001)
    alone = rare * 0 + counts(FEW).max() / 15
    found = []
    for shares in (rare, alone):
        monkeypatch.setattr("simkit.planning.evidence.evidence.shares", lambda *_, s=shares: s)
        found.append(of(lambda **how: write_runs(f"at {how['test_id']} {len(found)}", **how), FEW))
    assert found[0].elsewhere(np.array([0.7])) < found[1].elsewhere(np.array([0.7])) - 0.1


def test_data_that_comes_back_is_counted() -> None:
    data = open_data(FEW)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("simkit.data.open", lambda _: (_ for _ in ()).throw(OSError("not mounted")))
        tested._count.cache_clear()
        assert tested._counted(FEW, data.truth["test"].id) is None
    assert tested._counted(FEW, data.truth["test"].id)[0] == 15


@pytest.mark.parametrize("data", ["npz:nowhere.npz", "coco:nowhere.json"])
def test_data_that_is_not_there_tells_nothing(write_runs, data) -> None:
    found = tested.Tested.of(Evidence.of(write_runs(grid={"data": data})))
    assert (found.images, found.half_width, found.small) == (None, 0.0, False)


def test_other_data_by_the_same_name_tells_nothing(write_runs) -> None:
    found = tested.Tested.of(Evidence.of(write_runs(grid={"data": FEW})))  # of "truth of test"
    assert found.images is None


def test_classes_without_an_ap_are_counted(write_runs) -> None:
    ap = [0.5] * 8 + [None, None]
    found = tested.Tested.of(Evidence.of(write_runs("some", ap=ap)))
    assert (found.classes, found.unscored) == (10, 2)
    found = tested.Tested.of(Evidence.of(write_runs("no table says")))
    assert (found.classes, found.unscored) == (0, 0)


def test_difficult_objects_do_not_count() -> None:
    data = open_data(FEW)
    present = data.truth["test"].present
    difficult = csr_array(np.asarray(present.toarray(), bool) & (np.arange(15) < 5)[:, None])
    with_some = replace(data, difficult={"test": difficult})
    rest = present.toarray()[5:].sum(0)
    np.testing.assert_array_equal(tested._shown(with_some), rest)
    np.testing.assert_array_equal(tested._shown(data), data.truth["test"].counts)
