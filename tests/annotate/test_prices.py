"""Bills by hand, every preset, and price lists of one's own."""

import numpy as np
import pytest

from simkit.annotate.prices import Cost, Line, Prices, Rate, cost, presets, prices
from simkit.errors import BadInput
from simkit.labels.effort import QUESTIONS, Effort
from simkit.labels.partial import PartialLabels


def effort(workers: int | None = None, looks=(), **questions: list[int]) -> Effort:
    """`verify=[0, 2, 1]`: two images with one question, one image with two."""
    counted = {kind: np.array(h) for kind, h in questions.items()}
    return Effort(counted, np.array(looks, np.int64), workers)


# 10 images of COCO's 91 categories; 7 looked at for one class, 5 for another.
SWEPT = np.bincount([91] * 10)
EVERYTHING = effort(
    looks=(7, 5), verify=[0, 2, 1], name=[0, 3], sweep=SWEPT.tolist(), descend=[0, 0, 4]
)


def test_coco_tagging_by_hand():
    # 27.4 s per person and image: 8 people and 10 images are 2,192 s or $9.13 at $15 an hour.
    bill = cost(effort(sweep=SWEPT.tolist()), "coco-tagging")
    assert bill.workers == 8
    assert bill.seconds == pytest.approx(2192, rel=1e-3)
    assert bill.dollars == pytest.approx(2192 * 15 / 3600, rel=1e-3)


def test_google_counts_passes_of_twenty():
    # 91 classes are 5 passes, $0.175 per image; 20 classes are one pass and 21 are two.
    assert cost(effort(sweep=SWEPT.tolist()), "google").dollars == pytest.approx(10 * 0.175)
    at_the_edge = effort(verify=np.bincount([20, 21]).tolist())
    assert cost(at_the_edge, "google").dollars == pytest.approx(3 * 0.035)
    assert cost(at_the_edge, "google").seconds is None


def test_aws_counts_images_and_people():
    # Three images were asked something, by 3 people unless the effort says otherwise.
    asked = effort(verify=[0, 2, 1])
    assert cost(asked, "aws").dollars == pytest.approx(3 * 0.012 * 3)
    assert cost(effort(5, verify=[0, 2, 1]), "aws").dollars == pytest.approx(3 * 0.012 * 5)


def test_openimages_and_careful_count_questions():
    asked = effort(verify=[0, 2, 1])
    assert cost(asked, "openimages").dollars == pytest.approx(4 * 0.0058)
    # Four questions of a second are $0.0167 at $15 an hour.
    line = Line("verify", 4, 4.0, 0.016666667, "Bearman et al., ECCV 2016: about 1 s per class")
    assert cost(asked, "careful") == Cost(4.0, 0.016666667, (line,), 1, "careful")


def test_the_people_of_the_effort_go_before_those_of_the_list():
    one, eight = (cost(effort(n, verify=[0, 9]), "coco-tagging") for n in (1, None))
    assert one.workers == 1 and eight.workers == 8
    assert eight.dollars == pytest.approx(8 * one.dollars)


@pytest.mark.parametrize("name", presets())
def test_every_preset_prices_every_question_and_names_its_source(name):
    listed = prices(name)
    assert set(listed.rates) == set(QUESTIONS)
    bill = cost(EVERYTHING, listed)
    assert [line.kind for line in bill.lines] == list(QUESTIONS)
    assert [line.questions for line in bill.lines] == [4, 3, 12, 910, 8]
    assert bill.dollars == pytest.approx(sum(line.dollars for line in bill.lines))
    assert all(line.dollars > 0 and line.source for line in bill.lines)
    assert listed.workers_source and (listed.wage is None or listed.wage_source)
    published = ("Lin et al.", "Bearman et al.", "Google", "AWS", "Soft Exposure")
    for rate in listed.rates.values():
        assert rate.source.startswith(("assumption: ", *published))


def test_the_presets():
    assert presets() == ["aws", "careful", "coco-tagging", "google", "openimages"]


def test_time_is_unknown_as_soon_as_one_line_is():
    rates = {"verify": Rate("question", 2.0, None, "s"), "name": Rate("question", None, 0.1, "s")}
    listed = Prices("mixed", "Mixed", 1, rates, wage=18.0)
    assert cost(effort(verify=[0, 3]), listed).seconds == 6.0
    both = cost(effort(verify=[0, 3], name=[0, 1]), listed)
    assert both.seconds is None and both.dollars == pytest.approx(6 * 18 / 3600 + 0.1)


