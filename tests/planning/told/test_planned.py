"""A plan is plain values: JSON takes it as it is, and its id is of what it says."""

import json
from dataclasses import replace

from tests.planning.sample import CHECK, sample


def test_json_holds_every_field_and_survives() -> None:
    plan = sample()
    values = json.loads(json.dumps(plan.to_json(), allow_nan=False))
    assert values == plan.to_json()
    assert set(values) == {"id", *vars(plan)}
    assert values["chosen"]["band90"] == [0.684, 0.741]
    assert values["rivals"][0]["break_even"] == [850.0]
    assert values["reach"]["quantiles"][-1] is None
    assert values["bill"][0] == {
        "what": "labels: name",
        "dollars": 3500.0,
        "how": "12,000 questions, 3 people each",
    }


def test_the_id_is_of_what_a_plan_says_and_not_of_how_it_was_asked() -> None:
    plan = sample()
    assert plan.id == sample(command="python").id
    assert plan.id != sample(seed=1).id
    assert plan.id != sample(check=CHECK).id
    assert plan.id != replace(plan, chosen=replace(plan.chosen, median=0.713)).id


def test_printing_a_plan_shows_it() -> None:
    assert repr(sample()) == str(sample()) == sample().text()
