"""AP and labels of each class, by hand: planted runs of four classes under three methods."""

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.results import runs
from simkit.results.comparisons import by_class
from tests.results import planted_classes as planted


def found(rows=None, **options):
    given = {name: options.pop(name) for name in ("methods", "inner") if name in options}
    rows = planted.rows(schemes=["rpa"], **options) if rows is None else rows
    return by_class(planted.table(rows), **{"methods": "an, ll-r"} | given)


def test_labels_of_each_class_are_means_over_draws() -> None:
    made = found()
    assert made.classes == planted.CLASSES
    assert made.present.tolist() == [53, 20, 5, 1]
    # 100 images were asked about; 50 + 40, 20 + 30, 5 + 5 and 1 + 0 of the labels are known
    assert made.missing == pytest.approx([0.1, 0.5, 0.9, 0.99])


def test_differences_are_paired_by_draw() -> None:
    gaps = found().differences("ll-r", "an")
    assert [gap and round(gap.mean, 6) for gap in gaps] == [-0.1, 0.05, 0.2, None]
    assert gaps[0].half == pytest.approx(0, abs=1e-9)  # luck that draws share is no noise
    assert found().interval("an", 0).half > 0.01


def test_only_shared_draws_are_compared() -> None:
    rows = planted.rows(schemes=["rpa"])
    made = found([r for r in rows if r["method"] == "an" or r["draw"] == 2])
    assert made.differences("ll-r", "an")[0].low is None
    made = found([r for r in rows if (r["method"] == "an") == (r["draw"] == 0)])
    with pytest.raises(BadInput, match="ll-r and an share no draw; compare"):
        made.differences("ll-r", "an")


def test_groups_go_by_present_labels_and_leave_out_classes_without_ap() -> None:
    made = found()
    groups = made.groups(2)
    assert groups.tolist() == [2, 2, 1, 1]
    rare, common = made.group_intervals("an", groups)
    assert (rare.mean, common.mean) == pytest.approx((0.3, 0.6))
    assert made.groups(9).tolist() == [4, 3, 2, 1]


def test_inner_classes_are_left_out_by_default() -> None:
    table = planted.table(schemes=["rpa"], leaves=(1, 2))
    made = by_class(table, methods=("an", "ll-r"))
    assert (made.classes, made.left_out) == (("middle", "rare"), 2)
    assert made.present.tolist() == [20, 5] and made.missing == pytest.approx([0.5, 0.9])
    assert made.interval("an", 0).mean == pytest.approx(0.5)
    assert [gap and round(gap.mean, 6) for gap in made.differences("ll-r", "an")] == [0.05, 0.2]
    assert by_class(table, methods=("an",), inner=True).classes == planted.CLASSES


def test_a_table_without_names_counts_classes() -> None:
    made = by_class(runs.to_table(planted.rows(schemes=["rpa"])), methods="an")
    assert made.classes[1] == "class 1" and np.isnan(made.ap["an"][0][3])


@pytest.mark.parametrize("column", ["ap", "class_present"])
@pytest.mark.parametrize("value", [[], None])
def test_a_table_without_classes_is_refused(column, value) -> None:
    with pytest.raises(BadInput, match="no AP and numbers of labels"):
        found(**{column: value})


def test_runs_of_other_classes_or_schemes_are_refused() -> None:
    rows = planted.rows(schemes=["rpa"])
    with pytest.raises(BadInput, match="of the same classes"):
        found([rows[0] | {"ap": [0.5]}, *rows[1:]])
    with pytest.raises(BadInput, match="the schemes fpc, rpa; select one"):
        found(planted.rows(schemes=["fpc", "rpa"]))
