"""Annotators who share an order: a part of the images for each."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from simkit.cli.main import code
from simkit.cli.order import say_open
from simkit.errors import BadInput
from simkit.orders import annotators
from simkit.orders.order import Order
from simkit.orders.receiving import OrderState
from tests.orders.people import TRUTH, answer, checked, keep, ordered, rows

WHOLE = ["--scheme", "full-subset", "--images"]


def images(order: Order, suffix: str) -> list[int]:
    """The images in a table for people."""
    table = pd.read_csv(order.round_folder / f"questions{suffix}.csv")
    assert not table.duplicated("question").any()
    return sorted(table["image"].unique().tolist())


def tables(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.glob("*.csv"))}


@pytest.mark.parametrize("options", [[*WHOLE, "11"], ["--scheme", "rpa(keep=0.3)"]])
def test_parts_hold_all_questions_once_and_as_many_images(tmp_path, options):
    order = ordered(tmp_path / "one", *options, "--annotators", "ann,ben,carl")
    parts = [pd.read_csv(order.round_folder / f"questions-{name}.csv")
             for name in ("ann", "ben", "carl")]  # fmt: skip
    together = pd.concat(parts)
    assert sorted(together["question"]) == sorted(order.table["question"])
    sizes = [part["image"].nunique() for part in parts]
    assert sum(sizes) == together["image"].nunique()  # no image is divided
    assert max(sizes) - min(sizes) <= 1
    assert {*parts[1]["worker"]} == {"ben"}
    assert not (order.round_folder / "questions.csv").exists()
    again = ordered(tmp_path / "two", *options, "--annotators", "ann,ben,carl")
    assert tables(order.round_folder) == tables(again.round_folder)


def test_a_number_names_the_annotators(tmp_path):
    order = ordered(tmp_path / "one", *WHOLE, "3", "--annotators", "2")
    assert [len(images(order, name)) for name in ("-a1", "-a2")] == [2, 1]


def test_further_answers_are_by_other_people(tmp_path):
    three = ["--repeat", "0.5", "--annotators"]
    order = ordered(tmp_path / "one", *WHOLE, "12", *three, "ann,ben,carl")
    people, repeated = ("-ann", "-ben", "-carl"), list[int]()
    for name in people:
        again = images(order, f"{name}-again")
        assert len(again) == 4 and not {*again} & {*images(order, name)}
        repeated += again
    numbers = np.unique(repeated, return_counts=True)[1]
    assert numbers.tolist() == [2] * 6  # three people answer about half of the images
    assert not (order.round_folder / "questions-again.csv").exists()
    # Two people cannot give three answers: the third one is for somebody else.
    two = ordered(tmp_path / "two", *WHOLE, "12", *three, "ann,ben")
    ann, ben = images(two, "-ann-again"), images(two, "-ben-again")
    assert len(ann) == len(ben) == 3 and {*ann} < {*images(two, "-ben")}
    assert sorted(ann + ben) == images(two, "-again")


def test_several_answers_to_each_question_are_by_different_people(tmp_path):
    words = ["--answers", "2", "--annotators", "ann,ben,carl"]
    order = ordered(tmp_path / "one", *WHOLE, "10", *words)
    parts = [images(order, f"-{name}") for name in ("ann", "ben", "carl")]
    assert sorted(map(len, parts)) == [6, 7, 7]
    assert np.unique([*chain(*parts)], return_counts=True)[1].tolist() == [2] * 10


def test_nobody_is_asked_again_what_they_have_answered(tmp_path):
    order = ordered(tmp_path / "one", *WHOLE, "9", "--annotators", "Ann,ben,carl")
    people = ("Ann", "ben", "carl")
    before = {name: images(order, f"-{name}") for name in people}
    said = rows(order, TRUTH)
    for name, own in before.items():
        answered = order.images[order.table["image"].loc[said["question"]]]
        said.loc[np.isin(answered, own), "worker"] = name.lower()
    keep(order, checked(order, said).answers)
    words = ["order", "--next", str(order.folder), "--answers", "2", "--to", "csv"]
    assert code([*words, "--annotators", ",".join(people)]) == 0
    order = Order.read(order.folder)
    after = {name: images(order, f"-{name}-round-2") for name in people}
    assert sorted(chain(*after.values())) == sorted(chain(*before.values()))
    assert not any({*before[name]} & {*after[name]} for name in people)


def test_nobody_is_asked_again_what_they_have_yet_to_answer(tmp_path):
    words = ["--repeat", "0.5", "--annotators", "ann,ben,carl"]
    order = ordered(tmp_path / "one", *WHOLE, "6", *words)
    for name in ("ann", "ben", "carl"):
        receive_first(order, f"-{name}", name, 1000)  # what they are asked again is open
    words = ["order", "--next", str(order.folder), "--answers", "5", "--to", "csv"]
    assert code([*words, "--annotators", "ann,ben,carl,dora"]) == 0
    first, second = asked_of(order), asked_of(Order.read(order.folder))
    about = ["worker", "image", "class"]
    named = second[second["worker"] != ""]
    assert len(named) and not len(named.merge(first[about], on=about))
    # Four answers to half of the questions, and two where two parts are open.
    assert len(second) == 3 * len(order.table)


def test_who_is_left_without_images_is_named(tmp_path, capsys):
    ordered(tmp_path / "one", *WHOLE, "2", "--annotators", "ann,ben,carl,dora")
    assert "no images are left for carl, dora" in capsys.readouterr().err


def test_progress_counts_images_by_person_or_by_anybody_who_closed_them(tmp_path):
    order = ordered(tmp_path / "one", *WHOLE, "7", "--repeat", "0.3", "--annotators", "ann,ben")

    def progress() -> dict[tuple[str, bool], tuple[int, int]]:
        return {(row["annotator"], row["again"]): (row["answered"], row["images"])
                for row in annotators.progress(OrderState.of(order))}  # fmt: skip

    all_open = {("ann", False): (0, 4), ("ben", False): (0, 3), ("ann", True): (0, 1),
                ("ben", True): (0, 1)}  # fmt: skip
    assert progress() == all_open
    own = pd.read_csv(order.round_folder / "questions-ann.csv")
    said = rows(order, TRUTH, worker="Ann")
    said = said[said["question"].isin(own["question"])].iloc[1:]  # one question is left
    keep(order, checked(order, said).answers)
    assert progress() == all_open | {("ann", False): (3, 4)}
    # Carl answers everything in place of ben; two images still wait for others.
    answer(order, worker="carl")
    assert progress()["ben", False] == (2, 3) and progress()["ben", True] == (0, 1)


def test_only_files_with_open_questions_are_named_and_who_may_answer_them(tmp_path, capsys):
    words = [*WHOLE, "12", "--repeat", "0.5", "--annotators", "ann,ben", "--to", "html"]
    order = ordered(tmp_path / "one", *words)
    state, folder = OrderState.of(order), order.round_folder
    everything = {name: rows(order, TRUTH, worker=name) for name in ("ann", "ben")}
    capsys.readouterr()

    def after(name: str) -> OrderState:
        """The state after one of them has answered all their questions."""
        files = (folder / f"questions-{name}{ending}.csv" for ending in ("", "-again"))
        own, said = pd.concat([*map(pd.read_csv, files)]), everything[name]
        keep(order, checked(order, said[said["question"].isin(own["question"])]).answers)
        return OrderState.of(order)

    def waiting() -> list[list[str]]:
        """The files that are named, with who answers them, and the answered images."""
        say_open(state)
        lines = capsys.readouterr().out.replace(f"{folder}/", "").splitlines()
        return [re.split("(?: or [^ ]+)?  +", line) for line in lines if line.startswith("page-")]

    own, again = [f"page-{name}.html" for name in ("ann", "ben")], "page-{}again.html"
    assert [row[:2] for row in waiting()] == [
        [own[0], "ann"], [own[1], "ben"], [again.format("ann-"), "ann (again)"],
        [again.format("ben-"), "ben (again)"], [again.format(""), "a further person"],
    ]  # fmt: skip
    repeated = 6 * len(order.classes)
    assert len(state.of_others) == repeated
    state = after("ann")
    assert [row[0] for row in waiting()] == [own[1], again.format("ben-"), again.format("")]
    assert len(state.of_others) == repeated  # each of them still lacks an answer
    state = after("ben")
    assert waiting() == [[again.format(""), "a further person", "0 of 6"]]
    assert len(state.of_others) == repeated


def test_other_forms_have_the_same_parts(tmp_path):
    order = ordered(tmp_path / "one", *WHOLE, "5", "--annotators", "ann,ben")
    folder = order.round_folder
    assert code(["order", "--export", str(order.folder), "--to", "jsonl", "--to", "html",
                 "--to", "label-studio"]) == 0  # fmt: skip
    for name in ("ann", "ben"):
        other = pd.read_json(folder / f"questions-{name}.jsonl", lines=True)
        assert sorted(other["image"].unique().tolist()) == images(order, f"-{name}")
        tasks = pd.read_json(folder / f"label-studio-{name}" / "present" / "tasks.json")
        asked = chain(*(task["questions"] for task in tasks["data"]))
        assert sorted(asked) == sorted(other["question"])
        assert (folder / f"page-{name}.html").is_file()
    assert not (folder / "page.html").exists()


def test_files_of_later_rounds_have_other_names(tmp_path, capsys):
    """They are mailed, and kept in one folder of downloads."""
    forms = [word for form in ("html", "csv", "jsonl", "label-studio") for word in ("--to", form)]
    words = ["--answers", "2", "--annotators", "ann,ben", *forms[:2], *forms[-2:]]
    order = ordered(tmp_path / "one", *WHOLE, "4", *words)
    first, folder = order.round_folder, order.folder
    capsys.readouterr()
    words = ["order", "--next", str(folder), "--images", "8", "--annotators", "ann,ben"]
    assert code([*words, *forms]) == 0
    second, printed = folder / "round-2", capsys.readouterr().out
    own = {place: {file.name for file in place.iterdir()} for place in (first, second)}
    shared = {"order.json", "questions.parquet", "instructions.md", annotators.FILE}
    assert own[first] & own[second] == shared
    for name in ("ann", "ben"):
        assert f"page-{name}.html" in own[first] and f"page-{name}-round-2.html" in own[second]
        assert f"{second}/page-{name}-round-2.html or questions-{name}-round-2.csv" in printed
    answers = [re.search('"round":"(.*?)"', (place / name).read_text("utf-8"))[1] for place, name
               in ((first, "page-ben.html"), (second, "page-ben-round-2.html"))]  # fmt: skip
    assert answers == ["1-ben", "2-ben"]  # in the name of the download, and of work in a browser
    # Earlier versions gave the files of all rounds one name.
    (second / "page-ben-round-2.html").rename(second / "page-ben.html")
    say_open(OrderState.of(Order.read(folder)))
    assert " or page-ben.html " in capsys.readouterr().out
    swap = ["order", "--export", str(folder), "--for", "zoe", "--in-place-of", "ben"]
    assert code([*swap, "--to", "html"]) == 0
    left = [*first.glob("*-ben*"), *second.glob("*-ben*")]
    assert all("-zoe-for-ben" in file.name for file in left)
    assert (second / "page-zoe-for-ben-round-2.html").is_file()


@pytest.mark.parametrize(
    "names", ["ann,Ann", "ann,again", "a-round,b", "ann,b/c", "0", "ann-2,ben", "ann,,ben"]
)
def test_names_that_cannot_name_files_are_refused(tmp_path, names, capsys):
    words = ["order", "--data", "scenes:images=60", *WHOLE, "5", "--out", str(tmp_path / "one")]
    assert code([*words, "--annotators", names]) == 2
    assert "--annotators" in capsys.readouterr().err and not (tmp_path / "one").exists()


@pytest.mark.parametrize("change", ["annotator,image\n", "annotator,image,nth\nann,none,1\n", ""])
def test_a_damaged_table_of_annotators_is_named(tmp_path, change, capsys):
    order = ordered(tmp_path / "one", *WHOLE, "3", "--annotators", "ann,ben")
    file = order.round_folder / annotators.FILE
    first = file.read_text("utf-8").splitlines(keepends=True)[:2]
    file.write_text(change or "".join([*first, first[1]]), "utf-8")
    assert code(["order", "--export", str(order.folder), "--to", "jsonl"]) == 2
    assert f"{file}" in capsys.readouterr().err


def receive_first(order: Order, suffix: str, worker: str, count: int) -> pd.Series:
    """A person answers the first questions of a table; their numbers."""
    asked = pd.read_csv(order.round_folder / f"questions{suffix}.csv")["question"].head(count)
    said = rows(order, TRUTH, worker=worker)
    keep(order, checked(order, said[said["question"].isin(asked)]).answers)
    return asked


def asked_of(order: Order) -> pd.DataFrame:
    """The rows of all tables for people; those for anybody have no worker."""
    files = sorted(order.round_folder.glob("questions*.csv"))
    return pd.concat([pd.read_csv(file, keep_default_na=False).assign(file=file.name)
                      for file in files])  # fmt: skip


def test_a_replacement_gets_what_the_leaver_has_not_answered(tmp_path, capsys):
    words = ["--repeat", "0.4", "--annotators", "ann,ben,carl", "--to", "html"]
    order = ordered(tmp_path / "one", *WHOLE, "12", *words)
    before = asked_of(order)
    done = receive_first(order, "-ben", "Ben", 70)  # in the middle of the second image
    swap = ["order", "--export", str(order.folder), "--for", "zoe", "--in-place-of", "Ben"]
    capsys.readouterr()
    assert code(swap) == 0
    pages = capsys.readouterr().out.partition("to answer")[2]
    assert "page-zoe-for-ben.html" in pages and "page-zoe-for-ben-again.html" in pages
    own = before[before["worker"] == "ben"]
    after = asked_of(order)
    new = after[after["worker"] == "zoe"]
    assert sorted(new["question"]) == sorted(own["question"][~own["question"].isin(done)])
    names = ["questions-zoe-for-ben-again.csv", "questions-zoe-for-ben.csv"]
    assert sorted(new["file"].unique()) == names
    pages = {file.name for file in order.round_folder.glob("page*.html")}
    assert {"page-zoe-for-ben.html", "page-zoe-for-ben-again.html"} < pages
    assert not [*order.round_folder.glob("page-ben*"), *order.round_folder.glob("questions-ben*")]
    others = ~before["worker"].isin(["ben"])
    pd.testing.assert_frame_equal(before[others], after[after["worker"] != "zoe"])
    counts = {(row["annotator"], row["in_place_of"], row["again"]): row
              for row in annotators.progress(OrderState.of(order))}  # fmt: skip
    assert counts["ben", "", False]["answered"] == counts["ben", "", False]["images"] == 2
    assert counts["zoe", "ben", False]["images"] == 3
    assert annotators.team(OrderState.of(order)) == ["ann", "carl", "zoe"]
    # Forms that are written later have the same parts, and none for the annotator who left.
    assert code(["order", "--export", str(order.folder), "--to", "jsonl"]) == 0
    later = pd.read_json(order.round_folder / "questions-zoe-for-ben.jsonl", lines=True)
    assert sorted(later["question"]) == sorted(new["question"][new["file"] == names[1]])
    assert not (order.round_folder / "questions-ben.jsonl").exists()
    before = {file: file.read_bytes() for file in order.round_folder.glob("*.jsonl")}
    capsys.readouterr()  # a file that may have been sent is not written again
    assert code(["order", "--export", str(order.folder), "--to", "jsonl"]) == 2
    assert "questions-ann.jsonl exists, and may have been sent" in capsys.readouterr().err
    assert before == {file: file.read_bytes() for file in before}
    receive_first(order, "-zoe-for-ben", "zoe", 1000)
    counted = annotators.progress(OrderState.of(order))
    assert [row["answered"] for row in counted if row["in_place_of"] and not row["again"]] == [3]


def test_the_part_of_somebody_who_is_set_aside_is_given_away(tmp_path, capsys):
    order = ordered(tmp_path / "one", *WHOLE, "6", "--annotators", "ann,ben")
    before = asked_of(order)
    for name in ("ann", "ben"):
        receive_first(order, f"-{name}", name, 1000)
    assert code(["receive", str(order.folder), "--without", "ben"]) == 0
    words = ["simkit", "order", "--export", str(order.folder), "--for", "NEW", "--in-place-of"]
    said = capsys.readouterr().out
    command = " ".join([*words, "ben"])
    assert "answers of ben are set aside, " in said and said.count(command) == 1
    assert said.splitlines()[-1] == f"next: put a name in place of NEW: {command}"
    assert annotators.team(OrderState.of(order)) == ["ann"]
    assert not annotators.files_to_fill(OrderState.of(order))
    assert code([*words[1:], "ben"]) == 2  # NEW is nobody
    words[words.index("NEW")] = "zoe"
    capsys.readouterr()
    assert code([*words[1:], "ben"]) == 0
    said = capsys.readouterr().out
    assert re.findall("to answer.*\\n.*-zoe-for-ben.csv +zoe for ben +0 of 3\nnext:", said)
    after = asked_of(order)
    assert sorted(after["question"][after["worker"] == "zoe"]) == sorted(
        before["question"][before["worker"] == "ben"]
    )
    ((_, file),) = annotators.files_to_fill(OrderState.of(order))
    assert file == order.round_folder / "questions-zoe-for-ben.csv"


def test_questions_about_a_class_are_given_away_and_the_others_stay(tmp_path, capsys):
    order = ordered(tmp_path / "one", *WHOLE, "8", "--annotators", "ann,ben")
    about = order.table["class"] == 1
    before = asked_of(order)
    bens = before["question"][before["worker"] == "ben"]
    receive_first(order, "-ann", "ann", 1000)
    done = receive_first(order, "-ben", "ben", len(order.classes))
    assert code(["receive", str(order.folder), "--without", f"ben:{order.classes[1]}"]) == 0
    out = capsys.readouterr().out
    assert "answers of ben are set aside, so 4 questions wait again; asking them costs" in out
    swap = ["order", "--export", str(order.folder), "--for", "zoe", "--in-place-of", "ben"]
    assert out.endswith(f"simkit {' '.join(swap)}\n".replace("zoe", "NEW"))
    assert code(swap) == 0
    own = {name: {*pd.read_csv(order.round_folder / f"questions-{name}.csv")["question"]}
           for name in ("zoe-for-ben", "ben-2")}  # fmt: skip
    assert own["zoe-for-ben"] == {*bens[about[bens].to_numpy()]}
    assert own["ben-2"] == {*bens[~about[bens].to_numpy()]} - {*done}
    for suffix, name in (("-zoe-for-ben", "zoe"), ("-ben-2", "ben")):
        receive_first(order, suffix, name, 1000)
    state = OrderState.of(order)
    assert not len(state.open) and not annotators.waiting(state)
    assert annotators.team(state) == ["ann", "zoe"]


def test_who_takes_over_twice_gets_nothing_that_they_have_answered(tmp_path, capsys):
    words = ["--repeat", "0.4", "--annotators", "ann,ben,carl", "--to", "html"]
    order = ordered(tmp_path / "one", *WHOLE, "12", *words)
    before = asked_of(order)
    receive_first(order, "-ben", "ben", 2 * len(order.classes))
    swap = ["order", "--export", str(order.folder), "--for", "zoe", "--in-place-of", "ben"]
    assert code(swap) == 0
    done = receive_first(order, "-zoe-for-ben", "zoe", len(order.classes))
    assert code(["receive", str(order.folder), "--without", "ben"]) == 0
    capsys.readouterr()
    assert code(swap) == 0
    out, after = capsys.readouterr().out, asked_of(order)
    own = before["question"][before["worker"] == "ben"]
    new = after["question"][after["worker"] == "zoe"]
    assert sorted(new) == sorted(own[~own.isin(done)])
    zoes = after["file"][after["worker"] == "zoe"]
    more = zoes == "questions-zoe-for-ben-2.csv"  # as the first one may have been sent
    assert f"{order.round_folder}/page-zoe-for-ben-2.html" in out.partition("to answer")[2]
    assert '"round":"1-zoe-for-ben-2"' in (
        order.round_folder / "page-zoe-for-ben-2.html"
    ).read_text("utf-8")  # in the name of the answers' file
    assert f"zoe gets {more.sum():,} questions of ben" in out
    # The numbers agree with those of open questions; the others only measure errors.
    mine, open_ = after["question"][zoes.index[more]], OrderState.of(order).open["question"]
    (only,) = re.findall(r"questions of ben, (\d+) of them only for further answers", out) or ["0"]
    assert int(only) == (~mine.isin(open_)).sum()
    receive_first(order, "-zoe-for-ben-2", "zoe", 1000)
    receive_first(order, "-zoe-for-ben-again", "zoe", 1000)
    shown = annotators.progress(OrderState.of(order))
    assert {row["answered"] == row["images"] for row in shown if row["in_place_of"]} == {True}


def test_somebody_of_the_team_takes_over_and_is_asked_nothing_twice(tmp_path):
    words = ["--repeat", "0.5", "--annotators", "ann,ben,carl", "--to", "html"]
    order = ordered(tmp_path / "one", *WHOLE, "12", *words)
    before, done, keys = asked_of(order), receive_first(order, "-ben", "ben", 60), []
    for leaver in ("ben", "carl"):
        words = ["order", "--export", str(order.folder), "--for", "ANN", "--in-place-of", leaver]
        assert code(words) == 0
        (anybody,) = order.round_folder.glob("page-again*.html")
        keys += re.findall(r'"key":"\w+"', anybody.read_text("utf-8"))
    after = asked_of(order)
    assert after["question"][after["worker"] == "ann"].is_unique
    assert {*after["worker"]} == {"ann", ""} and annotators.team(OrderState.of(order)) == ["ann"]
    total = after["question"].value_counts().add(done.value_counts(), fill_value=0)
    pd.testing.assert_series_equal(
        total.sort_index(), before["question"].value_counts().sort_index(), check_dtype=False,
        check_names=False,
    )  # fmt: skip
    # The page for anybody has other tasks than before, so it restores no earlier answers.
    assert len({*keys}) == 2


def test_somebody_who_came_back_and_leaves_again_takes_no_questions_of_others_along(tmp_path):
    order = ordered(tmp_path / "one", *WHOLE, "4", "--answers", "2", "--annotators", "ann,ben")
    every = sorted(order.table["question"])
    for name, leaver in (("carl", "ann"), ("ann", "ben"), ("dan", "ann")):
        words = ["order", "--export", str(order.folder), "--for", name, "--in-place-of", leaver]
        assert code(words) == 0
    after = asked_of(order)
    assert {worker: sorted(own) for worker, own in after.groupby("worker")["question"]} == {
        "carl": every, "dan": every,
    }  # fmt: skip
    assert annotators.team(OrderState.of(order)) == ["carl", "dan"]


def test_a_further_person_gets_a_page_of_what_nobody_has(tmp_path, capsys):
    words = [*WHOLE, "12", "--repeat", "0.5", "--annotators", "ann,ben", "--to", "html"]
    order = ordered(tmp_path / "one", *words)
    command = f"simkit order --export {order.folder} --for NEW"
    assert f", with a name in place of NEW:\n  {command}\n" in (capsys.readouterr().out)
    before, said = asked_of(order), rows(order, TRUTH)
    lacking = before["question"][before["worker"] == ""].tolist()

    def receive(name: str, questions: list[int]) -> None:
        given = said[said["question"].isin(questions)].assign(worker=name)
        keep(order, checked(order, given).answers)

    receive("dan", lacking[:60])  # on the page for anybody
    done = {*OrderState.of(order).answers["question"]}
    assert code([*command.split()[1:-1], "zoe"]) == 0
    out = capsys.readouterr().out
    assert f"zoe gets {len(lacking) - 60:,} questions that no annotator has" in out
    after = asked_of(order)
    new = after[after["worker"] == "zoe"]
    assert sorted(new["question"]) == sorted({*lacking} - done) and len(new) < len(lacking)
    assert {*new["file"]} == {"questions-zoe-again.csv"}
    assert (order.round_folder / "page-zoe-again.html").is_file()
    team = ["ann", "ben"]  # whose files stay as they were
    pd.testing.assert_frame_equal(*(table[table["worker"].isin(team)] for table in (before, after)))
    for name in (*team, "zoe"):
        receive(name, after["question"][after["worker"] == name].tolist())
    state = OrderState.of(order)
    assert not len(state.lacking) and state.answers["worker"].nunique() == 4
    shown = [row for row in annotators.progress(state) if row["annotator"] == "zoe"]
    assert [row["answered"] == row["images"] > 0 for row in shown] == [True]
    assert code([*command.split()[1:-1], "eve"]) == 2
    assert "every question has its annotators" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("who", "named"),
    [(["--for", "zoe", "--in-place-of", "nobody"], "ann, ben"),
     (["--for", "ben", "--in-place-of", "Ben"], "two people"),
     (["--for", "a-for-b", "--in-place-of", "ben"], "-for-"),
     (["--for", "zoe", "--in-place-of", "ann"], "no open question"),
     (["--for", "zoe"], "every question has its annotators"), (["--in-place-of", "ben"], "--for"),
     (["--to", "csv", "--only", "x.csv"], "--only"), (["--to", "csv", "--keep", "0.3"], "--keep")],
)  # fmt: skip
def test_exports_that_are_impossible_are_refused(tmp_path, who, named, capsys):
    order = ordered(tmp_path / "one", *WHOLE, "4", "--annotators", "ann,ben")
    receive_first(order, "-ann", "ann", 1000)
    before = tables(order.round_folder)
    assert code(["order", "--export", str(order.folder), *who]) == 2
    assert named in capsys.readouterr().err and tables(order.round_folder) == before


def test_a_name_that_is_too_long_for_a_file_is_refused_with_the_limit():
    with pytest.raises(BadInput, match="a name of 300 bytes; give names of at most 100"):
        annotators.names("ben," + "a" * 300)
    assert annotators.names("ben," + "a" * 100)[1] == "a" * 100
