import torch

from simkit.learn.methods import make
from simkit.learn.optim import Settings
from simkit.learn.train import train, train_stack


class Notes:
    """What a watcher was shown."""

    def __init__(self, method):
        self.method, self.batches, self.epochs = method, [], []

    def __call__(self, epoch, batch, out, state):
        chosen = self.method.selected(batch, out, state)
        maps = None if out.maps is None else out.maps.clone()
        self.batches.append((epoch, batch.index, batch.labels, out.logits.clone(), maps, chosen))

    def after_epoch(self, epoch, model, state):
        self.epochs.append((epoch, model.head.weight.detach().clone(), state.rate.tolist()))


def test_each_run_is_shown_as_if_it_were_alone(task, complete):
    method = make("ll-r(delta=10)")
    settings = Settings(epochs=2, batch_size=32)
    together, alone = Notes(method), Notes(method)
    runs = [(task, make("an+boostlu")), (complete, method), (task, method)]
    train_stack(runs, settings=settings, watch={2: [together]})
    train(task, method, settings=settings, watch=[alone])
    assert len(together.batches) == len(alone.batches) == 6
    for a, b in zip(together.batches, alone.batches, strict=True):
        assert a[0] == b[0] and torch.equal(a[1], b[1]) and torch.equal(a[2], b[2])
        torch.testing.assert_close(a[3], b[3])
        assert a[3].shape == (len(a[1]), 5) and a[4] is None and torch.equal(a[5], b[5])
    assert [n.sum() > 0 for *_, n in alone.batches] == [False] * 3 + [True] * 3
    for a, b in zip(together.epochs, alone.epochs, strict=True):
        assert a[0] == b[0] and a[2] == b[2] == [[1, 10], [1, 5]][a[0] - 1]  # a tenth each
        torch.testing.assert_close(a[1], b[1])


def test_watching_changes_nothing_and_shows_maps_where_there_are_any(task):
    method = make("ll-r+boostlu")
    shown = []
    watched = train(
        task, method, settings=Settings(epochs=1),
        watch=[lambda epoch, batch, out, state: shown.append(out.maps.shape)],
    )  # fmt: skip
    assert shown == [(64, 5, 3, 3), (26, 5, 3, 3)]
    assert watched.id == train(task, method, settings=Settings(epochs=1)).id
