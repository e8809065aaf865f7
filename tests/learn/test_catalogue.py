"""Needs and memory in words."""

from dataclasses import dataclass
from typing import ClassVar

from simkit.learn.method import in_units, needs_in_words, plain, training_bytes
from simkit.learn.methods import Method, Needs, Sizes, get, make
from simkit.registry import short


class Prior:
    name = "prior"


@dataclass(frozen=True)
class Hungry(Method):
    """Wants everything."""

    name: ClassVar[str] = "hungry"
    size: float = 0

    @property
    def needs(self) -> Needs:
        return Needs(True, True, True, True, True, (Prior,))

    def state_bytes(self, sizes: Sizes) -> int:
        return int(self.size)


def test_needs_are_told_in_words_and_aids_by_name() -> None:
    assert needs_in_words(make("an")) == []
    assert needs_in_words(Hungry()) == [
        "class maps",
        "crops and flips",
        "features",
        "scores each epoch",
        "label matrix",
        "Prior",
    ]


def test_a_wrapper_is_told_without_what_it_wraps() -> None:
    method = plain(get("boostlu"))
    assert method == make("an+boostlu")
    assert needs_in_words(method) == ["class maps", "label matrix"]
    assert in_units(training_bytes(method)) == "80 B"


def test_what_is_learned_takes_four_times_its_place() -> None:
    sizes = Sizes(100, 50, width=7)
    assert training_bytes(make("role"), sizes) == 4 * 4 * 100 * 50 + 8
    assert training_bytes(make("role+cl"), sizes) == (4 * 4 + 8) * 100 * 50 + 9
    assert training_bytes(make("latent-noise"), sizes) == 4 * 4 * 2 * 50 * 8
    assert in_units(training_bytes(make("role"), sizes)) == "80 kB"
    assert in_units(training_bytes(make("en"), sizes)) == "45.4 kB"  # nothing of it is learned


def test_a_method_is_written_with_what_is_set() -> None:
    for spec in ("an", "an+scl(side=3, mapped=True)", "ll-r(delta=3.0)+boostlu"):
        assert short(make(spec)) == spec
    assert short(make("ll-r(delta=3)", k_of="batch")) == "ll-r(delta=3.0)"
    assert make(short(make("csl(prior=soft)"))) == make("csl(prior=soft)")