def test_labels_are_billed_by_their_effort():
    labels = PartialLabels.of(np.array([[1, -1]]), effort=effort(verify=[0, 0, 1]))
    assert cost(labels, "openimages") == cost(labels.effort, "openimages")


def test_nothing_asked_costs_nothing():
    bill = cost(Effort(), "careful")
    assert (bill.seconds, bill.dollars, bill.lines) == (0.0, 0.0, ())


def test_a_bill_as_plain_values():
    values = cost(effort(verify=[0, 1]), "openimages").to_json()
    assert values["dollars"] == 0.0058 and values["prices"] == "openimages"
    assert values["lines"][0]["kind"] == "verify"


def test_a_file_of_ones_own(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(
        'title = "Ours"\nworkers = 2\nwage = 36\n'
        '[verify]\nper = "page"\npage = 3\nseconds = 5\nsource = "measured in May"\n'
        '[sweep]\nper = "image"\ndollars = 1\n'
    )
    listed = prices(file)
    assert (listed.name, listed.title, listed.workers) == ("mine", "Ours", 2)
    # Images with 3 and 4 questions are 3 pages; 2 people, 5 s each, at one cent a second.
    bill = cost(effort(verify=[0, 0, 0, 1, 1]), listed)
    assert bill.seconds == 30 and bill.dollars == pytest.approx(0.30)
    assert bill.lines[0].source == "measured in May"
    with pytest.raises(BadInput) as error:
        cost(effort(name=[0, 1]), str(file))
    assert str(error.value) == "price list 'mine' has no price for 'name'; add a table [name]"


GOOD = '[verify]\nper = "question"\ndollars = 1\n'


@pytest.mark.parametrize(
    "text,message",
    [
        (
            "[verify]\ndollars = 1\n",
            "verify: per is missing; it must be one of question, page, image",
        ),
        (
            '[verify]\nper = "hour"\ndollars = 1\n',
            "verify: per is 'hour'; it must be one of question, page, image",
        ),
        (
            '[verify]\nper = "question"\n',
            "verify: neither seconds nor dollars is given; add one of them",
        ),
        (
            '[verify]\nper = "question"\nseconds = 1\n',
            "verify: only seconds are given; add dollars here or wage for the list",
        ),
        (
            '[verify]\nper = "question"\ndollars = -1\n',
            "verify: dollars is -1; a number from 0 on is expected",
        ),
        (
            '[verify]\nper = "question"\ndollars = inf\n',
            "verify: dollars is inf; a number from 0 on is expected",
        ),
        (
            '[verify]\nper = "page"\ndollars = 1\n',
            "verify: page is 0; the number of questions on a page is expected",
        ),
        (
            '[search]\nper = "image"\ndollars = 1\n',
            "search: per is 'image'; looks are counted one by one, so write per = \"question\"",
        ),
        (
            "verify = 3\n",
            "verify is 3; a table [verify] with per and seconds or dollars is expected",
        ),
        (
            '[verify]\nper = "question"\ndolars = 1\n',
            "verify: no field is called 'dolars'; did you mean 'dollars'?",
        ),
        (
            f"{GOOD}[verfy]\n",
            "no field or kind of question is called 'verfy'; did you mean 'verify'?",
        ),
        (f"workers = 0\n{GOOD}", "workers is 0; a whole number from 1 on is expected"),
        (f"title = 3\n{GOOD}", "title is 3; text is expected"),
        (f"wage = true\n{GOOD}", "wage is True; a number from 0 on is expected"),
        ("wage = 15\n", "no kind of question has a price; add a table such as [verify]"),
    ],
)
def test_files_that_cannot_be_used_say_why(tmp_path, text, message):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(BadInput) as error:
        prices(file)
    assert str(error.value) == f"{file}: {message}"


def test_names_and_files_that_do_not_exist(tmp_path):
    with pytest.raises(BadInput) as error:
        prices("gogle")
    assert str(error.value) == "no price list is called 'gogle'; did you mean 'google'?"
    with pytest.raises(BadInput) as error:
        prices("there-is-no-such.toml")
    assert str(error.value) == (
        "there-is-no-such.toml does not exist; give the path of a file with prices (TOML)"
    )
    broken = tmp_path / "broken.toml"
    broken.write_text("wage = = 3\n")
    with pytest.raises(BadInput) as error:
        prices(broken)
    assert str(error.value) == (
        f"{broken} cannot be read as TOML (Invalid value (at line 1, column 8)); mend that line"
    )
