import pytest

from simkit.annotate.habits import Habits
from simkit.planning.evidence.ways import Way


@pytest.mark.parametrize(
    ("scheme", "spelled", "grows", "shared", "amount", "with_amount"),
    [
        ("rpa(keep=0.3)", "rpa", "keep", True, 0.123456, "rpa(keep=0.1235)"),
        ("fpc(search=random)", "fpc(search='random')", "per_class", False, 9.6,
         "fpc(per_class=10, search='random')"),
        ("single-positive", "single-positive", "images", False, 5, "single-positive"),
        ("proposals(skew=2)", "proposals(skew=2.0)", "per_image", True, 3.0,
         "proposals(per_image=3.0, skew=2.0)"),
    ],
)  # fmt: skip
def test_amount_is_no_part_of_a_way(scheme, spelled, grows, shared, amount, with_amount):
    way = Way.of(scheme)
    assert (way.scheme, way.grows, way.shared) == (spelled, grows, shared)
    assert way.with_amount(amount) == with_amount
    assert way == Way.of(way.with_amount(amount)) and hash(way) == hash(Way.of(scheme))


def test_a_share_of_images_matters_where_the_amount_is_another():
    assert Way.of("single-positive", 0.5) == Way.of("single-positive", 1.0)
    assert Way.of("rpa", 0.5) != Way.of("rpa", 1.0)


def test_people_read_what_is_unusual():
    assert str(Way.of("rpa")) == "rpa"
    assert str(Way.of("rpa", 0.5)) == "rpa on 50 % of the images"
    assert str(Way.of("fpc", 2000, Habits(workers=3))) == "fpc on 2,000 images by 3 people"
    assert str(Way.of("fpc", 1.0, Habits(miss=0.1, workers=1))) == "fpc by 1 person who miss 10 %"
    assert str(Way.of("fpc", 1.0, Habits(miss=0.1, false_alarm=0.2))) == "fpc who err"
