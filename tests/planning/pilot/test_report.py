"""The pilot to label first, rendered."""

import json

import pytest

from simkit.errors import BadInput
from simkit.planning.pilot.report import plan_pilot


@pytest.fixture(scope="module")
def made():
    return plan_pilot(2_000.0, classes=20, per_image=1.5, images=20_000)


def test_every_rendering_says_what_to_label_and_why(made) -> None:
    assert made.pilot.recommendation.startswith("Label ")
    for text in (made.text(width=10_000), made.markdown(), made.html(), made._repr_html_()):
        assert f"{made.pilot.images:,} images completely" in text
        assert "full-subset" in text and "single-positive" in text
    assert str(made) == repr(made) == made.text()
    values = json.loads(json.dumps(made.to_json(), allow_nan=False))
    assert values["images"] == made.pilot.images
    assert values["recommendation"] == made.pilot.recommendation


def test_what_is_left_is_planned_for_the_images_that_are_left(made) -> None:
    pilot, last = made.pilot, made.commands[-1]
    left = 20_000 - pilot.images - pilot.test_images
    folders = " ".join(f"runs/{place}" for place in range(1, len(made.grids) + 1))
    start, _, rest = last.partition(" --budget ")
    assert start == f"simkit plan {folders}"
    dollars, _, rest = rest.partition(" ")
    assert float(dollars) == pytest.approx(2_000 - pilot.spent, abs=0.011)
    assert rest == f"--images {left} --prices coco-tagging"
    assert len(made.commands) == len(made.grids) + 1
    assert made.commands[0] == "simkit compare grid-1.toml --out runs/1"
    assert f"${pilot.rest:,.2f} that are left" in made.text(width=10_000)


def test_the_command_asks_again(made) -> None:
    assert made.command == (
        "simkit plan --pilot --budget 2000 --classes 20 --per-image 1.5 --images 20000 --prices "
        "coco-tagging"
    )


def test_labelled_data_like_ones_own_can_stand_for_it() -> None:
    found = plan_pilot(2_000.0, data="scenes:images=200,val=20,test=20", schemes=("full-subset",))
    assert found.pilot.classes == 52 and "scenes" in found.about
    assert "--data scenes:images=200,val=20,test=20" in found.command


@pytest.mark.parametrize(
    "given, message",
    [
        (
            {},
            "a pilot is planned for data like yours; give either data (a labelled data set) or "
            "classes and per_image, such as --classes 80 --per-image 2.9",
        ),
        (
            {"classes": 5},
            "per_image is missing; say how many classes an image shows on average, such as "
            "--per-image 2.9",
        ),
        (
            {"data": "scenes", "per_image": 2.0},
            "per_image goes with classes; data tells it, so leave per_image out",
        ),
    ],
)
def test_what_is_missing_is_named(given, message) -> None:
    with pytest.raises(BadInput) as error:
        plan_pilot(1_000.0, **given)
    assert str(error.value) == message
