import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.study.analysis.comparing.by_class import by_class
from simkit.study.analysis.comparing.chosen import under
from tests.study import planted_classes as planted


def found(**options):
    methods = options.pop("methods", ("an", "ll-r"))
    runs = planted.table(**options)
    return by_class(under(runs, scheme="rpa", asker="x")[1], methods=methods, asker="x")


def test_labels_of_each_class_are_means_over_draws():
    made = found()
    assert made.classes == planted.CLASSES
    assert made.present.tolist() == [53, 20, 5, 1]
    # 100 images were asked about; 50 + 40, 20 + 30, 5 + 5 and 1 + 0 of the labels are known
    assert made.missing == pytest.approx([0.1, 0.5, 0.9, 0.99])


def test_differences_are_paired_by_draw():
    gaps = found().differences("ll-r", "an")
    assert [gap and round(gap.mean, 6) for gap in gaps] == [-0.1, 0.05, 0.2, None]
    assert gaps[0].half == pytest.approx(0, abs=1e-9)  # what draws share is no noise
    assert found().interval("an", 0).half > 0.01


def test_only_shared_draws_are_compared():
    rows = [r for r in planted.rows(schemes=["rpa"]) if r["method"] == "an" or r["draw"] == 2]
    made = by_class(planted.table(rows), methods=("an", "ll-r"), asker="x")
    assert made.shared("ll-r", "an") == [2]
    assert made.differences("ll-r", "an")[0].low is None
    rows = [r for r in planted.rows(schemes=["rpa"]) if (r["method"] == "an") == (r["draw"] == 0)]
    made = by_class(planted.table(rows), methods=("an", "ll-r"), asker="x")
    with pytest.raises(BadInput) as caught:
        made.differences("ll-r", "an")
    assert str(caught.value) == "ll-r and an share no draw; compare methods of one grid"


def test_groups_go_by_present_labels_and_leave_out_what_has_no_ap():
    made = found()
    groups = made.groups(2)
    assert groups.tolist() == [2, 2, 1, 1]
    rare, common = made.group_intervals("an", groups)
    assert (rare.mean, common.mean) == pytest.approx((0.3, 0.6))
    assert made.groups(9).tolist() == [4, 3, 2, 1]


def test_a_table_that_does_not_say_is_refused():
    for name in ("ap", "class_present"):
        with pytest.raises(BadInput) as caught:
            found(**{name: []})
        assert str(caught.value) == (
            f"x: the table says nothing in its column {name!r}; compare again with this version "
            "of simkit"
        )


def test_runs_of_other_classes_are_refused():
    rows = planted.rows(schemes=["rpa"])
    rows[0] |= {"ap": [0.5]}
    with pytest.raises(BadInput) as caught:
        by_class(planted.table(rows), methods=("an",), asker="x")
    assert str(caught.value) == "x: the runs are about different classes; show one comparison"


def test_a_table_without_names_counts_classes():
    from simkit.study import runs

    made = by_class(
        runs.tidy(planted.rows(schemes=["rpa"]), classes=()), methods=("an",), asker="x"
    )
    assert made.classes[1] == "class 1" and np.isnan(made.ap["an"][0][3])


def test_inner_classes_are_left_out_unless_asked_for():
    made = found(leaves=(1, 2))
    assert (made.classes, made.left_out) == (("middle", "rare"), 2)
    assert made.present.tolist() == [20, 5] and made.missing == pytest.approx([0.5, 0.9])
    assert made.interval("an", 0).mean == pytest.approx(0.5)
    assert [gap and round(gap.mean, 6) for gap in made.differences("ll-r", "an")] == [0.05, 0.2]
    table = planted.table(schemes=["rpa"], leaves=(1, 2))
    assert by_class(table, methods=("an",), asker="x", inner=True).classes == planted.CLASSES


def test_a_table_that_hides_its_leaves_is_refused():
    assert found(map_all=0.2, map=0.2).left_out == 0
    with pytest.raises(BadInput) as caught:
        found(map_all=0.2)
    assert str(caught.value) == (
        "x: the table does not say which classes are leaves; compare again with this version of "
        "simkit, or set classes=all"
    )
