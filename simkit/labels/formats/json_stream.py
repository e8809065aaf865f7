"""JSON files of any size: the elements of their long lists, one at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from simkit.errors import BadInput

STEP = 1 << 22  # characters read at a time; does not change the result
_decode = json.JSONDecoder().raw_decode
_blanks = json.decoder.WHITESPACE.match  # type: ignore[attr-defined]
_NEAR = 16  # errors of a truncated value are at most this many characters before the end


def members(path: Path) -> Iterator[tuple[str, Any]]:
    """Key and value of each member of the object in a JSON file, in the order of the file.

    The value of a list is an iterator of its elements; unread elements are skipped at the next
    member. Only the current element is in memory, not the file. The text may be UTF-8, 16 or 32.
    Raises ValueError for invalid JSON, BadInput for JSON other than an object.
    """
    with path.open("rb") as raw:
        encoding = json.detect_encoding(raw.read(4))
    with path.open(encoding=encoding, errors="surrogatepass", newline="") as stream:
        text = _Text(stream)
        if text.next() != "{":
            kind = type(text.value()).__name__
            raise BadInput(
                f"it is a JSON {kind}, and an object {{...}} is expected; give the whole file, not "
                "one of its lists"
            )
        for key in text.keys():
            if text.next() == "[":
                elements = text.elements()
                yield key, elements
                for _ in elements:
                    pass
            else:
                yield key, text.value()
        if text.next():
            raise text.error("Extra data", text.place)


class _Text:
    """A text that is read piece by piece; `place` is the position of the next value."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._text = ""
        self._before = 0  # characters already discarded
        self.place = 0

    def next(self) -> str:
        """The next character other than white space, "" at the end of the file."""
        while True:
            self.place = _blanks(self._text, self.place).end()
            if self.place < len(self._text):
                return self._text[self.place]
            if not self._more():
                return ""

    def value(self) -> Any:
        """The value at `place`; longer pieces are read until it is complete."""
        self.next()
        while True:
            try:
                value, end = _decode(self._text, self.place)
            except json.JSONDecodeError as error:
                open_text = error.msg.startswith("Unterminated")
                cut_off = open_text or error.pos > len(self._text) - _NEAR
                broken = self.error(error.msg, error.pos)
                if not (cut_off and self._more()):
                    raise broken from None
                continue
            end -= self.place
            # A number near the end of a piece, such as 1 of 1e+, may go on in the next one.
            if self.place + end + _NEAR < len(self._text) or not self._more():
                self.place += end
                return value

    def keys(self) -> Iterator[str]:
        """The keys of the object at `place`; the caller reads the values."""
        self._take("{")
        if self.next() == "}":
            self._take("}")
            return
        while True:
            if self.next() != '"':
                raise self.error("Expecting property name enclosed in double quotes", self.place)
            key = self.value()
            self._take(":")
            yield key
            if self._take(",}") == "}":
                return

    def elements(self) -> Iterator[Any]:
        """The elements of the list at `place`."""
        self._take("[")
        if self.next() == "]":
            self._take("]")
            return
        while True:
            yield self.value()
            if self._take(",]") == "]":
                return

    def error(self, what: str, place: int) -> ValueError:
        """An error message with the character position in the file."""
        return ValueError(f"{what} at character {self._before + place:,}")

    def _take(self, wanted: str) -> str:
        character = self.next()
        if not character or character not in wanted:
            raise self.error(f"Expecting {' or '.join(map(repr, wanted))}", self.place)
        self.place += 1
        return character

    def _more(self) -> bool:
        """Discard the part already read and read on; False at the end of the file."""
        unread = self._text[self.place :]
        piece = self._stream.read(max(STEP, len(unread)))  # doubled, so that long values are fast
        self._before += self.place
        self._text, self.place = unread + piece, 0
        return bool(piece)
