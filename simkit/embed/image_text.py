"""Image-text models of open_clip, called `open_clip:NAME`: similarities of images and classes.

open_clip is imported at first use, as it is an extra.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, cast

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from simkit.annotate.similarities import Similarities
from simkit.data.dataset import Dataset, Pictures
from simkit.embed.devices import Batches, device_of, products_in
from simkit.embed.features import Features, extract
from simkit.embed.networks import Backbone
from simkit.errors import BadInput, unknown
from simkit.files import readable, reading
from simkit.history import History, content_id
from simkit.progress import Progress, silent

PREFIX = "open_clip:"
TEMPLATE = "a photo of a {}."  # Radford et al., ICML 2021, section 3.1.4
_SEED = 0
_TEXTS = 16  # encoded at once


class ImageTower(Backbone):
    """The image encoder of an image-text model: one cell, the unit embedding (b, D, 1, 1)."""

    def __init__(self, model: Any, name: str) -> None:
        super().__init__()
        self.model, self.name = model, name
        size = model.visual.image_size
        self.size = int(size if isinstance(size, int) else size[0])
        self.mean, self.std = tuple(model.visual.image_mean), tuple(model.visual.image_std)
        with torch.no_grad():
            self.width = self(torch.zeros(1, 3, self.size, self.size)).shape[1]

    def forward(self, images: Tensor) -> Tensor:
        """Prepared images (b, 3, size, size) to (b, D, 1, 1)."""
        return F.normalize(self.model.encode_image(images), dim=-1)[..., None, None]


@dataclass(frozen=True, eq=False)
class ImageText:
    """An image-text model.

    Attributes
    ----------
    tower
        Its image part, a backbone.
    tokenizer
        From texts to token ids (n, T).
    scale, bias
        As in `Similarities`.
    """

    tower: ImageTower
    tokenizer: Any
    scale: float
    bias: float | None


def image_text(name: str, weights: str | PathLike[str]) -> ImageText:
    """The image-text model `open_clip:NAME`.

    Parameters
    ----------
    name : str
        A name of `open_clip.list_models()` after "open_clip:", or `hf-hub:OWNER/NAME`.
    weights : str or path
        A file, a pretrained tag of open_clip (a download), or "random".

    Returns
    -------
    ImageText

    Raises
    ------
    BadInput
        If open_clip is not installed, for an unknown name, and for weights that do not fit.
    """
    called = name.removeprefix(PREFIX)
    if called == name:
        raise BadInput(f"model {name!r}: {PREFIX}NAME is expected, such as {PREFIX}ViT-B-16")
    try:
        import open_clip
    except ImportError:
        raise BadInput(
            f"{name} is a model of open_clip, which is not installed; pip install open_clip_torch"
        ) from None
    if not called.startswith("hf-hub:") and called not in open_clip.list_models():
        raise unknown("model of open_clip", called, open_clip.list_models())
    tags = open_clip.list_pretrained_tags_by_model(called)
    source = None if weights == "random" else str(weights)
    if source is not None and source not in tags and not called.startswith("hf-hub:"):
        source = str(readable(source, f"weights of {name} (its downloads: {', '.join(tags)})"))
    try:
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(_SEED)
            model = open_clip.create_model(called, source, weights_only=True).eval()
    except Exception as error:  # of the file, the network, or the connection
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise BadInput(
            f"{name} with weights {weights} cannot be made ({reason}); give weights of this model"
        ) from None
    tower = ImageTower(model, name)
    tower.weights = str(weights)
    bias = model.logit_bias
    return ImageText(
        tower, open_clip.get_tokenizer(called), float(model.logit_scale.detach().exp()),
        None if bias is None else float(bias.detach()),
    )  # fmt: skip


def similarities(
    dataset: Dataset,
    split: str,
    model: ImageText,
    prompts: Sequence[Sequence[str]],
    *,
    classes: tuple[str, ...] | None = None,
    tiles: int = 0,
    cache: str | PathLike[str] | None = None,
    batch: int = 32,
    device: str = "auto",
    progress: Progress = silent,
) -> Similarities:
    """Cosines of the images of a split and the classes of its data set.

    Parameters
    ----------
    dataset : Dataset
    split : str
    model : ImageText
    prompts : sequence of sequences of str
        Texts of each class, as from `prompts_of`.
    classes : tuple of str, optional
        Their names; by default those of the data set.
    tiles : int
        Rows and columns of the grid of tiles that are added as views; 0: none.
    cache, batch, device, progress
        Of the embeddings of images, as in `extract`.

    Returns
    -------
    Similarities
        (N, 1 + tiles ** 2, L) float16.

    Raises
    ------
    BadInput
        If the split has no images.
    """
    how: dict[str, Any] = {"cache": cache, "batch": batch, "device": device, "progress": progress}
    views = embeddings(dataset, split, model.tower, tiles=tiles, **how)
    assert views is not None  # in a single part
    classes_by_text = class_embeddings(model, prompts, device)
    cosines = [np.asarray(view.values[:], np.float32) @ classes_by_text.T for view in views]
    shape = len(views[0].values), -1, len(classes_by_text)
    values = np.concatenate([cosine.reshape(shape) for cosine in cosines], axis=1)
    settings = {"model": model.tower.name, "weights": model.tower.weights, "tiles": tiles}
    parents = (content_id("texts", classes_by_text), *(view.id for view in views))
    return Similarities(
        values.clip(-1, 1).astype(np.float16),
        dataset.truth[split].images, classes or dataset.classes,
        model.scale, model.bias, History("score", settings, parents=parents),
    )  # fmt: skip


def class_embeddings(
    model: ImageText, prompts: Sequence[Sequence[str]], device: str = "auto"
) -> NDArray[np.float32]:
    """The unit embedding (L, D) of each class: the normalised mean over its prompts.

    As those of images, the embedding of a text does not depend on the others: all batches are
    padded to one size.
    """
    texts = [text for of_class in prompts for text in of_class]
    encoder, place = model.tower.model, device_of(device, mps=True)
    home = next(encoder.parameters()).device
    batches = Batches(_TEXTS, place, "texts")

    def encoded(part: slice) -> Tensor:
        some = texts[part]
        padded = some + some[-1:] * (batches.size - len(some))
        found = encoder.encode_text(model.tokenizer(padded).to(place))
        return F.normalize(found[: len(some)], dim=-1).float().cpu()

    try:
        encoder.to(place)
        with products_in("fp32"), torch.inference_mode():
            each = torch.cat([found for _, found in batches.over(len(texts), encoded)])
    finally:
        encoder.to(home)
    means = [rows.mean(0) for rows in each.split([len(of_class) for of_class in prompts])]
    return F.normalize(torch.stack(means), dim=-1).numpy()  # type: ignore[no-any-return]


def embeddings(
    dataset: Dataset,
    split: str,
    tower: ImageTower,
    *,
    tiles: int = 0,
    cache: str | PathLike[str] | None = None,
    batch: int = 32,
    device: str = "auto",
    progress: Progress = silent,
    part: tuple[int, int] = (1, 1),
) -> list[Features] | None:
    """Unit embeddings (N, D) of the images of a split and (N tiles^2, D) of their tiles, if any.

    Parameters
    ----------
    dataset, split, tower
        Images, and the image part of a model.
    tiles
        As in `similarities`.
    cache, batch, device, progress, part
        As in `extract`.

    Returns
    -------
    list of Features, or None
        Of the whole images and of the tiles; None as long as other parts are unfinished.
    """
    data_sets = [dataset]
    if tiles:
        pictures = Tiles(dataset.pictures_of(split), tiles)
        images = np.repeat(np.arange(len(pictures.whole)), tiles**2)
        truth = {split: dataset.truth[split].select(images)}
        views_of = {split: cast("Pictures", pictures)}
        data_sets.append(replace(dataset, pictures=views_of, truth=truth))
    made = [
        extract(
            each, split, tower, kinds=("pooled",), cache=cache, batch=batch, device=device,
            progress=progress, part=part,
        )
        for each in data_sets
    ]  # fmt: skip
    return [each["pooled"] for each in made] if all(made) else None


def prompts_of(
    classes: Sequence[str], file: str | PathLike[str] | None = None
) -> list[tuple[str, ...]]:
    """The texts of each class, from a TOML file or by `TEMPLATE`.

    The file has `templates`, a list of texts with {} for the class, and a table `names`: a text, or
    a list of texts, in place of the name of a class. Raises BadInput.
    """
    values: Mapping[str, Any] = {}
    if file is not None:
        with reading(file, "prompts (TOML)", "correct it") as path:
            values = tomllib.loads(path.read_text("utf-8"))
    templates, names = values.get("templates", [TEMPLATE]), values.get("names", {})
    try:
        texts = {name: [each] if isinstance(each, str) else each for name, each in names.items()}
        made = [
            tuple(t.replace("{}", text) for t in templates for text in texts.get(name, [name]))
            for name in classes
        ]
        fine = {*values} <= {"templates", "names"} and all("{}" in text for text in templates)
    except (TypeError, AttributeError):
        fine = False
    if not fine or not all(made):
        raise BadInput(
            f"{file}: a list of texts `templates`, each with {{}} for the class, such as "
            f"{TEMPLATE!r}, and a table [names] of texts are expected, and nothing else"
        )
    for name in texts:
        if name not in classes:
            raise unknown("class in [names]", name, classes)
    return made


class Tiles:
    """The tiles of a grid over each image, row by row, as images of their own."""

    def __init__(self, whole: Pictures, side: int) -> None:
        self.whole, self.side = whole, side

    def __len__(self) -> int:
        return len(self.whole) * self.side**2

    @property
    def id(self) -> str:
        return content_id("tiles", self.whole.id, str(self.side))

    def read(self, rows: Sequence[int]) -> list[NDArray[np.uint8]]:
        """Tiles (h, w, 3)."""
        images, places = np.divmod(np.asarray(rows), self.side**2)
        wanted, at = np.unique(images, return_inverse=True)
        pictures = self.whole.read(wanted.tolist())
        tiles = []
        for which, place in zip(at, places.tolist(), strict=True):
            picture, (row, column) = pictures[which], divmod(place, self.side)
            height, width = picture.shape[:2]
            top, left = row * height // self.side, column * width // self.side
            # At least one pixel, of images with fewer pixels than tiles along a side.
            bottom = max((row + 1) * height // self.side, top + 1)
            right = max((column + 1) * width // self.side, left + 1)
            tiles.append(picture[top:bottom, left:right])
        return tiles
