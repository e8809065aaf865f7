"""Terms: each data set's own, and none where the data are somebody else's."""

from pathlib import Path

import pytest

from simkit.data.dataset import sources
from simkit.data.terms import Terms, terms
from simkit.errors import BadInput
from simkit.labels.hierarchy import shipped

OWN = ("folder", "npz")


def test_every_published_data_set_has_terms() -> None:
    for name in sources.names():
        found = terms(name, _classes(name))
        if name in OWN:
            assert found == Terms()
            continue
        assert found.title and (found.page or name == "scenes") and (found.cite or name == "scenes")
        assert found.licence == "unknown" or found.link.startswith("http")
        assert (found.licence == "other") == bool(found.named)


def _classes(name: str) -> tuple[str, ...]:
    known = {"coco": "coco-80", "coco-panoptic": "coco-panoptic-133", "lvis": "lvis-1203"}
    tree = {**known, "voc": "voc-20"}.get(name)
    return shipped(tree).classes if tree else ("cat",)


def test_own_data_in_the_form_of_coco_are_not_cocos() -> None:
    names = shipped("coco-80").classes
    assert terms("coco:a.json,val=b.json", names).licence == "cc-by-4.0"
    assert terms("coco:a.json", ("person", "car")) == Terms()
    tree = shipped("coco-80")
    leaves = [tree.classes[leaf] for leaf in tree.leaves]
    assert len(leaves) == 80
    assert terms("coco:a.json", leaves).licence == "cc-by-4.0"
    assert terms("coco:a.json", leaves[1:]) == Terms()


def test_a_toml_file_has_the_terms_of_its_source(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('source = "scenes"\n')
    assert terms(str(path), ()).licence == "mit"
    path.write_text("source = ")
    with pytest.raises(BadInput, match="cannot be read as TOML"):
        terms(str(path), ())
    with pytest.raises(BadInput, match="did you mean 'scenes'"):
        terms("scene", ())
