"""Price lists of one's own, and what is wrong with those that cannot be used."""

import numpy as np
import pytest

from simkit.annotate.price_lists import presets, prices
from simkit.annotate.prices import cost
from simkit.errors import BadInput
from tests.annotate.test_prices import effort


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


def test_set_up_assurance_and_images_of_ones_own(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(
        'setup = 100\nsetup_class = 2.5\nsetup_source = "our offer"\n'
        'qa = 0.4\nqa_source = "assumption: the middle"\nwage = 36\n'
        '[verify]\nper = "question"\ndollars = 1\n'
        '[image]\nseconds = 2\nsource = "measured in June"\n'
    )
    listed = prices(file)
    assert (listed.setup, listed.setup_class, listed.setup_source) == (100, 2.5, "our offer")
    assert (listed.qa, listed.qa_source) == (0.4, "assumption: the middle")
    assert listed.image is not None
    assert (listed.image.per, listed.image.seconds, listed.image.source) == (
        "image", 2, "measured in June",
    )  # fmt: skip


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


@pytest.mark.parametrize("name", presets())
def test_presets_add_nothing_without_a_source(name):
    listed = prices(name)
    assert (listed.setup, listed.setup_class, listed.qa, listed.image) == (0, 0, 0, None)


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
            "verify: dollars is -1; a number from 0 to 1,000,000,000 is expected",
        ),
        (
            '[verify]\nper = "question"\ndollars = inf\n',
            "verify: dollars is inf; a number from 0 to 1,000,000,000 is expected",
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
        (f"setup = -5\n{GOOD}", "setup is -5; a number from 0 to 1,000,000,000 is expected"),
        (f"qa = nan\n{GOOD}", "qa is nan; a number from 0 to 1,000,000,000 is expected"),
        (f"qa_source = 4\n{GOOD}", "qa_source is 4; text is expected"),
        (
            f"{GOOD}[image]\nper = 'page'\ndollars = 1\n",
            "image: per is 'page'; images are loaded one by one, so write per = \"image\"",
        ),
        (f"{GOOD}[image]\n", "image: neither seconds nor dollars is given; add one of them"),
        (
            f"{GOOD}[image]\nseconds = 1\n",
            "image: only seconds are given; add dollars here or wage for the list",
        ),
        ("like = 'gogle'\n", "like: no price list is called 'gogle'; did you mean 'google'?"),
        (
            f"workers = 0\n{GOOD}",
            "workers is 0; a whole number from 1 to 1,000,000,000 is expected",
        ),
        (
            f"qa = 40\n{GOOD}",
            "qa is 40; a share of the price of the questions is expected, such as 0.4 for 40 % on "
            "top",
        ),
        (f"title = 3\n{GOOD}", "title is 3; text is expected"),
        (f"wage = true\n{GOOD}", "wage is True; a number from 0 to 1,000,000,000 is expected"),
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
