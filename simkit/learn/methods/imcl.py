"""Interactive multi-label learning (IMCL): classifier and label similarities learn from another."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.labels.partial import PRESENT, UNKNOWN
from simkit.learn.losses import bce, reduce, wide
from simkit.learn.method import FEATURES, Method, register, required
from simkit.learn.methods.known_labels import warn_without_negatives
from simkit.learn.task import Batch, Needs, Outputs
from simkit.registry import Count, NonNegative, Positive, setting

_RIDGE = 1e-6  # regularises mixtures of nearly equal images
_SHORT = 1e-6  # the length of a vector, at least, where it divides
_NEVER = -1e9  # a correlation that excludes an entry; finite, as it is multiplied by 0


class Products(NamedTuple):
    """The inner products of features that a search reads; a leading run dimension is 1.

    images (..., b, M) of images with entries;  entries (..., M, M) of entries with each other;
    lengths (b, 1) of the images.
    """

    images: Tensor
    entries: Tensor
    lengths: Tensor


@register
class InteractiveLearning(Method):
    """Cross-entropy on known labels; missing labels are completed from similar images.

    The classifier completes labels: known ones are 1 and -1/c, others a(x) between them. Each image
    is approximated by a mixture of at most `atoms` images of a dictionary, whose predictions pass
    through a learned graph of classes first; the images are selected by orthogonal matching pursuit
    on labels and features together. The residual of the labels is a loss.

    Reduced to precomputed features: the loss of the features' residual trains a backbone only and
    is omitted, but features still affect the selection. The dictionary is the last `memory` images,
    with their earlier predictions and without gradients, instead of a fixed set that is encoded
    again every few thousand steps. The loss is the share of the labels' squared length in the
    residual, times alpha and the logistic loss of an undecided model, instead of a weight measured
    beforehand; scores of the selection are shares as well. The optimiser is that of the training
    (RMSProp in the paper), and the graph is initialised from known positives, not from word counts.

    The logistic loss is a mean over the known labels of the batch, and both losses are means of a
    batch: with `accumulate` each small batch counts the same, whatever its number of known labels.

    With known positives only, everything is predicted present; `start` warns.
    """

    c: Positive = setting(1.0, "completed labels lie from -1/c to 1; OpenImages: 2")
    alpha: Positive = setting(0.5, "weight of the labels' residual; OpenImages: 1")
    alpha_features: NonNegative = setting(0.25, "weight of features in the choice; OpenImages: 0.5")
    atoms: Count = setting(3, "most images in a mixture")
    # Published: 1e-3 to 1e-20.
    threshold: NonNegative = setting(1e-3, "smallest score of a selected image")
    memory: Count = setting(1000, "images in the dictionary; 10,000 in the source for COCO")
    # The graph's rate over the classifier's: Adam's steps do not shrink with the gradient.
    ratio: Positive = setting(0.1, "learning rate of the graph over that of the classifier")

    name: ClassVar[str] = "imcl"
    title: ClassVar[str] = "IMCL"
    gist: ClassVar[str] = "missing labels completed"
    look: ClassVar = ("#4D4D4D", "8")
    alternative: ClassVar = {"alpha": 0.9}
    source: ClassVar[str] = "Huynh & Elhamifar CVPR 2020"
    decayed: ClassVar[bool] = False

    default_needs: ClassVar[Needs] = Needs(labels=True, features=True)

    # The graph (L, L), the mask of its edges, and the dictionary of M images, with the inner
    # products of their features.
    tensors: ClassVar = {
        "graph": (torch.float32, "classes", "classes"),
        "linked": (torch.bool, "classes", "classes"),
        "features": (torch.float32, "memory", "width"),
        "products": (torch.float32, "memory", "memory"),
        "predicted": (torch.float32, "memory", "classes"),
        "codes": (torch.int8, "memory", "classes"),
        "owner": (torch.int64, "memory"),
        "next": (torch.int64,),
    }
    learned: ClassVar = ("graph",)
    for_training: ClassVar = ("features", "products", "predicted", "codes", "owner")
    of_images: ClassVar = ("features", "products", "owner", "next")

    def fill(self, state: nn.Module, task: Any, chance: Chance) -> None:
        warn_without_negatives(self.name, task)
        # Relative co-occurrence of classes in known positives; columns sum to 1.
        present = (task.labels.codes == PRESENT).astype(np.float32)
        counts = (present.T @ present).toarray()
        together = counts / np.maximum(counts.diagonal(), 1)[:, None]
        np.fill_diagonal(together, 1)
        state.graph.copy_(torch.from_numpy(together / together.sum(0)))
        state.linked.copy_(state.graph > 0)
        state.owner.fill_(-1)

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        x = wide(out.logits)
        unknown = batch.labels == UNKNOWN
        values = bce(x, batch.labels == PRESENT).masked_fill(unknown, 0.0)
        with torch.autocast(x.device.type, enabled=False):
            unexplained = self._unexplained(batch, x, out, state)
        return reduce(values, "mean_observed", ~unknown) + self.alpha * math.log(2) * unexplained

    @torch.no_grad()
    def after_batch(self, batch: Batch, out: Outputs, state: nn.Module) -> None:
        state.graph.clamp_(0, 1).mul_(state.linked)
        M = state.owner.shape[-1]
        x, codes = wide(out.logits)[..., -M:, :], batch.labels[..., -M:, :]
        features = required(out.features, self, FEATURES)[..., -M:, :].to(state.features.dtype)
        slot = (state.next.flatten() + torch.arange(x.shape[-2], device=x.device)) % M
        _replace(state.features, slot, features)
        _replace(state.predicted, slot, self.answer(x))
        _replace(state.codes, slot, codes)
        products = _by_all(features, state.features)
        _replace(state.products, slot, products)
        _replace(state.products.mT, slot, products)
        state.owner[..., slot] = batch.index[-M:]
        state.next.copy_((state.next + x.shape[-2]) % M)

    def answer(self, x: Tensor) -> Tensor:
        """a(x): from -1/c to 1, and 0 at 0."""
        # (e^y - e^-y / c) / (e^y + e^-y) with y = x - log(c) / 2
        return (1 + 1 / self.c) * torch.sigmoid(2 * x - math.log(self.c)) - 1 / self.c

    def _completed(self, answers: Tensor, codes: Tensor) -> Tensor:
        targets = torch.where(codes == PRESENT, 1.0, -1 / self.c).to(answers.dtype)
        return torch.where(codes == UNKNOWN, answers, targets)

    def _unexplained(self, batch: Batch, x: Tensor, out: Outputs, state: nn.Module) -> Tensor:
        """Squared length of what the mixtures leave of the labels, as a share of the whole."""
        labels = self._completed(self.answer(x), batch.labels)
        graph, predicted = state.graph.to(x.dtype), state.predicted.to(x.dtype)
        with torch.no_grad():
            features = required(out.features, self, FEATURES).to(x.dtype)
            kept = state.features.to(x.dtype)
            chosen, weights = self.similar(
                labels,
                self._completed(predicted @ graph, state.codes),
                Products(_by_all(features, kept), state.products.to(x.dtype), _length(features)),
                (state.owner >= 0)[..., None, :]
                & (state.owner[..., None, :] != batch.index[:, None]),
            )
        # Only the selected rows pass through the graph with gradients.
        answers = _rows(predicted, chosen).flatten(-3, -2) @ graph
        codes = _rows(state.codes, chosen)
        rows = self._completed(answers.view(codes.shape), codes)
        mixed = (rows * weights[..., None]).sum(-2)
        explained = (weights != 0).any(-1, keepdim=True)
        left = ((labels - mixed) * explained).square().sum((-2, -1))
        whole = labels.detach().square().sum((-2, -1))
        return left / whole.clamp(min=1.0)

    def similar(
        self, labels: Tensor, entries: Tensor, features: Products, allowed: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Which of M entries best make up each of b images, and with what weights of their labels.

        labels (..., b, L) of the images;  entries (..., M, L), those of the dictionary;  features:
        the products of both;  allowed (..., b, M) bool. Returns indices (..., b, k) and weights
        (..., b, k), 0 where fewer entries were found; k is `atoms`, at most M.

        One entry after another is the one whose squared correlations with the residual of the
        image, in labels and in features, are largest; then all weights are fitted again by least
        squares, in each of the two. Correlations count double where both are positive, and nothing
        elsewhere. A score of less than `threshold` ends the search. Source: Huynh & Elhamifar
        CVPR 2020.

        The search reads products of vectors alone (Rubinstein, Zibulevsky & Elad 2008, "Batch
        OMP"), because those of features are the same for all runs, and features are long.
        """
        most = max(self.alpha, self.alpha_features) / (2 if self.alpha_features else 1)
        shares = self.alpha / most, self.alpha_features / most
        # Correlations are products of vectors of length 1.
        units, length = entries / _length(entries), _length(labels)
        alike = features.entries.reshape(features.entries.shape[-2:])
        lengths = alike.diagonal().sqrt().clamp(min=_SHORT)
        whole = features.images / lengths / features.lengths
        if self.alpha_features == 0:
            whole = torch.ones_like(whole)
        whole = torch.where(allowed, whole, _NEVER)
        correlations = [labels / length @ units.mT, whole]
        chosen: list[Tensor] = []
        alive: list[Tensor] = []
        for _ in range(most_of := min(self.atoms, allowed.shape[-1])):
            # In place and without masks: passes over (..., b, M) take most of the time.
            together = torch.minimum(*correlations).clamp_(min=0).sign_()
            score = correlations[0].square_().mul_(shares[0])
            score.addcmul_(correlations[1], correlations[1], value=shares[1]).mul_(together)
            best = _largest(score)
            value = score.gather(-1, best)
            alive.append((value > 0) & (value >= self.threshold))  # once below, always below
            chosen.append(best)
            index, live = torch.cat(chosen, -1), torch.cat(alive, -1)
            rows = _rows(entries, index) * live[..., None]
            weights = _fitted(rows @ rows.mT, rows @ labels[..., None])
            if len(chosen) == most_of:
                break
            left = labels - (rows * weights[..., None]).sum(-2)
            correlations = [left / length @ units.mT, whole.expand(score.shape).clone()]
            if shares[1] > 0:
                both = live[..., :, None] & live[..., None, :]
                gram = alike[index[..., :, None], index[..., None, :]] * both
                wanted = features.images.expand(score.shape).gather(-1, index) * live
                own = _fitted(gram, wanted[..., None]) / features.lengths
                explained = F.embedding_bag(
                    index.flatten(0, -2),
                    alike,
                    per_sample_weights=own.flatten(0, -2),
                    mode="sum",
                )
                correlations[1].addcdiv_(explained.view(score.shape), lengths, value=-1)
            correlations[1].scatter_(-1, index, _NEVER)
        return index, weights


