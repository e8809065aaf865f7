"""Lists of class names as people and other programs write them."""

import json
import warnings

import pytest

from simkit.data.lists import class_names
from simkit.errors import BadInput

PLAIN = "cat\ntraffic light\n"


@pytest.mark.parametrize(
    ("name", "text", "note"),
    [
        ("n.txt", PLAIN, ""), ("n.txt", PLAIN.replace("\n", "\r\n\r\n"), ""),
        ("n.txt", PLAIN.replace("cat", "\u200bcat "), ""),
        ("n.txt", "0: cat\n1: traffic light\n", "'0: cat' names class 'cat'"),
        ("n.txt", "1 cat\n2 traffic light\n", "names class 'cat'"),
        ("n.txt", "1. cat\n2. traffic light\n", "names class 'cat'"),
        ("n.txt", "0,cat\n1,traffic light\n", "names class 'cat'"),
        ("n.txt", "cat,0\ntraffic light,1\n", "names class 'cat'"),
        ("n.txt", "- cat\n- traffic light\n", "names class 'cat'"),
        ("n.txt", '"cat",\n"traffic light"\n', "names class 'cat'"),
        ("n.txt", "n02121808 cat\nn06874185 traffic light\n", "names class 'cat'"),
        ("n.txt", "classes\n" + PLAIN, "is read as a header"),
        ("n.txt", "# May\n" + PLAIN, "comments"),
        ("n.csv", "class\n" + PLAIN, ""), ("n.csv", PLAIN, "call it class if it is a header"),
        ("n.csv", "id;name;color\n0;cat;red\n1;traffic light;blue\n", ""),
        ("n.csv", "/m/01yrx,cat\n/m/015qff,traffic light\n", "names class 'cat'"),
        ("n.csv", "LabelName,DisplayName\n/m/01yrx,cat\n/m/015qff,traffic light\n", ""),
        ("n.json", '["cat", "traffic light"]', ""), ("n.txt", '["cat", "traffic light"]', ""),
        ("n.json", '{"1": "traffic light", "0": "cat"}', ""),
        ("n.json", '{"traffic light": 1, "cat": 0}', ""),
        ("n.json", json.dumps({"images": [], "categories": [
            {"id": 1, "name": "cat"}, {"id": 2, "name": "traffic light"}]}), ""),
        ("n.yaml", "nc: 2\nnames:\n  0: cat  # c\n  1: 'traffic light'\n", ""),
        ("n.yml", "names: [cat, 'traffic light']\n", ""),
        ("n.yaml", "names:\n- cat\n- traffic light\n\ntrain: x\n", ""),
        ("n.txt", "names: {0: cat, 1: traffic light}\n", ""),
    ],
)  # fmt: skip
def test_one_list_in_many_forms(tmp_path, name, text, note):
    (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert class_names(tmp_path / name) == ("cat", "traffic light")
    assert [note in str(each.message) for each in caught] == [True] * bool(note)


@pytest.mark.parametrize(
    ("names", "note"),
    [
        (("class 0", "class 1"), ""), (("1 euro", "2 euro"), ""), (("1", "2", "3"), ""),
        (("dog.n.01", "Käfer"), "cp1252"), (("tench, Tinca", "dog"), "count as one"),
        (("cat", "Cat"), "that look alike"), (("cat", "__background__"), "none is present"),
    ],
)  # fmt: skip
def test_names_that_stay_as_they_are(tmp_path, names, note):
    (tmp_path / "n.txt").write_text("\n".join(names), encoding="cp1252")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert class_names(tmp_path / "n.txt") == names
    assert [note in str(each.message) for each in caught] == [True] * bool(note)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("n.txt", "cat, dog, bird\n", "one name per line"), ("n.txt", "cat;dog", "one name per"),
        ("n.txt", "traffic light\ntraffic\u00a0light\n", "occurs twice"),
        ("n.txt", "Käfer\nKa\u0308fer\n", "occurs twice"),
        ("n.pbtxt", "item {\n  id: 1\n  name: 'cat'\n}\n", "is not a class name"),
        ("n.csv", "cat,animal\ndog,animal\n", "call one class"), ("n.txt", "\n", "is empty"),
        ("n.yaml", "nc: 3\nnames: [cat, dog]\n", "nc is 3"), ("n.yaml", "path: x\n", "no list"),
        ("n.json", '{"a": {"b": 1}}', "one name per line"), ("n.json", "[1, 2]", "one name per"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_lists_that_are_refused(tmp_path, name, text, words):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=words):
        class_names(tmp_path / name)
