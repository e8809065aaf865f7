"""`simkit list` shows every registered part."""

import importlib
import re

import pytest

from simkit.cli.list import LISTS, REGISTRIES


@pytest.mark.parametrize("what", REGISTRIES)
def test_names_and_titles(shell, what: str) -> None:
    done = shell("list", what, "--json")
    assert done.code == 0, done.err
    rows = done.json[what]
    assert [row["name"] for row in rows] == importlib.import_module(REGISTRIES[what]).names()
    assert all(row["title"] for row in rows)
    assert rows[0]["name"] in shell("list", what).out


def test_prices(shell) -> None:
    rows = shell("list", "prices", "--json").json["prices"]
    assert rows[0]["name"] == "hourly" and "the default of plan and cost" in rows[0]["title"]
    names = {row["name"] for row in rows}
    assert names >= {"coco-tagging", "careful", "google", "aws", "openimages"}


def test_protocols_say_what_they_leave_out(shell) -> None:
    rows = {row["name"]: row for row in shell("list", "protocols", "--json").json["protocols"]}
    assert rows["csl"]["training"].startswith("resnet50, 448 px, epochs=30 ")
    assert "TResNet-M" in rows["csl"]["left out"]
    told = shell("list", "protocols", "csl").out
    assert f"left out: {rows['csl']['left out']}\n" in told
    assert f"training: {rows['csl']['training']}\n" in told


def test_the_list_of_protocols_fits_a_terminal(shell) -> None:
    head, *lines = shell("list", "protocols").out.splitlines()
    assert head.split() == ["name", "paper", "backbone", "px", "epochs"]
    assert max(map(len, lines)) <= 120
    (headed,) = (line for line in lines if line.startswith("single-positive-linear-init"))
    assert headed.endswith("resnet50          448  25 + 10")
    assert lines[-1] == (
        "`simkit list protocols boostlu` shows all settings of one, and what it leaves out of its "
        "paper"
    )


def test_backbones(shell) -> None:
    head, first, *_ = shell("list", "backbones").out.splitlines()
    assert head.split() == ["name", "features", "px", "parameters", "weights"]
    assert " ".join(first.split()) == "scenes-net 128 64 614,048 its own, FILE, random"
    told = shell("list", "backbones", "vit_b_16").out
    assert "ViT-B/16 as torchvision builds it" in told and "imagenet, IMAGENET1K_V1" in told


def test_settings_of_data_are_told_one_by_one(shell) -> None:
    told = shell("list", "data", "coco").out
    assert "AnnotationFiles" not in told
    assert told.count("the published split takes a fifth") == 1


def test_without_a_kind_the_kinds_are_listed(shell) -> None:
    done = shell("list")
    head, *lines = done.out.partition("\n\n")[0].splitlines()
    assert done.code == 0 and head.split() == ["list", "of"]
    assert [line.split()[0] for line in lines] == list(LISTS)
    assert shell("list", "--json").json["lists"] == LISTS
    for what in LISTS:
        assert shell("list", what).code == 0
        assert re.search(rf"\b{what}\b", shell("list", "--help").out)


def test_unknown_kind(shell) -> None:
    done = shell("list", "scheme")
    assert (done.code, done.err) == (2, "simkit: no list is called 'scheme'; did you mean "
                                     "'schemes'?\n")  # fmt: skip


@pytest.mark.parametrize("columns", [40, 60, 80, 100])
@pytest.mark.parametrize("what", LISTS)
def test_a_narrow_terminal_sees_fewer_columns_and_whole_names(
    shell, monkeypatch: pytest.MonkeyPatch, what: str, columns: int
) -> None:
    rows = shell("list", what, "--json").json[what]
    monkeypatch.setenv("COLUMNS", str(columns))
    head, *lines = shell("list", what).out.partition("\n\n")[0].splitlines()
    assert max(map(len, [head, *lines])) <= columns
    first = {line.split()[0].lstrip("+") for line in lines if line[0] != " "}
    assert first == {row["name"] for row in rows}
    assert columns < 80 or len(head.split()) >= min(3, len(rows[0]))


