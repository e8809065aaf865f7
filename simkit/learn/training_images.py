"""Hashes of training images, by which a saved model recognises them in any data set."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from simkit.data.dataset import Pictures, content_ids

# Bytes of each hash. With 80,000 training images, the probability that one of a million new images
# has the hash of one of them is 0.03 %.
_BYTES = 6
_ROWS = 1024  # features read at a time

Of = Literal["pictures", "features"]


@dataclass(frozen=True, eq=False)
class TrainingImages:
    """Training images as short hashes.

    Attributes
    ----------
    of
        What is hashed: the content of "pictures", or the rows of "features" where the training
        data had no pictures.
    hashes
        (n,) uint64, sorted.
    """

    of: Of
    hashes: NDArray[np.uint64]

    @staticmethod
    def among(
        rows: NDArray[np.int64], pictures: Pictures | None, features: Any = None
    ) -> TrainingImages | None:
        """These rows of pictures or, without any, of features; None without both."""
        if pictures is not None:
            return TrainingImages("pictures", np.unique(_of_pictures(pictures)[rows]))
        if features is None:
            return None
        return TrainingImages("features", np.unique(_of_features(features, rows)))

    def seen(self, pictures: Pictures | None, features: Any = None) -> NDArray[np.bool_] | None:
        """(N,) which of these images are training images; None if this cannot be checked.

        pictures, features: those of the N images; None if there are none.
        """
        if self.of == "pictures" and pictures is not None:
            return np.isin(_of_pictures(pictures), self.hashes)
        if self.of == "features" and features is not None:
            return np.isin(_of_features(features, np.arange(len(features))), self.hashes)
        return None

    def tensors(self) -> dict[str, Tensor]:
        """For a safetensors file, 6 bytes an image."""
        octets = self.hashes.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :_BYTES]
        return {f"trained_on.{self.of}": torch.from_numpy(octets.copy())}

    @staticmethod
    def read(tensors: dict[str, Tensor]) -> TrainingImages | None:
        """From the tensors of such a file; None if it has none. Raises ValueError."""
        kinds: tuple[Of, ...] = ("pictures", "features")
        for of in kinds:
            if (octets := tensors.get(f"trained_on.{of}")) is not None:
                if octets.dtype != torch.uint8 or octets.shape[1:] != (_BYTES,):
                    raise ValueError("its training images are not stored as hashes")
                full = np.zeros((len(octets), 8), np.uint8)
                full[:, :_BYTES] = octets.numpy()
                return TrainingImages(of, full.view("<u8").reshape(-1).astype(np.uint64))
        return None


def _of_pictures(pictures: Pictures) -> NDArray[np.uint64]:
    return _hashes(text.encode() for text in content_ids(pictures))


def _of_features(values: Any, rows: NDArray[np.int64]) -> NDArray[np.uint64]:
    """In fp16, as features are kept, so that they are recognised in files of other types."""
    blocks = (rows[start : start + _ROWS] for start in range(0, len(rows), _ROWS))
    return _hashes(row.tobytes() for some in blocks for row in np.asarray(values[some], np.float16))


def _hashes(contents: Iterable[bytes]) -> NDArray[np.uint64]:
    shortened = (hashlib.sha256(content).digest()[:_BYTES] for content in contents)
    return np.fromiter((int.from_bytes(each, "little") for each in shortened), np.uint64)
