"""The training arrays of the single-positive repositories: labels, observed labels, images."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.errors import BadInput
from simkit.files import AnyPath, readable, reading, whole
from simkit.labels.formats import base
from simkit.labels.formats.npz import check_text
from simkit.labels.names import matches
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth, class_names, image_ids, matrix_of
from simkit.registry import setting

OBSERVED = "formatted_train_labels_obs.npy"
_WHAT = f"observed labels ({OBSERVED} beside formatted_train_images.npy)"
_NAME = re.compile(r"(formatted_[^_]+)(_.+)?_labels_obs\.npy")


@base.register
class NpyTriple(base.Format):
    """formatted_train_labels_obs.npy (N, L) float64 and, beside it, formatted_train_images.npy (N,)
    text and, if a truth is given, formatted_train_labels.npy (N, L) float64 of 0 and 1.

    The path is a folder, for the phase train, or the file of observed labels, whose name gives the
    phase (train, val) and, for COCO, the kind of bias (formatted_train_uniform_labels_obs.npy).
    New labels are not written beside an existing truth unless the truth is given again.
    Layout: preprocessing scripts and loader published with Cole et al., CVPR 2021. Observed labels
    are 1 present, 0 unknown, -1 absent; all of their losses except `iu` assert that -1 is absent.

    negatives: write absent labels as -1, for `iu`; otherwise they are left out.
    file: name of an image file, with {} in place of the image id.

    Holds present labels of the asked images (with negatives=true absent ones too, which most of
    those repositories' losses refuse); class names, images not asked about, effort and history are
    lost, and ids that look like numbers are read back as numbers.
    """

    name: ClassVar[str] = "npy-triple"
    title: ClassVar[str] = "Arrays of the single-positive repositories"
    suffixes: ClassVar[tuple[str, ...]] = (".npy",)

    negatives: bool = setting(False, "write absent labels as -1, for `iu`")
    file: str = setting("{}", "image file, with {} in place of the id")

    def write(self, labels: PartialLabels, path: AnyPath) -> None:
        """Write two arrays, all or none. Raises BadInput, also above 2**27 entries."""
        self.write_with_truth(labels, path, None)

    def write_with_truth(self, labels: PartialLabels, path: AnyPath, truth: Truth | None) -> None:
        """Write three arrays, the truth in the order of the labels. Raises BadInput."""
        asked = base.asked_rows(labels, path)
        observed = asked.codes if self.negatives else csr_array(asked.codes > 0)
        names = np.array(base.file_names(asked.images, self.file), dtype=str)
        targets = _files(Path(path))
        if truth is None and targets["truth"].exists():
            other = f"{targets['truth']} is a truth of other labels"
            raise BadInput(f"{other}; give the new one (--data), remove it or use another folder")
        rows = None
        if truth is not None:
            index = matches(truth.images.tolist(), asked.images.tolist())
            if truth.classes != asked.classes or (index < 0).any():
                raise BadInput(
                    "the truth is of other images or classes; give the data set of the labels"
                )
            rows = truth.present[index]
        with ExitStack() as stack:
            for key, matrix in (("observed", observed), ("truth", rows)):
                if matrix is not None:
                    file = stack.enter_context(whole(targets[key]))
                    out = np.lib.format.open_memmap(file, "w+", "<f8", matrix.shape)
                    out[:] = matrix.toarray()
                    out.flush()
            with stack.enter_context(whole(targets["images"])).open("wb") as stream:
                np.save(stream, names, allow_pickle=False)

    def files(self, path: AnyPath) -> tuple[Path, ...]:
        """Observed labels, images and truth. Raises BadInput."""
        return tuple(_files(Path(path)).values())

    def loses(self, labels: PartialLabels) -> tuple[str, ...]:
        """Absent labels, images not asked about, class names, effort and history."""
        L = labels.shape[1]
        absent = (
            "N absent labels, because the training code takes 0 for unknown and refuses -1; "
            "npy-triple(negatives=true) writes them, for the loss iu"
        )
        names = (
            "the names of N classes, because arrays have none: they are read back as class-0 to "
            f"class-{L - 1}"
        )
        counted = {
            absent: 0 if self.negatives else labels.counts()["absent"],
            names: 0 if labels.classes == class_names(None, L) else L,
        }
        return base.lost_with_asked_rows(labels, self.file, counted)

    def read(self, path: AnyPath) -> PartialLabels:
        """The observed labels; all images count as asked, and classes are class-0, class-1 ...

        Raises BadInput.
        """
        files = _files(Path(path))
        with reading(files["observed"], _WHAT) as file:
            codes = csr_array(matrix_of(_mapped(file, 2)))
        with reading(files["images"], "image names (one text per row of labels)") as file:
            listed = np.array(_mapped(file, 1))
            check_text(listed, "the array")
            listed = image_ids(listed)
            ids = base.ids_of(listed.tolist()) if listed.dtype.kind == "U" else listed
            return PartialLabels.of(codes, ids, None, np.ones(codes.shape[0], bool))


def _files(path: Path) -> dict[str, Path]:
    """The three files, for a folder or for a file of observed labels."""
    if path.suffix != ".npy":
        path = path / OBSERVED
    parts = _NAME.fullmatch(path.name)
    if parts is None:
        raise BadInput(f"{path} is no file of observed labels; name it {OBSERVED} or give a folder")
    images, truth = (path.with_name(f"{parts[1]}_{what}.npy") for what in ("images", "labels"))
    return {"observed": path, "images": images, "truth": truth}


def _mapped(path: Path, dimensions: int) -> NDArray[Any]:
    """The memory-mapped array of an .npy file: a header cannot ask for more than the file has."""
    array = np.lib.format.open_memmap(readable(path, "numpy's .npy format"), mode="r")
    if array.ndim != dimensions or not array.size:
        raise BadInput(f"the array has shape {array.shape}; {dimensions} dimensions are expected")
    return array
