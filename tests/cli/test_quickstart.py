"""`simkit quickstart`: a project with a first order for a folder of photographs."""

from __future__ import annotations

import base64
import io
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from simkit.annotate.prices import cost
from simkit.orders.order import Order
from simkit.orders.project import Project
from tests import downloads


def photographs(folder: Path, count: int, side: int = 8) -> Path:
    """A folder of different pictures, classes beside it, and the network of a project."""
    downloads.network()
    folder.mkdir()
    numbers = np.random.default_rng(0)
    for n in range(count):
        pixels = numbers.integers(0, 256, (side, side + n % 3, 3), np.uint8)
        Image.fromarray(pixels).save(folder / f"{n:04}.png")
    (folder.parent / "names.txt").write_text("cat\ndog\nhorse\n")
    return folder


def start(shell, *options: object):
    return shell("quickstart", "folder:photos", "--classes", "names.txt", "--budget", 50, *options)


def test_copies_and_broken_files_are_named_and_left_out(shell, tmp_path) -> None:
    photos = photographs(tmp_path / "photos", 6)
    Image.open(photos / "0002.png").save(photos / "again.bmp")  # the same pixels in other bytes
    (photos / "torn.png").write_bytes((photos / "0001.png").read_bytes()[:60])
    done = start(shell)
    assert done.code == 0, done.err
    assert "8 images in photos; pixels: smallest 8 x 8, median 9 x 8, largest 10 x 8" in done.out
    assert "damaged: 1, left out: torn.png" in done.out
    assert "exact duplicates: 1, left out: again.bmp = 0002.png" in done.out
    assert "--backbone mobilenet_v2" in done.out
    order = Order.read("project/order1")
    assert order.images.tolist() == [f"{n:04}.png" for n in range(6)]
    assert len(order.table) == 6 * 3
    table = pd.read_csv("project/pictures.csv", keep_default_na=False).set_index("image")
    assert table.loc["torn.png", "left_out"].startswith("cannot be read")
    assert (table["left_out"] == "").sum() == 6


def test_the_page_shows_the_images_that_are_asked_about(shell, tmp_path) -> None:
    photos = photographs(tmp_path / "photos", 3)
    shutil.copy(photos / "0000.png", photos / "0000-copy.png")
    for n, shade in enumerate((0, 120, 250)):
        Image.new("RGB", (8, 8), (shade, 0, 0)).save(photos / f"{n:04}.png")
    shutil.copy(photos / "0000.png", photos / "0000-copy.png")
    assert start(shell).code == 0
    page = Path("project/order1/round-1/page.html").read_text()
    (text,) = re.findall(r'\{"order".*\}', page)
    shown = {image["name"]: image["src"] for image in json.loads(text)["images"]}
    assert list(shown) == ["0000.png", "0001.png", "0002.png"]
    for source, shade in zip(shown.values(), (0, 120, 250), strict=True):
        picture = Image.open(io.BytesIO(base64.b64decode(source.partition(",")[2])))
        assert abs(picture.getpixel((4, 4))[0] - shade) < 12


def test_people_elsewhere_get_tables_and_later_other_forms_of_the_same_questions(
    shell, tmp_path
) -> None:
    photographs(tmp_path / "photos", 4)
    done = start(shell, "--to", "csv", "--repeat", "0")
    place = Path("project/order1/round-1")
    assert done.code == 0 and f"files for people: {place / 'questions.csv'}" in done.out
    assert "in a browser" not in done.out and not (place / "page.html").exists()
    step = shlex.split(done.out.partition("next: ")[2].splitlines()[0])
    assert step[1:] == ["receive", "project", str(place / "questions.csv")]
    before = (place / "questions.parquet").read_bytes(), (place / "questions.csv").read_bytes()
    again = shell("order", "--export", "project/order1", "--to", "html", "--to", "label-studio")
    assert again.code == 0 and (place / "page.html").exists()
    assert (place / "label-studio/present/tasks.json").exists()
    after = (place / "questions.parquet").read_bytes(), (place / "questions.csv").read_bytes()
    assert before == after and "page.html" in shell("status", "project").out
    table = pd.read_csv(place / "questions.csv").assign(answer="yes", worker="w1")
    table.to_csv(place / "questions.csv", index=False)
    assert shell(*step[1:]).code == 0
    assert shell("status", "project", "--json").json["rounds"][0]["open"] == 0
    assert "--to" in shell("order", "--export", "project/order1").err
    both = shell("order", "--export", "project/order1", "--to", "csv", "--scheme", "rpa")
    assert both.code == 2 and "--scheme" in both.err


