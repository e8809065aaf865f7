"""CNN-RNN: predicts labels one after another, each given the previous ones."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.labels.partial import PRESENT
from simkit.learn.losses import wide
from simkit.learn.method import Method, register
from simkit.learn.task import Batch, Needs, Outputs, Sizes
from simkit.registry import Count, setting


@register
class CNNRNN(Method):
    """A recurrent head predicts the present classes one by one, the most frequent first.

    An LSTM reads the previous classes; its output o_t, projected by U to the space of label
    embeddings E, is added to the scores of the image: scores at step t are logits + E U o_t. An
    additional class is the end token, and the target of a softmax is the next known positive. All
    other labels count as absent, known or not. The loss is a mean over all tokens of a batch, so
    that images with many classes weigh more; with `accumulate` it is a mean over each small batch,
    and these count the same.

    Reduced to a linear head: the source projects image features and o_t together through one more
    layer, and its image part E U_I f is a linear layer of low rank; here the head is that part, at
    full rank. The source decodes by beam search. Here decoding is greedy, up to `longest` classes
    without repetition, and the score of a class is the highest log-odds at any step before the end
    token.
    """

    embedding: Count = setting(64, "dimensions of a label embedding, as in the source")
    hidden: Count = setting(512, "units of the LSTM, as in the source")
    longest: Count = setting(10, "most classes of an image, in training and in prediction")

    name: ClassVar[str] = "cnn-rnn"
    title: ClassVar[str] = "CNN-RNN"
    gist: ClassVar[str] = "classes one after another"
    look: ClassVar = ("#C0C0C0", ">")
    source: ClassVar[str] = "Wang et al. CVPR 2016, eq. 3-6"

    default_needs: ClassVar[Needs] = Needs(labels=True)

    learned: ClassVar = ("labels", "weight", "bias", "out", "stop")

    def shapes(self, sizes: Sizes) -> Any:
        """The last row of `labels` (L + 1, E) is the start and end token."""
        E, H, L = self.embedding, self.hidden, sizes.classes
        shapes = (L + 1, E), (4 * H, E + H), (4 * H,), (E, H), (1,)
        learned = {key: (torch.float32, s) for key, s in zip(self.learned, shapes, strict=True)}
        return {**learned, "rank": (torch.int64, (L,))}

    def fill(self, state: nn.Module, task: Any, chance: Chance) -> None:
        """Weights uniform in +-1/sqrt(hidden); `rank` (L,) of each class, 0 the most frequent."""
        generator, bound = chance.of("rnn").torch(), 1 / math.sqrt(self.hidden)
        for values in (state.labels, state.weight, state.bias, state.out):
            values.copy_((2 * torch.rand(values.shape, generator=generator) - 1) * bound)
        order = np.argsort(-task.labels.per_class(PRESENT), kind="stable")
        state.rank.copy_(torch.from_numpy(np.argsort(order, kind="stable")))

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        x, memory = _begin(wide(out.logits), state)
        # Targets: the known positives by rank, then the end token L; (..., b, T + 1). Images with
        # more than `longest` end after those, as the end token has to be learned from them too.
        L = batch.labels.shape[-1]
        present = batch.labels == PRESENT
        rank = torch.where(present, state.rank[..., None, :], L)
        most = min(self.longest, L)
        first, places = rank.topk(most, dim=-1, largest=False, sorted=True)
        places = torch.where(first < L, places, L)
        named = torch.cat([places, torch.full_like(places[..., :1], L)], -1)
        steps = present.sum(-1).clamp(max=most) + 1
        previous = torch.full_like(named[..., 0], x.shape[-1] - 1)
        total: Tensor | float = 0.0
        for t in range(named.shape[-1]):
            o, memory = _read(previous, memory, state)
            previous = named[..., t]
            values = _scores(x, o, state)
            log_p = values.gather(-1, previous[..., None]).squeeze(-1) - values.logsumexp(-1)
            total = total - torch.where(t < steps, log_p, 0.0).sum(-1)
        return total / steps.sum(-1)

    def predict(self, out: Outputs, state: nn.Module) -> Tensor:
        x, memory = _begin(wide(out.logits), state)
        stop = x.shape[-1] - 1
        classes = torch.arange(stop + 1, device=x.device)
        previous = torch.full_like(x[..., 0], stop, dtype=torch.int64)
        free = torch.ones_like(x, dtype=torch.bool)
        going = torch.ones_like(previous, dtype=torch.bool)[..., None]
        best = torch.full_like(x, -torch.inf)
        for _ in range(min(self.longest, stop)):
            o, memory = _read(previous, memory, state)
            values = _scores(x, o, state)
            # log p / (1 - p) of the softmax. Where p may round to 1, the likeliest class, 1 - p is
            # the sum over the others.
            top = values.argmax(-1, keepdim=True)
            log_p = values.log_softmax(-1)
            odds = log_p - torch.log1p(-log_p.clamp(max=-math.log(2)).exp())
            others = values.scatter(-1, top, -torch.inf).logsumexp(-1, keepdim=True)
            odds = odds.scatter(-1, top, values.gather(-1, top) - others)
            best = torch.where(going, torch.maximum(best, odds), best)
            previous = values.masked_fill(~free, -torch.inf).argmax(-1)
            free = free & (classes != previous[..., None])
            going = going & (previous != stop)[..., None]
        return best[..., :-1]


def _begin(x: Tensor, state: nn.Module) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Scores of the image for every class and, last, for the end token; and an empty memory."""
    stop = state.stop[..., None, :].to(x.dtype)
    zeros = x.new_zeros((*x.shape[:-1], state.out.shape[-1]))
    return torch.cat([x, stop.expand(*x.shape[:-1], 1)], -1), (zeros, zeros)


def _read(
    previous: Tensor, memory: tuple[Tensor, Tensor], state: nn.Module
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """One step of an LSTM (of 1997, with forget gates) on the `previous` label, (..., b)."""
    o, cell = memory
    E = state.labels.shape[-1]
    word = state.labels.gather(-2, previous[..., None].expand(*previous.shape, E)).to(o.dtype)
    gates = torch.cat([word, o], -1) @ state.weight.mT.to(o.dtype)
    take, keep, new, show = (gates + state.bias[..., None, :]).to(o.dtype).chunk(4, -1)
    cell = torch.sigmoid(keep) * cell + torch.sigmoid(take) * torch.tanh(new)
    o = torch.sigmoid(show) * torch.tanh(cell)
    return o, (o, cell)


def _scores(x: Tensor, o: Tensor, state: nn.Module) -> Tensor:
    """(..., b, L + 1): scores of the image plus those of the previous labels."""
    return x + o @ state.out.mT.to(o.dtype) @ state.labels.mT.to(o.dtype)
