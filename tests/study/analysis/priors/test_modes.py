import numpy as np
import pyarrow as pa
import pytest

from simkit.errors import BadInput
from simkit.study.analysis.priors.modes import mode_gaps, modes, with_class_ap
from simkit.study.runs import SCHEMA, tidy

SCORES = {
    ("fpc(per_class=10)", "an"): (0.5, 0.6),
    ("fpc(per_class=10)", "ignore"): (0.2, 0.4),
    ("fpc", "an"): (0.8, 0.8),
    ("fpc", "ignore"): (0.7, 0.7),
    ("single-positive", "an"): (0.3, 0.3),
}


def runs(scores=SCORES) -> pa.Table:
    rows = []
    for (scheme, method), maps in scores.items():
        for draw, value in enumerate(maps):
            row = dict.fromkeys(SCHEMA.names) | {"scheme": scheme, "method": method, "draw": draw}
            row |= {"reference": False, "images": 10, "present": 4, "absent": 6, "unknown": 30}
            rows.append(row | {"map": value, "map_all": value, "ap": [1 - value, None]})
    return tidy(rows, classes=("cat", "dog"))


def test_scores_over_the_amount_that_a_scheme_is_scaled_by():
    table = modes(runs(), ("map", "cat")).to_pylist()
    assert [(r["family"], r["setting"], r["value"]) for r in table[::2][:3]] == [
        ("fpc", "per_class", 10.0),
        ("fpc", "per_class", 100.0),
        ("single-positive", None, None),
    ]
    assert {row["known"] for row in table} == {0.25}
    means = {(r["measure"], r["scheme"], r["method"]): r["mean"] for r in table}
    assert means["map", "fpc(per_class=10)", "an"] == pytest.approx(0.55)
    assert means["cat", "fpc(per_class=10)", "an"] == pytest.approx(0.45)
    first = table[0]
    assert first["draws"] == 2 and first["low"] < first["mean"] < first["high"]
    few = modes(runs(), methods="ignore")
    assert set(few["method"].to_pylist()) == {"ignore"} and len(few) == 2


def test_gaps_are_paired_by_draw():
    table = mode_gaps(runs(), measures=("map", "cat")).to_pylist()
    assert [row["scheme"] for row in table] == ["fpc(per_class=10)", "fpc"] * 2
    assert [row["mean"] for row in table] == pytest.approx([-0.25, -0.1, 0.25, 0.1])
    assert {(row["first"], row["second"], row["draws"]) for row in table} == {("ignore", "an", 2)}


def bought(*budgets: float) -> pa.Table:
    rows = []
    for budget in budgets:
        for method in ("an", "ignore"):
            for draw, keep in enumerate((budget / 100, budget / 50)):
                rows.append(
                    dict.fromkeys(SCHEMA.names)
                    | {"scheme": "rpa", "scheme_spec": f"rpa(keep={keep})", "method": method}
                    | {"reference": False, "budget": budget, "draw": draw, "map": budget / 100}
                    | {"present": budget, "absent": 0, "unknown": 100 - budget}
                )
    full = rows[0] | {"method": "full", "reference": True, "budget": None, "scheme_spec": "rpa"}
    failed = rows[0] | {"draw": 2, "map": None} | dict.fromkeys(("present", "absent", "unknown"))
    return tidy([*rows, failed, full | {"present": 100, "unknown": 0}], classes=())


def test_amounts_are_those_of_one_budget():
    (first, second) = modes(bought(10, 20, 40), budget=20).to_pylist()
    assert (first["method"], second["method"]) == ("an", "ignore")
    assert first["known"] == pytest.approx(0.2) and first["mean"] == pytest.approx(0.2)
    assert first["value"] == pytest.approx(0.3)  # bought: 0.2 in one draw, 0.4 in the other
    assert mode_gaps(bought(10))["known"].to_pylist() == pytest.approx([0.1])
    for act, asker in ((modes, "modes"), (mode_gaps, "mode gaps")):
        with pytest.raises(BadInput) as error:
            act(bought(10, 20))
        wanted = f"{asker}: the table holds the budgets $10, $20; name one of them as budget"
        assert str(error.value) == wanted


def test_one_measure_is_not_read_letter_by_letter():
    assert modes(runs(), "map").equals(modes(runs(), ["map"]))
    assert mode_gaps(runs(), measures="cat").equals(mode_gaps(runs(), measures=("cat",)))
    assert with_class_ap(runs(), "cat").column_names[-1] == "cat"


def test_a_class_that_is_called_like_a_column_is_refused():
    with pytest.raises(BadInput) as error:
        with_class_ap(tidy(runs().to_pylist(), classes=("images", "dog")), ["images"])
    wanted = "class AP: class 'images' is called like a column; rename the class"
    assert str(error.value) == wanted
    with pytest.raises(BadInput, match=r"^class AP: the table does not name its classes; compare"):
        with_class_ap(tidy(runs().to_pylist(), classes=()), ["cat"])


def test_the_ap_of_a_class_becomes_a_column():
    table = with_class_ap(runs(), ["cat", "dog"])
    np.testing.assert_allclose(table["cat"].to_numpy()[:2], [0.5, 0.4])
    assert table["dog"].null_count == len(table)
    assert with_class_ap(table, ["cat"]).column_names == table.column_names


@pytest.mark.parametrize(
    "act, sentence",
    [
        (
            lambda: modes(runs(), ()),
            "modes: no measure is named; name one, such as map, or a class",
        ),
        (
            lambda: modes(runs(), [3]),
            "modes: measures are [3]; names are expected, as text",
        ),
        (
            lambda: modes(runs(), ("cut",)),
            "no class of the runs is called 'cut'; did you mean 'cat'?",
        ),
        (
            lambda: modes(runs().drop_columns(["present"])),
            "modes: the table has no column 'present'; give a table of runs, as a comparison "
            "leaves it",
        ),
        (
            lambda: mode_gaps(runs(), "ignore", "am"),
            "no method of the table (mode gaps) is called 'am'; known are an, ignore",
        ),
        (
            lambda: mode_gaps(runs({("fpc", "an"): (0.5,), ("rpa", "ignore"): (0.5,)})),
            "mode gaps: ignore and an share no draw under any scheme; compare them in one grid",
        ),
    ],
)
def test_what_is_not_there_is_refused(act, sentence):
    with pytest.raises(BadInput) as error:
        act()
    assert str(error.value) == sentence
