import json
import os
from pathlib import Path

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.learn.aids.prepare import prepare
from simkit.learn.aids.prior import ClassPrior
from simkit.learn.methods import make
from simkit.learn.steps.optim import Settings


def message(act) -> str:
    with pytest.raises(BadInput) as error:
        act()
    return str(error.value)


def test_saved_and_read_back(tmp_path, pooled):
    built = prepare(pooled, make("csl"), settings=Settings(epochs=1)).aid(ClassPrior)
    for prior in (built, ClassPrior([1 / 3, 0, 1])):
        assert (prior.running is None) == (prior is not built)
        prior.save(tmp_path / "prior.json")
        again = ClassPrior.load(tmp_path / "prior.json")
        assert again.id == prior.id and again.classes == prior.classes
        assert again.history == prior.history and (again.values == prior.values).all()


@pytest.mark.parametrize(
    "text, detail",
    [
        ("{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ("[1]", "list indices must be integers or slices, not str"),
        ('{"history": {}}', "'priors'"),
        ('{"priors": {"cat": "a"}, "history": HISTORY}', "a prior is no number"),
        ('{"priors": {}, "history": HISTORY}', None),
        ('{"priors": {"cat": 0.1, "cat": 0.2}, "history": HISTORY}', "'cat' stands there twice"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, text, detail):
    path = tmp_path / "prior.json"
    history = json.dumps(json.loads(ClassPrior([0.5]).history.to_json()))
    path.write_text(text.replace("HISTORY", history))
    wanted = f"{path}: a class prior has shape (0,); (L,) is expected"
    if detail is not None:
        wanted = f"{path} cannot be read as a class prior ({detail}); write it with ClassPrior.save"
    assert message(lambda: ClassPrior.load(path)) == wanted


def test_a_share_that_is_none_is_refused_by_file(tmp_path):
    path = tmp_path / "prior.json"
    ClassPrior([0.5, 0.25], ("cat", "dog")).save(path)
    path.write_text(path.read_text().replace("0.25", "2.5"))
    assert message(lambda: ClassPrior.load(path)) == (
        f"{path}: the prior of class 'dog' is 2.5; a share from 0 to 1 is expected"
    )


def test_a_table_of_the_published_code_is_read(tmp_path):
    path = tmp_path / "prior.csv"
    for text in (
        "Classes,avg_pred\ncat,0.5\ndog,0.25\n1542867\n",
        "cat,0.5\r\ndog,0.25\r\n",
    ):
        path.write_text(text)
        prior = ClassPrior.load(path)
        assert prior.classes == ("cat", "dog") and prior.values.tolist() == [0.5, 0.25]


@pytest.mark.parametrize(
    "text, detail",
    [
        ("cat,0.5\ndog\nfox,0.1\n", "line 2 has 1 fields, and 2 are expected"),
        ("cat,0.5\ndog,much\n", "could not convert string to float: 'much'"),
        ("cat,0.5,1\ndog,0.1,2\n", "line 1 has 3 fields, and 2 are expected"),
    ],
)
def test_a_damaged_table_is_refused(tmp_path, text, detail):
    path = tmp_path / "prior.csv"
    path.write_text(text)
    assert message(lambda: ClassPrior.load(path)) == (
        f"{path} cannot be read as a class prior ({detail}); write it with ClassPrior.save"
    )


@pytest.mark.skipif(not os.environ.get("SIMKIT_DATA"), reason="needs the optional data")
def test_the_published_prior_of_coco_ranks_classes_nearly_as_the_paper_says():
    folder = Path(os.environ["SIMKIT_DATA"])
    prior = ClassPrior.load(folder / "meta" / "prior_fpc_1000.csv")
    truth = np.load(folder / "labels" / "coco2014_train_cooccurrence.npz", allow_pickle=False)
    names = tuple(map(str, truth["class_names"]))
    assert len(prior.values) == 80 and prior.of(("person",)) == [0.542279]
    same = ClassPrior(prior.of(names), names)
    # The paper gives 0.81; the file that came with its code has 0.802.
    assert same.spearman(truth["image_counts"]) == pytest.approx(0.802, abs=0.001)
