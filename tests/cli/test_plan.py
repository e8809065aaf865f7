"""`simkit plan` as people type it, on a planted comparison."""

import json

import pytest

from tests.planning import planted


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plan")
    return str(planted.write(folder / "runs", planted.data(folder / "data", 300)))


def test_a_plan_is_one_screen_and_details_are_more(runs, shell):
    done = shell("plan", runs, "--budget", "$2,000", "--images", "10k", "--prices", "openimages")
    assert done.code == 0 and done.err == ""
    assert len(done.out.splitlines()) <= 40
    for word in ("Spend", "Expect", "Range", "Trust", "Next step", "Bill"):
        assert word in done.out
    more = shell("plan", runs, "--budget", "2000", "--images", "10000", "--prices", "openimages",
                  "--details")  # fmt: skip
    assert len(more.out) > 1.5 * len(done.out)


def test_the_errors_of_annotators_are_stated_as_shares(runs, shell):
    how = ("--budget", "200", "--images", "3000", "--json")
    for text, errors in (("3%,0.2%", [0.03, 0.002]), ("0", [0, 0]), ("0.05", [0.05, 0.05])):
        values = json.loads(shell("plan", runs, *how, "--errors", text).out)
        assert values["errors"] == pytest.approx(errors)
        assert f"--errors {100 * errors[0]:g}%,{100 * errors[1]:g}%" in values["command"]
    assert json.loads(shell("plan", runs, *how).out)["errors"] is None


def test_json_is_one_object_with_the_choice(runs, shell):
    done = shell("plan", runs, "--budget", "200", "--images", "3000", "--json")
    chosen = json.loads(done.out)["chosen"]
    assert {"way", "scheme", "method", "dollars", "median", "band90"} <= set(chosen)
    assert chosen["dollars"] <= 200


@pytest.mark.parametrize("ending", ["html", "md", "json", "txt"])
def test_reports_are_written_beside_one_line(runs, shell, tmp_path, ending):
    report = tmp_path / f"plan.{ending}"
    alone = shell("plan", runs, "--budget", "200", "--images", "3000")
    done = shell("plan", runs, "--budget", "200", "--images", "3000", "--report", str(report))
    assert report.stat().st_size > 500
    assert len(done.out.splitlines()) <= len(alone.out.splitlines()) + 2
    assert report.name in done.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "--budget"),
        (["--budget", "-5"], "budget"),
        (["--budget", "2,5"], "budget"),
        (["--budget", "100", "--target", "150"], "target"),
        (["--budget", "100", "--prices", "nobody"], "price list"),
        (["--budget", "100", "--wage", "1e-9"], "wage is 1e-09, which makes"),
        (["--budget", "100", "--report", "plan.doc"], "report"),
        (["--budget", "100", "--classes", "80"], "--pilot"),
        (["--budget", "0.0001"], "raise it to"),
        (["--budget", "100", "--errors", "3,5"], "errors"),
        (["--budget", "100", "--errors", "99%"], "--errors is '99%'; shares are expected"),
        (["--budget", "100", "--errors", "60%,40%"], "less than 100%"),
        (["--budget", "100", "--errors", "5%,x"], "one or two shares"),
        (["--budget", "100", "--images", "0", "--errors", "0"], "images"),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(runs, shell, tmp_path, arguments, says):
    done = shell("plan", runs, *arguments)
    assert done.code == 2 and done.out == ""
    assert says in done.err and len(done.err.strip().splitlines()) <= 4


def test_the_pilot_comes_first(shell):
    done = shell("plan", "--pilot", "--budget", "5k", "--classes", "80", "--per-image", "2.9")
    assert done.code == 0 and len(done.out.splitlines()) <= 40
    assert "test" in done.out and "images" in done.out
