"""Batches and outputs to try methods on."""

import numpy as np
import torch
from scipy.sparse import csr_array

from simkit.labels.partial import PartialLabels
from simkit.learn.method import Method
from simkit.learn.methods import Batch, Outputs, Sizes, Task, make


def batch_of(codes, index=None) -> Batch:
    """A batch of all rows of `codes` (..., b, L)."""
    labels = torch.as_tensor(np.asarray(codes), dtype=torch.int8)
    rows = torch.arange(labels.shape[-2]) if index is None else torch.as_tensor(index)
    return Batch(rows, labels)


def plain(logits) -> Outputs:
    """Outputs with nothing but logits."""
    return Outputs(torch.as_tensor(logits))


def started(spec: str | Method, codes) -> tuple[Method, torch.nn.Module]:
    """A method and a state of it, on the labels `codes` (N, L); rows with one were asked."""
    method = make(spec) if isinstance(spec, str) else spec
    codes = np.asarray(codes)
    labels = PartialLabels.of(csr_array(codes))
    give = Task(labels=labels) if method.needs.labels else Sizes(*codes.shape)
    return method, method.start(give)


def loss_and_gradient(method, state, codes, logits):
    """The loss of a batch and its gradient for the logits, as numpy."""
    x = torch.tensor(np.asarray(logits), requires_grad=True)
    loss = method.loss(batch_of(codes), Outputs(x), state)
    loss.backward()
    return loss.detach().numpy(), x.grad.numpy()
