"""What follows from the text of a data set: its files, and the terms of its owners."""

from pathlib import Path

import pytest

from simkit.data.dataset import Terms, near, originals, sources, terms
from simkit.errors import BadInput
from simkit.labels.hierarchy import shipped


def test_the_files_that_a_text_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    Path("pictures").mkdir()
    for name in ("a.json", "b.json"):
        Path(name).touch()
    spec = "coco:a.json,test=~/b.json,val=c.json,images=pictures,order=published"
    assert originals(spec) == (Path("a.json"), tmp_path / "b.json")
    assert originals("coco:train=a.json") == (Path("a.json"),)
    assert originals("scenes") == originals("scenes:images=100") == ()
    assert originals(f"coco:~nobody-of-this-name/x.json,test={'a' * 5000}") == ()


def test_the_table_of_a_folder_is_one_of_them(tmp_path: Path) -> None:
    for name in ("labels.csv", "mine.csv", "a.jpg"):
        (tmp_path / name).touch()
    assert originals(f"folder:{tmp_path}") == (tmp_path / "labels.csv",)
    both = {tmp_path / "labels.csv", tmp_path / "mine.csv"}
    assert set(originals(f"folder:{tmp_path},labels=mine.csv")) == both
    toml = tmp_path / "x.toml"
    toml.write_text('source = "folder"\nroot = "."\nlabels = "mine.csv"\n')
    assert {toml, *both} <= set(originals(str(toml)))


def test_the_files_of_a_toml_file(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).touch()
    toml = tmp_path / "x.toml"
    toml.write_text(f'source = "coco"\ntrain = "a.json"\nval = "{tmp_path / "b.json"}"\nn = 1')
    assert set(originals(str(toml))) == {toml, tmp_path / "a.json", tmp_path / "b.json"}
    toml.write_text("no = toml")
    assert originals(str(toml)) == (toml,)
    assert originals(str(tmp_path / "none.toml")) == ()


OWN = ("folder", "npz", "unlabelled", "webdataset")


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
    with pytest.raises(BadInput, match="cannot be read as a data set"):
        terms(str(path), ())
    with pytest.raises(BadInput, match="did you mean 'scenes'"):
        terms("scene", ())


def test_files_that_were_moved_with_a_folder_are_found_beside_it(tmp_path: Path) -> None:
    """Those of the same last names, in the folder or nearest above it; others stay as named."""
    runs, photos = tmp_path / "new" / "project" / "runs" / "1", tmp_path / "new" / "photos"
    for folder in (runs, photos):
        folder.mkdir(parents=True)
    for file in (runs.parents[1] / "labels.csv", photos / "inside.csv", runs / "inside.csv"):
        file.touch()
    old = "folder:/old/photos,labels=/old/project/labels.csv,part=yes"
    found = f"folder:{photos},labels={runs.parents[1] / 'labels.csv'},part=yes"
    assert near(old, runs) == found
    assert near(found, tmp_path) == found
    assert near("folder:photos,labels=labels.csv,part=yes", runs) == found
    assert near(f"folder:{photos},labels=inside.csv", runs) == f"folder:{photos},labels=inside.csv"
    assert near("coco:gone.json", runs) == "coco:gone.json" and near("scenes", runs) == "scenes"
    assert near("nothing:x=", runs) == "nothing:x="
    assert near(f"coco:{'a' * 5000}", runs) == f"coco:{'a' * 5000}"
