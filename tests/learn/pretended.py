"""A pretended GPU: tensors that say cuda, hold CPU memory, and refuse to meet those of the CPU.

What would fail on a GPU, or wait for it, is found without one: `Far` tensors raise an error when
they meet a plain tensor, and every operator that copies values to the CPU is noted.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_leaves, tree_map_only

GPU = torch.device("cuda", 0)
WAITS = ("_local_scalar_dense", "nonzero", "masked_select", "unique", "is_nonzero", "bincount",
         "repeat_interleave.Tensor", "aten.equal", "histc")  # fmt: skip
waits: list[str] = []  # operators that waited for the device
_far_call = [0]  # depth of calls with far tensors, in which new tensors are far too
_plain_call = [0]  # depth of operators that run on the memory itself


@contextmanager
def _within(depth: list[int]):
    depth[0] += 1
    try:
        yield
    finally:
        depth[0] -= 1


def _is_gpu(device: Any) -> bool:
    return isinstance(device, int) or (device is not None and torch.device(device).type == "cuda")


class Far(torch.Tensor):
    """A tensor on the pretended GPU; `memory` has its values."""

    @staticmethod
    def __new__(cls, memory: torch.Tensor) -> Far:
        made = torch.Tensor._make_wrapper_subclass(
            cls, memory.shape, strides=memory.stride(), storage_offset=memory.storage_offset(),
            dtype=memory.dtype, layout=memory.layout, device="cpu",
        )  # fmt: skip
        made.memory = memory
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> torch.Tensor:
        if id(self) not in memo:
            with torch.no_grad():
                made = Far(self.memory.clone())
            parameter = isinstance(self, torch.nn.Parameter) or hasattr(self, "_is_param")
            made = torch.nn.Parameter(made, self.requires_grad) if parameter else made
            memo[id(self)] = made if parameter else made.requires_grad_(self.requires_grad)
        return memo[id(self)]

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if getattr(func, "__name__", "") == "__get__":
            said = {"device": GPU, "is_cuda": True, "is_cpu": False}
            if (name := getattr(func.__self__, "__name__", "")) in said:
                return said[name]
        if func in (torch.Tensor.numpy, torch.Tensor.__array__):
            raise TypeError("can't convert cuda:0 device type tensor to numpy")
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        name, kwargs = str(func), dict(kwargs or {})
        met = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor) and x.ndim]
        indexed = name.startswith(("aten.index.Tensor", "aten.index_put"))
        if "copy_" not in name and any(not isinstance(x, Far) for x in met):
            raise RuntimeError(f"Expected all tensors to be on the same device ({name})")
        masked = indexed and any(
            x.dtype in (torch.bool, torch.uint8) for x in tree_leaves(args[1]) if x is not None
        )
        if masked or any(word in name for word in WAITS):
            waits.append(name)
        inside, named = tree_map_only(Far, lambda x: x.memory, (args, kwargs))
        if _is_gpu(named.get("device")):
            named["device"] = torch.device("cpu")
        with _within(_plain_call):
            out = func(*inside, **named)
        out = tree_map_only(torch.Tensor, lambda x: x if isinstance(x, Far) else Far(x), out)
        return return_and_correct_aliasing(func, args, kwargs, out)


class _Sent(torch.autograd.Function):
    @staticmethod
    def forward(ctx, values):
        return Far(values.detach().clone())

    @staticmethod
    def backward(ctx, gradient):
        return gradient.memory if isinstance(gradient, Far) else gradient


class _Fetched(torch.autograd.Function):
    @staticmethod
    def forward(ctx, values):
        return values.memory.detach().clone()

    @staticmethod
    def backward(ctx, gradient):
        return Far(gradient)


def sent(values: torch.Tensor) -> torch.Tensor:
    """The tensor on the pretended GPU."""
    if isinstance(values, Far):
        return values
    follows = values.requires_grad and torch.is_grad_enabled()
    return _Sent.apply(values) if follows else Far(values.detach().clone())


def fetched(values: torch.Tensor) -> torch.Tensor:
    """The tensor on the CPU, for which a GPU has to be waited for."""
    if not isinstance(values, Far):
        return values
    waits.append("to the CPU")
    follows = values.requires_grad and torch.is_grad_enabled()
    return _Fetched.apply(values) if follows else values.memory.detach().clone()


class _MadeFar(TorchDispatchMode):
    """New tensors within an operation on far tensors are far, as gradients are."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        new = not any(isinstance(x, torch.Tensor) for x in tree_leaves((args, kwargs)))
        far = new and _far_call[0] and not _plain_call[0] and isinstance(out, torch.Tensor)
        return Far(out) if far else out


class _Copies(TorchFunctionMode):
    """Copies between the devices, and new tensors on one of them."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func is torch.Tensor.to:
            return self._to(*args, **kwargs)
        if func is torch.Tensor.cpu:
            return fetched(args[0])
        if func in (torch.Tensor.tolist, torch.Tensor.item) and isinstance(args[0], Far):
            return func(fetched(args[0]))
        if _is_gpu(kwargs.get("device")):
            inside = tree_map_only(Far, lambda x: x.memory, args)
            made = func(*inside, **kwargs | {"device": "cpu"})
            return tree_map_only(torch.Tensor, sent, made)
        far = any(isinstance(x, Far) for x in tree_leaves((args, kwargs)))
        accessor = getattr(func, "__name__", "") in ("__get__", "__set__")
        with _within(_far_call) if far and not accessor else nullcontext():
            return func(*args, **kwargs)

    @staticmethod
    def _to(values: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        if args and isinstance(args[0], torch.Tensor):
            args = (args[0].device, args[0].dtype)
        kwargs.pop("copy", None)
        device, dtype, _, form = torch._C._nn._parse_to(*args, **kwargs)
        if dtype is not None or form is not None:
            more = {} if form is None else {"memory_format": form}
            with torch._C.DisableTorchFunctionSubclass():
                values = torch.Tensor.to(values, dtype or values.dtype, **more)
        if device is None:
            return values
        return sent(values) if device.type == "cuda" else fetched(values)


@contextmanager
def pretended_gpu(monkeypatch: pytest.MonkeyPatch):
    """Within the block torch sees one GPU; gives the list of operators that waited for it."""
    values = {
        "is_available": True, "device_count": 1, "empty_cache": None, "manual_seed": None,
        "mem_get_info": (70 << 30, 80 << 30), "memory_reserved": 0, "max_memory_allocated": 0,
        "reset_peak_memory_stats": None, "set_rng_state": None,
    }  # fmt: skip
    for name, value in values.items():
        monkeypatch.setattr(torch.cuda, name, lambda *args, value=value: value)
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda *args: torch.zeros(1))
    monkeypatch.setattr(torch.cuda, "device", lambda *args: nullcontext())
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda self, *args: self)
    for check in ("_accelerator_graph_capture_health_check", "_cuda_graph_capture_health_check"):
        monkeypatch.setattr(torch.optim.Optimizer, check, lambda self: None, raising=False)
    replaced = torch.__future__.get_overwrite_module_params_on_conversion()
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    waits.clear()
    try:
        with _MadeFar(), _Copies():
            yield waits
    finally:
        torch.__future__.set_overwrite_module_params_on_conversion(replaced)
