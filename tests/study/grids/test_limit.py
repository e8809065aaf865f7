from simkit.study.grids.limit import Limit, at, money


def test_limits_are_written_as_people_do():
    assert [str(one) for one in (Limit(100), Limit(hours=2.5), Limit())] == [
        "$100",
        "2.5 hours",
        "",
    ]
    assert [at(one) for one in (Limit(100), Limit(hours=2.5), Limit())] == [
        " at $100",
        " in 2.5 hours",
        "",
    ]
    assert [bool(one) for one in (Limit(0.5), Limit(hours=1), Limit())] == [True, True, False]
    assert Limit.of({"budget": None, "budget_hours": 3.0, "scheme": "fpc"}) == Limit(hours=3.0)


def test_dollars_come_before_hours():
    found = sorted([Limit(hours=1), Limit(50), Limit(hours=0.5), Limit(7)], key=lambda o: o.order)
    assert list(map(str, found)) == ["$7", "$50", "0.5 hours", "1 hours"]


def test_money_is_as_short_as_it_is_clear():
    assert [money(x) for x in (0.75, 12.0, 1250.4, 3.0)] == ["$0.75", "$12", "$1,250", "$3"]
    assert [money(x) for x in (12345678.0, 1e300)] == ["$12,345,678", "$1e+300"]
    odd = (float("inf"), -float("inf"), float("nan"), -1e300)
    assert [money(x) for x in odd] == ["$inf", "$-inf", "$nan", "$-1e+300"]
