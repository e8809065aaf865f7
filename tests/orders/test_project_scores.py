"""A project with the scores of the user's model: their precision on the pilot, and savings."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit

from simkit.annotate.score_precision import precision_and_recall
from simkit.orders.order import Order
from simkit.orders.receiving import OrderState
from tests.cli.conftest import shell  # noqa: F401
from tests.cli.test_quickstart import photographs, start
from tests.planning import planted

IMAGES, CLASSES = 120, ["cat", "dog", "horse"]
FILES = [f"{n:04}.png" for n in range(IMAGES)]


def truth() -> np.ndarray:
    return np.random.default_rng(7).random((IMAGES, 3)) < 0.3


def logits() -> np.ndarray:
    noise = np.random.default_rng(8).normal(0, 1.5, (IMAGES, 3))
    return (4 * truth() - 2.5 + noise).round(4)


def table(values: np.ndarray, file: str = "scores.csv") -> str:
    pd.DataFrame(values, FILES, CLASSES).to_csv(file, index_label="image")
    return file


def answers(order: Order, wrong: tuple[int, ...] = (), share: float = 1.0) -> Path:
    """True answers to the open questions; of the images `wrong` (indices) the opposite."""
    state, rows, present = OrderState.of(order), [], truth()
    todo = pd.concat([state.open, state.further])
    columns = ["question", "image", "class", "answers", "answered"]
    part = todo[columns].head(round(share * len(todo))).to_numpy().tolist()
    for question, image, c, wanted, so_far in part:
        place = FILES.index(str(order.images[image]))
        yes = present[place, c] ^ (image in wrong)
        for nth in range(so_far, wanted):
            rows.append({"order": order.id, "question": question, "worker": f"p{nth}",
                         "answer": "yes" if yes else "no", "seconds": 0.2 + 0.01 * c})  # fmt: skip
    file = Path(f"answers-{len(order.rounds)}-{len(rows)}.jsonl")
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.fixture
def project(shell, tmp_path):  # noqa: F811
    """A project in which people have labelled a part of the images."""
    photographs(tmp_path / "photos", IMAGES)
    done = start(shell, "--scores", table(expit(logits())), "--budget", "0.3", "--repeat", 0)
    assert done.code == 0 and "read as probabilities" in done.err
    order = Order.read("project/order1")
    assert 60 < order.table["image"].nunique() < 100
    assert shell("receive", "project", answers(order)).code == 0
    return shell


def details() -> pd.DataFrame:
    return pd.read_csv("project/scores_measured.csv", keep_default_na=False, na_values=["nan"])


def test_the_pilot_measures_the_scores(project) -> None:
    order = Order.read("project/order1")
    pilot = np.unique(order.table["image"])
    rows = [FILES.index(str(order.images[n])) for n in pilot]
    codes = np.where(truth()[rows], 1, -1).astype(np.int8)
    expected = precision_and_recall(logits()[rows], codes, CLASSES)
    columns = ["proposed", "right", "present", "precision", "recall_high"]
    found = details()[columns].astype(float)
    assert np.allclose(found, expected[columns], equal_nan=True)
    facts = project("status", "project", "--json").json["scores"]
    assert facts["images"] == len(pilot) and facts["left"] == IMAGES - len(pilot)
    assert facts["measured"][0]["right"] == expected["right"][0]
    first = expected.iloc[0]
    low, high = first["precision_low"], first["precision_high"]
    printed = project("status", "project").out
    assert f"present in {first['precision']:.0%} ({low:.0%} to {high:.0%}) of images" in printed
    assert f"measured on {len(pilot)} images that were chosen at random" in printed


def test_open_and_unsure_questions_measure_nothing(shell, tmp_path) -> None:  # noqa: F811
    photographs(tmp_path / "photos", IMAGES)
    assert start(shell, "--scores", table(logits()), "--repeat", 0).code == 0
    assert "measure them" in shell("status", "project").out
    order = Order.read("project/order1")
    rows = [json.loads(line) for line in answers(order, share=0.5).open()][:-1]
    rows[0]["answer"] = "unsure"
    Path("half.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert shell("receive", "project", "half.jsonl").code == 0
    facts = shell("status", "project", "--json").json["scores"]
    assert facts["images"] == len(rows) // 3 == 59
    by = {(row["class"], row["depth"]): row for row in facts["measured"]}
    assert by["", "first 3"]["proposed"] == 59 * 3 - 1
    assert "on 59 images so far of 120" in shell("status", "project").out


def test_rounds_that_the_scores_chose_and_later_scores_change_no_measurement(project) -> None:
    def asked(*options: object, wrong: tuple[int, ...] = ()) -> Order:
        assert project("order", "--next", "project/order1", *options, "--to", "csv").code == 0
        order = Order.read("project/order1")
        assert project("receive", "project", answers(order, wrong)).code == 0
        return order

    first = details()
    asked("--test", 10)  # random images, as the first ones
    before = details()
    assert before["proposed"][0] == first["proposed"][0] + 10
    table(-logits(), "opposite.csv")
    scheme = ("--images", "1.0", "--scheme", "proposals(by=scores, per_image=2)")
    everything = tuple(range(IMAGES))
    order = asked(*scheme, "--scores", "opposite.csv", wrong=everything)
    assert np.allclose(order.scores, -logits(), atol=1e-4)
    assert details().equals(before)
    asked("--test", 4)  # of images that the scores left
    assert details().equals(before)


def test_the_savings_are_those_of_the_orders(project) -> None:
    facts = project("status", "project", "--json").json["scores"]
    assert facts["purchases"][0]["scheme"] == "full-subset"
    assert facts["purchases"][0]["questions"] == 3 * facts["left"]
    assert {one["scheme"].partition("(")[0] for one in facts["purchases"]} == {
        "full-subset", "proposals",
    }  # fmt: skip
    printed = project("status", "project")
    assert "too few images are labelled" in printed.out  # for thresholds of machine
    proposals = facts["purchases"][-1]
    share = float(re.match(r"(\d+)%", proposals["labels"])[1])
    assert share >= 90 and f"{proposals['questions']:,}" in printed.out
    words = shlex.split(printed.out.partition("To order: ")[2].splitlines()[0])
    words[words.index("SCHEME")] = proposals["scheme"]
    done = project(*words[1:], "--repeat", 0, "--to", "csv")
    assert f"round 2 of project/order1: {proposals['questions']:,} questions" in done.out
    assert re.search(rf"\ntotal .* {proposals['dollars']:.2f}\n", done.out)
    order, present = Order.read("project/order1"), truth()
    later = order.rounds[1].table
    rows = [FILES.index(str(order.images[n])) for n in np.unique(later["image"])]
    shown = present[[FILES.index(str(order.images[n])) for n in later["image"]], later["class"]]
    assert shown.sum() / present[rows].sum() > 0.75


def test_thresholds_of_a_sure_model_save_questions(shell, tmp_path, monkeypatch) -> None:  # noqa: F811
    from simkit.annotate.schemes import machine

    photographs(tmp_path / "photos", IMAGES)
    sure = np.where(truth(), 6.0, -6.0) + np.random.default_rng(3).normal(0, 0.5, (IMAGES, 3))
    values = ("--scores", table(sure), "--budget", "0.3", "--repeat", 0)
    assert start(shell, *values).code == 0
    order = Order.read("project/order1")
    assert shell("receive", "project", answers(order)).code == 0
    monkeypatch.setattr(machine.ModelAnswers, "wrong_present", 0.2)
    monkeypatch.setattr(
        "simkit.orders.project_scores.ModelAnswers",
        lambda: machine.ModelAnswers(wrong_present=0.2, wrong_absent=0.2),
    )
    facts = shell("status", "project", "--json").json["scores"]
    ways = [one for one in facts["purchases"] if one["scheme"].startswith("machine(")]
    assert [one["labels"] for one in ways] == [
        "all; up to 20% of its present and 20.0% of its absent wrong",
        "all; up to 20.0% of its absent wrong",
    ]
    assert ["high=1.0" in one["scheme"] for one in ways] == [False, True]
    pilot = {FILES.index(str(order.images[n])) for n in np.unique(order.table["image"])}
    rest = sure[[n for n in range(IMAGES) if n not in pilot]]
    for one in ways:
        high, low = (float(re.search(rf"{side}=([\d.e-]+)", one["scheme"])[1])
                     for side in ("high", "low"))  # fmt: skip
        with np.errstate(divide="ignore"):
            left = (rest < logit(high)) & (rest > logit(low))
        assert one["questions"] == left.sum() < 3 * len(rest)


BAD = {
    "percent": (lambda x: 100 * expit(x), "p / 100 in a table", lambda x: x / 100),
    "logarithms": (lambda x: np.log(expit(x)), "exp(x) for a logarithm", np.exp),
    "cosines": (lambda x: np.tanh(x / 9), "1 / (1 + exp(-x)) for a logit", expit),
    "unlikely": (lambda x: x - 20, "1 / (1 + exp(-x)) for a logit", expit),
    "likely only": (lambda x: expit(np.abs(x)), "or 0 where", lambda p: np.where(p > 0.6, p, 0)),
}


@pytest.mark.parametrize("name", BAD)
def test_scores_of_another_scale_are_refused_with_a_mend_that_works(
    shell, tmp_path, name: str  # noqa: F811
) -> None:  # fmt: skip
    photographs(tmp_path / "photos", IMAGES)
    change, says, mend = BAD[name]
    done = start(shell, "--scores", table(change(logits())))
    assert done.code == 2 and says in done.err and "scores.csv" in done.err
    assert not Path("project").exists()
    assert start(shell, "--scores", table(mend(change(logits())))).code == 0
    kept = Order.read("project/order1").scores
    expected = logit(np.clip(mend(change(logits())), 1e-12, 1 - 1e-12))
    assert kept is not None and np.allclose(kept, expected, atol=1e-4)


def test_images_and_classes_are_matched_by_name_and_missing_ones_named(shell, tmp_path) -> None:  # noqa: F811
    photos = photographs(tmp_path / "photos", IMAGES)
    (photos / "torn.png").write_bytes((photos / "0001.png").read_bytes()[:60])
    pairs = pd.DataFrame(expit(logits()), FILES, [name.upper() for name in CLASSES]).stack()
    pairs.index = [f"C:\\photos\\{image}/{name}" for image, name in pairs.index]
    names = pairs.index.str.rpartition("/").to_frame(index=False)
    boxes = pd.DataFrame({"file": names[0], "label": names[2], "confidence": pairs.to_numpy()})
    boxes[boxes["confidence"] >= 0.3].to_csv("boxes.csv", index=False)
    done = start(shell, "--scores", "boxes.csv")
    assert done.code == 0, done.err
    missing = IMAGES * 3 + 3 - (expit(logits()) >= 0.3).sum()
    assert f"{missing} of {IMAGES * 3 + 3}" in done.err
    assert (
        "'cat' is 'CAT'" in done.err and "names of images that are spelled differently" in done.err
    )
    boxes.assign(file="other.png").to_csv("others.csv", index=False)
    done = start(shell, "--scores", "others.csv", "--out", "second")
    assert done.code == 2 and "has 'other.png', but ids such as '0000.png' are expected" in done.err
    kept = Order.read("project/order1").scores
    scored = expit(logits()) >= 0.3
    assert np.allclose(kept[scored], logits()[scored], atol=1e-4) and (kept[~scored] < -1e8).all()


def as_coco(photos: Path) -> list[int]:
    """Labels of the photographs in the format of COCO, with integer ids; returns these."""
    ids = [1000 + 7 * n for n in range(IMAGES)]
    images = [{"id": i, "file_name": name} for i, name in zip(ids, FILES, strict=True)]
    found = [(ids[row], int(c) + 1) for row, c in np.argwhere(truth()).tolist()]
    marks = [{"id": n, "image_id": i, "category_id": c} for n, (i, c) in enumerate(found)]
    kinds = [{"id": c + 1, "name": name} for c, name in enumerate(CLASSES)]
    whole = {"images": images, "annotations": marks, "categories": kinds}
    (photos / "instances.json").write_text(json.dumps(whole))
    return ids


def test_names_of_files_find_images_whose_ids_are_numbers(shell, tmp_path) -> None:  # noqa: F811
    photos = photographs(tmp_path / "photos", IMAGES)
    ids = as_coco(photos)
    data = f"coco:{photos / 'instances.json'},images={photos}"
    begin = ("quickstart", data, "--budget", "0.3", "--repeat", 0, "--scores")
    frame = pd.DataFrame(logits(), [f"/data/photos/{name}" for name in FILES], CLASSES)
    frame.to_csv("scores.csv", index_label="image")
    done = shell(*begin, "scores.csv", "--out", "by-file")
    assert done.code == 0, done.err
    assert f"matched by file name: 120 of 120 ('/data/photos/0000.png' is {ids[0]}," in done.err
    assert np.allclose(Order.read("by-file/order1").scores, logits())
    assert Order.read("by-file/order1").images.tolist() == ids
    frame.set_axis([f"x{name}" for name in FILES]).to_csv("other.csv", index_label="image")
    done = shell(*begin, "other.csv", "--out", "other")
    assert done.code == 2 and "np." not in done.err and done.err.count("x0000.png") == 1
    assert f"has 'x0000.png', but ids such as '{ids[0]}' or names of files such as" in done.err
    frame.set_axis(ids).to_csv("ids.csv", index_label="image")
    assert "matched by" not in shell(*begin, "ids.csv", "--out", "by-id").err
    assert np.allclose(Order.read("by-id/order1").scores, logits())
    pairs = pd.DataFrame({"image": FILES[5:2:-1], "class": "dog"})
    pairs.to_json("only.json", orient="records")
    without = data.partition(",")[0]  # the annotation file alone names the files
    done = shell("order", "--data", without, "--only", "only.json", "--to", "csv", "--split",
                 "train+val")  # fmt: skip
    assert done.code == 0 and "only.json: images matched by file name: 3 of 3" in done.err
    order = Order.read("order1")
    assert order.images[order.table["image"]].tolist() == [ids[5], ids[4], ids[3]]


def test_two_columns_or_rows_for_one_score_are_refused(shell, tmp_path) -> None:  # noqa: F811
    photographs(tmp_path / "photos", IMAGES)
    pairs = pd.DataFrame(logits(), FILES, CLASSES).stack().rename("score").reset_index()
    pairs.columns = ["image", "class", "score"]
    pairs.assign(confidence=0.5).to_csv("two.csv", index=False)
    done = start(shell, "--scores", "two.csv")
    assert done.code == 2 and "columns 'score' and 'confidence' could both" in done.err
    wide = pd.DataFrame(logits(), FILES, CLASSES)
    again = pd.concat([wide, wide.iloc[:1].set_axis(["/mnt/0000.png"])])
    again.to_csv("rows.csv", index_label="image")
    done = start(shell, "--scores", "rows.csv")
    assert done.code == 2 and "'0000.png' and '/mnt/0000.png' are the same image" in done.err


def test_scores_of_an_image_text_model_are_kept_as_its_logits(shell, tmp_path) -> None:  # noqa: F811
    from simkit.annotate.similarities import Similarities, write_similarities

    photographs(tmp_path / "photos", IMAGES)
    cosines = (logits() / 100).astype(np.float32)
    part = Similarities(cosines, np.array(FILES), tuple(CLASSES), scale=100.0, bias=-1.0)
    write_similarities({"train": part}, "scores.npz")
    assert start(shell, "--scores", "scores.npz", "--repeat", 0).code == 0
    kept = pd.read_parquet("project/project_scores.parquet").set_index("image")
    assert list(kept.columns) == CLASSES and kept.index.tolist() == FILES
    assert np.allclose(kept, logits() - 1, atol=1e-4)
    fewer = Similarities(cosines[:-1], np.array(FILES[:-1]), tuple(CLASSES))
    write_similarities({"train": fewer}, "fewer.npz")
    done = start(shell, "--scores", "fewer.npz", "--out", "other")
    assert done.code == 2 and "lack 1 of 120 images, such as '0119.png'" in done.err


def test_a_purchase_that_the_scores_find_is_ordered_with_them(shell, tmp_path) -> None:  # noqa: F811
    photographs(tmp_path / "photos", 660)
    names = [f"{n:04}.png" for n in range(660)]
    values = np.random.default_rng(0).normal(-1, 2, (660, 3))
    pd.DataFrame(values, names, CLASSES).to_csv("scores.csv", index_label="image")
    assert start(shell, "--scores", "scores.csv", "--repeat", 0).code == 0
    order = Order.read("project/order1")
    table = order.table[["question", "image", "class"]].to_numpy().tolist()
    rows = [{"order": order.id, "question": number, "worker": "ann",
             "answer": "no" if (image + c) % 3 else "yes", "seconds": 0.3 + number % 2 / 10}
            for number, image, c in table]  # fmt: skip
    Path("answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert shell("receive", "project", "answers.jsonl").code == 0
    for grid in Path("project").glob("grid-*.toml"):
        runs = Path("project/runs") / grid.stem.removeprefix("grid-")
        runs.mkdir(parents=True)
        (runs / "table.csv").touch()
    assert shell("status", "project", "--json").json["next"].startswith("simkit plan ")
    given = "order --next project/order1 --plan project/plan.json --scores"
    for model, command in (("the project's scores", given), ("the pilot's own model", "train")):
        bought = {"purchase_needed": True, "searched": {"model": model}}
        Path("project/plan.json").write_text(json.dumps(bought))
        step = shell("status", "project", "--json").json["next"]
        assert step.startswith(f"simkit {command} "), step
    savings = shell("status", "project").out.partition("labels of the other 440 images")[2]
    shutil.rmtree("project/runs")
    planted.write(Path("project/runs/1"), planted.data(Path("data"), 300))
    planned = shell("plan", "project/runs/1", "--budget", 30, "--images", 440)
    assert planned.code == 0, planned.err
    printed = planned.out.partition("labels of the other 440 images")[2]
    assert printed and printed.strip() == savings.partition("\nnext: ")[0].strip()
