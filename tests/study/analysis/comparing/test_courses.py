import pytest

from simkit.errors import BadInput
from simkit.study.analysis.comparing.courses import courses
from tests.study import planted_classes as planted


def test_a_course_is_a_mean_with_an_interval_at_each_epoch():
    found = courses(planted.table(schemes=["fpc"], methods=["an"]), "curve")
    (course,) = found
    assert (course.scheme, course.method, course.of, course.draws) == ("fpc", "an", "test", 3)
    assert [point.mean for point in course.points] == pytest.approx([0.2, 0.4, 0.5])
    # t(0.975, 2) * 0.01 / sqrt(3)
    assert course.points[1].half == pytest.approx(4.3027 * 0.01 / 3**0.5, rel=1e-4)
    assert course.chosen == {3: 3}


def test_draws_that_stopped_are_left_out_of_later_epochs():
    rows = planted.rows(schemes=["fpc"], methods=["an"])
    rows[0] |= {"curve": [0.2, None], "epochs": 1}
    (course,) = courses(planted.table(rows), "curve")
    assert [point.draws for point in course.points] == [3, 2, 2]
    assert course.chosen == {1: 1, 3: 2}


def test_losses_are_of_training():
    (course,) = courses(planted.table(schemes=["fpc"], methods=["an"]), "losses")
    assert course.of == "train" and [p.mean for p in course.points] == [1.0, 0.5, 0.25]


def test_an_epoch_without_a_number_has_no_point():
    rows = planted.rows(schemes=["fpc"], methods=["an"], losses=[None, float("nan"), 1.0])
    (course,) = courses(planted.table(rows), "losses")
    assert course.points[:2] == (None, None) and course.points[2].mean == 1.0


def test_a_table_without_courses_is_refused():
    with pytest.raises(BadInput) as caught:
        courses(planted.table(curve=[]), "curve", asker="convergence")
    assert str(caught.value) == (
        "convergence: no run was scored after every epoch; set curves = true in the grid and "
        "compare again, or draw losses"
    )
    with pytest.raises(BadInput) as caught:
        courses(planted.table(losses=[]), "losses")
    assert str(caught.value) == "courses: the table holds no losses; compare again"
