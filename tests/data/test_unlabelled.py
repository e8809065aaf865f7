"""Images of an order: no label is known, and the test images are of another data set."""

import pytest

from simkit.data import open
from simkit.errors import BadInput


def data(folder, *lines):
    file = folder / "data.toml"
    classes = open("scenes:images=5").classes
    text = ['source = "unlabelled"', 'images = "scenes:images=9,seed=3"', f"classes = {[*classes]}"]
    file.write_text("\n".join([*text, *lines]), "utf-8")
    return str(file)


def test_no_label_is_known_and_the_test_split_is_of_another_data_set(tmp_path):
    alone, scored = open(data(tmp_path)), open(data(tmp_path, 'scored = "scenes:test=7"'))
    assert alone.truth["train"].known.nnz == 0 and set(alone.truth) == {"train"}
    assert scored.truth["test"].id == open("scenes:test=7").truth["test"].id
    assert len(scored.pictures["train"]) == 9 and len(scored.pictures["test"]) == 7


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('split = "nowhere"', "no split 'nowhere'"),
        ('scored = "scenes:test=7"', "'zebra'"),
    ],
)
def test_bad_input(tmp_path, line, text):
    file = data(tmp_path, line)
    if "zebra" in text:
        with_zebra = (tmp_path / "data.toml").read_text().replace("'red'", "'zebra'")
        (tmp_path / "data.toml").write_text(with_zebra)
    with pytest.raises(BadInput, match=text):
        open(file)
