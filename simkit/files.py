"""Atomic writes and checks of paths: a file is written completely or not at all.

Also values as TOML, which the standard library reads but does not write.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import json
import os
import re
import shutil
import socket
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from simkit.errors import BadInput

_BLOCK = 1 << 22  # bytes in memory for a checksum

AnyPath = str | os.PathLike[str]


@contextmanager
def whole(path: AnyPath) -> Iterator[Path]:
    """A temporary path beside `path`, which replaces `path` when the block ends.

    If an error or a signal ends the block, `path` is unchanged. What a killed process left of it is
    removed by the next one. A symbolic link stays: the file that it names is replaced. Raises
    BadInput if `path` is a folder or its folder is not writable.
    """
    target = Path(path)
    with writing(target):
        target = _settled(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=_prefix(target), suffix=_PART, dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        _finish(temporary)  # last, because some writers replace the temporary file
        os.replace(temporary, target)
    except OSError as error:
        ours = error.filename is None or str(error.filename) == str(temporary)
        if error.errno not in _CANNOT_WRITE or not ours:
            raise
        with writing(target):
            raise
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: AnyPath) -> Iterator[Path]:
    """A temporary folder beside `path`, which becomes `path` when the block ends.

    If an error or a signal ends the block, nothing is left. Raises BadInput if there is a file or a
    folder with files at `path`, or if it cannot be written.
    """
    target = Path(path)
    made = [folder for folder in target.parents if not folder.exists()]
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        name = tempfile.mkdtemp(prefix=_prefix(target), suffix=_PART, dir=target.parent)
    temporary = Path(name)
    try:
        yield temporary
        _finish(temporary)
        try:
            os.rename(temporary, target)
        except OSError:
            raise BadInput(
                f"{target} exists and is not overwritten; move it away, or choose another place"
            ) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        with suppress(OSError):  # a folder with files stays
            for folder in made:
                folder.rmdir()


_PART = ".part"


def _prefix(target: Path) -> str:
    """The start of a temporary name, which tells the machine and the process that made it."""
    machine = re.sub(r"[^\w-]", "-", socket.gethostname())[:40]
    _clean(target.parent.absolute(), machine)
    return f".{target.name[:100]}.{machine}.{os.getpid()}."


@functools.cache  # once for each folder: some have thousands of files
def _clean(folder: Path, machine: str) -> None:
    """Remove the temporary files that dead processes of this machine left in a folder."""
    if sys.platform == "win32":  # where os.kill would end the process
        return
    for left in folder.glob(f".*.{machine}.*{_PART}"):
        process = left.name.removesuffix(_PART).split(".")[-2]
        try:
            os.kill(int(process), 0)
        except (ProcessLookupError, OverflowError):
            shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)
        except (ValueError, PermissionError):  # no number, or another user's process
            pass


def _finish(temporary: Path) -> None:
    """Give a file or folder its usual mode, and bring its files to disk.

    A file that is renamed before its content is on disk is empty after a power failure.
    """
    # The mask can only be read by setting it; mkstemp ignores it and would leave 0600.
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(temporary, (0o777 if temporary.is_dir() else 0o666) & ~mask)
    for file in (temporary, *temporary.rglob("*")):
        if file.is_file():
            with file.open("rb+") as stream:
                os.fsync(stream.fileno())


def may_write(path: AnyPath) -> None:
    """Raise BadInput if `whole(path)` could not write; to be called before long work.

    Creates nothing. Checks permissions, not free space.
    """
    target = Path(path)
    with writing(target):
        target = _settled(target)
        parent = next(folder for folder in target.absolute().parents if folder.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise BadInput(
            f"{target} cannot be written ({parent} is not a writable folder); choose another place"
        )


_CANNOT_WRITE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class NotWritten(BadInput):
    """A file or folder that cannot be written."""

    def __init__(self, target: Path, reason: str, mend: str = "choose another place") -> None:
        super().__init__(f"{target} cannot be written ({reason}); {mend}")
        self.target, self.reason, self.mend = target, reason, mend

    def __reduce__(self) -> tuple[Any, ...]:
        return NotWritten, (self.target, self.reason, self.mend)


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """Turn the errors of a file or folder that cannot be written into BadInput."""
    try:
        yield
    except BadInput:
        raise
    except (OSError, ValueError, RuntimeError) as error:
        # ValueError: a zero byte in the name; RuntimeError: links in a circle, before Python 3.13
        reason = getattr(error, "strerror", None) or str(error)
        raise NotWritten(target, reason) from None


def _settled(target: Path) -> Path:
    """The file to write: a symbolic link stays, and the file that it names is written."""
    target = target.resolve() if target.is_symlink() else target
    if target.is_dir():
        raise BadInput(f"{target} is a folder; give the name of a file to write")
    if target.exists() and not target.is_file():  # /dev/null would be replaced by a file
        raise BadInput(f"{target} is not a regular file; give the name of a file to write")
    return target


def expanded(path: AnyPath) -> Path:
    """`path` with the home folder for `~`; unknown users' folders stay as they are."""
    return Path(os.path.expanduser(path))