def test_annotators_share_the_first_images_and_status_counts_those_of_each(shell, tmp_path) -> None:
    photographs(tmp_path / "photos", 5)
    done = start(shell, "--annotators", "ann,ben", "--repeat", "0", "--to", "html", "--to", "csv")
    place = Path("project/order1/round-1")
    pages = f"{place / 'page-ann.html'}, {place / 'page-ben.html'}"
    assert done.code == 0 and f"in a browser: {pages}" in done.out
    assert re.findall(r"\d of \d$", done.out, re.M) == ["0 of 3", "0 of 2"]
    own = pd.read_csv(place / "questions-ann.csv")
    own.assign(answer="yes").head(6).to_csv("ann.csv", index=False)
    assert shell("receive", "project", "ann.csv").code == 0
    status = shell("status", "project")
    assert re.findall(r"(\S+) or (\S+) +(\w+) +(\d of \d)$", status.out, re.M) == [
        (str(place / "page-ann.html"), "questions-ann.csv", "ann", "2 of 3"),
        (str(place / "page-ben.html"), "questions-ben.csv", "ben", "0 of 2"),
    ]
    both = shell("order", "--export", "project/order1", "--to", "csv", "--annotators", "carl")
    assert both.code == 2 and "--annotators" in both.err


def test_the_next_order_of_a_divided_project_is_divided_among_those_at_work(
    shell, tmp_path
) -> None:
    photographs(tmp_path / "photos", 4)
    words = "--annotators", "ann,ben r,eve", "--answers", 2, "--repeat", 0, "--to", "csv"
    assert start(shell, *words).code == 0
    place, said = Path("project/order1/round-1"), {"ann": "yes", "zoe k": "no", "eve": "yes"}
    swap = "--for", "zoe k", "--in-place-of", "ben r"
    assert shell("order", "--export", "project/order1", *swap).code == 0
    for name, end in (("ann", "-ann"), ("zoe k", "-zoe k-for-ben r"), ("eve", "-eve")):
        table = pd.read_csv(place / f"questions{end}.csv").assign(answer=said[name])
        table.to_csv(f"{name}.csv", index=False)
        received = shell("receive", "project", f"{name}.csv")
        assert received.code == 0, received.err
    status = shell("status", "project")
    steps = [done.out.partition("next: ")[2].splitlines()[0] for done in (received, status)]
    assert steps[0] == steps[1] and shlex.split(steps[0])[-2:] == ["--annotators", "ann,eve,zoe k"]
    assert shlex.split(steps[0])[1:5] == ["order", "--next", "project/order1", "--ties"]
    shutil.move("project/project.toml", "toml")  # an order alone says the same
    alone = shell("receive", "project/order1")
    assert "order --next project/order1 --ties --annotators 'ann,eve,zoe k'\n" in alone.out
    done = shell(*shlex.split(steps[0])[1:], "--to", "csv")
    assert done.code == 0 and "no images are left for zoe k" in done.err


def test_images_that_are_not_read_are_counted_in_one_line(shell, tmp_path) -> None:
    photos = photographs(tmp_path / "photos", 1)
    for name in ("a.heic", "b.HEIC", "notes.txt"):
        (photos / name).write_bytes(b"no picture")
    done = start(shell)
    assert done.code == 0 and "all 3 classes of all 1 image." in done.out
    (line,) = (line for line in done.err.splitlines() if line.startswith("simkit: note"))
    assert "2 in formats that are not read" in line and "convert other formats to JPEG" in line


def test_near_duplicates_are_shown_and_stay_in(shell, tmp_path) -> None:
    photos = photographs(tmp_path / "photos", 3, side=32)
    Image.new("RGB", (32, 32), "white").save(photos / "a.png")
    Image.new("RGB", (32, 32), (254, 255, 255)).save(photos / "b.png")
    done = start(shell, "--backbone", "mobilenet_v2", "--weights", "random", "--json")
    assert done.code == 0, done.err
    table = pd.read_csv("project/pictures.csv", keep_default_na=False).set_index("image")
    assert table.loc["a.png", "nearest"] == "b.png"
    assert done.json["near"] >= 2 and done.json["asked"] == 5
    project = Project.read("project")
    assert (project.backbone, project.weights) == ("mobilenet_v2", "random")


