"""`simkit plan`: a plan in a terminal and in files, refusals in a sentence with exit code 2."""

import json
from pathlib import Path

import pytest

from tests.planning import planted


@pytest.fixture
def runs(shell) -> Path:
    """A small folder of planted runs, in the shell's own folder."""
    return planted.write(Path("runs"), schemes=("rpa",), methods=("an",))


def test_a_plan_in_the_terminal_and_its_command(shell) -> None:
    planted.write(Path("runs"), schemes=("rpa", "single-positive"), methods=("an",))
    done = shell("plan", "runs", "--budget", 120, "--target", 0.6, "--images", 50_000)
    assert done.code == 0, done.err
    assert done.out.startswith(
        "What to buy for $120: 10 classes, 50,000 images, coco-tagging prices"
    )
    for heading in (
        "Expected mAP", "Where the money goes", "Runners-up", "Method", "Dollars to 60.0 mAP",
        "Buy in rounds", "What would change it", "Back-test", "Assumptions", "How this was made",
    ):  # fmt: skip
        assert f"\n{heading}\n" in done.out
    assert "simkit plan runs --budget 120 --images 50000 --target 0.6" in done.out


def test_a_report_is_of_the_kind_that_its_name_says(shell, runs) -> None:
    starts = {"html": "<!doctype html>", "md": "# What to buy", "json": "{", "txt": "What to buy"}
    ids = set()
    for ending, start in starts.items():
        done = shell("plan", "runs", "--budget", 100, "--report", f"deep/plan.{ending}")
        assert done.code == 0, done.err
        assert done.out.endswith(f"\nwrote deep/plan.{ending}\n")
        text = Path(f"deep/plan.{ending}").read_text(encoding="utf-8")
        assert text.startswith(start)
        ids |= {json.loads(text)["id"]} if ending == "json" else set()
    assert ids.pop() in Path("deep/plan.html").read_text(encoding="utf-8")
    assert sorted(p.name for p in Path("deep").iterdir()) == [f"plan.{e}" for e in sorted(starts)]


def test_one_object_for_programs(shell, runs) -> None:
    done = shell("plan", "runs", "--budget", 100, "--json", "--prices", "google", "--precision", 5)
    assert done.code == 0 and done.out.count("\n") == 1
    assert done.json["prices"] == "google"
    assert "test set" in {item["what"] for item in done.json["bill"]}
    assert done.json["command"] == ("simkit plan runs --budget 100 --prices google --precision 5")


def test_a_target_may_be_given_in_points(shell, runs) -> None:
    one, other = (
        shell("plan", "runs", "--budget", 100, "--json", "--target", t) for t in (60, 0.6)
    )
    assert one.code == 0, one.err
    assert one.json["target"] == 0.6 and one.json == other.json
    assert one.json["command"].endswith("--target 0.6")


def test_the_keys_of_json_are_explained(shell) -> None:
    done = shell("plan", "--keys")
    assert done.code == 0 and "\nchosen.low20 " in done.out and "\nlines[].low5[] " in done.out


def test_prices_of_ones_own(shell, runs) -> None:
    Path("my.toml").write_text('like = "google"\nqa = 0.4\nqa_source = "our own bills"\n')
    done = shell("plan", "runs", "--budget", 100, "--prices", "my.toml")
    assert done.code == 0, done.err
    assert "quality assurance" in done.out and "our own bills" in done.out


