"""Features when a process dies, when two work at once, and when pictures cannot be read."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.sparse import csr_array

from simkit import data
from simkit.data.images import FilePictures
from simkit.embed.backbones import backbone
from simkit.embed.features import Features, extract, read_features
from simkit.embed.networks import Backbone
from simkit.errors import BadInput
from simkit.labels.truth import Truth
from tests.embed.test_features import features

SPEC = "scenes:images=60,val=1,test=1"
PROGRAM = """
import sys, time
from simkit import data
from simkit.embed.backbones import backbone
from simkit.embed.features import extract
def say(done, of):
    print(done, flush=True)
    time.sleep(600 if done >= int(sys.argv[2]) else 0.02)
extract(data.open(sys.argv[3]), "train", backbone("scenes-net"), cache=sys.argv[1], batch=4,
        progress=say, part=(int(sys.argv[4]), int(sys.argv[5])))
"""


@pytest.fixture
def net() -> Backbone:
    return backbone("scenes-net")


def started(cache: Path, stop: int, part: int = 1, of: int = 1) -> subprocess.Popen[str]:
    """A process that computes four images at a time, and waits when `stop` of them are done."""
    words = [sys.executable, "-c", PROGRAM, *map(str, (cache, stop, SPEC, part, of))]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def contents(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def killed(child: subprocess.Popen[str], at: int) -> None:
    assert child.stdout is not None
    for line in child.stdout:
        if int(line) >= at:
            child.kill()  # kill -9: nothing can be tidied up
            break
    assert child.wait(timeout=60) == -signal.SIGKILL


def test_a_killed_process_keeps_its_complete_blocks(net: Backbone, tmp_path: Path) -> None:
    killed(started(tmp_path / "killed", 36), 36)
    with pytest.raises(BadInput, match="holds no finished features"):
        read_features(next((tmp_path / "killed" / "features").glob("*/*")))
    done: list[int] = []
    how = {"cache": tmp_path / "killed", "batch": 4, "progress": lambda n, of: done.append(n)}
    extract(data.open(SPEC), "train", net, **how)  # type: ignore[arg-type]
    assert done[0] == 32 and done[-1] == 60
    extract(data.open(SPEC), "train", net, cache=tmp_path / "whole", batch=4)
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


@pytest.mark.slow
def test_two_processes_may_work_on_the_same_folder(net: Backbone, tmp_path: Path) -> None:
    dataset = data.open(SPEC)
    other = started(tmp_path / "shared", 1000)
    assert other.stdout is not None and other.stdout.readline() == "0\n"
    mine = extract(dataset, "train", net, cache=tmp_path / "shared", batch=7)
    assert other.wait(timeout=60) == 0
    alone = extract(dataset, "train", net, cache=tmp_path / "alone")
    for kind in ("pooled", "maps"):
        found = features(dataset, "train", net, kind=kind, cache=tmp_path / "shared")  # type: ignore[arg-type]
        assert found.id == mine[kind].id == alone[kind].id  # type: ignore[index]
        assert np.allclose(found.values[:], alone[kind].values[:], rtol=2**-9, atol=1e-4)  # type: ignore[index]
    assert not [p for p in (tmp_path / "shared").rglob("*") if p.suffix == ".part"]


@pytest.mark.parametrize("torn", [70], indirect=True)
@pytest.mark.parametrize("order", [(1, 2, 3), (3, 1, 2)])
def test_parts_make_the_bytes_of_one_process(
    torn: data.Dataset, net: Backbone, tmp_path: Path, order: tuple[int, ...]
) -> None:
    how = {"batch": 2, "unreadable": "skip"}
    extract(torn, "train", net, out=tmp_path / "alone", **how)  # type: ignore[arg-type]
    for part in order:
        assert not (tmp_path / "parts" / "pooled" / "index.json").exists()
        made = extract(torn, "train", net, out=tmp_path / "parts", part=(part, 3), **how)  # type: ignore[arg-type]
        assert bool(made) == (part == order[-1])
    assert contents(tmp_path / "parts") == contents(tmp_path / "alone")
    seen: list[int] = []
    again = {**how, "part": (2, 3), "progress": lambda done, of: seen.append(done)}
    assert extract(torn, "train", net, out=tmp_path / "parts", **again) and not seen  # type: ignore[arg-type]
    with pytest.raises(BadInput, match=r"2\.jpg cannot be read .*, or skip such images"):
        extract(torn, "train", net, out=tmp_path / "parts", part=(1, 3))


def test_a_killed_part_goes_on(net: Backbone, tmp_path: Path) -> None:
    dataset, how = data.open("scenes:images=130,val=1,test=1"), {"cache": tmp_path / "parts"}
    assert not extract(dataset, "train", net, part=(1, 2), **how)  # type: ignore[arg-type]
    done: list[int] = []

    def stop(images: int, of: int) -> None:
        done.append(images)
        if images == 64 and len(done) < 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        extract(dataset, "train", net, part=(2, 2), progress=stop, **how)  # type: ignore[arg-type]
    assert extract(dataset, "train", net, part=(2, 2), progress=stop, **how)  # type: ignore[arg-type]
    assert done == [0, 32, 64, 64, 66]
    extract(dataset, "train", net, cache=tmp_path / "alone")
    assert contents(tmp_path / "parts") == contents(tmp_path / "alone")


@pytest.mark.slow
def test_the_last_parts_may_end_together(net: Backbone, tmp_path: Path) -> None:
    others = [started(tmp_path / "parts", 1000, part, 3) for part in (1, 2, 3)]
    extract(data.open(SPEC), "train", net, cache=tmp_path / "alone", batch=4)
    assert [other.communicate(timeout=100) and other.wait() for other in others] == [0] * 3
    assert contents(tmp_path / "parts") == contents(tmp_path / "alone")


@pytest.mark.parametrize(("spec", "size"), [(SPEC + ",seed=1", 64), (SPEC, 96)])
def test_parts_with_other_settings_are_refused(
    net: Backbone, tmp_path: Path, spec: str, size: int
) -> None:
    extract(data.open(SPEC), "train", net, out=tmp_path, part=(1, 2))
    other, before = backbone("scenes-net", size=size), contents(tmp_path)
    with pytest.raises(BadInput, match=r"pooled holds features of other images, or of anoth"):
        extract(data.open(spec), "train", other, out=tmp_path, part=(2, 2))
    assert contents(tmp_path) == before


def photographs(folder: Path, files: list[str]) -> data.Dataset:
    truth = Truth.of(csr_array(np.ones((len(files), 1), bool)), files, ("thing",))
    return data.Dataset("photographs", {"train": truth}, {"train": FilePictures.of(folder, files)})


def shape_of_colours() -> Image.Image:
    """A picture with a gradient: turned or in other colours it has other features."""
    y, x = np.mgrid[0:90, 0:120]
    return Image.fromarray(np.stack([2 * y, x, 255 - x - y], 2).clip(0, 255).astype(np.uint8))


def saved(folder: Path) -> dict[str, Image.Image]:
    """Pictures as people have them, by file name, and what they show."""
    colours, turned = shape_of_colours(), Image.Exif()
    turned[0x0112] = 6  # the camera lay on its side
    grey = colours.convert("L")
    colours.save(folder / "plain.png")
    colours.convert("CMYK").save(folder / "cmyk.jpg", quality=100)
    grey.save(folder / "grey.jpg", quality=100)
    few = colours.quantize(64)
    few.save(folder / "palette.png")
    Image.fromarray(np.asarray(grey).astype(np.uint16) * 256 + 9).save(folder / "deep.png")
    colours.rotate(90, expand=True).save(folder / "turned.jpg", quality=100, exif=turned)
    shown = dict.fromkeys(["plain.png", "cmyk.jpg", "turned.jpg"], colours)
    shown["palette.png"] = few.convert("RGB")
    return shown | dict.fromkeys(["grey.jpg", "deep.png"], grey.convert("RGB"))


def test_odd_pictures_have_the_features_of_what_they_show(net: Backbone, tmp_path: Path) -> None:
    shown = saved(tmp_path)
    for name, picture in shown.items():
        picture.save(tmp_path / f"{name}.shown.png")
    odd = features(photographs(tmp_path, list(shown)), "train", net, cache=tmp_path / "c")
    names = [f"{name}.shown.png" for name in shown]
    plain = features(photographs(tmp_path, names), "train", net, cache=tmp_path / "c")
    found, expected = np.asarray(odd.values, float), np.asarray(plain.values, float)
    gap = np.linalg.norm(found - expected, axis=1) / np.linalg.norm(expected, axis=1)
    # JPEG changes colours a little; other colours or a turn change much more.
    assert gap.max() < 0.03, dict(zip(shown, gap, strict=True))
    apart = np.linalg.norm(expected[0] - expected[list(shown).index("grey.jpg")])
    assert apart > 0.1 * np.linalg.norm(expected[0])


@pytest.fixture
def torn(tmp_path: Path, request: pytest.FixtureRequest) -> data.Dataset:
    """Twelve or more photographs; the third is cut short, the fifth from the end no picture."""
    count = getattr(request, "param", 12)
    files = [f"{i}.jpg" for i in range(count)]
    for i, name in enumerate(files):
        shape_of_colours().rotate(30 * i).save(tmp_path / name)
    content = (tmp_path / "2.jpg").read_bytes()
    (tmp_path / "2.jpg").write_bytes(content[: len(content) // 2])
    (tmp_path / f"{count - 5}.jpg").write_text("no picture")
    return photographs(tmp_path, files)


def test_an_unreadable_picture_stops_everything(
    torn: data.Dataset, net: Backbone, tmp_path: Path
) -> None:
    with pytest.raises(BadInput) as error:
        features(torn, "train", net, cache=tmp_path / "c")
    assert str(error.value).startswith(
        f"{tmp_path}/2.jpg cannot be read as an image (image file is truncated ("
    )
    assert str(error.value).endswith(
        "; replace it or remove it from the list, or skip such images by `simkit features "
        "--unreadable skip`; train and compare then leave them out too; "
        "simkit predict has the same option"
    )


@pytest.mark.parametrize("batch", [1, 5, 12])
def test_unreadable_pictures_are_skipped_and_listed(
    torn: data.Dataset, net: Backbone, tmp_path: Path, batch: int
) -> None:
    how = {"cache": tmp_path / "c", "batch": batch}
    found = extract(torn, "train", net, unreadable="skip", **how)  # type: ignore[arg-type]
    for one in found.values():
        assert [(each.row, each.image) for each in one.skipped] == [(2, "2.jpg"), (7, "7.jpg")]
        assert "truncated" in one.skipped[0].reason and "another kind" in one.skipped[1].reason
        values = np.asarray(one.values)
        zero = ~values.reshape(12, -1).any(1)
        assert np.flatnonzero(zero).tolist() == [2, 7]
    good = [i for i in range(12) if i not in (2, 7)]
    alone = features(photographs(tmp_path, [f"{i}.jpg" for i in good]), "train", net, **how)  # type: ignore[arg-type]
    assert np.allclose(found["pooled"].values[good], alone.values[:], rtol=2**-9, atol=1e-4)


@pytest.mark.parametrize("torn", [40], indirect=True)
def test_images_that_were_skipped_before_an_interruption_are_known(
    torn: data.Dataset, net: Backbone, tmp_path: Path
) -> None:
    def stop(done: int, of: int) -> None:
        if done == 32:
            raise KeyboardInterrupt

    def call(**how: object) -> Features:
        return features(torn, "train", net, cache=tmp_path / "c", batch=16, **how)

    with pytest.raises(KeyboardInterrupt):
        call(unreadable="skip", progress=stop)
    with pytest.raises(BadInput, match=r"2\.jpg cannot be read .*, or skip such images"):
        call()
    with pytest.raises(BadInput, match=r"35\.jpg cannot be read .*, or skip such images"):
        call(unreadable="before")
    assert [each.row for each in call(unreadable="skip").skipped] == [2, 35]
    with pytest.raises(BadInput, match=r"2\.jpg cannot be read .*, or skip such images"):
        call()
    assert [each.row for each in call(unreadable="before").skipped] == [2, 35]


def test_images_of_several_data_sets_are_computed_once(
    torn: data.Dataset, net: Backbone, tmp_path: Path
) -> None:
    done: list[tuple[int, int]] = []
    how = {"cache": tmp_path / "c", "progress": lambda *counts: done.append(counts)}
    skip = {**how, "unreadable": "skip"}
    extract(photographs(tmp_path, ["0.jpg", "2.jpg", "3.jpg"]), "train", net, **skip)  # type: ignore[arg-type]
    (tmp_path / "copies").mkdir()
    for name in ("3.jpg", "2.jpg"):  # the content counts, not the name
        (tmp_path / name).rename(tmp_path / "copies" / name)
    names = ["9.jpg", "copies/3.jpg", "0.jpg", "8.jpg", "copies/2.jpg"]
    others, done[:] = photographs(tmp_path, names), []
    with pytest.raises(BadInput, match=r"2\.jpg cannot be read .*, or skip such images"):
        extract(others, "train", net, **how)  # type: ignore[arg-type]
    found = extract(others, "train", net, **{**how, "unreadable": "before"})  # type: ignore[arg-type]
    assert done == [(3, 5), (5, 5)]
    alone = extract(others, "train", net, cache=tmp_path / "alone", unreadable="skip")
    for kind, each in alone.items():
        assert np.array_equal(found[kind].values, each.values)
        assert (found[kind].id, found[kind].history.parents) == (each.id, each.history.parents)
        assert [(lost.row, lost.image) for lost in found[kind].skipped] == [(4, "copies/2.jpg")]
    assert extract(others, "train", net, **skip) and done == [(3, 5), (5, 5)]  # type: ignore[arg-type]


def test_only_the_wanted_images_are_computed(
    torn: data.Dataset, net: Backbone, tmp_path: Path
) -> None:
    wanted, done = np.isin(np.arange(12), [0, 5, 11]), list[tuple[int, int]]()
    how = {"cache": tmp_path / "c", "progress": lambda *counts: done.append(counts)}
    some = features(torn, "train", net, wanted=wanted, **how)
    assert done == [(0, 3), (3, 3)] and some.values.shape == (12, net.width)
    every = features(torn, "train", net, unreadable="skip", **how)
    assert done[2:] == [(3, 12), (12, 12)]
    assert np.array_equal(some.values[wanted], every.values[wanted])
    with pytest.raises(IndexError, match="not computed"):
        some.values[4:6]
    nothing = features(torn, "train", net, cache=tmp_path / "empty", wanted=np.zeros(12, bool))
    assert nothing.values.shape == (12, net.width) and nothing.id == some.id


def test_images_of_which_none_can_be_read_are_refused(
    torn: data.Dataset, net: Backbone, tmp_path: Path
) -> None:
    unreadable = photographs(tmp_path, ["2.jpg", "7.jpg"])
    with pytest.raises(BadInput, match=r"none of 2 images can be read; .*/2\.jpg"):
        features(unreadable, "train", net, cache=tmp_path / "c", unreadable="skip")


@pytest.mark.parametrize("damage", ["empty", "cut short", "of other images"])
def test_features_with_damaged_ids_of_images_are_computed_again(
    net: Backbone, tmp_path: Path, damage: str
) -> None:
    dataset, how = data.open(SPEC), {"cache": tmp_path}
    expected = np.array(features(dataset, "train", net, **how).values)
    (file,) = tmp_path.rglob("images.npy")
    content, ids = file.read_bytes(), np.load(file)
    if damage == "of other images":
        np.save(file, np.concatenate([[b"other"], ids]))
    else:
        file.write_bytes(content[: len(content) // 2 if damage == "cut short" else 0])
    assert np.array_equal(features(dataset, "train", net, **how).values, expected)
    assert file.read_bytes() == content