def test_many_images_begin_with_a_pilot(shell, tmp_path) -> None:
    photographs(tmp_path / "photos", 700)
    done = start(shell, "--budget", 10)
    assert done.code == 0, done.err
    order = Order.read("project/order1")
    plan = Project.read("project").pilot(700)
    assert plan is not None
    assert order.table["image"].nunique() == plan.images + plan.test_images == 233
    assert "This pilot, 175 images for training and 58 for testing, shows" in done.out
    assert Project.read("project").data == f"folder:{tmp_path}/photos,labels=none"
    bill = cost(order.effort(order.table), "hourly").dollars
    assert done.out.count(f"${bill:.2f}") == 2  # in the answer and the bill
    answers = order.table["answers"]
    most = 1.0 * answers.sum() * 15 / 3600  # a second for each answer
    assert f"for the other ${10 - most:.2f} to ${10 - bill:.2f}" in done.out
    assert f"with 3 expect up to ${most:.2f}, {answers.sum() / 60:.1f} minutes of work" in done.out
    once = cost(order.effort(order.table.assign(answers=1)), "hourly").dollars
    count, seconds, wage, price, check = re.search(
        r"([\d,]+) questions x 1 answer x ([\d.]+) s at \$(\d+) an hour = \$([\d.]+); with the "
        r"error check \(\$([\d.]+)\) \$", done.out,
    ).groups()  # fmt: skip
    assert int(count) * float(seconds) * int(wage) / 3600 == pytest.approx(once, abs=0.005)
    assert (price, check) == (f"{once:.2f}", f"{bill - once:.2f}")
    assert f"to measure errors (${bill - once:.2f} of the price)" in done.out
    repeated = order.table[order.table["answers"] == 3]["image"].nunique()
    assert repeated == round(50 / 1.5)  # half of three classes are expected in an image
    few = start(shell, "--budget", 10, "--out", "few", "--repeat", "5%")
    assert "about 18 present classes are expected in these images" in few.out
    assert "--repeat 15% asks about 33 images" in few.out
    poor = shell("quickstart", "photos", "--classes", "names.txt", "--budget", 1, "--out", "poor")
    assert poor.code == 2 and "raise it to $" in poor.err and not Path("poor").exists()
    everything = re.search(
        r"All 700 images, .*: \$([\d.]+).* in total; .*simkit (order .*)", done.out
    )
    rest = shell(*shlex.split(everything[2]), "--json")
    assert rest.code == 0, rest.err
    order = Order.read("project/order1")
    assert order.table["image"].nunique() == 700
    whole = cost(order.effort(order.table), "hourly").dollars
    assert float(everything[1]) == pytest.approx(whole, rel=0.02)


def test_all_images_are_labelled_at_once_where_the_budget_pays_for_it(shell, tmp_path) -> None:
    photographs(tmp_path / "photos", 700)
    done = start(shell)
    order = Order.read("project/order1")
    assert done.code == 0 and order.table["image"].nunique() == 700
    bill = cost(order.effort(order.table), "hourly").dollars
    most = 1.0 * order.table["answers"].sum() * 15 / 3600
    assert f"${50 - most:.2f} to ${50 - bill:.2f} of it stays unspent" in done.out
    assert f"Spend      ${bill:.2f} on all 3 classes of all 700 images" in done.out
    assert f"or at most ${most:.2f} and " in done.out and "25% of the images" in done.out
    assert f"${math.floor(most)}" in done.out.partition("Or less")[2]
    assert shell("receive", "project", answered(order)).code == 0
    table = pd.read_csv("project/labels.csv")
    assert table["split"].value_counts().to_dict() == {"train": 525, "test": 175}
    step = shell("status", "project", "--json").json["next"]
    assert step.startswith("simkit train ") and not [*Path("project").glob("grid-*")]
    less = re.search(r"with --budget (\d+)", done.out)[1]
    pilot = start(shell, "--budget", less, "--out", "less")
    assert "This pilot, 175 images" in pilot.out and "Or all" in pilot.out
    rich = start(shell, "--budget", 500, "--out", "rich")  # saving 2 % of it is not substantial
    assert "stays unspent" in rich.out and "Or less" not in rich.out


