"""README and docs/ keep up: the catalogue is generated, Python runs, files exist."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

from simkit import methods, schemes
from simkit.annotate import schemes as of_schemes
from simkit.learn import method as of_methods

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}


def blocks(language: str) -> list[tuple[str, str]]:
    """Page and text of every block in this language."""
    fence = re.compile(rf"```{language}\n(.*?)```", re.DOTALL)
    return [(page, block) for page, text in PAGES.items() for block in fence.findall(text)]


def ids(found: list[tuple[str, str]]) -> list[str]:
    return [f"{page}-{number}" for number, (page, _) in enumerate(found)]


GRIDS, SNIPPETS = blocks("toml"), blocks("python")


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its own, and registries that forget what was registered."""
    monkeypatch.chdir(tmp_path)
    for registry in (of_schemes.schemes, of_methods.methods):
        registry.names()
        monkeypatch.setattr(registry, "_found", dict(registry._found))


def test_catalogue_is_current() -> None:
    spec = importlib.util.spec_from_file_location("catalogue", ROOT / "scripts" / "catalogue.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    stale = set(PAGES["docs/catalogue.md"].splitlines()) - set(module.catalogue().splitlines())
    assert not stale, "run: python scripts/catalogue.py"  # what is new may be missing
    page = PAGES["docs/data.md"]
    assert module.with_words(page) == page, "run: python scripts/catalogue.py"


LONG = re.compile(r"simkit\.plan\(|register")  # they have tests of their own
OTHERS = [(page, text) for page, text in SNIPPETS if not LONG.search(text)]


@pytest.mark.parametrize(("page", "snippet"), OTHERS, ids=ids(OTHERS))
def test_python_runs(
    page: str, snippet: str, scratch: None, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(snippet, page, "exec"), {})
    if page == "README.md":
        assert capsys.readouterr().out.strip(), "a visitor sees nothing"


def the(part: str) -> str:
    """The one Python block that has this in it."""
    (found,) = [text for _, text in SNIPPETS if part in text]
    return found


def test_a_plan_takes_ten_lines(scratch: None) -> None:
    head, *lines = [line for line in the("simkit.plan(").splitlines() if line]
    assert head == "import simkit" and len(lines) <= 10
    space: dict[str, object] = {}
    exec(the("simkit.plan("), space)
    plan = space["plan"]
    low, high = plan.chosen.band
    assert 0 < low < plan.chosen.median < high < 1
    said = re.search(
        r"It expects ([\d.]+) mAP \(([\d.]+) to ([\d.]+)\) .*\$231.* they gave ([\d.]+) mAP",
        PAGES["docs/planning.md"], re.DOTALL,
    )  # fmt: skip
    expected, least, most, measured = (float(number) / 100 for number in said.groups())
    assert [plan.chosen.median, low, high] == pytest.approx([expected, least, most], abs=0.02)
    assert low < measured < high
    assert plan.chosen.option.complete and plan.choice.rivals[0].option.part.name == "fpc"
    assert str(plan).startswith("What to label for $255")
    assert plan.trust.grade == "low" and len(plan.order) == 2


def test_a_scheme_and_a_method_are_added_and_found(scratch: None) -> None:
    space: dict[str, object] = {}
    exec(the("schemes.register"), space)
    runs = space["runs"]
    assert {"checklist", "capped"} <= {*schemes.names(), *methods.names()} and not runs.failures
    rows = runs.table.query("scheme == 'checklist'").to_dict("records")
    assert {row["method"] for row in rows} == {"an", "capped(cap=0.5)"}
    for row in rows:  # the same questions about every picture, as many as the money pays for
        length = int(re.search(r"length=(\d+)", row["scheme_spec"])[1])
        assert row["present"] + row["absent"] == length * row["images"] and row["dollars"] <= 20
    fresh = methods.make("capped(cap=0.5)")
    assert fresh == space["Capped"](cap=0.5) and schemes.make("checklist").length == 10
    truth = space["simkit"].data.open("scenes:images=20,val=1,test=1").truth["train"]
    all_there_is = space["simkit"].amount_for(10_000, truth, "checklist", "coco-tagging").labels
    assert all_there_is.counts()["unknown"] == 0


def test_a_method_in_a_plain_loop_takes_ten_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    loop = the(".backward()")
    before, after = loop.split("\n\nmethod = ")
    after, printed = after.split("\n\n")
    assert len(after.splitlines()) == 10
    space: dict[str, object] = {}
    exec(before, space)
    start = [p.clone() for p in space["model"].parameters()]
    exec(f"method = {after}\n\n{printed}", space)
    assert "grad_fn" in capsys.readouterr().out
    assert not any((a == b).all() for a, b in zip(start, space["model"].parameters(), strict=True))
    method, state = space["method"], space["state"]
    assert method.selected(space["batch"], space["out"], state).sum() == 1  # 15 % of 6, rounded up


@pytest.mark.parametrize(("page", "text"), GRIDS, ids=ids(GRIDS))
def test_grids_are_grids(page: str, text: str) -> None:
    from simkit.study.grid import Grid

    assert Grid.of(tomllib.loads(text)).budgets


@pytest.mark.parametrize("page", PAGES)
def test_linked_files_exist(page: str) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", PAGES[page]):
        assert (ROOT / page).parent.joinpath(target).exists(), target
