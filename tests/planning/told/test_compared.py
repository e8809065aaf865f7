"""Runners-up in words."""

from dataclasses import replace

from simkit.planning.told.compared import runners_up
from tests.planning.sample import sample

PAIRED = (
    "Differences are of paired samples: both curves from the same draws of images; their "
    "median is not the difference of the medians."
)


def test_runners_up_have_paired_differences_and_where_the_order_turns() -> None:
    told = runners_up(sample())
    assert told.table.rows == (
        ("full-subset", "an", "$4,900", "70.5", "+0.7", "-3.1 to +4.4", "62 %", "$850"),
        (
            *("fpc", "csl", "$3,900", "62.0", "+9.2", "+4.1 to +13.9", "more than 99 %"),
            "none up to $3,900",
        ),
    )
    assert told.lines == (
        "What else $4,900 would give, or what a row has in all where its curve ends first, and "
        "points of mAP by which single-positive, trained with ll-r, for $4,900 is ahead:",
    )
    assert runners_up(sample(rivals=sample().rivals[:1])).lines == (
        "What else the same total would give, $4,900, and points of mAP by which single-positive, "
        "trained with ll-r, is ahead:",
    )
    # The second one's curve ends $1,000 before.
    assert told.items == (
        "Overtakes. Instead: label 900 images completely (full-subset) for $4,000 of labels.",
        "Never. Instead: for each class find 80 images with it and as many without it among 9,000 "
        "images (fpc(per_class=80)) for $3,000 of labels.",
    )
    assert told.notes[0] == PAIRED
    assert told.notes[1].startswith("The choice is the one that reaches most with bad luck")
    mean = runners_up(sample(risk="expected")).notes[1]
    assert mean.startswith("The choice is the one whose mean is highest")
    assert "--" not in mean + told.notes[1]
    assert runners_up(sample(rivals=())) is None


def test_nothing_is_sure_of_a_way_whose_pilot_ran_out_of_images() -> None:
    one, other = sample().rivals
    told = runners_up(sample(rivals=(one, replace(other, saturated=True))))
    assert [row[6:] for row in told.table.rows] == [
        ("62 %", "$850"),
        ("not known", "not known"),
    ]


def test_differences_of_other_draws_are_not_called_paired() -> None:
    one, other = (replace(rival, paired=False) for rival in sample().rivals)
    told = runners_up(sample(rivals=(one, other))).notes[0]
    assert told == "Differences are not paired: the curves are of different draws of images."
    assert runners_up(sample(rivals=(sample().rivals[0], other))).notes[0] == (
        "Differences from fpc with csl are not paired; those of the others are of paired samples: "
        "both curves from the same draws of images; their median is not the difference of the "
        "medians."
    )