def richer(project: Path, dollars: int) -> None:
    """Edit the budget of a project that has begun with a pilot."""
    file = project / "project.toml"
    file.write_text(re.sub(r"budget = .*", f"budget = {dollars}", file.read_text()))


def answered(order: Order) -> Path:
    """A table with an answer to each question."""
    said = np.where(order.table["question"] % 3 == 1, "yes", "no")
    table = pd.DataFrame({"question": order.table["question"], "worker": "ann", "answer": said})
    table.to_csv("answered.csv", index=False)
    return Path("answered.csv")


def test_a_wage_is_that_of_all_later_commands(shell, tmp_path) -> None:
    photographs(tmp_path / "photos", 700)
    assert start(shell, "--budget", 15, "--wage", "$30").code == 0
    project, order = Project.read("project"), Order.read("project/order1")
    dear, usual = (cost(order.effort(order.table), one) for one in (project.price_list, "hourly"))
    assert project.price_list.wage == 30 and dear.dollars == pytest.approx(2 * usual.dollars)
    assert order.settings.prices == project.prices == "hourly:wage=30"
    assert "(at hourly:wage=30 prices)" in shell("status", "project").out
    # Prices that are measured are written like those of the project.
    (tmp_path / "ours.toml").write_text('like = "hourly:wage=30"\nworkers = 1\n')
    assert cost(order.effort(order.table), "ours.toml").dollars == dear.dollars
    refused = start(shell, "--wage", 30, "--prices", "ours.toml", "--out", "other")
    assert refused.code == 2 and "write wage = 30 in" in refused.err


def test_a_budget_below_a_pilot_is_told_an_order_that_it_pays_for(shell, tmp_path) -> None:
    photographs(tmp_path / "photos", 660)
    names = tmp_path / "my names.txt"
    names.write_text("".join(f"class {n}\n" for n in range(40)))
    (tmp_path / "my p.toml").write_text('like = "hourly"\n')
    options = "--classes", names, "--budget", 20, "--prices", "my p.toml", "--answers", 2
    poor = shell("quickstart", "photos", *options)
    assert poor.code == 2 and not Path("project").exists()
    found = re.search(r"in each of 660 images for \$(\S+), .*\(simkit (order .*)\)", poor.err)
    done = shell(*shlex.split(found[2]), "--json")
    assert done.code == 0, done.err
    assert f"{done.json['dollars']:.2f}" == found[1] == "13.20"


def test_a_budget_below_the_price_of_few_images_buys_some(shell, tmp_path) -> None:
    photographs(tmp_path / "photos", 40)
    done = shell("quickstart", "photos", "--classes", "names.txt", "--budget", 0.1, "--json")
    assert done.code == 0, done.err
    assert 0 < done.json["asked"] < 40 and 0.08 < done.json["dollars"] <= 0.1


def test_an_order_that_may_cost_more_than_the_budget_names_one_that_does_not(
    shell, tmp_path
) -> None:
    photographs(tmp_path / "photos", 40)
    first = ("quickstart", "photos", "--classes", "names.txt", "--repeat", 0)
    said = shell(*first, "--budget", 0.1).out
    most = float(re.search(r"expect up to \$([\d.]+)", said)[1])
    found = re.search(r"\$(\S+) over the budget.* with --budget ([\d.]+)", said)
    assert float(found[1]) == pytest.approx(most - 0.1, abs=0.01) and most > 0.1
    said = shell(*first, "--budget", found[2], "--out", "other").out
    assert 0.07 < float(re.search(r"expect up to \$([\d.]+)", said)[1]) <= 0.1


