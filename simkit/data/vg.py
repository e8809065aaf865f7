"""Visual Genome with 200 classes, in the files of the partial-label papers."""

from __future__ import annotations

import json
import os
from typing import ClassVar

from simkit.data.dataset import CC_BY_4, Dataset, Terms, register
from simkit.data.lists import class_names, folder, unique_lines
from simkit.data.splits import Part, assemble, with_pictures
from simkit.errors import BadInput
from simkit.files import expanded, reading
from simkit.labels.formats.base import text_ids
from simkit.labels.truth import Truth, from_indices
from simkit.registry import setting

_LABELS = "vg_category_200_labels_index.json"
_L = 200
_WHAT = "classes of the images (JSON: a list of indices for each image file)"
_LIST = "names of image files, one per line"
_FOLDERS = ("VG_100K", "VG_100K_2")  # of Visual Genome's two archives


@register
class Vg:
    """VG-200: train_list_500.txt, test_list_500.txt and vg_category_200_labels_index.json.

    root: the folder of these files.
    images: the folder that holds VG_100K and VG_100K_2, or VG_100K alone with all images; by
    default `root`.
    names: a text file with the 200 class names; without it, the classes are class-0 to class-199,
    as the published files name none.
    Source: Chen et al., Structured Semantic Transfer for Multi-Label Recognition with Partial
    Labels, AAAI 2022, and its code HCPLab-SYSU/HCP-MLR-PL, datasets/vg.py.
    """

    name: ClassVar[str] = "vg"
    title: ClassVar[str] = "Visual Genome, 200 classes"
    example: ClassVar[str] = "vg:data/vg,images=VG"
    terms: ClassVar[Terms] = Terms(
        "Visual Genome",
        "cc-by-4.0",
        link=CC_BY_4,
        page="https://homes.cs.washington.edu/~ranjay/visualgenome/",
        cite="R. Krishna and others: Visual Genome, IJCV 2017",
    )
    paths: ClassVar[tuple[str, ...]] = ("root", "images", "names")

    root: str = setting(..., "the folder of the two lists and of the labels")
    images: str = setting("", "the folder that holds VG_100K; by default root")
    names: str = setting("", "a text file with the 200 class names, one per line")

    def open(self) -> Dataset:
        """Read labels and lists; image files are decoded on use. Raises BadInput."""
        place = folder(self.root, f"the folder that holds {_LABELS}")
        names = class_names(self.names) if self.names else None
        if names is not None and len(names) != _L:
            raise BadInput(f"{self.names} has {len(names)} class names; {_L} are expected")
        with reading(place / _LABELS, _WHAT) as file:
            listed = json.loads(file.read_bytes())
            if not isinstance(listed, dict):
                raise BadInput("it is not a JSON object; download it again")
        parts, pictures = {}, expanded(self.images) if self.images else place
        for split in ("train", "test"):
            file = place / f"{split}_list_500.txt"
            files = unique_lines(file, _LIST)
            for name in files:
                classes = listed.get(name)
                if not isinstance(classes, list) or any(c not in range(_L) for c in classes):
                    odd = f"no list of numbers below {_L} for {name[:100]!r}, an image of {file}"
                    raise BadInput(f"{place / _LABELS} has {odd}; download both again")
            present = from_indices([listed[name] for name in files], _L)
            part = Part(Truth.of(present, text_ids(files), names))
            first, second = ([f"{each}/{name}" for name in files] for each in _FOLDERS)
            if (pictures / _FOLDERS[1]).is_dir():
                both = zip(first, second, strict=True)
                first = [a if os.path.isfile(pictures / a) else b for a, b in both]
            elif not self.images and not (pictures / _FOLDERS[0]).is_dir():
                parts[split] = part
                continue
            parts[split] = with_pictures(part, pictures, first, drop_missing=None)
        return assemble(self.name, parts, self)
