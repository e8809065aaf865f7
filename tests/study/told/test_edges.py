from simkit.study.grids.tuning import Tuning
from simkit.study.told.edges import at_the_edge

from simkit.study import runs

TUNING = Tuning(2, {"all": {"lr": [0.003, 0.01, 0.03]}, "ll-r": {"delta": [0.1, 0.5]}})


def table(*chosen):
    """Methods with what was chosen for them, each in two draws."""
    rows = [
        {"scheme": f"rpa(keep=0.{place})", "method": method, "draw": draw, "tuned": tuned}
        for place, (method, tuned) in enumerate(chosen, 1)
        for draw in range(2)
    ]
    return runs.tidy([row | {"tuned_runs": 2} for row in rows], classes=())


def test_what_most_cases_chose_at_the_edge_is_told_once():
    often = [("an", '{"lr": 0.03}')] * 3 + [("ll-r", '{"lr": 0.01, "delta": 0.5}')]
    assert at_the_edge(table(*often), TUNING) == [
        "lr=0.03 was chosen in 3 of 4 cases and is the largest that was tried; widen the values of "
        "lr in [tuning.space]"
    ]
    least = at_the_edge(table(("an", '{"lr": 0.003}')), TUNING)
    assert "lr=0.003 was chosen in 1 of 1 cases and is the smallest that was tried" in least[0]


def test_what_lies_inside_or_is_chosen_now_and_then_is_not():
    half = [("an", '{"lr": 0.03}'), ("an", '{"lr": 0.01}')]
    assert at_the_edge(table(*half), TUNING) == []
    assert at_the_edge(table(*half), None) == []
    two = Tuning(2, {"all": {"lr": [0.003, 0.03]}})
    assert at_the_edge(table(("an", '{"lr": 0.03}')), two) == []