def test_every_budget_that_a_message_names_buys_first_labels(shell, tmp_path) -> None:
    photographs(tmp_path / "photos", 660)
    (tmp_path / "names.txt").write_text("".join(f"class {n}\n" for n in range(12)))

    def said(budget: str, out: str) -> str:
        done = shell("quickstart", "photos", "--classes", "names.txt", "--budget", budget,
                     "--out", out)  # fmt: skip
        return done.err if done.code else done.out

    text = said("5", "poor")
    pilot, everything = re.search(r"raise it to \$(\d+) \(or to \$([\d.]+), for", text).groups()
    assert float(everything) == pytest.approx(660 * 12 * 0.3 * 15 / 3600, rel=0.01)
    assert float(everything) < float(pilot) == 17
    text = said(everything, "all")
    assert f"${everything} pays for that, and not for a pilot" in text and "too few" not in text
    assert "needs --budget 17" in text
    assert re.search(r"over the budget.* with --budget ([\d.]+)", text)[1] == "17.00"
    text = said(pilot, "pilot")
    assert "This pilot, " in text and "over the budget" not in text


def test_two_annotators_are_told_how_many_questions_need_a_third(shell, tmp_path) -> None:
    photographs(tmp_path / "photos", 10)
    said = start(shell, "--annotators", "ann,ben", "--repeat", "20%").out
    row = r"project/order1/round-1/page-again.html +a further person +0 of (\d+)\n"
    table = Order.read("project/order1").table
    asked = table["image"][table["answers"] == 3].nunique()
    assert re.findall(row, said) == [str(asked)] == ["2"]


def test_bad_input_is_one_sentence_and_writes_nothing(shell, tmp_path) -> None:
    photos = photographs(tmp_path / "photos", 3)
    cases = [
        (["--backbone", "scenes-net"], "mobilenet_v2"),
        (["--backbone", "mobilenet_v2"], "weights"),
        (["--weights", "random"], "--backbone"),
        (["--prices", "nobody"], "nobody"),
        (["--per-image", 9], "per_image"),
    ]
    for options, text in cases:
        done = start(shell, *options)
        assert done.code == 2 and text in done.err, done.err
        assert not Path("project").exists()
    for name in ("a\x1bb", "a" * 5000):
        (tmp_path / "odd.txt").write_text(f"{name}\ndog\n")
        done = start(shell, "--classes", "odd.txt")
        assert done.code == 2 and "odd.txt" in done.err and "image" not in done.err
        assert "\x1b" not in done.err and not Path("project").exists()
    for file in photos.iterdir():
        file.write_bytes(b"no picture")
    assert "empty or not images" in start(shell).err and not Path("project").exists()


def test_a_network_that_cannot_be_downloaded_is_told_before_anything_is_ordered(
    shell, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    photographs(tmp_path / "photos", 3)
    (kept,) = Path(os.environ["TORCH_HOME"]).rglob("*.pth")
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "empty"))
    monkeypatch.setattr("torch.hub.urlopen", Mock(side_effect=OSError("no route to host")))
    done = start(shell)
    assert done.code == 2 and "no route to host" in done.err and not Path("project").exists()
    mend = re.search(r"(--backbone mobilenet_v2 --weights) FILE", done.err)
    done = start(shell, *mend[1].split(), kept)
    assert done.code == 0, done.err
    assert Project.read("project").weights == str(kept)


def test_a_misspelt_folder_and_a_single_image_are_refused(shell, tmp_path) -> None:
    photographs(tmp_path / "photos", 3)
    rest = ("--classes", "names.txt", "--budget", 50)
    assert "did you mean 'photos'" in shell("quickstart", "photo", *rest).err
    assert "did you mean 'scenes'" in shell("quickstart", "sceens", *rest).err
    done = shell("quickstart", "photos/0001.png", *rest)
    assert done.code == 2 and "folder of the images" in done.err
    (tmp_path / "line.txt").write_text("cat, dog, horse\n")
    done = start(shell, "--classes", "line.txt")
    assert done.code == 2 and "line.txt" in done.err and "one name per line" in done.err
    assert not Path("project").exists()


@pytest.mark.parametrize(("ending", "kind"), [(".zip", "zip"), (".tar.gz", "gztar")])
def test_an_archive_is_unpacked_by_the_command_in_the_error(
    shell, tmp_path, ending: str, kind: str
) -> None:
    photographs(tmp_path / "photos", 3)
    shutil.make_archive("May photos", kind, tmp_path, "photos")
    rest = ("--classes", "names.txt", "--budget", 50)
    for spec in (f"May photos{ending}", f"folder:May photos{ending}"):
        done = shell("quickstart", spec, *rest)
        assert done.code == 2 and "is an archive" in done.err
    command = re.search(r"python (-m \w+ -e .*), and give the folder (.*)", done.err)
    assert command is not None
    subprocess.run([sys.executable, *shlex.split(command[1])], check=True)
    assert shell("quickstart", command[2], *rest).code == 0
    assert "does not exist" in shell("quickstart", f"x{ending}", *rest).err


