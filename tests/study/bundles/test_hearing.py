import warnings

from simkit.study.bundles.hearing import heard, of_run, texts

from simkit.learn.heads.stack import RunWarning


def test_notes_are_kept_once_and_other_warnings_are_not():
    with heard() as notes:
        for text in ("first", "second", "first"):
            warnings.warn(text, UserWarning, stacklevel=1)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    assert texts(notes) == ["first", "second"]


def test_a_run_hears_what_is_about_it_and_about_all():
    with heard() as notes:
        warnings.warn(RunWarning("of the second", 1), stacklevel=1)
        warnings.warn("of all", stacklevel=1)
    assert of_run(notes, 0) == ["of all"]
    assert of_run(notes, 1) == ["of the second", "of all"]


def test_what_a_method_says_of_labels_is_noted_with_those_labels(small):
    from simkit.study.bundles.agenda import plan, source_of
    from simkit.study.bundles.work import run
    from simkit.study.material.material import opened

    grid = small(schemes=["single-positive", "rpa"], methods=["an", "ignore"], budgets=[], draws=1)
    bundle = plan(grid, opened(source_of(grid)))[0]
    notes = {(r["scheme"], r["method"]): " ".join(r["notes"]) for r in run(bundle).rows}
    assert "learns from known labels alone" in notes["single-positive", "ignore"]
    for others in (("single-positive", "an"), ("rpa", "ignore"), ("rpa", "an")):
        assert "learns from known labels alone" not in notes[others]
