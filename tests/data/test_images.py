"""Picture files."""

import re
import struct
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, TiffImagePlugin

from simkit.data.images import FilePictures, decode, exact, with_depths
from simkit.errors import BadInput
from tests.mutations import COUNT, survives

RGB = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
GREY = RGB[:, :, 0]


def _saved(path: Path, image: Image.Image, **options: Any) -> np.ndarray:
    image.save(path, **options)
    read = decode(path)
    assert read.dtype == np.uint8 and read.ndim == 3 and read.shape[2] == 3
    return read


def test_colour_is_read_as_it_is(tmp_path: Path) -> None:
    assert (_saved(tmp_path / "x.png", Image.fromarray(RGB)) == RGB).all()
    assert _saved(tmp_path / "x.jpg", Image.fromarray(RGB), quality=95).shape == (5, 7, 3)
    assert (_saved(tmp_path / "y.png", Image.fromarray(GREY)) == GREY[:, :, None]).all()


@pytest.mark.parametrize("mode", ["L", "LA", "1", "P", "RGBA", "CMYK", "YCbCr"])
def test_every_mode_becomes_rgb(tmp_path: Path, mode: str) -> None:
    flat = Image.new("RGB", (7, 5), (255, 255, 255)).convert(mode)
    read = _saved(tmp_path / "x.tiff", flat)
    assert read.shape == (5, 7, 3) and (read == 255).all()


def test_sixteen_bits_are_cut_to_eight(tmp_path: Path) -> None:
    deep = GREY.astype(np.uint16) * 256 + 77
    read = _saved(tmp_path / "x.png", Image.fromarray(deep))
    assert (read == GREY[:, :, None]).all()


@pytest.mark.parametrize(("dtype", "suffix"), [
    (np.uint16, "png"), (np.uint16, "tiff"), (np.int32, "tiff"), (np.uint16, "pgm"),
])  # fmt: skip
def test_brightness_depends_on_the_kind_of_file_not_on_its_values(
    tmp_path: Path, dtype: type, suffix: str
) -> None:
    for white in (255, 256, 65_535):
        deep = np.zeros((5, 7), dtype)
        deep[2] = white
        read = _saved(tmp_path / f"x.{suffix}", Image.fromarray(deep))
        assert read[0].max() == 0 and (read[2] == white // 256).all()


@pytest.mark.parametrize(
    ("pixels", "kind"),
    [(GREY / np.float32(255), "floats"), (GREY.astype(np.int32) - 9, "negative values")],
)
def test_values_of_unknown_range_are_refused(tmp_path: Path, pixels: Any, kind: str) -> None:
    Image.fromarray(pixels).save(tmp_path / "x.tiff")
    with pytest.raises(BadInput, match=rf"x\.tiff holds {kind} .*; save it with 8 or 16 bits"):
        decode(tmp_path / "x.tiff")


def deep_png(path: Path, values: np.ndarray) -> None:
    """Values (H, W, C) as a PNG of 16 bits: grey and alpha, RGB or RGBA."""
    height, width, bands = values.shape
    kind = {2: 4, 3: 2, 4: 6}[bands]
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 16, kind, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + tag + data + struct.pack(">I", zlib.crc32(tag + data))
        for tag, data in chunks
    ))  # fmt: skip


