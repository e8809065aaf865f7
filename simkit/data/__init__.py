"""Data sets by name: `open("scenes")`, `open("coco:a.json,val=b.json")`, `open("npz:FILE")`."""

from simkit.data.dataset import Dataset, Pictures, get, names, open, register

__all__ = ["Dataset", "Pictures", "get", "names", "open", "register"]
