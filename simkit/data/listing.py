"""Names of image files in a folder: those that are meant, and the file that a name means."""

from __future__ import annotations

import math
import os
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from simkit.data.images import ENDINGS, flaw, size
from simkit.errors import BadInput, note, noting
from simkit.labels.names import UPLOADED, ends, matches, plain, respelled, same_end, whole

# Images in other formats; RAW files of cameras among them.
_OTHER_ENDINGS = set(
    ".heic .heif .hif .avif .jxl .jp2 .j2k .psd .svg .eps .ai .tga .pcx .ico .exr .hdr .dcm .xcf "
    ".dng .cr2 .cr3 .crw .nef .nrw .arw .srf .sr2 .raf .orf .rw2 .pef .srw .x3f .3fr .iiq .raw "
    ".rwl .erf .kdc .mrw".split()
)
# Folders and files of systems, and of programs that keep copies of photos; others begin with a dot.
_OF_PROGRAMS = re.compile(
    r"(^|/)(\.+[^./].*|__macosx|@eadir|[#@$]recycle(\.bin)?|recycler|\[originals\]|lost\+found|_vti_cnf"
    r"|(#|@recently-)snapshot|system volume information|__pycache__|thumbs\.db|desktop\.ini"
    r"|captureone/(cache|settings.*)|appdata_\w+/preview|_data/i|resources/derivatives"
    r"|[^/]*\.(lrdata|lrcat-data|(photos|ap|photo)library/(?!originals/|masters/)[^/]*))(/|$)"
)
# Names that programs give to smaller copies, or to folders of them, as in thumbs/a.jpg, a_small.jpg
# and a-150x150.jpg. People use such names too, so that the original has to be there and larger.
_COPY = (
    r"(thumb(nail)?s?|previews?|cached?|derivatives?|resized?|scaled|small|medium|mini|low-?res|tn"
    r"|th|sq|\d{2,4}x\d{2,4}|\d{2,4}px)"
)
_COPY_FOLDER = re.compile(rf"[\W_]*{_COPY}[\W_]*", re.IGNORECASE)
_COPY_NAME = re.compile(rf"^{_COPY}[-_.]+|([-_.@]+{_COPY})+$", re.IGNORECASE)
NO_IMAGES = "empty or not images"
_OUTSIDE = re.compile(r"^(/|[A-Za-z]:/|[\w+.-]+://)|(^|/)\.\.(/|$)")


def made_by_programs(name: str) -> bool:
    """Whether a program made this file: it is hidden, or in a folder of a program.

    name: relative to the folder that the user named, with slashes.
    """
    return _OF_PROGRAMS.search(name.lower()) is not None


def listed(place: Path, rows: Collection[str] = ()) -> tuple[list[str], dict[str, list[str]]]:
    """The images in a folder and below it.

    Parameters
    ----------
    place : Path
    rows : collection of str
        Names that a table lists; their files are not opened.

    Returns
    -------
    names : list of str
        Sorted, relative to the folder.
    left_out : dict
        Names of files that look like images and are left out, by reason.

    Warns
    -----
    UserWarning
        If images may be copies: in folders with names such as cache, or beside larger ones.
    """
    names, made, odd, other = list[str](), list[str](), list[str](), list[str]()
    kinds = Counter[str]()  # of the others
    for name in sorted(_files(place), key=plain):
        ending = os.path.splitext(name)[1].lower()
        if ending not in ENDINGS and ending not in _OTHER_ENDINGS:
            continue
        if made_by_programs(name):
            made.append(name)
        elif ending in ENDINGS and (name in rows or not (kind := flaw(place / name)[0])):
            names.append(name)
        elif ending in ENDINGS and not kind.startswith("HEIC"):
            odd.append(name)
        else:
            other.append(name)
            kinds[ending if ending in _OTHER_ENDINGS else "HEIC or AVIF"] += 1
    copies, doubtful = _smaller_copies(place, names)
    counts = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
    left_out = {
        "hidden or made by programs": made, NO_IMAGES: odd,
        "smaller copies of other images": sorted(copies),
        f"in formats that are not read ({counts})": other,
    }  # fmt: skip
    note(place, sorted(doubtful - {*rows}), "images that are used but may be copies, as the name "
         "of their folder or a larger image of the same name suggests: {}; move them out of the "
         "folder if they are", total=len(names))  # fmt: skip
    names = [name for name in names if name not in copies]
    return names, {why: files for why, files in left_out.items() if files}


def _files(place: Path) -> list[str]:
    """All files in a folder and below it, except links to missing ones, relative to it."""
    return [
        Path(root, file).relative_to(place).as_posix()
        for root, _, inside in os.walk(place)
        for file in inside
        if os.path.isfile(os.path.join(root, file))
    ]