@pytest.mark.parametrize("bits", [8, 10, 12, 14, 16])
@pytest.mark.parametrize("kind", ["grey png", "grey tiff", "long tiff", "LA", "RGB", "RGBA"])
def test_unused_bits_are_left_out_alike_in_all_images(
    tmp_path: Path, kind: str, bits: int, recwarn: Any
) -> None:
    shades = np.random.default_rng(bits).integers(0, 256, (2, 5, 7, 4))
    shades[0, 0, 0] = 255
    shades[1] //= 9  # a dark image stays dark beside the bright one
    shades[1, 0, 0] = 28
    for name, each in zip("ab", shades, strict=True):
        values = each.astype(np.uint16) << (bits - 8)
        form = kind.split()[-1]
        if kind in ("LA", "RGB", "RGBA"):
            deep_png(tmp_path / f"{name}.png", values[:, :, 4 - len(kind) :])
        else:
            grey = values[:, :, 0].astype(np.int32 if kind == "long tiff" else np.uint16)
            Image.fromarray(grey).save(tmp_path / f"{name}.{form}")
    files = sorted(file.name for file in tmp_path.iterdir())
    pictures = with_depths({"train": FilePictures.of(tmp_path, files)})["train"]
    note = f"values up to {255 << (bits - 8):,}; they are read as {bits} bits"
    assert [note in str(each.message) for each in recwarn] == [True] * (bits < 16)
    bands = {"LA": [2, 2, 2], "RGB": [1, 2, 3], "RGBA": [0, 1, 2]}.get(kind, [0, 0, 0])
    for read, each in zip(pictures.read([0, 1]), shades, strict=True):
        assert (read == each[:, :, bands]).all()
    brighter = FilePictures(tmp_path, tuple(files), (8, 8))  # than those that were measured
    assert (brighter.read([0])[0] == shades[0][:, :, bands]).all()
    assert pictures.id == FilePictures(tmp_path, tuple(files)).id or bits < 16


def test_a_tiff_says_how_many_bits_it_uses_and_that_white_is_zero(tmp_path: Path) -> None:
    values = GREY.astype(np.uint16)
    for photometric in (0, 1):
        info = TiffImagePlugin.ImageFileDirectory_v2()
        info[281], info[262] = 4095, photometric
        Image.fromarray(values * 2).save(tmp_path / "x.tif", tiffinfo=info)
        with pytest.warns(UserWarning, match="values up to 4,095; they are read as 12 bits"):
            part = with_depths({"train": FilePictures.of(tmp_path, ["x.tif"])})["train"]
        (read,) = part.read([0])
        shown = (values * 2) >> 4
        assert (read == (shown if photometric else 255 - shown)[:, :, None]).all()


@pytest.mark.parametrize("dtype", [np.uint16, np.int32])
def test_images_of_twelve_and_sixteen_bits_are_equally_bright(tmp_path: Path, dtype: type) -> None:
    for number in range(6):
        deep = GREY.astype(dtype) << (8 if number % 2 else 4)
        Image.fromarray(deep).save(tmp_path / f"{number}.tif")
    files = sorted(file.name for file in tmp_path.iterdir())
    with pytest.warns(UserWarning, match="3 have no value above 4,095, such as 0.tif"):
        read = with_depths({"train": FilePictures.of(tmp_path, files)})["train"].read(range(6))
    assert all((each == GREY[:, :, None]).all() for each in read)


def test_frames_that_are_not_used_are_counted(tmp_path: Path) -> None:
    for name in ("a.gif", "b.tif", "c.png"):
        Image.fromarray(GREY).save(
            tmp_path / name,
            save_all=True,
            append_images=[Image.fromarray(255 - GREY)] * (name < "c"),
        )
    with pytest.warns(UserWarning, match=r"several frames or pages, .*: 2 of 3 \(a\.gif"):
        with_depths({"train": FilePictures.of(tmp_path, ["a.gif", "b.tif", "c.png"])})


def test_images_that_only_look_alike_differ_before_conversion(tmp_path: Path) -> None:
    Image.fromarray(GREY.astype(np.uint16) + 60_000).save(tmp_path / "a.png")
    Image.fromarray((GREY ^ 1).astype(np.uint16) + 60_000).save(tmp_path / "b.png")
    black = Image.new("RGB", (7, 5))
    for name, alpha in (("c", GREY), ("d", 255 - GREY)):
        black.putalpha(Image.fromarray(alpha))
        black.save(tmp_path / f"{name}.png")
    frames = [Image.fromarray(GREY), Image.fromarray(255 - GREY)]
    frames[0].save(tmp_path / "e.gif", save_all=True, append_images=frames[1:])
    frames[0].save(tmp_path / "f.gif")
    frames[0].save(tmp_path / "g.bmp")
    pictures = FilePictures.of(tmp_path, sorted(file.name for file in tmp_path.iterdir()))
    ids = [exact(pictures.folder / name) for name in pictures.files]
    assert len({*ids[:6]}) == 6 and ids[6] == ids[5]