def _length(vectors: Tensor) -> Tensor:
    """(..., 1) lengths of vectors (..., D), positive."""
    return torch.linalg.vector_norm(vectors, dim=-1, keepdim=True).clamp(min=_SHORT)


def _replace(kept: Tensor, slot: Tensor, values: Tensor) -> None:
    """Write values (..., b, D) to the rows `slot` (b) of kept (..., M, D)."""
    kept.index_copy_(-2, slot, values.to(kept.dtype).expand(*kept.shape[:-2], -1, -1))


def _by_all(features: Tensor, kept: Tensor) -> Tensor:
    """(..., b, M) products of features (b, D) with those kept (..., M, D), equal for all runs."""
    return F.linear(features, kept.flatten(0, -2)).view(*kept.shape[:-2], len(features), -1)


def _largest(values: Tensor) -> Tensor:
    """(..., 1) the index of the largest of values (..., M), the first of ties."""
    if values.device.type == "cpu":  # where numpy takes a tenth of torch's time
        return torch.from_numpy(values.numpy().argmax(-1, keepdims=True))
    return values.argmax(-1, keepdim=True)


def _rows(entries: Tensor, index: Tensor) -> Tensor:
    """(..., b, k, L) rows `index` (..., b, k) of entries (..., M, L)."""
    runs, M = index.shape[:-2], entries.shape[-2]
    first = M * torch.arange(runs.numel(), device=index.device).view(*runs, 1, 1)
    return F.embedding(index + first, entries.flatten(0, -2))


def _fitted(gram: Tensor, wanted: Tensor) -> Tensor:
    """(..., b, k) least-squares weights, from the products (..., b, k, k) of the k entries with
    each other and (..., b, k, 1) with the target."""
    ridge = _RIDGE * gram.diagonal(dim1=-2, dim2=-1).sum(-1)[..., None, None] + 1e-12
    ridge = ridge * torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device)
    return torch.linalg.solve_ex(gram + ridge, wanted).result.squeeze(-1)