def test_the_pilot_before_there_are_runs(shell) -> None:
    asked = ("plan", "--pilot", "--budget", 2000, "--classes", 20, "--per-image", 1.5)
    done = shell(*asked, "--report", "pilot.html")
    assert done.code == 0, done.err
    assert done.out.startswith("Which pilot to label first for $2,000: 20 classes")
    assert Path("pilot.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert shell(*asked, "--json").json["classes"] == 20


BAD = {
    "no budget": (
        ("runs",),
        "--budget is missing; say how many dollars there are, such as --budget 5000",
    ),
    "negative": (("runs", "--budget", -5), "budget is -5.0; dollars above 0 are expected"),
    "nothing to plan from": (
        ("--budget", 50),
        "no folder of runs is given; name what `simkit compare` wrote to, or ask with --pilot what "
        "to label first",
    ),
    "no runs": (
        ("empty", "--budget", 50),
        "empty holds no finished runs; give the folder that `simkit compare` wrote to",
    ),
    "target": (
        ("runs", "--budget", 50, "--target", 160),
        "target is 160.0; a mAP above 0 and below 1, such as 0.6, or its points, such as 60, is "
        "expected",
    ),
    "prices": (
        ("runs", "--budget", 50, "--prices", "gogle"),
        "no price list is called 'gogle'; did you mean 'google'?",
    ),
    "report": (
        ("runs", "--budget", 50, "--report", "plan.htm"),
        "no kind of report is called '.htm'; did you mean '.html'?",
    ),
    "report without a name": (
        ("runs", "--budget", 50, "--report", ".html"),
        "--report is '.html', an ending without a name; give the file a name too, as in plan.html",
    ),
    "hours without their price": (
        ("runs", "--budget", 50, "--gpu-hours", 3),
        "gpu_hours is 3 and gpu_price is not given; hours cost nothing without the price of one, "
        "so give gpu_price (--gpu-price) or leave gpu_hours out",
    ),
    "rounds with pilot": (
        ("--pilot", "--budget", 50, "--rounds", 5),
        "--rounds is about a plan from runs; leave it out with --pilot",
    ),
    "risk with pilot": (
        ("--pilot", "--budget", 50, "--risk", "expected"),
        "--risk is about a plan from runs; leave it out with --pilot",
    ),
    "pilot and runs": (
        ("runs", "--pilot", "--budget", 50),
        "--pilot is for when there are no runs yet; leave runs or --pilot out",
    ),
    "classes without pilot": (
        ("runs", "--budget", 50, "--classes", 5),
        "--classes is about a pilot; add --pilot or leave it out",
    ),
    "target with pilot": (
        ("--pilot", "--budget", 50, "--target", 0.5),
        "--target is about a plan from runs; leave it out with --pilot",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_nonsense_is_refused_in_a_sentence(name: str, shell, runs) -> None:
    Path("empty").mkdir()
    arguments, message = BAD[name]
    done = shell("plan", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"simkit: {message}\n"


def test_one_size_or_scores_above_one_are_refused(shell) -> None:
    planted.write(Path("one"), schemes=("rpa",), methods=("an",), budgets=(10.0,))
    done = shell("plan", "one", "--budget", 50)
    assert done.code == 2 and done.err.count("\n") == 1
    assert "a curve needs 3; compare again" in done.err
    planted.write(Path("high"), schemes=("rpa",), methods=("an",), map=61.0)
    done = shell("plan", "high", "--budget", 50)
    assert done.code == 2 and "a map of 61" in done.err


def test_more_sizes_are_suggested_on_the_pilots_own_scale(shell) -> None:
    planted.write(Path("two"), schemes=("rpa",), methods=("an",), budgets=(20.0, 40.0))
    done = shell("plan", "two", "--budget", 50)
    assert done.code == 2
    assert done.err.endswith("more budgets, such as budgets = [20, 40, 80, 160, 320]\n")


def test_runs_of_different_data_are_refused(shell) -> None:
    planted.write(Path("one"), schemes=("rpa",), methods=("an",))
    planted.write(Path("two"), schemes=("rpa",), methods=("an",), test_id="another")
    done = shell("plan", "one", "two", "--budget", 50)
    assert done.code == 2 and "one" in done.err and "two" in done.err


def test_help_has_an_example(shell) -> None:
    done = shell("plan", "--help")
    assert done.code == 0
    assert "Example: simkit plan runs/ --budget 5000 --report plan.html" in done.out
