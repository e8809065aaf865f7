"""The tree that is drawn is the hierarchy."""

import matplotlib.pyplot as plt

from simkit.labels.hierarchy import Hierarchy
from simkit.labels.shipped import shipped
from simkit.study import figures
from simkit.study.figures.labelling.hierarchy import INNER
from simkit.study.figures.previous import INK, PALE


def _texts(drawing) -> list[tuple[str, str]]:
    return [(text.get_text(), text.get_color()) for axes in drawing.axes for text in axes.texts]


def test_classes_are_blue_where_they_have_children() -> None:
    tree = Hierarchy.of(
        ["dog", "animal", "pet", "stone"], [("dog", "animal"), ("dog", "pet"), ("animal", "pet")]
    )
    drawing = figures.make("hierarchy", heading="pets")(tree.table())
    assert _texts(drawing) == [
        ("pet", INNER), ("animal", INNER), ("dog", INK), ("also pet", PALE), ("stone", INK)
    ]  # fmt: skip
    assert [text.get_text() for text in drawing.texts] == [
        "pets", "4 classes, 2 of them without children"
    ]  # fmt: skip
    branches = drawing.axes[0].collections[0].get_paths()
    assert len(branches) == 2  # to animal and to dog
    assert not plt.get_fignums()


def test_columns_begin_with_what_they_stand_below() -> None:
    tree = shipped("coco-80")
    drawing = figures.make("hierarchy")(tree.table())
    assert len(drawing.axes) == 3
    texts = [[(t.get_text(), t.get_color()) for t in axes.texts] for axes in drawing.axes]
    assert texts[1][0] == ("artifact", PALE)
    written = [text for part in texts for text, color in part if color != PALE]
    assert sorted(written) == sorted(tree.classes)
    for axes in drawing.axes:  # no line without its branch but those at the top
        lines = [t for t in axes.texts if not t.get_text().startswith("also ")]
        indented = [t for t in lines if t.get_position()[0] > 0]
        assert len(axes.collections[0].get_paths()) == len(indented)


def test_large_ones_are_cut_and_say_so() -> None:
    drawing = figures.make("hierarchy", most=60)(shipped("lvis-1203").table())
    written = [text for text, color in _texts(drawing) if color != PALE]
    assert len(written) <= 60
    assert drawing.texts[1].get_text() == (
        "1475 classes, 994 of them without children; upper levels"
    )


def test_text_keeps_inside_its_column() -> None:
    drawing = figures.make("hierarchy", columns=3, most=90)(shipped("openimages-600").table())
    drawing.canvas.draw()
    for axes in drawing.axes:
        right = axes.get_window_extent().x1
        assert all(text.get_window_extent().x1 <= right + 2 for text in axes.texts)


def test_a_name_that_is_too_long_is_cut() -> None:
    tree = Hierarchy.of(["x" * 300, "y"], [("x" * 300, "y")])
    drawing = figures.make("hierarchy", columns=2)(tree.table())
    assert any(text.endswith("x…") for text, _ in _texts(drawing))
