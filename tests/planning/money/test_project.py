import pytest

from simkit.annotate.prices import prices
from simkit.errors import BadInput
from simkit.planning.money.project import Project


def test_prices_are_looked_up_by_name():
    assert Project(budget=5000).prices == prices("coco-tagging")
    assert Project(budget=5000, prices=prices("google")) == Project(budget=5000, prices="google")


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"budget": -5}, "budget is -5; dollars above 0 are expected"),
        ({"budget": 0}, "budget is 0; dollars above 0 are expected"),
        ({"budget": "5000"}, "budget is '5000'; dollars above 0 are expected"),
        ({"budget": True}, "budget is True; dollars above 0 are expected"),
        ({"budget": float("inf")}, "budget is inf; dollars above 0 are expected"),
        ({"images": 0}, "images is 0; a whole number from 1 on is expected"),
        ({"images": 0.5}, "images is 0.5; a whole number from 1 on is expected"),
        (
            {"target": 100},
            "target is 100; a mAP above 0 and below 1, such as 0.6, or its points, such as 60, is "
            "expected",
        ),
        (
            {"target": 1},
            "target is 1; a mAP above 0 and below 1, such as 0.6, or its points, such as 60, is "
            "expected",
        ),
        ({"precision": 0}, "precision is 0; points of mAP above 0 and below 100 are expected"),
        ({"image_price": -1}, "image_price is -1; dollars from 0 on are expected"),
        ({"gpu_price": -1}, "gpu_price is -1; dollars from 0 on are expected"),
        ({"gpu_hours": -1}, "gpu_hours is -1; hours from 0 on are expected"),
        ({"validation_images": -1},
         "validation_images is -1; a whole number from 0 on is expected"),
        ({"prices": 0.05}, "prices is 0.05, a number without a unit; give the name of a price "
         "list such as coco-tagging, or a TOML file that says what a question, a page or an image "
         "costs"),
        ({"prices": "gogle"}, "no price list is called 'gogle'; did you mean 'google'?"),
        ({"shares": (0.5, 1.5)}, "shares must hold one number from 0 to 1 for each class: the "
         "share of images that show it"),
        ({"shares": 0.5}, "shares must hold one number from 0 to 1 for each class: the share of "
         "images that show it"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_one_sentence(values, told):
    with pytest.raises(BadInput) as error:
        Project(**{"budget": 5000, **values})
    assert str(error.value) == told


def test_a_price_list_without_a_unit_is_refused(tmp_path):
    own = tmp_path / "own.toml"
    own.write_text("[verify]\ndollars = 0.05\n")
    with pytest.raises(BadInput) as error:
        Project(budget=5000, prices=str(own))
    assert str(error.value) == (
        f"{own}: verify: per is missing; it must be one of question, page, image"
    )


def test_a_target_in_points_is_the_same_target():
    assert Project(1.0, target=60).target == Project(1.0, target=0.6).target == 0.6
