"""States of several runs as one, and back."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import nn


def stack(states: Sequence[nn.Module]) -> nn.Module:
    """One state whose tensors carry a leading run dimension, from the states of equal methods."""
    together = copy.deepcopy(states[0])
    for name, module in together.named_modules():
        twins = [state.get_submodule(name) for state in states]
        for key in module._buffers:
            module._buffers[key] = torch.stack([twin._buffers[key] for twin in twins])
        for key in module._parameters:
            values = torch.stack([twin._parameters[key].detach() for twin in twins])
            module._parameters[key] = nn.Parameter(values)
    return together


def view(state: nn.Module, run: int) -> nn.Module:
    """The state of one run inside a stacked one, sharing its memory."""
    single = copy.copy(state)
    single._buffers = {key: buffer[run] for key, buffer in state._buffers.items()}
    single._parameters = {
        key: nn.Parameter(parameter.detach()[run]) for key, parameter in state._parameters.items()
    }
    single._modules = {key: view(module, run) for key, module in state._modules.items()}
    return single


def unstack(state: nn.Module, run: int) -> nn.Module:
    """The state of one run out of a stacked one: a copy that shares nothing with it."""
    return copy.deepcopy(view(state, run))


def size_in_bytes(state: nn.Module) -> int:
    """Bytes that the tensors of a state take."""
    tensors = [*state.buffers(), *state.parameters()]
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)
