"""The numbers of tables about training are what is drawn."""

import numpy as np
import pandas as pd
import pytest

from simkit import figures
from simkit.errors import BadInput
from simkit.results.figures.style import INK, PALE
from tests.results.figures.made import legend, named_lines


def loss_rows(method: str, kind: str, means: list[float], shares: list[float]) -> pd.DataFrame:
    mean = np.array(means)
    rows = pd.DataFrame({"epoch": [1, 2, 3], "mean": mean, "share": shares})
    return rows.assign(method=method, kind=kind, low=mean / 2, median=0.8 * mean, high=2 * mean)


LOSSES = pd.concat(
    [
        loss_rows("an", "true negative", [0.5, 0.2, 0.1], [0.9, 0.1, 0.0]),
        loss_rows("an", "false negative", [0.2, 0.6, 0.3], [0.2, 0.5, 0.3])[::-1],
        loss_rows("ll-r", "true negative", [0.5, 0.3, 0.2], [0.8, 0.1, 0.1]),
    ]
)


def test_memorisation_shows_losses_and_the_share_past_the_highest() -> None:
    drawing = figures.make("memorisation")(LOSSES)
    an, other, past, _ = drawing.axes
    assert [axes.get_title("left") for axes in (an, other)] == ["AN", "LL-R"]
    np.testing.assert_allclose(named_lines(an)["false negatives"].get_ydata(), [0.2, 0.6, 0.3])
    shares = {name: line.get_ydata() for name, line in named_lines(past).items()}
    np.testing.assert_allclose(shares["false negatives"], [20, 70, 100])
    np.testing.assert_allclose(shares["true negatives"], [90, 100, 100])
    assert legend(drawing) == ["true negatives", "false negatives"]
    assert len(other.lines) == 1 and not an.collections


def test_memorisation_shows_medians_with_bands_on_a_log_axis() -> None:
    drawing = figures.make("memorisation", middle="median", log=True)(LOSSES)
    axes = drawing.axes[0]
    assert axes.get_yscale() == "log" and len(axes.collections) == 2
    np.testing.assert_allclose(named_lines(axes)["true negatives"].get_ydata(), [0.4, 0.16, 0.08])
    assert "Bands" in drawing.get_supxlabel()


def counted(method: str, modified: list[int], right: list[int]) -> pd.DataFrame:
    rows = pd.DataFrame({"epoch": [1, 2, 3], "modified": modified, "right": right})
    shares = {"precision": rows["right"] / rows["modified"], "found": rows["right"] / 200}
    return rows.assign(**shares, method=method, lasting=method == "ll-cp", chance=0.1)


MODIFIED = pd.concat(
    [
        counted("ll-r", [0, 10, 20], [0, 9, 16]),
        counted("ll-cp", [0, 5, 10], [0, 5, 9]),
        counted("an", [0, 0, 0], [0, 0, 0]),
    ]
)


def test_modification_shows_precision_beside_what_is_asked_for() -> None:
    drawing = figures.make("modification")(MODIFIED)
    precision, right = map(named_lines, drawing.axes)
    assert precision["LL-R"].get_xdata().tolist() == [2, 3]  # nothing is modified in epoch 1
    np.testing.assert_allclose(precision["LL-R"].get_ydata(), [90, 80])
    assert right["LL-Cp"].get_ydata().tolist() == [5, 9]
    assert precision["at random"].get_ydata() == [10, 10]
    assert legend(drawing) == ["LL-R", "LL-Cp", "at random"]
    assert "Permanent" in drawing.get_supxlabel()
    for beside, values in (("found", [4.5, 8]), ("modified", [10, 20])):
        axes = figures.make("modification", beside=beside)(MODIFIED).axes[1]
        np.testing.assert_allclose(named_lines(axes)["LL-R"].get_ydata(), values)


def test_modification_needs_a_label_that_was_modified() -> None:
    with pytest.raises(BadInput, match="no label was modified"):
        figures.make("modification")(MODIFIED[MODIFIED["method"] == "an"])


