"""`simkit list` shows every registered part and what its settings mean."""

import re
from datetime import date

import pytest

import simkit
from simkit.cli.list import LISTS
from simkit.cli.options import REGISTRIES, settings


@pytest.mark.parametrize("what", REGISTRIES)
def test_names_and_titles(shell, what: str) -> None:
    done = shell("list", what, "--json")
    assert done.code == 0, done.err
    rows = done.json[what]
    assert [row["name"] for row in rows] == getattr(simkit, what).names()
    assert all(row["title"] for row in rows)
    assert rows[0]["name"] in shell("list", what.upper()).out


@pytest.mark.parametrize("what", ["schemes", "methods", "data", "formats"])
def test_nearly_every_setting_of_every_part_is_described(what: str) -> None:
    package = getattr(simkit, what)
    meanings = [bool(s.meaning) for name in package.names() for s in settings(package.get(name))]
    assert sum(meanings) >= 0.95 * len(meanings)


def test_prices(shell) -> None:
    rows = shell("list", "prices", "--json").json["prices"]
    assert rows[0]["name"] == "hourly" and "the default of plan and cost" in rows[0]["title"]
    for row in rows:
        assert re.fullmatch(r"20\d\d(-\d\d-\d\d)?", row["as of"]) or row["age"] == "unknown"
    assert rows[0]["age"] == f"{date.today().year - 2016} years"
    done = shell("list", "prices", "aws")
    assert "\nended: SageMaker Ground Truth takes no new customers" in done.out and not done.err
    names = {row["name"] for row in rows}
    assert names >= {"coco-tagging", "careful", "google", "aws", "openimages", "vendor-2026"}


def test_protocols_say_what_they_leave_out(shell) -> None:
    rows = {row["name"]: row for row in shell("list", "protocols", "--json").json["protocols"]}
    assert rows["csl"]["training"].startswith("resnet50, 448 px, epochs=30 ")
    assert "TResNet-M" in rows["csl"]["left out"]
    shown = shell("list", "protocols", "csl").out
    assert f"left out: {rows['csl']['left out']}\n" in shown
    assert f"training: {rows['csl']['training']}\n" in shown
    head, *lines = shell("list", "protocols").out.splitlines()
    assert head.split() == ["name", "paper", "backbone", "px", "epochs"]
    (row,) = (line for line in lines if line.startswith("single-positive-linear-init"))
    assert row.endswith("resnet50          448  25 + 10")


def test_backbones(shell) -> None:
    head, first, *_ = shell("list", "backbones").out.splitlines()
    assert head.split() == ["name", "features", "px", "parameters", "weights"]
    assert " ".join(first.split()) == "scenes-net 128 64 614,048 its own, FILE, random"
    assert "\ntimm:NAME is a network of timm" in shell("list", "backbones").out
    shown = shell("list", "backbones", "resnet50").out
    assert "A residual network of torchvision" in shown and "imagenet, IMAGENET1K_V1" in shown


def test_settings_of_data_are_described_one_by_one(shell) -> None:
    shown = shell("list", "data", "coco").out
    assert "AnnotationFiles" not in shown
    assert shown.count("the published split takes a fifth") == 1


def test_without_a_kind_the_kinds_are_listed(shell) -> None:
    done = shell("list")
    head, *lines = done.out.partition("\n\n")[0].splitlines()
    assert done.code == 0 and head.split() == ["list", "of"]
    assert [line.split()[0] for line in lines] == list(LISTS)
    assert list(shell("list", "--json").json["lists"]) == list(LISTS)
    for what in LISTS:
        assert shell("list", what).code == 0
        assert re.search(rf"\b{what}\b", shell("list", "--help").out)


