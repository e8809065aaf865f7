"""OpenImages with its human-verified image-level labels: a few known classes per image."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from scipy.sparse import csr_array

from simkit.data.dataset import CC_BY_4, Dataset, Terms, register
from simkit.data.splits import Part, SplitFiles, Unknown, assemble, settled, with_pictures
from simkit.files import expanded, reading
from simkit.labels.formats.openimages import WHAT, read_names, read_rows
from simkit.labels.truth import Truth
from simkit.registry import setting


@register
class OpenImages(SplitFiles):
    """Label files of Open Images (ImageID, Source, LabelName, Confidence), one per split.

    train, val, test: label files. Without `val` the published split takes a fifth of `train` for
    validation; without `test` validation scores are reported.
    names: a class description file (MID, display name), which gives the classes in its order; for
    the hierarchy openimages-600 the one of the boxable classes. Without it the class names are the
    MIDs, in the order of their first rows in all splits.
    images: the folder of the image files, named ImageID.jpg; val_images, test_images: their
    folders, if different. drop_missing: leave out images whose file is missing.
    unknown: "keep" keeps unverified labels unknown: metrics leave them out, and a simulated crowd
    cannot answer questions about them. "absent" assumes them absent, "absent-in-train" only in the
    training set; OpenImages itself does not make this assumption.
    hierarchy: a JSON file or the name of a shipped one, such as openimages-600.

    The label files are also partial labels. If `names` is given, convert them for `train`:
    simkit convert FILE --from "openimages(names='NAMES')" labels.parquet
    """

    name: ClassVar[str] = "openimages"
    title: ClassVar[str] = "OpenImages human-verified labels, known in part"
    example: ClassVar[str] = (
        "openimages:train-annotations-human-imagelabels-boxable.csv,"
        "names=class-descriptions-boxable.csv,images=train,hierarchy=openimages-600"
    )
    terms: ClassVar[Terms] = Terms(
        "Open Images",
        "cc-by-4.0",
        link=CC_BY_4,
        note="the photographs are listed as CC BY 2.0, each to be verified",
        page="https://storage.googleapis.com/openimages/web/index.html",
        cite="A. Kuznetsova and others: The Open Images Dataset V4, IJCV 2020",
    )
    paths: ClassVar[tuple[str, ...]] = (
        "train", "val", "test", "names", "images", "val_images", "test_images", "hierarchy",
    )  # fmt: skip

    train: str = setting(..., "label file of the training set")
    names: str = setting("", "a class description file (MID, display name), in its order")
    images: str = setting("", "folder of the images, called ImageID.jpg")
    val_images: str = setting("", "folder of val, where it is another one")
    test_images: str = setting("", "folder of test, where it is another one")
    drop_missing: bool = setting(False, "leave out images whose file is missing")
    unknown: Unknown = setting("keep", "keep unverified labels unknown, or assume them absent")
    hierarchy: str = setting("", "a JSON file or a shipped name, such as openimages-600")

    def open(self) -> Dataset:
        """Read all splits; image files are decoded on use. Raises BadInput."""
        read = {}
        for split, file in self.files.items():
            with reading(expanded(file), WHAT) as path:
                read[split] = read_rows(path)
        if self.names:
            classes = read_names(expanded(self.names))
        else:
            classes = {name: name for rows in read.values() for name in rows.labels}
        parts = {}
        for split, rows in read.items():
            with reading(expanded(self.files[split]), WHAT) as path:
                codes = rows.codes(classes, path, self.names)
                known = csr_array(codes.astype(bool))
                truth = Truth.of(codes > 0, rows.images, tuple(classes.values()), known)
            part = Part(settled(truth, self.unknown, split))
            names = [f"{image}.jpg" for image in truth.images.tolist()]
            folder = self.folder(split)
            parts[split] = with_pictures(part, folder, names, drop_missing=self.drop_missing)
        return assemble(Path(self.train).stem, parts, self)