def image(row: int, **classes: tuple[bool, bool, str]) -> pd.DataFrame:
    """Of each class: whether it is labelled and present, and "x" for epochs of a correction."""
    rows = [
        {
            "class": name,
            "given": given,
            "present": present,
            "epoch": epoch,
            "corrected": mark == "x",
        }
        for name, (given, present, marks) in classes.items()
        for epoch, mark in enumerate(marks, start=1)
    ]
    return pd.DataFrame(rows).assign(method="ll-ct", row=row, why="most right")


FIRST = image(7, cat=(True, True, "..."), dog=(False, True, ".xx"), cow=(False, False, "..x"))
SECOND = image(9, cat=(False, True, "..."))


def test_corrections_have_signs_and_absent_classes_grey_names() -> None:
    drawing = figures.make("corrections")(pd.concat([FIRST, SECOND]))
    first, second = drawing.axes
    signs = [(t.get_text(), *t.get_position()) for t in first.texts if t.get_text()]
    assert signs == [("+", 1, 1), ("+", 2, 1), ("×", 2, 2)]
    names = {text.get_text(): text.get_color() for text in first.get_yticklabels()}
    assert names == {"cat": INK, "dog": INK, "cow": PALE}
    assert len(first.patches) == 9 and len(second.patches) == 3
    assert "LL-Ct" in drawing.get_suptitle()


def test_corrections_stand_beside_their_pictures() -> None:
    pictures = tuple(np.full((4, 4, 3), value, np.uint8) for value in (10, 20))
    drawing = figures.make("corrections", pictures=pictures)(pd.concat([FIRST, SECOND]))
    shown = [drawing.axes[n].images[0].get_array()[0, 0, 0] for n in (0, 2)]
    assert shown == [10, 20]
    with pytest.raises(BadInput, match="pictures has 2 items for 1 images"):
        figures.make("corrections", pictures=pictures)(FIRST)


def test_corrections_count_the_classes_without_room() -> None:
    axes = figures.make("corrections", classes=2)(FIRST).axes[0]
    assert len(axes.get_yticklabels()) == 2 and "1 more" in axes.get_xlabel()


def curve(method: str, entry: str, epoch: int, gradient: list[float]) -> pd.DataFrame:
    rows = pd.DataFrame({"logit": [-1.0, 0.0, 1.0], "loss": [1.0, 0.0, 1.0], "gradient": gradient})
    return rows.assign(method=method, entry=entry, epoch=epoch)


def test_loss_shapes_have_a_panel_for_each_method_and_late_epochs_where_they_differ() -> None:
    both = [
        curve(method, entry, epoch, [0.1, 0.5, 0.9])
        for method in ("an", "ll-r")
        for entry in ("known", "unknown")
        for epoch in (1, 10)
    ]
    both[-1] = curve("ll-r", "unknown", 10, [0.1, 0.5, 0.0])[::-1]
    drawing = figures.make("loss-shapes", what="gradient")(pd.concat(both), heading="Finding")
    assert drawing.get_suptitle() == "Finding"
    an, ll_r = drawing.axes
    assert [axes.get_title("left") for axes in (an, ll_r)] == ["AN", "LL-R"]
    assert len(an.lines) == 2  # AN in grey, and the method
    behind, late, first, *_ = ll_r.lines
    assert behind.get_ydata().tolist() == first.get_ydata().tolist() == [0.1, 0.5, 0.9]
    assert late.is_dashed() and not first.is_dashed() and late.get_color() == first.get_color()
    assert late.get_xydata().tolist() == [[-1, 0.1], [0, 0.5], [1, 0.0]]
    assert legend(drawing) == ["epoch 1", "epoch 10, where it differs"]
    assert legend(figures.make("loss-shapes", entry="known")(pd.concat(both[:1]))) == ["epoch 1"]
