"""Bills by hand, and every preset."""

import json
from dataclasses import replace

import numpy as np
import pytest

from simkit.annotate.prices import BillItem, Cost, Prices, Rate, cost, presets, prices
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
    published = (
        "Lin et al.", "Bearman et al.", "Google", "AWS", "Soft Exposure", "ImageHub", "WeLabelData",
        "DAM LLM",
    )  # fmt: skip
    for rate in listed.rates.values():
        assert rate.source.startswith(("assumption: ", *published))


def test_lists_that_nobody_sells_at_warn(recwarn):
    for name in presets():
        prices(name)
    assert ["'aws' are historical" in str(w.message) for w in recwarn] == [True, False]
    assert "'google' are historical: Google withdrew" in str(recwarn[1].message)


def test_time_is_unknown_as_soon_as_one_line_is():
    rates = {"verify": Rate("question", 2.0, None, "s"), "name": Rate("question", None, 0.1, "s")}
    listed = Prices("mixed", "Mixed", 1, rates, wage=18.0)
    assert cost(effort(verify=[0, 3]), listed).seconds == 6.0
    both = cost(effort(verify=[0, 3], name=[0, 1]), listed)
    assert both.seconds is None and both.dollars == pytest.approx(6 * 18 / 3600 + 0.1)


def test_labels_are_billed_by_their_effort():
    labels = PartialLabels.of(np.array([[1, -1]]), effort=effort(verify=[0, 0, 1]))
    assert cost(labels, "openimages") == cost(labels.effort, "openimages")


OURS = Prices(
    "ours",
    "Ours",
    2,
    {
        "verify": Rate("question", 2.0, None, "timed"),
        "search": Rate("question", 1.0, None, "timed"),
        "name": Rate("page", 3.0, 1.0, "timed", page=4),
    },
    wage=36.0,
    setup=50.0,
    setup_class=10.0,
    setup_source="offer",
    qa=0.5,
    qa_source="claimed",
    image=Rate("image", 4.0, None, "measured"),
)


def test_set_up_assurance_and_images_by_hand():
    # 4 questions of 2 s about 3 images and 12 looks of 1 s, by 2 people at one cent a second.
    bill = cost(effort(looks=(7, 5), verify=[0, 2, 1]), OURS)
    verify = BillItem("verify", 4, 16.0, 0.16, "timed")
    search = BillItem("search", 12, 24.0, 0.24, "timed")
    images = BillItem("images", 15, 120.0, 1.2, "measured")
    assurance = BillItem("quality assurance", 0, 20.0, 0.2, "claimed")
    set_up = BillItem("set-up", 0, 0.0, 70.0, "offer")
    assert bill.lines == (verify, search, images, assurance, set_up)
    assert bill.seconds == 180 and bill.dollars == pytest.approx(71.8)


def test_the_classes_are_those_of_the_labels():
    labels = PartialLabels.of(np.array([[1, -1, 0]]), effort=effort(verify=[0, 0, 1]))
    assert cost(labels, OURS).lines[-1].dollars == 80
    assert cost(labels.effort, OURS).lines[-1].dollars == 50  # an effort without looks has none


def test_a_machine_is_billed_by_the_image_and_takes_no_time_of_people():
    asked = replace(effort(verify=[0, 3]), machine=2_000)
    bill = cost(asked, replace(prices("hourly"), machine=0.0021, machine_source="a catalogue"))
    alone = cost(effort(verify=[0, 3]), "hourly")
    assert bill.lines[-1] == BillItem("machine", 2_000, 0.0, 4.2, "a catalogue")
    assert bill.dollars == pytest.approx(alone.dollars + 4.2)
    assert bill.seconds == alone.seconds
    *_, machine, total = bill.rows()
    assert machine == ("machine", "2,000", "0.00", "4.20")
    assert total == ("total", "", f"{alone.seconds / 3600:.2f}", f"{bill.dollars:.2f}")
    assert [*cost(asked, "google").rows()][-1][2] == "unknown"


def test_the_lines_of_a_bill_add_up_to_the_cent():
    lines = tuple(BillItem(kind, 1, 1.0, 0.334, "") for kind in ("sweep", "verify", "search"))
    bill = Cost(3.0, 1.002, lines, 1, "hourly")
    assert [row[3] for row in bill.rows()] == ["0.34", "0.33", "0.33", "1.00"]
    assert str(bill).startswith("$1.00 at hourly prices, 1 person for each question: sweep $0.34, ")


