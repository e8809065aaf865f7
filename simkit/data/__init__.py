"""Data sets by name: `open("scenes")`, `open("coco:train.json,val=val.json")`, `open("npz:FILE")`."""

from simkit.data.dataset import Dataset, Pictures, get, names, open, register

__all__ = ["Dataset", "Pictures", "get", "names", "open", "register"]
