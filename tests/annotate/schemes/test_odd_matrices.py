"""What every scheme promises on odd matrices and with odd settings, whatever schemes there are."""

from __future__ import annotations

import dataclasses
import re
import typing
import warnings
from types import UnionType
from typing import Any, Literal, get_args, get_origin

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from simkit.annotate import schemes
from simkit.annotate.prices import cost, presets
from simkit.annotate.schemes import Scheme
from simkit.annotate.simulate import replay, simulate
from simkit.errors import BadInput
from simkit.history import History
from simkit.labels.hierarchy import Hierarchy, close
from simkit.labels.truth import Truth
from tests.annotate.schemes.variants import options_of


def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Values for a field of this type, sensible and not."""
    if get_origin(kind) in (typing.Union, UnionType):
        return st.one_of(*map(values_of, get_args(kind)))
    if get_origin(kind) is Literal:
        return st.sampled_from(get_args(kind))
    return {
        bool: st.booleans(),
        int: st.sampled_from([0, 1, 2, 3, 7, 1000]),
        float: st.sampled_from([0.0, 1e-6, 0.1, 0.5, 0.9, 1.0, 1.3, 6.0]),
        type(None): st.none(),
        str: st.sampled_from(schemes.names()),  # text is the name of another scheme
    }[kind]


@st.composite
def cases(draw: Any, name: str) -> tuple[Scheme, Truth, Hierarchy]:
    """A scheme with any settings, and a small truth under a chain or a fan of classes."""
    part = schemes.get(name)
    hints = typing.get_type_hints(part)
    chosen = {f.name: draw(values_of(hints[f.name])) for f in dataclasses.fields(part)}
    while True:  # settings that are refused one by one keep their defaults
        try:
            scheme = part(**chosen)
            break
        except BadInput as error:
            refused = [name for name in chosen if re.search(rf"\b{name}\b", str(error))]
            assume(refused)
            del chosen[refused[0]]
    N, L = draw(st.integers(1, 9)), draw(st.integers(1, 7))
    share = draw(st.sampled_from([0.0, 0.2, 0.7, 1.0]))
    present = np.random.default_rng(draw(st.integers(0, 99))).random((N, L)) < share
    names = [f"c{c}" for c in range(L)]
    fan = draw(st.booleans())
    edges = [(names[c], names[0 if fan else c - 1]) for c in range(1, L - draw(st.integers(0, 1)))]
    hierarchy = Hierarchy.of(names, edges)
    return scheme, close(Truth.of(present, classes=names), hierarchy), hierarchy


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", schemes.names())
def test_promises_hold(name):
    @settings(deadline=None, max_examples=10)
    @given(cases(name), st.integers(0, 9))
    def check(case, seed):
        scheme, truth, hierarchy = case
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            promises(scheme, truth, hierarchy, seed)

    check()


def promises(scheme: Scheme, truth: Truth, hierarchy: Hierarchy, seed: int) -> None:
    before, about = truth.present.copy(), options_of(truth)
    shared = {"hierarchy": hierarchy, "seed": seed, **about}
    labels = simulate(truth, scheme, **shared)
    codes, present = labels.codes.toarray(), truth.present.toarray()
    # People's labels agree with the truth; only asked images have any; who is asked is billed.
    right = ((codes > 0) <= present).all() and ((codes < 0) <= ~present).all()
    assert right or labels.effort.machine
    assert ((codes != 0).any(1) <= labels.asked).all()
    assert labels.effort.machine or bool(labels.effort.kinds()) == bool(labels.asked.any())
    # Deterministic, from the history too; the truth is left as it was.
    history = History.from_json(labels.history.to_json())
    assert replay(history, truth, hierarchy, **about).id == labels.id
    assert (before != truth.present).nnz == 0
    # A larger amount keeps what a smaller one found, and costs no less.
    for larger in grown(scheme):
        more = simulate(truth, larger, **shared)
        assert (more.codes.toarray()[codes != 0] == codes[codes != 0]).all()
        assert (labels.asked <= more.asked).all()
        for prices in presets():
            assert cost(labels, prices).dollars <= cost(more, prices).dollars + 1e-9


def grown(scheme: Scheme) -> list[Scheme]:
    """The same scheme with larger amounts."""
    if scheme.amount is None or getattr(scheme, "search", "") == "scores":
        return []  # by scores, absent images among more candidates take the place of others
    value = getattr(scheme, scheme.amount)
    steps = [value + 1, 3 * value + 2] if isinstance(value, int) else [(value + 1) / 2, 1.0]
    return [
        dataclasses.replace(scheme, **{scheme.amount: step})  # type: ignore[type-var]
        for step in steps
        if step >= value
    ]


@pytest.fixture(scope="module")
def wide() -> tuple[Truth, Hierarchy]:
    """Three images and 9,600 classes under 96 tops; the last image shows nothing."""
    L = 9600
    names = [f"c{c}" for c in range(L)]
    hierarchy = Hierarchy.of(names, [(names[c], names[c % 96]) for c in range(96, L)])
    present = np.random.default_rng(1).random((3, L)) < 0.002
    present[2] = False
    return close(Truth.of(present, classes=names), hierarchy), hierarchy


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", schemes.names())
def test_few_images_and_9600_classes(name, wide):
    truth, hierarchy = wide
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        promises(schemes.make(name), truth, hierarchy, seed=1)
