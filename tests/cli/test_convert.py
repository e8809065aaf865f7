"""`simkit convert` writes labels in another format and says what is lost."""

from pathlib import Path

import numpy as np
import pytest

from simkit.labels.formats import make, names
from simkit.labels.partial import PartialLabels
from tests.cli.conftest import truth_file

CODES = np.array([[1, -1, 0], [0, 0, 0], [0, 1, 0], [0, 0, 0]], np.int8)
LABELS = PartialLabels.of(CODES, [7, 8, 5, 6], ["a", "b", "c"], [True, True, True, False])


@pytest.fixture
def given(shell) -> PartialLabels:
    LABELS.save("x.parquet")
    return LABELS


def test_to_csv_by_hand(shell, given) -> None:
    done = shell("convert", "x.parquet", "y.csv")
    assert done.code == 0, done.err
    assert done.out.splitlines()[1:] == [
        "3 labels known (25.00%): 2 present, 1 absent",
        "lost: 2 images without a label, 1 of them asked about, because every row is a label",
        "lost: 1 classes without a label, because every row is a label",
        "wrote y.csv (csv)",
    ]
    assert Path("y.csv").read_text() == "image_id,class,state\n7,a,1\n7,b,-1\n5,b,1\n"


def test_to_everything_and_json(shell, given) -> None:
    for name in sorted(set(names()) - {"coco-panoptic"}):
        out = "folder" if name == "npy-triple" else f"y-{name}{make(name).suffixes[0]}"
        done = shell("convert", "x.parquet", "--to", name, out, "--json")
        assert done.code == 0, done.err
        assert done.json["to"] == name and done.json["file"] == out
        assert done.json["id"] == LABELS.id and not done.json["replaced"]
        assert done.json["lost"] == list(make(name).loses(LABELS))
        assert Path(out).exists()


def test_back_again_by_content(shell, given) -> None:
    for name in ("lvis", "mmpretrain", "csl-csv", "openimages"):
        out = f"y{make(name).suffixes[0]}"
        shell("convert", "x.parquet", "--to", name, out)
        done = shell("convert", out, f"{name}.npz", "--json")
        assert done.code == 0, done.err
        assert (done.json["from"], done.json["to"]) == (name, "npz")
        assert (
            make("npz").read(f"{name}.npz").codes.nnz
            == done.json["counts"]["present"] + (done.json["counts"]["absent"])
        )


def test_cost_and_history_are_lost_and_said(shell) -> None:
    data = f"npz:{truth_file(Path('t.npz'))}"
    shell("simulate", "--scheme", "fpc", "--data", data, "--no-card")
    done = shell("convert", "fpc.parquet", "y.json", "--to", "mmpretrain")
    assert "lost: the questions asked, and with them the cost, because only" in done.out
    assert "lost: the history, because only parquet and npz hold it" in done.out
    done = shell("convert", "fpc.parquet", "y.npz")
    assert "lost" not in done.out
    assert shell("show", "y.npz").out == shell("show", "fpc.parquet").out


def test_where_the_history_stays_is_said(shell) -> None:
    shell("simulate", "--scheme", "fpc", "--data", f"npz:{truth_file(Path('t.npz'))}")
    told = "how these labels were made stays in fpc.card.md and fpc.croissant.json\n"
    assert shell("convert", "fpc.parquet", "y.csv").out.endswith(told)
    Path("fpc.card.md").unlink()
    assert "stays in fpc.croissant.json\n" in shell("convert", "fpc.parquet", "y.csv").out
    assert not Path("y.card.md").exists()


def test_the_truth_is_the_third_array(shell) -> None:
    data = f"npz:{truth_file(Path('t.npz'))}"
    shell("simulate", "--scheme", "single-positive", "--data", data)
    done = shell("convert", "single-positive.parquet", "--to", "npy-triple", "d", "--data", data)
    assert done.code == 0, done.err
    observed, truth = (np.load(f"d/formatted_train_labels{end}.npy") for end in ("_obs", ""))
    assert observed.shape == truth.shape and (truth >= observed).all()
    assert (observed.sum(1) == 1).all() and truth.sum() > observed.sum()
    done = shell("convert", "d", "back.parquet", "--from", "npy-triple", "--json")
    assert done.json["counts"]["present"] == len(observed)


def test_a_file_that_was_there_is_replaced_and_told(shell, given) -> None:
    Path("y.csv").write_text("old")
    done = shell("convert", "x.parquet", "y.csv")
    assert "wrote y.csv (csv), in place of the file that was there" in done.out
    Path("y.json").write_text('{"data_list": []}')  # what stands there does not say the format
    assert shell("convert", "x.parquet", "y.json", "--json").json["to"] == "coco"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("nowhere.parquet y.csv", "nowhere.parquet does not exist; give the path"),
        ("x.parquet y.csv --to npz-triple", "did you mean 'npy-triple'?"),
        ("x.parquet y.xls", "y.xls has the ending '.xls', which no label format has"),
        ("x.parquet x.parquet", "x.parquet is a file that is read here"),
        ("x.parquet y.csv --from csv", "it is a parquet file; name its format as parquet"),
        ("x.parquet y.csv --from coco", "x.parquet is not UTF-8 text, but COCO"),
        ("x.parquet formatted_train_labels_obs.npy --data npz:t.npz", "no split of t has all 4"),
        ("x.parquet y --to npy-triple(file='x')", "gives no image names that differ"),
        ("x.parquet y.csv --to coco", "y.csv has the ending '.csv', but coco is written with"),
        ("x.parquet y.npz --to npy-triple", "but npy-triple is written with the ending"),
    ],
)
def test_bad_input(shell, given, words: str, message: str) -> None:
    truth_file(Path("t.npz"))
    done = shell(f"convert {words}")
    assert done.code == 2 and message in done.err and done.err.count("\n") == 1


def test_originals_are_not_written_over(shell, given) -> None:
    shell("convert", "x.parquet", "src.json")
    shell("convert", "x.parquet", "d", "--to", "npy-triple")
    Path("names.csv").write_text("/m/1,a\n/m/2,b\n/m/3,c\n")
    truth_file(Path("t.npz"))
    told = "is a file that is read here, and writing would replace it"
    names = "openimages(names='names.csv')"
    for arguments in (
        ["x.parquet", "src.json", "--to", "coco(like='src.json')"],
        ["x.parquet", "./src.json", "--to", "lvis(like='src.json')"],
        ["x.parquet", "names.csv", "--to", names],
        ["src.json", "names.csv", "--from", "coco", "--to", names],
        ["x.parquet", "t.npz", "--data", "npz:t.npz"],
        ["d", "d", "--from", "npy-triple", "--to", "npy-triple(negatives=true)"],
        ["d/formatted_train_labels_obs.npy", "d", "--to", "npy-triple"],
    ):
        before = {path: path.read_bytes() for path in Path().rglob("*.*")}
        done = shell("convert", *arguments)
        assert done.code == 2 and told in done.err, done
        assert {path: path.read_bytes() for path in Path().rglob("*.*")} == before
    done = shell("convert", "x.parquet", "new.json", "--to", "coco(like='src.json')")
    assert done.code == 0, done.err
    done = shell("convert", "x.parquet", "labels.txt", "--to", "csv")  # an ending of no format
    assert done.code == 0, done.err