def test_nothing_asked_needs_no_set_up():
    assert cost(effort(), OURS).lines == ()
    again = cost(effort(verify=[0, 2]), OURS.once_set_up())
    assert [line.kind for line in again.lines] == ["verify", "images", "quality assurance"]


def test_pages_and_how_full_they_are():
    # 80 classes are 4 passes of 20 that are full; 91 are 5, and 9 places of 100 stay empty.
    full = cost(effort(sweep=np.bincount([80] * 3).tolist()), "google").lines[0]
    assert (full.pages, full.page, full.images, full.full) == (12, 20, 3, 1.0)
    rest = cost(effort(sweep=SWEPT.tolist()), "google").lines[0]
    assert (rest.pages, rest.page, rest.full) == (50, 20, 0.91)
    # More people see the same pages; they are paid for each of them.
    three = cost(effort(3, sweep=SWEPT.tolist()), "google").lines[0]
    assert three.pages == 50 and three.dollars == pytest.approx(3 * rest.dollars)
    assert cost(effort(verify=[0, 1]), "careful").lines[0].full is None


def test_kinds_of_question_share_no_page():
    # One image with 5 classes to verify and 5 to sweep: a page each, a quarter full.
    bill = cost(effort(verify=np.bincount([5]).tolist(), sweep=np.bincount([5]).tolist()), "google")
    assert [(line.pages, line.full) for line in bill.lines] == [(1, 0.25), (1, 0.25)]
    assert bill.dollars == pytest.approx(2 * 0.035)