@pytest.mark.parametrize("columns", [60, 80, 100])
@pytest.mark.parametrize("what", LISTS)
def test_a_narrow_terminal_sees_whole_names(
    shell, monkeypatch: pytest.MonkeyPatch, what: str, columns: int
) -> None:
    rows = shell("list", what, "--json").json[what]
    monkeypatch.setenv("COLUMNS", str(columns))
    head, *lines = shell("list", what).out.partition("\n\n")[0].splitlines()
    assert max(map(len, [head, *lines])) <= columns
    first = {line.split()[0].lstrip("+") for line in lines if line[0] != " "}
    assert first >= {row["name"] for row in rows}
    if what in ("schemes", "methods", "figures", "formats", "data"):
        assert len(lines) == len(rows)  # one line each


def test_methods_show_paper_needs_and_memory(shell) -> None:
    rows = {row["name"]: row for row in shell("list", "methods", "--json").json["methods"]}
    assert rows["an"]["needs"] == [] and rows["an"]["bytes"] == 0
    boost = rows["boostlu"]
    assert boost["title"] == "BoostLU" and "CVPR 2023" in boost["paper"]
    assert boost["needs"] == ["class maps", "label matrix"]
    assert (boost["memory"], boost["bytes"]) == ("80 B", 80)
    assert boost["wraps"]
    out = shell("list", "methods").out
    head, *lines = out.splitlines()
    assert head.split() == ["name", "title", "gist", "needs", "paper"]
    assert any(line.split()[:2] == ["+boostlu", "BoostLU"] for line in lines)
    assert "memory: 80 B" in shell("list", "methods", "boostlu").out
    assert "names with a plus are added to another method" in out


def test_one_method_in_detail(shell) -> None:
    lines = shell("list", "methods", "LL-Ct").out.splitlines()
    assert lines[0] == "ll-ct: LL-Ct"
    assert any(line.startswith("paper: Kim et al., CVPR 2022, eq. ") for line in lines)
    rows = [" ".join(line.split()) for line in lines]
    assert "setting default meaning" in rows
    (k_of,) = (row for row in rows if row.startswith("k_of batch "))
    assert k_of.endswith("; one of batch, unknown")
    assert any(row.startswith("delta 0.2 ") for row in rows)


def test_a_name_as_a_grid_writes_it_will_do(shell) -> None:
    row = shell("list", "methods", "+boostlu(alpha=3)", "--json").json
    assert row["name"] == "boostlu" and row["wraps"]
    assert [setting["name"] for setting in row["settings"]][:2] == ["alpha", "beta"]
    assert row["settings"][0]["default"] == 5.0
    assert shell("list", "methods", "boostlu").out.startswith("+boostlu: BoostLU\n")


@pytest.mark.parametrize(
    ("what", "name", "line"),
    [
        ("schemes", "fpc", "scaled by: per_class"),
        ("schemes", "full-subset", "no settings"),
        ("data", "voc", "example: voc:VOCdevkit/VOC2012"),
        ("prices", "coco-tagging", "people for a question: "),
        ("protocols", "csl", "paper: Ben-Baruch et al., CVPR 2022"),
    ],
)
def test_one_of_every_list(shell, what: str, name: str, line: str) -> None:
    out = shell("list", what, name).out.splitlines()
    assert out[0].startswith(name) and any(each.startswith(line) for each in out)


def test_the_grid_and_its_table(shell, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {row["name"]: row for row in shell("list", "grid", "--json").json["grid"]}
    assert all(row["meaning"] for row in rows.values())
    assert rows["schemes"]["default"] == "(needed)" and rows["train"]["default"] == "[train]"
    assert rows["prices"]["default"] == '"hourly"' and rows["curves"]["default"] == "false"
    assert rows["validation"]["meaning"].endswith("; one of none, complete, partial")
    for name in ("train", "tuning", "pictures", "habits"):
        assert len(shell("list", "grid", name, "--json").json["settings"]) > 1
    assert "settings" not in shell("list", "grid", "draws", "--json").json
    lines = shell("list", "grid", "[train]").out.splitlines()
    assert any(line.split()[:2] == ["batch_size", "64"] for line in lines)
    columns = shell("list", "columns", "--json").json["columns"]
    assert (columns[0]["name"], columns[0]["type"]) == ("scheme", "string")
    assert "type: double" in shell("list", "columns", "dollars").out
