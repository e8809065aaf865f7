"""What all formats share."""

import re
from dataclasses import is_dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from simkit.errors import BadInput
from simkit.files import reading
from simkit.labels import formats
from simkit.labels.formats.base import complete
from simkit.labels.formats.base import formats as registry
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from tests.labels.formats.examples import WRITABLE, labels, refuses, target


def test_every_format_says_what_it_is() -> None:
    known = {"parquet", "npz", "coco", "csv", "npy-triple", "csl-csv", "mmpretrain"}
    assert known <= set(formats.names())
    for part in registry:
        assert is_dataclass(part) and part() == part()
        assert part.title and part.__doc__
        assert all(re.fullmatch(r"\.[a-z]+", suffix) for suffix in part.suffixes)


def test_of_the_formats_of_a_suffix_one_is_plain() -> None:
    for suffix in {suffix for part in registry for suffix in part.suffixes}:
        parts = [part for part in registry if suffix in part.suffixes]
        assert len(parts) == 1 or len([part for part in parts if not part.mark]) == 1, suffix
    assert formats.for_path("a/b.PARQUET") == formats.make("parquet")
    assert formats.for_path(Path("b.npz")) == formats.make("npz")
    assert formats.for_path("no-such-file.json") == formats.make("coco")


@pytest.mark.parametrize("name", WRITABLE)
def test_a_file_is_known_by_its_content_and_a_new_one_by_its_suffix(
    tmp_path: Path, name: str
) -> None:
    part = formats.make(name)
    path = target(part, tmp_path)
    part.write(labels(), path)
    assert formats.for_path(path) == part
    assert not type(formats.for_path(path, writing=True)).mark


@pytest.mark.parametrize("path", ["labels", "labels.txt", "labels.csv.gz"])
def test_other_suffixes_are_refused(path: str) -> None:
    with pytest.raises(BadInput, match=rf"^{path} has the ending .*\.parquet"):
        formats.for_path(path)


@pytest.mark.parametrize("name", WRITABLE)
def test_what_is_written_is_read_again_and_again(tmp_path: Path, name: str) -> None:
    part = formats.make(name)
    path = target(part, tmp_path)
    part.write(labels(), path)
    files = sorted(tmp_path.iterdir())
    once = part.read(path)
    assert once.counts()["present"] == labels().counts()["present"]
    everything = name in ("parquet", "npz")
    assert (once.id == labels().id) >= everything and bool(part.loses(labels())) != everything
    part.write(once, path)
    assert part.read(path).id == once.id
    assert sorted(tmp_path.iterdir()) == files  # and nothing is left over


@pytest.mark.parametrize("name", formats.names())
def test_missing_files_folders_and_empty_files_are_refused(tmp_path: Path, name: str) -> None:
    part = formats.make(name)
    (tmp_path / "empty").touch()
    for path in (tmp_path / "none", tmp_path, tmp_path / "empty"):
        with pytest.raises(BadInput, match=f"^{re.escape(str(path))}"):
            part.read(path)


@pytest.mark.parametrize("name", WRITABLE)
def test_unwritable_targets_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    takes_folders = name == "npy-triple"
    for path in (tmp_path, tmp_path / "file" / "x")[takes_folders:]:
        with pytest.raises(BadInput, match=f"^{re.escape(str(path))}"):
            formats.make(name).write(labels(), path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    "error",
    [
        BadInput("x is odd; mend it"),
        MemoryError(),
        PermissionError(13, "no"),
        UnicodeDecodeError("utf-8", b"a", 0, 1, "no"),
        ValueError("a\n  b."),
        KeyError(),
    ],
)
def test_any_error_of_reading_becomes_one_sentence(tmp_path: Path, error: Exception) -> None:
    path = tmp_path / "x"
    path.touch()

    def read(path: Path) -> None:
        with reading(path, "labels"):
            raise error

    refuses(read, path, "")


def test_bugs_stay_bugs(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    with pytest.raises(AssertionError), reading(tmp_path / "x", "labels"):
        raise AssertionError


def test_complete_labels_are_those_of_a_dense_matrix() -> None:
    rng = np.random.default_rng(0)
    for part in range(20):
        present, known, difficult = (rng.random((9, 4)) < 0.5 for _ in range(3))
        codes = np.where(present, 1, -1)
        if part % 2:
            codes[~known & ~present] = 0
        if part % 3:
            codes[difficult & ~present] = 0
        truth = Truth.of(present, None, None, known if part % 2 else None)
        full = complete(truth, csr_array(difficult) if part % 3 else None)
        again = PartialLabels.of(codes, truth.images, truth.classes, np.ones(9, bool))
        assert full.id == again.id and full.codes.has_canonical_format
        assert not full.codes.data.flags.writeable and not full.asked.flags.writeable