@pytest.mark.parametrize("histogram", [[0, 4, 0, 2, 5, 1], [0] * 9 + [3], [0, 0, 1]])
def test_pages_equal_those_of_each_image_by_itself(histogram):
    pages = sum(images * -(-questions // 4) for questions, images in enumerate(histogram))
    assert cost(effort(name=histogram), OURS).lines[0].pages == pages


def test_what_was_paid_and_dropped():
    # 3 of 12 looks are dropped: a quarter of $0.24, and half as much for assurance.
    asked = effort(looks=(7, 5), name=[0, 2])
    lost = cost(replace(asked, dropped={"search": 3}), OURS)
    assert (lost.dropped, lost.dropped_dollars) == (3, pytest.approx(0.09))
    assert lost.dollars == cost(asked, OURS).dollars
    # By kind: one of 4 verified is a quarter of $0.16, and half as much.
    both = effort(looks=(7, 5), name=[0, 9], verify=[0, 4])
    verified = cost(replace(both, dropped={"search": 3, "verify": 1}), OURS)
    assert (verified.dropped, verified.dropped_dollars) == (4, pytest.approx(0.09 + 0.06))
    # There are never more than questions.
    odd = cost(replace(effort(verify=[0, 2]), dropped={"verify": 99}), "openimages")
    assert odd.dropped_dollars == pytest.approx(2 * 0.0058)
    assert cost(Effort(dropped={"search": 4}), OURS).dropped_dollars == 0.0


def test_a_bill_with_everything_as_plain_values():
    asked = replace(effort(looks=(8,), name=[0, 0, 3]), dropped={"search": 2})
    values = cost(asked, OURS).to_json()
    assert values["dropped"] == 2 and values["dropped_dollars"] > 0
    name = next(line for line in values["lines"] if line["kind"] == "name")
    assert (name["pages"], name["page"], name["images"], name["full"]) == (3, 4, 3, 0.5)
    assert json.loads(json.dumps(values)) == values


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
    with pytest.raises(BadInput, match="price list 'mine' has no price for 'name'"):
        cost(effort(name=[0, 1]), str(file))


def test_a_file_takes_over_what_it_leaves_out(tmp_path):
    file = tmp_path / "agency.toml"
    file.write_text(
        'like = "google"\nqa = 0.4\nworkers = 3\n[name]\nper = "question"\ndollars = 2\n'
    )
    listed, google = prices(file), prices("google")
    assert (listed.name, listed.title, listed.qa) == ("agency", google.title, 0.4)
    assert listed.rates == {**google.rates, "name": listed.rates["name"]}
    assert listed.rates["name"].dollars == 2
    # The preset's reason for one labeller is none for three.
    assert (listed.workers, listed.workers_source) == (3, "")
    # An image with 25 questions is two passes of $0.035 for each of 3 people, and 40 % on top.
    bill = cost(effort(verify=np.bincount([25]).tolist()), listed)
    assert bill.dollars == pytest.approx(2 * 0.035 * 3 * 1.4)


@pytest.mark.parametrize("line", ["2026", '"2026"', "2026-07-30", '"2026-07-30"'])
def test_a_date_is_a_year_or_a_day(tmp_path, line):
    (tmp_path / "mine.toml").write_text(f'like = "aws"\nas_of = {line}\nwage = 9\n')
    listed = prices(tmp_path / "mine.toml")
    assert listed.as_of == line.strip('"') and not listed.ended  # aws is historical


@pytest.mark.parametrize("line", ['"yesterday"', '"2025-13-40"', "20.5", "true", "99999"])
def test_other_dates_are_refused(tmp_path, line):
    (tmp_path / "mine.toml").write_text(f'like = "hourly"\nas_of = {line}\n')
    with pytest.raises(BadInput, match="as_of"):
        prices(tmp_path / "mine.toml")


def test_another_wage_pays_the_same_seconds():
    listed = prices("hourly").at_wage("$30")
    assert (listed.wage, listed.wage_source) == (30, "set by the user")
    asked = effort(verify=[0, 120])
    ours, usual = cost(asked, listed), cost(asked, "hourly")
    assert ours.seconds == usual.seconds == 120
    assert ours.dollars == pytest.approx(1) and usual.dollars == pytest.approx(0.5)


@pytest.mark.parametrize("name", ["google", "aws", "openimages"])
def test_no_wage_changes_a_price_in_dollars(name):
    with pytest.raises(BadInput, match=f"'{name}' has prices in dollars.*; leave the wage out"):
        prices(name).at_wage(20)


@pytest.mark.parametrize("wage", [0, -3, "2,5", None, True])
def test_a_wage_is_above_0(wage):
    with pytest.raises(BadInput, match=r"^wage is "):
        prices("hourly").at_wage(wage)


GOOD = '[verify]\nper = "question"\ndollars = 1\n'


@pytest.mark.parametrize(
    "text,message",
    [
        ("[verify]\ndollars = 1\n", "verify is {'dollars': 1}"),
        ('[verify]\nper = "hour"\ndollars = 1\n', "verify: price: per is 'hour'"),
        ('[verify]\nper = "question"\n', "verify: the price is None dollars"),
        ('[verify]\nper = "question"\ndollars = -1\n', "price: dollars is -1"),
        ('[verify]\nper = "page"\ndollars = 1\n', "verify: the price is 1.0 dollars"),
        ('[search]\nper = "image"\ndollars = 1\n', "search: per is 'image'"),
        ("verify = 3\n", "verify is 3"),
        ('[verify]\nper = "question"\ndolars = 1\n', "no setting of price is called 'dolars'"),
        (f"{GOOD}[verfy]\n", "no field or kind of question is called 'verfy'"),
        (f"setup = -5\n{GOOD}", "setup is -5"),
        (f"{GOOD}[image]\nper = 'page'\ndollars = 1\n", "image: per is 'page'"),
        ("like = 'gogle'\n", "like: no price list is called 'gogle'"),
        (f"workers = 0\n{GOOD}", "workers is 0"),
        (f"qa = 40\n{GOOD}", "qa is 40"),
        ("wage = 15\n", "no kind of question has a price"),
        (f"wage = '15,50'\n{GOOD}", "write 15.50, if these are dollars"),
        (f"wage = '15.50 EUR'\n{GOOD}", "write 15.50, if these are dollars"),
        (f"wage = 15,50\n{GOOD}", "decimal point, as in 15.5"),
        (f"wage = 0\n{GOOD}", "wage is 0"),
        (f"{GOOD}seconds = '1,8'\n", "verify: seconds is '1,8'; numbers have a decimal point"),
    ],
)
def test_files_that_cannot_be_used_say_why(tmp_path, text, message):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(BadInput) as error:
        prices(file)
    assert message in str(error.value)


def test_amounts_may_have_their_unit(tmp_path):
    (tmp_path / "mine.toml").write_text(
        "wage = '$15.50'\nqa = '40 %'\nsetup = '$1,500'\n"
        "[verify]\nper = 'question'\nseconds = '300 ms'\n[search]\nper = 'question'\n"
        "seconds = '1.8 s'\n"
    )
    listed = prices(tmp_path / "mine.toml")
    assert (listed.wage, listed.qa, listed.setup) == (15.5, 0.4, 1500)
    assert [listed.rates[kind].seconds for kind in ("verify", "search")] == [0.3, 1.8]


@pytest.mark.parametrize(
    ("text", "note"),
    [("wage = 1550\n", r"\$1,550 an hour; write 15.5 if"),
     ("[verify]\nper = 'question'\nseconds = 1800\n", "1,800 seconds .*; write 1.8 if")],
)  # fmt: skip
def test_amounts_of_another_unit_are_noted(tmp_path, text, note):
    (tmp_path / "mine.toml").write_text(f"like = 'hourly'\n{text}")
    with pytest.warns(UserWarning, match=note):
        prices(tmp_path / "mine.toml")


def test_names_and_files_that_do_not_exist(tmp_path):
    with pytest.raises(BadInput, match="no price list is called 'gogle'"):
        prices("gogle")
    with pytest.raises(BadInput, match=r"there-is-no-such\.toml does not exist"):
        prices("there-is-no-such.toml")
    broken = tmp_path / "broken.toml"
    broken.write_text("wage = = 3\n")
    with pytest.raises(BadInput, match=r"broken\.toml cannot be read .*at line 1, column 8"):
        prices(broken)


def test_bills_and_lists_are_tables_in_a_notebook():
    listed = replace(OURS, rates={"verify": Rate("question", 2.0, None, "<b>timed</b>")})
    shown = listed._repr_html_()
    assert "&lt;b&gt;" in shown and "<b>timed" not in shown and "image" in shown
    bill = cost(effort(verify=[0, 2, 1]), replace(OURS, name="<i>ours"))._repr_html_()
    assert "verify" in bill and "total at &lt;i&gt;ours prices" in bill


def test_names_are_found_in_capitals_too(tmp_path):
    assert prices("Hourly") == prices("hourly")
    (tmp_path / "Mine.TOML").write_text('like = "Hourly"\nsetup_class = 5\n')
    listed = prices(tmp_path / "Mine.TOML")
    assert listed == replace(prices("hourly"), name="Mine", setup_class=5.0)
    (tmp_path / "agency.toml").write_text(
        'like = "hourly"\nsetup = 5\nsetup_source = "an offer"\n[image]\nseconds = 2\n'
    )
    listed = prices(tmp_path / "agency.toml")
    assert (listed.setup, listed.setup_source) == (5, "an offer")
    assert listed.image == Rate("image", 2.0)
    assert listed.as_of == prices("hourly").as_of  # no price of a question or hour has changed


def test_large_amounts_that_may_be_meant_are_not_noted(tmp_path, recwarn):
    for text in ("seconds = 120\n", "dollars = 1000\n"):
        (tmp_path / "mine.toml").write_text(
            f"like = 'hourly'\nwage = 500\n[verify]\nper = 'question'\n{text}"
            "[sweep]\nper = 'page'\npage = 80\nseconds = 900\n"
        )
        assert prices(tmp_path / "mine.toml").wage == 500
    assert not recwarn.list


def test_labels_whose_questions_are_unknown_have_no_price():
    with pytest.raises(BadInput, match="a ndarray holds no questions; give simulated labels"):
        cost(np.ones((2, 2)), "hourly")
    with pytest.raises(BadInput, match="these labels do not record their questions"):
        cost(PartialLabels.of(np.array([[1, -1]])))
    assert cost(PartialLabels.of(np.array([[0, 0]]))).dollars == 0
    by_machine = PartialLabels.of(np.array([[1, -1]]), effort=replace(effort(), machine=1000))
    bill = cost(by_machine, replace(OURS, machine=0.002))
    assert [(line.kind, line.questions, line.dollars) for line in bill.lines] == [
        ("images", 0, 0.0), ("quality assurance", 0, 0.0), ("machine", 1000, 2.0),
        ("set-up", 0, 70.0),
    ]  # fmt: skip
    assert (bill.seconds, bill.workers, bill.prices) == (0.0, 2, "ours")


def test_the_seconds_of_assurance_are_unknown_where_those_of_the_questions_are():
    rates = {"verify": Rate("question", None, 0.1), "name": Rate("question", 2.0, 0.2)}
    bill = cost(effort(verify=[0, 10], name=[0, 3]), Prices("x", "X", 1, rates, qa=0.5))
    assert bill.lines[-1] == BillItem("quality assurance", 0, None, 0.8, "")
    assert bill.seconds is None and bill.dollars == 2.4