def beside(path: str, folder: Path) -> str:
    """A path; if nothing is there, the file or folder of the same last names that lies in `folder`
    or nearest above it, as where both were moved together."""
    names = Path(path).parts
    if not os.path.exists(expanded(path)):
        for home in (folder.absolute(), *folder.absolute().parents):
            for first in range(len(names)):
                if os.path.exists(place := home.joinpath(*names[first:])):
                    return str(place)
    return path


def readable(path: AnyPath, what: str) -> Path:
    """`path` as a Path to an existing file. Raises BadInput that names it and `what` it holds."""
    target = Path(path)
    if os.path.isdir(target):
        raise BadInput(f"{target} is a folder, but a file with {what} is expected")
    if not os.path.isfile(target):  # a pipe or a device can be read once at best
        reason = "is not a regular file" if os.path.exists(target) else "does not exist"
        raise BadInput(f"{target} {reason}; give the path of a file with {what}")
    return target


def crc32(path: AnyPath) -> int:
    """CRC-32 of a file, which is read in blocks: feature files are larger than the memory."""
    checksum = 0
    with open(path, "rb") as stream:
        while block := stream.read(_BLOCK):
            checksum = zlib.crc32(block, checksum)
    return checksum


def file_digest(path: AnyPath) -> str:
    """SHA-256 of a file's content, in hexadecimal digits."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


AGAIN = "write it or download it again"


@contextmanager
def reading(path: AnyPath, what: str, mend: str = AGAIN) -> Iterator[Path]:
    """Turn any error from a broken file inside the block into one BadInput.

    Parameters
    ----------
    path : path
        The file, named in the message.
    what : str
        Its expected content.
    mend : str
        The end of the message for content that cannot be read.
    """
    file = readable(path, what)
    with explaining(file, what, mend):
        yield file


@contextmanager
def explaining(file: object, what: str, mend: str = AGAIN) -> Iterator[None]:
    """As `reading`, for content without a file of its own; `file` is its name."""
    try:
        yield
        return
    except (AssertionError, NameError):  # of the program, not of the file
        raise
    except BadInput as error:
        sentence = " ".join(str(error).split())  # ids and names may hold line breaks
        reason = sentence if str(file) in str(error) else f"{file}: {sentence}"
    except (MemoryError, RecursionError):
        reason = f"{file} is nested too deeply or too large to be read; {mend}"
    except UnicodeError:
        reason = f"{file} is not UTF-8 text, but {what} is expected; {mend}"
    except PermissionError:
        reason = f"{file} may not be read; change its permissions"
    except Exception as error:  # readers raise dozens of kinds for damaged files
        cause = " ".join(str(error).split())[:160].rstrip(". ") or type(error).__name__
        reason = f"{file} cannot be read as {what} ({cause}); {mend}"
    raise BadInput(reason) from None


def parse_json(text: str | bytes, halves: str = "strict") -> Any:
    """The values of JSON text.

    An escape may stand for half a character (backslash, ud800), which can be neither printed nor
    written: it is an error, and "replace" puts a question mark in its place.
    """
    return json.loads(json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8", halves))


def spare(path: AnyPath, *originals: AnyPath) -> None:
    """Raise BadInput if the output `path` is one of the input files `originals`.

    Originals may be "" or missing files.
    """
    for original in originals:
        same = False
        with suppress(OSError, ValueError):  # one of them does not exist or is no valid path
            same = bool(str(original)) and os.path.samefile(path, original)
        if same:
            raise BadInput(
                f"{path} is a file that is read here, and writing would replace it; choose another "
                "output file"
            )


def toml(value: Any) -> str:
    """A boolean, number, string or list as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(toml, value)) + "]"
    return repr(value.item() if hasattr(value, "item") else value)  # numbers of numpy


def toml_lines(values: Mapping[str, Any], path: tuple[str, ...] = ()) -> list[str]:
    """The lines of a table; TOML has no null, so values that are None are left out."""
    # Only plain keys need no quotation marks.
    keys = {name: name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml(name) for name in values}
    lines = [
        f"{keys[name]} = {toml(value)}"
        for name, value in values.items()
        if value is not None and not isinstance(value, Mapping)
    ]
    for name, value in values.items():
        if isinstance(value, Mapping) and (value or name == "tuning"):
            inner = (*path, keys[name])
            table = toml_lines(value, inner)
            header = [] if table and table[0] == "" else ["", f"[{'.'.join(inner)}]"]
            lines += [*header, *table]
    return lines