def _smaller_copies(place: Path, names: list[str]) -> tuple[set[str], set[str]]:
    """Images that are copies of larger ones by name and size, and images that may be.

    A folder named thumbs or the like holds copies if most of its images are smaller than others of
    the same names, and none is larger. Images in other folders of such names may be copies, and
    folders in which all images have a quarter of the pixels of others of the same names.
    """
    alike, folders = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for name in names:
        folder, stem = os.path.split(os.path.splitext(name)[0])
        alike[_COPY_NAME.sub("", stem).lower()].append(name)
        folders[folder].append(name)

    @cache
    def pixels(name: str) -> int:
        return math.prod(size(place / name))

    def largest(name: str, *, beside: bool) -> int:
        """The pixels of the largest image of the same name in this folder, or in others."""
        folder, stem = os.path.split(os.path.splitext(name)[0])
        same = alike[_COPY_NAME.sub("", stem).lower()][:99]  # names such as image.jpg are common
        return max((pixels(n) for n in same if (os.path.dirname(n) == folder) is beside), default=0)

    copies, doubtful = set[str](), set[str]()
    for folder, members in folders.items():
        if any(map(_COPY_FOLDER.fullmatch, folder.split("/"))):
            sizes = {name: (pixels(name), largest(name, beside=False)) for name in members}
            smaller = {name for name, (here, other) in sizes.items() if here < other}
            larger = any(0 < other < here for here, other in sizes.values())
            copies |= smaller if 2 * len(smaller) > len(members) and not larger else set()
            doubtful |= {*members} - copies
            continue
        marked = [n for n in members if _COPY_NAME.search(os.path.splitext(os.path.basename(n))[0])]
        copies |= {name for name in marked if pixels(name) < largest(name, beside=True)}
        if all(0 < 4 * pixels(name) <= largest(name, beside=False) for name in members):
            doubtful |= {*members}
    return copies, doubtful - copies


# -- the file that a name means -------------------------------------------------------------------


def as_on_disk(place: Path, names: Sequence[str]) -> list[str]:
    """The names of files as they are on disk, where only the spelling of a name differs.

    That is the Unicode form (macOS stores another one than most people type), the kind of slashes,
    the ending, zeros before a number, and the folder's name before them. Of a path outside the
    folder (of another machine, or a URL) the file is the one that shares most of the last parts. A
    warning tells how many were matched. Names of no file, and those that could be several, stay as
    they are. Raises BadInput where a path outside could be that of several files, or two are one
    file.
    """
    spelled = list(names)
    missing = [
        row
        for row, name in enumerate(names)
        if outside(name) or not os.path.isfile(os.path.join(place, name))
    ]
    if not missing:
        return spelled
    files = _files(place)
    start = re.compile(rf"(\.\./)?{re.escape(plain(place.resolve().name))}/")
    without = lambda name: start.sub("", _spelling(name), count=1)  # noqa: E731
    stem = lambda name: _stem(without(name))  # noqa: E731
    of_people = [file for file in files if not made_by_programs(file)]
    rows = matches(of_people, names, _spelling, without, stem, once=True)
    by_end = ends(map(_spelling, of_people))
    for row in missing:
        name, alike = names[row], list[int]()
        if rows[row] >= 0:
            spelled[row] = of_people[rows[row]]
        elif outside(name):
            path = name.replace("\\", "/")
            address = unquote(path.split("?d=")[-1].split("?")[0])  # as in URLs of Label Studio
            forms = (path, address, UPLOADED.sub(r"\1", address))
            alike = next(filter(None, (same_end(_spelling(form), by_end) for form in forms)), [])
            spelled[row] = of_people[alike[0]] if alike else name
        if len(alike) > 1:
            one, other = sorted(of_people[n] for n in alike)[:2]
            raise BadInput(
                f"{name[-100:]!r} may be {one} or {other} in the folder of the images; write names "
                "that start in this folder"
            )
    meant: dict[str, str] = {}
    for name, file in zip(names, spelled, strict=True):
        if meant.setdefault(file, name) != name and outside(name):
            raise BadInput(
                f"{meant[file][-100:]!r} and {name[-100:]!r} would both be {place / file}; write "
                "names that start in this folder"
            )
    if pairs := [(names[row][-80:], spelled[row]) for row in missing if spelled[row] != names[row]]:
        noting(place, 4)(respelled(pairs, len(names)))
    return spelled


def instead(place: Path, name: str) -> list[str]:
    """The files in the folder or below it that the name of a missing one may mean."""
    last = lambda text: _stem(_spelling(text)).rpartition("/")[2].casefold()  # noqa: E731
    return [file for file in sorted(_files(place)) if last(file) == last(name)]


def outside(name: str) -> bool:
    """Whether a file name is absolute, a URL, or leads out of its folder."""
    return _OUTSIDE.search(name.replace("\\", "/")) is not None


def _spelling(name: str) -> str:
    """A name in the form in which it is compared with those on disk."""
    stem, ending = os.path.splitext(str(PurePosixPath(plain(name.replace("\\", "/")))))
    return stem + ending.lower()


def _stem(name: str) -> str:
    """A name in the form of `_spelling` without the ending of an image and zeros before a number:
    spreadsheets turn 0007.jpg into 7, and pandas into 7.0.
    """
    stem, ending = os.path.splitext(name)
    folder, slash, last = (stem if ending in ENDINGS else name).rpartition("/")
    last = whole(last)
    return folder + slash + (last.lstrip("0") if last.isdigit() else last)
