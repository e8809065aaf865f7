"""A fragment of a page as a notebook shows it, also one that its reader has not run.

Jupyter strips drawings out of outputs that it does not trust, which leaves their words behind, and
takes what stands between two dollar signs for a formula. So drawings are shown as pictures that
stand in the page, and each dollar sign has an element to itself.
"""

from __future__ import annotations

import re
from base64 import b64encode
from html import escape, unescape

_WHOLE = re.compile(r"(<svg.*?</svg>|<style>.*?</style>)", re.DOTALL)
_TEXT = re.compile(r">([^<]*)<")
_BOX = re.compile(r'<svg viewBox="0 0 (\d+) (\d+)"(?: class="(\w+)")?')
_RULE = re.compile(r"\.simkit-plan svg ([^{]+)(\{[^}]*\})")
_DESCRIBED = re.compile(r"<desc[^>]*>([^<]*)</desc>")
_NAMESPACE = 'xmlns="http://www.w3.org/2000/svg"'


def shown(html: str) -> str:
    """The fragment with its drawings as <img>, and with dollar signs that stay dollar signs.

    html: what `page.fragment` returns.
    """
    look = "".join(f"{what.strip()} {how}" for what, how in _RULE.findall(html.split("@media")[0]))
    parts = _WHOLE.split(html)
    parts[::2] = [_TEXT.sub(_apart, part) for part in parts[::2]]
    parts[1::2] = [_picture(part, look) if _BOX.match(part) else part for part in parts[1::2]]
    return "".join(parts)


def _apart(text: re.Match[str]) -> str:
    return f">{text[1].replace('$', '<span>$</span>')}<"


def _picture(drawing: str, look: str) -> str:
    box = _BOX.match(drawing)
    assert box is not None  # asked by the caller
    width, height, kind = box.groups()
    size = f'width="{width}" height="{height}"'
    opening, rest = drawing.split(">", 1)
    opening = opening.replace("<svg", f"<svg {_NAMESPACE} {size}", 1)
    whole = f"{opening}><style>{look}</style>{rest}"
    data = b64encode(whole.encode()).decode()
    told = _DESCRIBED.search(drawing)
    alt = escape(unescape(told[1])) if told else ""
    named = f' class="{kind}"' if kind else ""
    return f'<img{named} {size} alt="{alt}" src="data:image/svg+xml;base64,{data}">'
