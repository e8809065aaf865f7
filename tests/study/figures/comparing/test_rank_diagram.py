import pytest

from simkit.errors import BadInput
from simkit.study import runs
from simkit.study.figures.comparing.rank_diagram import RankDiagram
from simkit.study.figures.looks import look
from tests.study import planted


def markers(axes):
    return {round(line.get_ydata()[0]): line for line in axes.lines if line.get_marker() not in
            ("None", "|")}  # fmt: skip


def test_methods_stand_at_their_mean_rank_best_first():
    drawing = RankDiagram()(planted.table(schemes=["rpa"], methods=["an", "ignore", "ll-r"]))
    left, right = drawing.axes
    assert [t.get_text() for t in left.get_yticklabels()] == [
        "Ignore   1.0",
        "LL-R   2.0",
        "AN   3.0",
    ]
    found = markers(left)
    assert [found[row].get_xdata()[0] for row in range(3)] == [1, 2, 3]
    assert found[0].get_color() == look("ignore").color
    assert not right.lines and right.get_xlabel() == "all are\ntold apart"
    assert drawing.get_suptitle().endswith("over all schemes (for $150 of annotation each)")
    assert "by paired t tests of mAP averaged over the schemes" in drawing.get_supxlabel()


def test_bars_join_what_cannot_be_told_apart():
    drawing = RankDiagram()(planted.table(schemes=["full-subset"], methods=["an", "ignore"]))
    bar, dots = drawing.axes[1].lines
    assert list(bar.get_ydata()) == [0, 1] and list(dots.get_ydata()) == [0, 1]


def test_nemenyi_draws_its_critical_difference():
    drawing = RankDiagram(test="nemenyi")(planted.table())
    (text,) = drawing.axes[0].texts
    # q = 2.728 for five methods (Demsar 2006), 25 blocks: 2.728 sqrt(5 * 6 / (6 * 25)) = 1.22
    assert text.get_text() == "critical difference 1.22"
    assert "25 blocks taken for independent" in drawing.get_supxlabel().replace("\n", " ")


def test_from_20_draws_on_the_test_is_bootstrapped():
    drawing = RankDiagram()(planted.table(schemes=["rpa"], draws=20))
    assert "bootstrapped paired t" in drawing.get_supxlabel()


def test_one_draw_joins_nothing_and_says_so():
    drawing = RankDiagram()(planted.table(draws=1))
    assert not drawing.axes[1].lines
    assert drawing.get_supxlabel().endswith(
        "One draw cannot tell which of them differ beyond noise."
    )


def test_left_out_blocks_are_told():
    rows = [r for r in planted.rows() if (r["scheme"], r["method"]) != ("fpc", "an")]
    drawing = RankDiagram()(runs.tidy(rows, classes=()))
    assert "20 blocks (4 schemes, 5 draws; 5 left out, in which a method has no run)" in (
        drawing.get_supxlabel().replace("\n", " ")
    )


def test_one_method_is_refused():
    with pytest.raises(BadInput) as caught:
        RankDiagram()(planted.table(methods=["an"]))
    assert str(caught.value) == ("rank-diagram: the table holds one method, 'an'; two are needed")


def test_copies_and_what_was_not_spent_are_told():
    rows = [
        r | {"labels_id": f"{r['scheme']} {r['draw']}" if r["scheme"] == "fpc" else "all"}
        | {"dollars": 30.0 if r["scheme"] == "rpa" else 49.0}
        for r in planted.rows(schemes=["fpc", "rpa", "full-subset"], budgets=[50.0])
    ]  # fmt: skip
    drawing = RankDiagram()(runs.tidy(rows, classes=()))
    assert "over 10 blocks (3 schemes, 5 draws; 5 more, with the same labels, do not count" in (
        drawing.get_supxlabel().replace("\n", " ")
    )
    assert (
        drawing.get_suptitle()
        .replace("\n", " ")
        .endswith("(for up to $50 of annotation each, $30 to $49 spent)")
    )