def test_methods_tell_paper_needs_and_memory(shell) -> None:
    rows = {row["name"]: row for row in shell("list", "methods", "--json").json["methods"]}
    assert rows["an"]["needs"] == [] and rows["an"]["bytes"] == 0
    above = "alpha m + (1 - alpha) beta above it"
    assert rows["boostlu"] == {
        "name": "boostlu",
        "title": "BoostLU",
        "what": f"Pass every class map through f(m) = m below beta, {above}.",
        "paper": "Kim et al., CVPR 2023, eq. 6-8",
        "needs": ["class maps", "label matrix"],
        "memory": "80 B",
        "bytes": 80,
        "wraps": True,
        "processes": "several",
    }
    head, *lines = shell("list", "methods").out.splitlines()
    assert head.split() == ["name", "title", "what", "needs", "memory", "paper"]
    assert any(line.split()[:2] == ["+boostlu", "BoostLU"] and "80 B" in line for line in lines)
    assert "csl" not in lines[-3] and "role" in lines[-3]
    assert lines[-3].endswith(
        " keep a state for each image, so that one process alone can train them"
    )
    assert lines[-6:-3] + lines[-2:] == [
        "",
        "memory: what one run keeps besides the model, at COCO's size "
        "(65,665 images, 80 classes, 14 x 14 maps)",
        "boostlu, cl, scl go around another method, behind a plus: ll-r+boostlu",
        "",
        "`simkit list methods an` shows one with its settings",
    ]


def test_a_pipe_folds_at_columns(shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    head, *lines = shell("list", "methods").out.partition("\n\n")[0].splitlines()
    assert head.split() == ["name", "title", "needs", "memory", "paper"]
    assert max(map(len, lines)) == 100
    assert any(line.startswith("latent-noise  Latent noise") for line in lines)


def test_one_method_in_detail(shell) -> None:
    lines = shell("list", "methods", "ll-ct").out.splitlines()
    assert lines[0] == "ll-ct: LL-Ct"
    assert lines[2].startswith("Assume negative, but take the unknown labels")
    assert any(line.startswith("paper: Kim et al., CVPR 2022, eq. ") for line in lines)
    rows = [" ".join(line.split()) for line in lines]
    assert "setting default meaning" in rows
    told = 'what the percentage is of: the published code; the paper says "unknown"'
    assert f"k_of batch {told}; one of batch, unknown" in rows
    assert any(row.startswith("delta 0.2 Percent per epoch: ") for row in rows)


def test_a_name_as_a_grid_writes_it_will_do(shell) -> None:
    found = shell("list", "methods", "+boostlu(alpha=3)", "--json").json
    assert found["name"] == "boostlu" and found["wraps"]
    assert [row["name"] for row in found["settings"]][:2] == ["alpha", "beta"]
    assert found["settings"][0]["default"] == 5.0
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


def test_an_unknown_name_gets_the_nearest(shell) -> None:
    done = shell("list", "data", "vok")
    assert done.code == 2 and "no data set is called 'vok'; did you mean 'voc'?" in done.err


def test_a_grid_and_its_table_are_taught(shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    lines = [" ".join(line.split()) for line in shell("list", "grid").out.splitlines()]
    told = "schemes (needed) as `simkit list schemes` names them, with or without settings:"
    assert told in lines
    assert "train [train] settings of the training" in lines
    assert lines[-1] == (
        "`simkit list grid train` shows the settings of [train]; also habits, pictures, tuning"
    )
    told = shell("list", "grid", "[train]").out.splitlines()
    assert told[:4] == ["train", "", "default: [train]", "meaning: settings of the training"]
    assert any(line.split()[:2] == ["batch_size", "64"] for line in told)
    assert shell("list", "grid", "drawz").err == (
        "simkit: no field of a grid is called 'drawz'; did you mean 'draws'?\n"
    )
    rows = shell("list", "columns", "--json").json["columns"]
    assert rows[0] == {
        "name": "scheme",
        "type": "string",
        "meaning": "the scheme as the grid names it",
    }
    assert "type: double" in shell("list", "columns", "dollars").out
    shown = shell("compare", "--help").out
    assert "`simkit list grid` has the fields of a grid, `simkit list columns`" in shown
