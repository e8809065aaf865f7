"""What the plan says in words: order, numbers, and what is left out where there is nothing."""

from dataclasses import replace

from simkit.planning.told.parts import Item
from simkit.planning.told.sections import document
from tests.planning.sample import CHECK, CHOSEN, sample


def section(plan, title):
    return next(one for one in document(plan).sections if one.title.startswith(title))


def titles(plan) -> list[str]:
    return [one.title for one in document(plan).sections]


def test_the_order_is_the_order_to_read_in() -> None:
    assert titles(sample(options=(CHOSEN, CHOSEN), worth_trying=("mixed",))) == [
        "Expected mAP",
        "Where the money goes",
        "Runners-up",
        "For less money",
        "What the names mean",
        "Method",
        "Dollars to 68.0 mAP",
        "Buy in rounds",
        "What would change it",
        "Back-test",
        "Worth a pilot point",
        "Assumptions",
        "How this was made",
    ]


def test_what_is_not_there_has_no_heading() -> None:
    bare = sample(rivals=(), steps=(), changes=(), reach=None, target=None)
    assert titles(bare) == [
        "Expected mAP",
        "Where the money goes",
        "What the names mean",
        "Method",
        "Back-test",
        "Assumptions",
        "How this was made",
    ]
    assert "chance" not in str(section(bare, "Expected").table)


def test_expected_map_with_bands_and_the_reach_in_words() -> None:
    told = section(sample(), "Expected")
    assert told.table.rows == (
        ("median", "71.2"),
        ("as likely inside as outside (50 %)", "70.1 to 72.2"),
        ("nearly always inside (90 %)", "68.4 to 74.1"),
        ("four times in five at least", "69.8"),
        ("chance of 68.0 or more", "93 %"),
    )
    assert told.notes == (
        "Reach amber: 2 to 11 times beyond the pilot; buy in rounds and fit again after each "
        "(4 times the dollars of the pilot's largest size).",
    )
    inside = sample(chosen=replace(CHOSEN, grade="green", times=0.5))
    assert section(inside, "Expected").notes[0].endswith("(within what was measured).")


def test_the_bill_adds_up_and_says_what_is_not_spent() -> None:
    told = section(sample(), "Where")
    assert told.table.rows[-1] == ("total", "4,900.00", "of $5,000")
    assert told.lines == ("$100 of the budget are not spent.",)
    assert section(sample(budget=4_940.0), "Where").lines == ()


def test_the_lines_of_the_bill_add_up_to_the_cent() -> None:
    items = (Item("labels", 484.985, ""), Item("test set", 15.015, ""))
    told = section(sample(bill=items, budget=500.0), "Where")
    assert [row[1] for row in told.table.rows] == ["484.99", "15.01", "500.00"]


def test_one_purchase_is_no_rounds() -> None:
    one = section(sample(steps=sample().steps[:1]), "Buy at once")
    assert one.lines == ("There is one purchase, as it hardly lies further than the pilot.",)
    assert len(one.table.rows) == 1
    asked = section(sample(steps=sample().steps[:1], rounds=1), "Buy at once")
    assert asked.lines == ("There is one purchase, as one was asked for.",)
    steps = sample().steps
    fewer = section(sample(rounds=len(steps) + 1), "Buy in rounds").lines[0]
    assert fewer.endswith(
        f"There are {len(steps)} and not {len(steps) + 1}: less than twice what is there already "
        "would show little new."
    )
    assert "not" not in section(sample(rounds=len(steps)), "Buy in rounds").lines[0]
    assert section(sample(), "Buy in rounds").table.columns[3:] == ("images so far", "mAP then")
    few = section(sample(images="new images"), "Buy in rounds").table
    assert few.columns[4] == "mAP then on new images"


def test_where_curves_end_is_not_called_left_out() -> None:
    notes = section(sample(ends=("rpa: followed up to $5",)), "Assumptions").notes
    assert notes == (
        "Left out: rpa has two sizes only",
        "Where a curve ends: rpa: followed up to $5",
    )


def test_dollars_to_a_target_include_the_share_that_never_gets_there() -> None:
    told = section(sample(), "Dollars")
    assert told.lines == ("With at most $20,000 of these 68.0 is reached in 94 % of samples.",)
    assert told.table.rows[0] == ("5 %", "$1,000")
    assert told.table.rows[-1] == ("95 %", "not reachable")


def test_single_draws_stand_beside_their_means() -> None:
    assert "single draws" not in section(sample(), "Back-test").lines[0]
    told = section(sample(check=replace(CHECK, singles=0.62)), "Back-test").lines[0]
    assert told.endswith(
        "These are means of draws; of single draws, which bands are about, 62 % lie inside."
    )


def test_names_are_explained_once() -> None:
    items = section(sample(options=(CHOSEN, CHOSEN)), "What the names").items
    assert [item.partition(":")[0] for item in items] == [
        "single-positive (Single positive)",
        "full-subset (Full labels, fewer images)",
        "fpc (FPC)",
        "ll-r (LL-R)",
        "an (AN)",
        "csl (CSL)",
    ]


def test_a_missed_back_test_says_so_and_marks_its_rows() -> None:
    told = section(sample(check=CHECK), "Back-test")
    assert told.lines == (
        "MISSED: of all curves' 8 largest sizes, predicted from smaller ones (2 times less on "
        "average), 4 lie in their 90 % bands; these are 2.7 points wide, and the median error is "
        "1.7 points.",
        "The chosen curve passed: its one size lies in the band.",
    )
    assert [row[-1] for row in told.table.rows] == ["yes", "NO"]
    assert section(sample(check=None), "Back-test").lines == (
        "There is no back-test: the pilot has too few sizes to predict one from the others.",
    )


def test_ids_command_seed_and_versions_stand_at_the_end() -> None:
    plan = sample()
    told = section(plan, "How")
    assert told.code == "simkit plan runs/ --budget 5000"
    assert told.notes == (
        f"Content ids: plan {plan.id}, truth 0123456789abcdef.",
        "Seed 0; simkit 0.1.",
    )
