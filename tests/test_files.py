"""Files appear whole or not at all."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from simkit.errors import BadInput
from simkit.files import expanded, may_write, readable, spare, whole


def _content(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_the_file_appears_when_the_block_ends(tmp_path: Path) -> None:
    with whole(tmp_path / "a.txt") as part:
        part.write_text("new")
        assert part.parent == tmp_path and not (tmp_path / "a.txt").exists()
    assert _content(tmp_path) == {"a.txt": "new"}


@pytest.mark.parametrize(
    "error", [RuntimeError(), KeyboardInterrupt(), SystemExit(), BadInput("no")]
)
def test_an_error_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, error: BaseException
) -> None:
    (tmp_path / "a.txt").write_text("old")
    with pytest.raises(type(error)), whole(tmp_path / "a.txt") as part:
        part.write_text("half")
        raise error
    assert _content(tmp_path) == {"a.txt": "old"}


def test_the_file_has_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    with whole(tmp_path / "a.txt") as part:
        part.write_text("")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("usual", "a.txt")]
    assert modes[0] == modes[1]


def test_a_long_name_is_no_obstacle(tmp_path: Path) -> None:
    with whole(tmp_path / ("a" * 250)) as part:
        part.write_text("new")
    assert _content(tmp_path) == {"a" * 250: "new"}


def test_a_killed_process_leaves_nothing_after_the_next_one(tmp_path: Path) -> None:
    program = (
        "import os, sys; from simkit.files import whole, whole_folder\n"
        "with whole(sys.argv[1] + '/a.txt') as part, whole_folder(sys.argv[1] + '/b') as folder:\n"
        "    part.write_text('half'); (folder / 'c').write_text('half'); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    assert len(list(tmp_path.iterdir())) == 2
    with whole(tmp_path / "d.txt") as own, whole(tmp_path / "a.txt") as part:
        part.write_text("new")
        own.write_text("of a process that is running")
    assert {path.name for path in tmp_path.iterdir()} == {"a.txt", "d.txt"}


def test_a_symbolic_link_stays(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "far" / "a.txt")
    for text in ("first", "second"):
        with whole(tmp_path / "link") as part:
            part.write_text(text)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "far" / "a.txt").read_text() == text


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write it")
def test_a_folder_without_permission_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(BadInput, match=r"cannot be written"), whole(tmp_path / "a.txt"):
            pytest.fail("the block was entered")
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(BadInput, match=r"a\.txt cannot be written .No space left on device"),
        whole(tmp_path / "a.txt"),
        open("/dev/full", "w") as stream,
    ):
        stream.write("x")
    assert _content(tmp_path) == {}


def test_it_is_told_beforehand_what_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_write(tmp_path / "new" / "deep" / "file")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("x")
    may_write(tmp_path / "file")
    with pytest.raises(BadInput) as error:
        may_write(tmp_path / "file" / "below")
    assert str(error.value).startswith(f"{tmp_path / 'file' / 'below'} cannot be written")
    with pytest.raises(BadInput, match="is a folder; give the name of a file to write"):
        may_write(tmp_path)
    with pytest.raises(BadInput, match=r"cannot be written .File name too long.; choose"):
        may_write(tmp_path / ("x" * 300) / "y")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(BadInput, match=r"is not a writable folder.; choose another place"):
        may_write(tmp_path / "other")


def test_other_errors_of_the_block_stay_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(PermissionError), whole(tmp_path / "a.txt"):
        raise PermissionError(13, "Permission denied", "another file")


def test_the_home_folder_stands_in_for_its_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert expanded("~/a/b.json") == Path("/home/me/a/b.json")
    assert expanded("a/~b") == Path("a/~b")
    assert expanded("~nobody of that name/x.json") == Path("~nobody of that name/x.json")


def test_a_file_that_is_read_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    (tmp_path / "sub").mkdir()
    for path in (tmp_path / "a", tmp_path / "sub" / ".." / "a", tmp_path / "link"):
        message = f"{path} is a file that is read here"
        with pytest.raises(BadInput, match=re.escape(message)):
            spare(path, "", tmp_path / "missing", tmp_path / "a")
    spare(tmp_path / "b", "", tmp_path / "b", tmp_path / "a", tmp_path / ("a" * 300), "\0")


def test_other_targets_are_named_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    (tmp_path / "file").write_text("")
    for target, reason in (
        (tmp_path, "is a folder; give the name of a file to write"),
        (tmp_path / "a", "cannot be written"),  # links in a circle
        (Path("/dev/null"), "is not a regular file"),
        (tmp_path / "file" / "a.txt", "cannot be written"),
        (tmp_path / ("a" * 300), "cannot be written (File name too long)"),
    ):
        with pytest.raises(BadInput, match=f"^{re.escape(f'{target} {reason}')}"), whole(target):
            pytest.fail("the block was entered")


def test_a_file_to_read_is_there_and_ordinary(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    assert readable(str(tmp_path / "a"), "labels") == tmp_path / "a"
    os.mkfifo(tmp_path / "pipe")
    for path, reason in (
        (tmp_path, "is a folder, but a file with labels is expected"),
        (tmp_path / "x", "does not exist; give the path of a file with labels"),
        (tmp_path / ("a" * 300), "does not exist"),
        (tmp_path / "pipe", "is not a regular file"),
        (Path(os.devnull), "is not a regular file"),
    ):
        with pytest.raises(BadInput, match=f"^{re.escape(f'{path} {reason}')}"):
            readable(path, "labels")
