"""A plan in a notebook that nobody has run yet: nothing is loaded, no drawing is left to strip."""

import re
from base64 import b64decode
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from simkit.planning.told.notebook import shown
from tests.planning.sample import EVIL, evil, sample

SOURCE = re.compile(r'src="data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)"')


class Images(HTMLParser):
    """The images of a fragment, and all attributes of everything else."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[dict[str, str]] = []
        self.others: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs) -> None:
        if tag == "img":
            self.found.append({key: value or "" for key, value in attrs})
        else:
            self.others |= {key for key, _ in attrs}


def drawings(text: str) -> list[str]:
    return [b64decode(data).decode() for data in SOURCE.findall(text)]


def test_no_two_dollar_signs_stand_in_one_text() -> None:
    html = "<style>a$b$</style><p>from $5 to <b>$6</b></p>"
    assert shown(html) == (
        "<style>a$b$</style><p>from <span>$</span>5 to <b><span>$</span>6</b></p>"
    )


def test_a_drawing_is_a_picture_with_its_own_look_and_its_words_beside_it() -> None:
    html = (
        "<style>.simkit-plan p { x: y; }\n.simkit-plan svg text { fill: red; }\n"
        "@media print { .simkit-plan svg text { fill: blue; } }</style>"
        '<figure><svg viewBox="0 0 52 40" role="img"><desc id="d">from $5 &amp; on</desc>'
        "<text>$7</text></svg></figure>"
    )
    text = shown(html)
    (image,) = Images(text).found
    assert (image["width"], image["height"], image["alt"]) == ("52", "40", "from $5 & on")
    (drawing,) = drawings(text)
    root = ElementTree.fromstring(drawing)
    assert root.tag == "{http://www.w3.org/2000/svg}svg" and root.attrib["width"] == "52"
    assert root[0].text == "text { fill: red; }" and root[2].text == "$7"


@pytest.mark.parametrize("plan", [sample(), evil()], ids=["plain", "evil"])
def test_a_plan_loads_nothing_and_each_of_its_drawings_is_whole(plan) -> None:
    text = plan._repr_html_()
    assert "<svg" not in text and "<script" not in text
    read = Images(text)
    assert not read.others & {"src", "href", "onload", "onerror", "data"}
    images = read.found
    assert all(set(i) <= {"class", "width", "height", "alt", "src"} for i in images)
    found = drawings(text)
    assert len(found) == len(images) == 1 + len(plan.lines[:5])
    assert "mAP at" in images[0]["alt"] and all(image["class"] == "key" for image in images[1:])
    for drawing in found:
        for part in ElementTree.fromstring(drawing).iter():
            assert part.tag.rsplit("}", 1)[1] not in ("script", "image", "use", "foreignObject")
            assert not [name for name in part.attrib if name.startswith("on") or "href" in name]


def test_what_comes_from_outside_stays_text() -> None:
    text = evil()._repr_html_()
    assert EVIL not in text and EVIL in Images(text).found[0]["alt"]


def test_without_curves_there_is_no_picture() -> None:
    assert not Images(sample(lines=())._repr_html_()).found