def test_palettes_keep_their_colours(tmp_path: Path) -> None:
    red = Image.new("RGB", (7, 5), (200, 10, 10))
    palette = _saved(tmp_path / "x.gif", red.quantize(4))
    assert np.abs(palette.astype(int) - [200, 10, 10]).max() <= 8


@pytest.mark.parametrize(("colour", "alpha", "read"), [
    ((9, 9, 9), [255, 0], [(9, 9, 9), (255, 255, 255)]),  # as viewers show it
    ((250, 250, 250), [255, 0], [(250, 250, 250), (0, 0, 0)]),  # white would not be seen on white
    ((200, 10, 10), [0, 0], [(200, 10, 10)] * 2),  # all would be invisible
    ((0, 0, 0), [255, 128], [(0, 0, 0), (127, 127, 127)]),
])  # fmt: skip
def test_transparent_parts_show_the_ground(
    tmp_path: Path, colour: tuple[int, ...], alpha: list[int], read: list[tuple[int, ...]]
) -> None:
    image = Image.new("RGB", (2, 1), colour)
    image.putalpha(Image.fromarray(np.array([alpha], np.uint8)))
    assert _saved(tmp_path / "x.png", image).tolist() == [[*map(list, read)]]


def test_pictures_stand_upright(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera lay on its side: turn clockwise
    read = _saved(tmp_path / "x.png", Image.fromarray(RGB), exif=exif)
    assert (read == np.rot90(RGB, -1)).all()


def test_large_jpegs_are_decoded_at_a_fraction_of_their_size(tmp_path: Path) -> None:
    pixels = np.kron(np.array([[0, 90], [170, 255]], np.uint8), np.ones((600, 800), np.uint8))
    for name in ("a.jpg", "a.png"):
        Image.fromarray(pixels).save(tmp_path / name)
    pictures = FilePictures.of(tmp_path, ["a.jpg", "a.png"])
    small, png = pictures.read([0, 1], least=300)
    assert small.shape == (300, 400, 3) and png.shape == (1200, 1600, 3)
    corners = small[[20, 20, -20, -20], [20, -20, 20, -20], 0].astype(int)
    assert np.abs(corners - [0, 90, 170, 255]).max() < 4
    Image.fromarray(pixels[:1]).save(tmp_path / "thin.jpg")
    assert decode(tmp_path / "thin.jpg", least=3000).shape == (1, 1600, 3)
    assert decode(tmp_path / "thin.jpg", least=30).shape[1] >= 30


def test_what_is_no_picture_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.jpg").write_text("no picture")
    with pytest.raises(BadInput, match=r"x\.jpg cannot be read as an image .*; replace it"):
        decode(tmp_path / "x.jpg")
    with pytest.raises(BadInput, match=r"y\.jpg does not exist; give the path of .* an image"):
        decode(tmp_path / "y.jpg")


@pytest.mark.parametrize(("head", "words"), [
    (b"\0\5\x16\7\0\2", "data of macOS .*; remove such"), (b"", "empty.*; replace such"),
    (b"\0\0\0\x18ftypheic", "HEIC.*; convert such"), (b"\n<html>", "text.*; download"),
    (b"version https://git-lfs", "a pointer of Git LFS.*: git lfs pull"),
])  # fmt: skip
def test_the_kind_of_a_file_that_is_no_picture_is_named(
    tmp_path: Path, head: bytes, words: str
) -> None:
    (tmp_path / "x.jpg").write_bytes(head)
    with pytest.raises(BadInput, match=rf"x\.jpg cannot be read as an image \({words}"):
        decode(tmp_path / "x.jpg")


def test_other_formats_and_very_large_pictures_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.jpg").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EOF\n")
    with pytest.raises(BadInput, match=r"x\.jpg cannot be read as an image"):
        decode(tmp_path / "x.jpg")
    head = b"P5 15000 15000 255\n"
    (tmp_path / "y.pgm").write_bytes(head + bytes(15000))
    with pytest.raises(BadInput, match=r"y\.pgm has more than 178 million pixels; scale it down"):
        decode(tmp_path / "y.pgm")


