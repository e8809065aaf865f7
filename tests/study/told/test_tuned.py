from simkit.study.grids.limit import Limit
from simkit.study.told.tuned import chapter, notes, price

from simkit.study import runs


def table(**values):
    row = {"scheme": "fpc", "budget": 60.0, "method": "an", "draw": 0, "tuned": '{"lr": 0.1}'}
    row |= {"tuned_runs": 4, "tuned_map": 0.5, "tuned_by": "partial"}
    row |= {"tuned_dollars": 20.0, "reference": False}
    return runs.tidy([row, row | {"draw": 1}, row | {"method": "ll-r", **values}], classes=())


def test_each_choice_is_told_once():
    assert chapter(table(tuned='{"lr": 0.01, "delta": 0.2}', budget=None, budget_hours=2.0)) == [
        "",
        "## Settings chosen by the sweep",
        "",
        "| scheme | budget | method | chosen | mAP on validation | trainings |",
        "|---|--:|---|---|--:|--:|",
        "| fpc | $60 | an | lr=0.1 | 50.0 | 4 |",
        "| fpc | 2 hours | ll-r | lr=0.01, delta=0.2 | 50.0 | 4 |",
        "",
    ]


def test_the_note_says_how_many_trainings_and_whose_labels_chose():
    assert notes(table(tuned_runs=3)) == [
        "settings come from a sweep of 3 to 4 trainings for each method under each scheme and "
        "budget, by partial labels of the validation split; it had a draw of its own, whose labels "
        "cost $20 beside the dollars of the runs"
    ]


def test_the_labels_of_the_sweep_are_priced_once_for_all_methods_under_a_scheme():
    found = table(budget=None, budget_hours=2.0, tuned_dollars=30.0)
    assert notes(found)[0].endswith("cost $50 beside the dollars of the runs, $20 to $30 each")
    assert price(found, "fpc", Limit(60.0)) == 20 and price(found, "fpc", Limit(None, 2.0)) == 30
    assert price(found, "rpa", Limit(60.0)) is None


def test_without_a_sweep_there_is_nothing_to_tell():
    plain = runs.tidy([{"scheme": "fpc", "method": "an", "draw": 0}], classes=())
    assert notes(plain) == [] and chapter(plain) == []