def test_data_are_checked_before_the_project(shell, tmp_path) -> None:
    photographs(tmp_path / "photos", 3)
    assert start(shell).code == 0
    for spec in ("lost", "folder:lost"):
        assert "lost" in shell("quickstart", spec, "--classes", "names.txt", "--budget", 50).err
    (tmp_path / "drawn.toml").write_text('source = "scenes"\nimages = 12\n')
    done = shell("quickstart", "drawn.toml", "--budget", 50, "--backbone", "scenes-net",
                 "--out", "drawn")  # fmt: skip
    assert done.code == 0 and "near duplicates by scenes-net" in done.out


def test_images_made_equal_by_conversion_are_no_duplicates(shell, tmp_path) -> None:
    photos = photographs(tmp_path / "photos", 1)
    for name, low in (("a", 3), ("b", 4), ("c", 4)):
        deep = np.full((8, 8), 60_000, np.uint16)
        deep[2, 2] += low
        Image.fromarray(deep).save(photos / f"{name}.png")
    assert "exact duplicates: 1, left out: c.png = b.png" in start(shell).out


def test_short_work_is_told_in_seconds_and_few_classes_take_longer(shell, tmp_path) -> None:
    photographs(tmp_path / "photos", 3)
    done = start(shell, "--repeat", 0)
    assert "2.7 seconds of work" in done.out  # 9 questions of 0.3 seconds
    assert "1.0 s alone; with 3 expect up to $0.04, 9.0 seconds of work" in done.out
    (tmp_path / "names.txt").write_text("".join(f"class {n}\n" for n in range(40)))
    assert "expect up to" not in start(shell, "--out", "other").out


def test_a_project_is_not_made_twice(shell, tmp_path) -> None:
    photographs(tmp_path / "photos", 3)
    assert start(shell).code == 0
    before = {f: f.read_bytes() for f in Path("project").rglob("*") if f.is_file()}
    again = start(shell, "--seed", 1)
    assert again.code == 2 and "simkit status project" in again.err
    assert {f: f.read_bytes() for f in Path("project").rglob("*") if f.is_file()} == before
    assert start(shell, "--out", "other").code == 0
    for file, content in before.items():  # the same seed gives the same bytes
        assert Path("other", file.relative_to("project")).read_bytes() == content
    Path("other/project.toml").unlink()  # written last: without it the project was cut short
    assert "move it away" in start(shell, "--out", "other").err


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [("budget = 50.0", "", "budget"), ('"hourly"', '"x"', "price list"),
     ("answers = 1", "answers = 0", "answers"), ("answers = 1", "answers = 101", "1 to 100"),
     ('["cat", "dog", "horse"]', "[]", "classes is empty")],
)  # fmt: skip
def test_a_damaged_project_names_file_and_field(shell, tmp_path, before, after, text) -> None:
    photographs(tmp_path / "photos", 3)
    assert start(shell).code == 0
    file = Path("project/project.toml")
    content = file.read_text()
    assert before in content
    file.write_text(content.replace(before, after))
    done = shell("status", "project")
    assert done.code == 2 and "project/project.toml: " in done.err and text in done.err


def test_paths_with_commas_stand_in_quotation_marks(shell, tmp_path, monkeypatch) -> None:
    for name in ("May, June", 'May, "June"'):
        (tmp_path / name).mkdir()
        photographs(tmp_path / name / "photos", 3)
    photographs(tmp_path / "photos", 3)
    assert start(shell, "--out", "May, June/project").code == 0
    assert shell("status", "May, June/project").code == 0
    monkeypatch.chdir("May, June")
    assert start(shell, "--out", "mine").code == 0 and shell("status", "mine").code == 0
    monkeypatch.chdir(tmp_path / 'May, "June"')
    assert "rename it" in start(shell).err  # before people answer
    assert not Path("project").exists()
