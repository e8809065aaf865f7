import weakref

import pytest
import torch
from torch import nn

from simkit.errors import BadInput
from simkit.learn.methods.state import for_prediction, size_in_bytes, stack, unstack, view
from tests.learn.methods import zoo


def state(value: float) -> nn.Module:
    outer, inner = nn.Module(), nn.Module()
    outer.register_buffer("count", torch.tensor(int(value)))
    inner.theta = nn.Parameter(torch.full((2, 3), value))
    outer.inner = inner
    return outer


def test_stacking_adds_a_run_axis_and_unstacking_takes_it_away():
    singles = [state(1.0), state(2.0)]
    together = stack(singles)
    assert together.count.tolist() == [1, 2] and together.inner.theta.shape == (2, 2, 3)
    assert isinstance(together.inner.theta, nn.Parameter)
    again = unstack(together, 1)
    assert again.count.item() == 2 and torch.equal(again.inner.theta, singles[1].inner.theta)


def test_a_view_shares_memory_and_a_copy_does_not():
    together = stack([state(1.0), state(2.0)])
    seen, copied = view(together, 0), unstack(together, 0)
    together.count[0] = 7
    with torch.no_grad():
        together.inner.theta[0] = 9
    assert seen.count.item() == 7 and seen.inner.theta[0, 0].item() == 9
    assert copied.count.item() == 1 and copied.inner.theta[0, 0].item() == 1
    assert together.inner.theta.shape == (2, 2, 3)


def test_size_counts_buffers_and_parameters():
    assert size_in_bytes(state(1.0)) == 8 + 6 * 4


def test_a_single_state_is_taken_over_without_a_copy():
    single = state(3.0)
    together = stack([single])
    assert together.count.tolist() == [3] and together.inner.theta.shape == (1, 2, 3)
    single.count.fill_(5)
    assert together.count.tolist() == [5]
    assert single.count.shape == () and view(together, 0).count.item() == 5


def test_states_may_be_made_one_by_one():
    alive: list[weakref.ref[nn.Module]] = []

    def made():
        for value in (1.0, 2.0, 3.0):
            assert all(seen() is None for seen in alive)  # the last one has been let go
            each = state(value)
            alive.append(weakref.ref(each))
            yield each
            del each

    together = stack(made(), 3)
    assert together.count.tolist() == [1, 2, 3]
    assert together.inner.theta[:, 0, 0].tolist() == [1, 2, 3]


def test_a_copy_of_one_run_does_not_hold_the_others():
    together = stack([state(1.0), state(2.0)])
    for copied in (unstack(together, 1), for_prediction(view(together, 1))):
        assert copied.count.untyped_storage().nbytes() == 8 and copied.count.item() == 2


def test_prediction_goes_without_what_training_alone_needs():
    full = state(1.0)
    full.inner.register_buffer("heat", torch.ones(4))
    full.inner.for_training = ("heat",)
    kept = for_prediction(full)
    assert set(kept.state_dict()) == {"count", "inner.theta"} and full.inner.heat.sum() == 4
    full.count.fill_(8)
    assert kept.count.item() == 1


def test_size_leaves_out_what_lies_in_a_file():
    full = state(1.0)
    full.inner.register_buffer("heat", torch.ones(4))
    full.inner.in_file = ("heat",)
    assert size_in_bytes(full) == size_in_bytes(state(1.0))
    assert size_in_bytes(stack([full])) == size_in_bytes(full)


def test_states_in_files_are_not_read_into_memory():
    singles = [state(1.0), state(2.0)]
    for single in singles:
        single.inner.register_buffer("heat", torch.ones(4))
        single.inner.in_file = ("heat",)
    with pytest.raises(BadInput) as error:
        stack(singles)
    assert str(error.value) == (
        "states that lie in files cannot be put together, for that would read them into memory; "
        "train these runs one at a time, or with mapped=False"
    )
    alone = stack(singles[:1])
    assert alone.inner.heat.data_ptr() == singles[0].inner.heat.data_ptr()


@pytest.mark.parametrize(
    ("spec", "kept"),
    [
        ("em-apl", {"quota"}),
        ("curriculum", set()),
        ("an+cl", {"epoch"}),
        ("en(ranking=unknown)", {"expected", "counts", "positives"}),
        ("ep+cl", {"epoch", "inner.expected", "inner.counts", "inner.positives"}),
        ("imcl", {"graph", "linked", "next"}),
    ],
)
def test_what_training_remembers_of_images_is_not_in_models(spec, kept):
    method, _, _, state = zoo.ready(spec)
    assert set(for_prediction(state).state_dict()) == kept
    assert method.state_bytes(zoo.task_for(spec, 0).sizes) > size_in_bytes(for_prediction(state))


def test_a_single_state_is_laid_out_row_by_row():
    state = torch.nn.Module()
    state.matrix = torch.nn.Parameter(torch.arange(6.0).reshape(3, 2).T)
    state.register_buffer("shared", torch.zeros(2))
    together = stack([state])
    assert together.matrix.is_contiguous() and torch.equal(together.matrix[0], state.matrix)
    assert together.shared.data_ptr() == state.shared.data_ptr()
