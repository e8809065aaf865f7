"""Names in words."""

import pytest

from simkit.annotate import schemes
from simkit.planning.told.names import meanings, order, trained
from tests.planning.sample import EVIL


@pytest.mark.parametrize("name", schemes.names())
def test_every_scheme_is_an_order_in_words(name: str) -> None:
    told = order(name, 9_580)
    assert "9,580 images" in told and told.endswith(f" ({name})")
    assert not told.startswith("Buy ")


def test_orders() -> None:
    assert order("full-subset", 9_580) == "Label 9,580 images completely (full-subset)"
    assert order("mixed(rest='rpa')", 20) == (
        "Label 20 % of 20 images completely, and the rest by rpa (mixed(rest='rpa'))"
    )
    assert order("fpc(per_class=1488)", 800) == (
        "For each class find 1,488 images with it and as many without it among 800 images "
        "(fpc(per_class=1488))"
    )
    assert order("rpa(keep=0.8316)", 40_000) == (
        "Ask about 83.2 % of all classes, picked by chance, of each of 40,000 images "
        "(rpa(keep=0.8316))"
    )
    assert order("single-positive", 1) == "Name 1 present class in 1 image (single-positive)"
    assert order(EVIL, 3) == f"Buy labels of 3 images ({EVIL})"


def test_methods_have_their_titles() -> None:
    assert trained("an") == "AN (an)"
    assert trained("ll-r+boostlu") == "LL-R with BoostLU (ll-r+boostlu)"
    assert trained("mine") == "the method mine"


def test_a_name_is_explained_once_and_what_nobody_knows_not_at_all() -> None:
    ways = ["full-subset", "full-subset by 3 people", "rpa on 20 images", EVIL]
    told = list(meanings(ways, ["an", "an+boostlu", EVIL]))
    assert [line.partition(" ")[0] for line in told] == ["full-subset", "rpa", "an", "boostlu"]
    assert told[2] == "an (AN): Take every unknown label for absent."
