"""FiftyOne's multi-label JSON: one file of present and one of absent classes."""

from __future__ import annotations

import json
import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from simkit.errors import BadInput, note
from simkit.files import AnyPath, reading, whole
from simkit.labels.formats import base
from simkit.labels.partial import PartialLabels
from simkit.registry import setting

_WHAT = "labels of FiftyOne (JSON with classes and labels)"
_ENDING = re.compile(r"\.(jpe?g?|jfif|png|webp|bmp|gif|tiff?|p[gp]m|avif|hei[cf])\Z", re.IGNORECASE)


@base.register
class FiftyOne(base.Format):
    """{"classes": [...], "labels": {"a": [0, 3], ...}}: present classes; x.negative.json: absent.

    Both are files of FiftyOneImageClassificationDataset, and each becomes a field of
    Classifications: from_dir(labels_path="x.json", label_field="positive_labels"), then
    merge_dir(labels_path="x.negative.json", label_field="negative_labels"), the names that FiftyOne
    uses for Open Images. An image without questions has null. Without the second file only present
    labels are known; confidences and attributes are ignored.

    file: name of an image file below the folder of images, with {} in place of the image id;
    FiftyOne's names of images have no ending.
    Source: importer and exporter of fiftyone 1.22.

    Holds the known labels, the asked images and all classes; effort, history and the endings of
    image files are lost, and ids that look like numbers are read back as numbers.
    """

    name: ClassVar[str] = "fiftyone"
    title: ClassVar[str] = "FiftyOne's multi-label JSON"
    suffixes: ClassVar[tuple[str, ...]] = (".json",)
    mark: ClassVar[bytes] = rb'\A\s*\{\s*("classes"\s*:\s*(null|\[\s*")|"labels"\s*:\s*\{)'

    file: str = setting("{}", "image file, with {} in place of the id")

    def write(self, labels: PartialLabels, path: AnyPath) -> None:
        """Write both files, all or none. Raises BadInput."""
        names = self._names(labels)
        if len(set(names)) < len(names):
            raise BadInput("two images differ only in their ending, left out here; rename one")
        with ExitStack() as stack:
            for side, file in enumerate(self.files(path)):
                part = stack.enter_context(whole(file))
                stream = stack.enter_context(part.open("w", encoding="utf-8"))
                stream.write(f'{{"classes": {json.dumps(labels.classes)}, "labels": {{')
                for i, (name, sides) in enumerate(zip(names, base.pairs(labels), strict=True)):
                    comma = "," if i else ""
                    stream.write(f"{comma}\n{json.dumps(name)}: {json.dumps(sides[side])}")
                stream.write("\n}}\n")

    def _names(self, labels: PartialLabels) -> list[str]:
        return [_ENDING.sub("", name) for name in base.file_names(labels.images, self.file)]

    def files(self, path: AnyPath) -> tuple[Path, ...]:
        """The files of present and of absent classes."""
        file = Path(path)
        return file, file.with_name(f"{file.stem}.negative{file.suffix}")

    def loses(self, labels: PartialLabels) -> tuple[str, ...]:
        """The endings of image files, effort and history."""
        cut = sum(map(str.__ne__, base.file_names(labels.images, self.file), self._names(labels)))
        endings = "the endings of N image files, because FiftyOne leaves them out"
        return base.losses(labels, {endings: cut}, labels.images, self.file)

    def read(self, path: AnyPath) -> PartialLabels:
        """Images in the order of the first file. Raises BadInput."""
        positive, *others = self.files(path)
        with reading(positive, _WHAT) as file:
            classes, present = _content(file)
        read = [present]
        for negative in filter(Path.exists, others):
            with reading(negative, _WHAT) as file:
                named, absent = _content(file)
                if named != classes:
                    raise BadInput(f"its 'classes' are not those of {positive}; write both again")
                read.append(absent)
        with reading(positive, _WHAT):
            base.note_classes_of(positive, classes or ())
            images = list(dict.fromkeys(image for side in read for image in side))
            sides = [pa.array(map(side.get, images), pa.list_(pa.string())) for side in read]
            return base.from_lists(base.ids_of(images), sides, classes, positive)


def _content(path: Path) -> tuple[tuple[str, ...] | None, dict[str, list[str] | None]]:
    """Class names, if the file has any, and the names of the classes of each image."""
    content = json.loads(path.read_bytes(), object_pairs_hook=base.unique)
    classes = content.get("classes")
    texts = isinstance(classes, list) and all(isinstance(name, str) for name in classes)
    if classes is not None and not texts:
        raise BadInput("'classes' is not a list of texts; write null or a list of class names")
    names = None if classes is None else base.distinct(classes, path)
    if not isinstance(content.get("labels"), dict):
        raise BadInput("it has no 'labels'; export a FiftyOneImageClassificationDataset")
    sure, targets = list[str](), list[list[Any]]()
    listed: dict[str, list[str] | None] = {}
    for image, target in content["labels"].items():
        # A target is a class, its index, an object with a label, or a list of them.
        if target is None:
            listed[image] = None
            continue
        listed[image] = labels = []
        entries = target if isinstance(target, list) else [target]
        targets.append(entries)
        for entry in entries:
            fields = entry if isinstance(entry, dict) else {"label": entry}
            label = base.as_integer(fields.get("label"))
            if fields.get("confidence") is not None:
                sure.append(f"{str(fields['confidence'])[:9]} of {image[:40]!r}")
            if type(label) is int and names is not None and 0 <= label < len(names):
                label = names[label]
            if not isinstance(label, str):
                of = f"the label of {image[:100]!r} is {str(entry)[:60]}"
                raise BadInput(f"{of}; a class name, or an index into 'classes', is expected")
            labels.append(label)
    base.check_indices(targets, len(names or ()))
    note(path, sure, "labels with a confidence, as in predictions, all counted as present: "
         "{}; remove those with a low confidence")  # fmt: skip
    return names, listed