def test_large_white_pictures_are_read_by_several_threads(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.png", "b.jpg", "c.jpg")]
    for file in files:
        Image.new("RGB", (5000, 3600), "white").save(file)
    with ThreadPoolExecutor(3) as pool:
        for picture in pool.map(decode, files):
            assert picture.shape == (3600, 5000, 3) and picture.min() > 250


@pytest.mark.parametrize("kind", ["jpeg", "png", "webp", "gif", "tiff", "bmp"])
def test_damaged_pictures_are_named(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"x.{kind}"
    Image.fromarray(RGB).save(path)
    survives(
        lambda folder: decode(folder / path.name),
        {path.name: path.read_bytes()},
        tmp_path=tmp_path,
        count=COUNT // 6,
        silent=True,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    for name, shade in (("a.png", 10), ("in/b.jpg", 20), ("c.bmp", 30)):
        Image.new("RGB", (120, 90), (shade, 0, 0)).save(tmp_path / name)
    return tmp_path


def test_pictures_of_a_folder(folder: Path) -> None:
    pictures = FilePictures.of(folder, ["a.png", "in/b.jpg", "c.bmp"])
    assert len(pictures) == 3
    read = pictures.read([2, 0])
    assert [each[0, 0].tolist() for each in read] == [[30, 0, 0], [10, 0, 0]]
    assert pictures.select([2]).read(np.array([0]))[0][0, 0].tolist() == [30, 0, 0]


def test_the_id_follows_content_and_order_not_names(folder: Path) -> None:
    one = FilePictures.of(folder, ["a.png", "in/b.jpg", "c.bmp"])
    (folder / "copy.png").write_bytes((folder / "a.png").read_bytes())
    same = FilePictures.of(folder, ["copy.png", "in/b.jpg", "c.bmp"])
    assert one.id == same.id
    assert one.id != one.select([1, 0, 2]).id != one.select([0, 1]).id
    for name in ("a.png", "in/b.jpg", "c.bmp"):
        before = FilePictures(folder, one.files).id
        noisy = np.random.default_rng(1).integers(0, 256, (90, 120, 3), dtype=np.uint8)
        Image.fromarray(noisy).save(folder / name)
        assert FilePictures(folder, one.files).id != before


def test_one_pixel_in_the_middle_of_a_bitmap_counts(folder: Path) -> None:
    one = FilePictures(folder, ("c.bmp",)).id
    content = bytearray((folder / "c.bmp").read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "c.bmp").write_bytes(content)
    assert FilePictures(folder, ("c.bmp",)).id != one


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (["a.png", "x.png", "y.png"], "{0}/x.png does not exist (2 of 3 images are missing); give"),
        (["../a.png"], "image file name '../a.png' is not inside {0}; correct it"),
        (["/etc/passwd"], "image file name '/etc/passwd' is not inside {0}; correct it"),
        (["a.png", ""], "image file name '' is not inside {0}; correct it"),
    ],
)
def test_files_are_checked_when_the_folder_is_given(
    folder: Path, files: list[str], message: str
) -> None:
    with pytest.raises(BadInput, match=f"^{re.escape(message.format(folder))}"):
        FilePictures.of(folder, files)
    with pytest.raises(BadInput, match="x is not a folder; give the folder"):
        FilePictures.of(folder / "x", [])
