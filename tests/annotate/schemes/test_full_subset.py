"""Complete labels for some images."""

import numpy as np

from simkit.annotate.simulate import simulate


def test_asked_images_are_fully_labelled_and_others_not_at_all(truth):
    labels = simulate(truth, "full-subset", images=37)
    codes = labels.codes.toarray()
    assert labels.asked.sum() == 37
    expected = np.where(truth.present.toarray(), 1, -1)
    assert np.array_equal(codes[labels.asked], expected[labels.asked])
    assert not codes[~labels.asked].any()
    # 37 images with 12 classes each.
    assert labels.effort.questions["sweep"].tolist() == [0] * 12 + [37]
