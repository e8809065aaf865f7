"""The sentences of a plan."""

from types import SimpleNamespace

import pytest

from simkit.annotate.prices import prices
from simkit.planning.evidence import tested
from simkit.planning.evidence.ways import Way
from simkit.planning.money.project import Project
from simkit.planning.told import telling
from tests.planning.told.test_headline import candidate


def test_every_way_that_is_told_says_what_it_takes_to_hold() -> None:
    asked = []

    def assumption(way, images=None):
        asked.append((way.scheme, images))
        return way.scheme

    evidence = SimpleNamespace(
        assumption=assumption, draws=1, ceiling=lambda prices: None, validation="none"
    )
    project = Project(budget=500.0, images=80)
    ways = [Way.of("rpa"), Way.of("fpc"), Way.of("rpa")]
    told = list(telling.assumptions(candidate(), evidence, project, ways))
    assert asked == [("fpc", 80), ("rpa", 80)] and told[:2] == ["fpc", "rpa"]
    assert not any("--" in sentence for sentence in told)


@pytest.mark.parametrize(
    ("split", "of", "bands"),
    [
        (tested.Tested(15, 9, 0, 12.0), "new images like those of the pilot's test split, over all "
         "classes", "about the choice of 15 test images."),
        (tested.Tested(2000, 9, 0, 1.2), "the pilot's test split, of models",
         "and not about the choice of the test images."),
        (tested.Tested(None), "the pilot's test split, of models", "the test images; how many "
         "these are is not known, as the data of the comparison cannot be opened here."),
    ],
)  # fmt: skip
def test_it_says_which_images_bands_are_about(split, of, bands) -> None:
    evidence = SimpleNamespace(
        assumption=lambda way, images: "", draws=1, validation="none", images=900,
        ceiling=lambda prices: SimpleNamespace(score=0.8, dollars=None),
    )  # fmt: skip
    project = Project(budget=500.0)
    told = list(telling.assumptions(candidate(), evidence, project, tested=split))
    assert told[1].startswith(f"mAP is of {of}") and told[2].endswith(bands)
    assert told[-1].startswith("Labelling all of the pilot's 900 images completely gives 80.0 mAP")


def test_prices_have_their_sources() -> None:
    told = telling.sources(["sweep", "quality assurance"], prices("coco-tagging"))
    assert [text.partition(":")[0] for text in told] == ["sweep", "wage"]
    assert "Lin et al., ECCV 2014" in told[0] and told[1].startswith("wage: assumption")


def test_the_command_leaves_out_what_is_usual_and_quotes_what_is_not() -> None:
    project = Project(budget=5000.0, image_price=0.25, images=60_000)
    told = telling.command(
        ["my runs", "more"], project, prices=None, rounds=5, risk="expected", seed=7
    )
    assert told == (
        "simkit plan 'my runs' more --budget 5000 --images 60000 --image-price 0.25 --rounds 5 "
        "--risk expected --seed 7"
    )


@pytest.mark.parametrize(
    ("validation", "bought", "told"), [("complete", 0, 1), ("complete", 200, 0), ("none", 0, 0)]
)
def test_validation_labels_that_nobody_pays_for_are_told(validation, bought, told) -> None:
    evidence = SimpleNamespace(
        assumption=lambda way, images: "", ceiling=lambda prices: None, draws=3, images=900,
        validation=validation,
    )  # fmt: skip
    project = Project(budget=500.0, validation_images=bought)
    found = list(telling.assumptions(candidate(), evidence, project))
    said = [one for one in found if one.startswith("The pilot chose epochs by complete labels")]
    assert len(said) == told
