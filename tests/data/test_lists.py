"""Lists in text files."""

from pathlib import Path

import pytest

from simkit.data.lists import different, folder, lines
from simkit.errors import BadInput


def test_lines_lose_blanks_and_byte_order_marks(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbf a b \r\n\r\n\tc\x0cd\n")
    assert lines(path, "names") == ["a b", "c\x0cd"]
    path.write_text("\n")
    with pytest.raises(BadInput, match="is empty"):
        lines(path, "names")
    with pytest.raises(BadInput, match="'b' occurs twice"):
        different(["a", "b", "b"])


def test_folders(tmp_path: Path) -> None:
    assert folder(tmp_path, "it") == tmp_path
    (tmp_path / "f").write_text("")
    for name in ("f", "none", "a" * 5000):
        with pytest.raises(BadInput, match=f"{name[:9]}.*give the folder$"):
            folder(tmp_path / name, "the folder")
