"""Train by a published program and by simkit: the same labels, start weights and image order.

    git clone https://github.com/elijahcole/single-positive-multi-label ../published
    python benchmarks/published_programs.py --clone ../published

The clone may be of any repository in PROGRAMS; its files tell which. A copy of it is patched for
today's numpy and for the CPU (PATCHES), and reads labels of `scenes` that simkit exports: single
positives as npy-triple, or for CSL rpa as csl-csv. Its loss, loop, choice of the epoch and
evaluation run as published, on a head over frozen features instead of an image network; BoostLU
on maps. Given to it are our initial head, our order of the images and, for ROLE, our initial
estimates.

Exit code 0: the same epochs, mAP within 0.01 and logits within 1e-3; 1: other results; 2: something
is missing, as the message says.
"""

from __future__ import annotations

import os

os.environ["CUDA_VISIBLE_DEVICES"] = ""

import argparse
import contextlib
import importlib
import io
import re
import sys
import tempfile
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torchvision
from published_training import Examples, Keyed
from sklearn.metrics import average_precision_score
from torch import nn
from torch.utils.data import DataLoader

from simkit import FeatureInputs, Source, Task, open_source, train
from simkit.chance import Chance
from simkit.data.splits import published_split
from simkit.labels import formats
from simkit.labels.truth import Truth
from simkit.learn.model import initial
from simkit.learn.protocols import protocol
from simkit.learn.validation import Validation
from simkit.methods import make
from simkit.papers.published_simulators import simulate_published

IMAGES, TEST, EPOCHS, BATCH, RATE = 400, 250, 6, 16, 0.01  # a fifth of the images for validation
PATCHES = (  # what numpy removed, the device, the number of classes
    ("np.Inf", "np.inf"),
    ("np.bool)", "bool)"),
    (".cuda()", ""),
    ("torch.device('cuda')", "torch.device('cpu')"),
    ("'num_classes': 20,", "'num_classes': CLASSES,"),
)
UNUSED = {"randaugment": "RandAugment", "src.models": "create_model"}  # for image networks alone
DATA = Path("data/pascal")
TRAIN, HELD = published_split(IMAGES)
CHANCE = Chance.seeded(0).of("train", 0)

Result = tuple[int, float, np.ndarray]  # the chosen epoch from 1, test mAP, logits of test images


@dataclass(frozen=True)
class Program:
    """How a published program is recognised and run.

    mark: a file, and a text in it.  runs: its name of a loss, and our method.  features: pooled (N,
    D); points, the same as maps of one place; maps (N, D, h, w).  whole_batches: the last, smaller
    batch of a split is left out.
    """

    repository: str
    mark: tuple[str, str]
    runs: tuple[tuple[str, str], ...]
    protocol: str
    run: Callable[[str], Result]
    features: str = "pooled"
    whole_batches: bool = False


def copied(clone: Path, folder: Path, classes: int) -> None:
    """Python files of the clone, patched, in `folder`, which becomes the current one."""
    for file in sorted(clone.rglob("*.py")):
        text = file.read_text("utf-8")
        for old, new in PATCHES:
            text = text.replace(old, new.replace("CLASSES", str(classes)))
        place = folder / file.relative_to(clone)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
    for package, name in UNUSED.items():
        sys.modules[package] = types.ModuleType(package)
        setattr(sys.modules[package], name, None)
    sys.path.insert(0, str(folder))
    os.chdir(folder)


def export(form: str) -> int:
    """Labels, truth, names and features in DATA, as the loaders read them; number of classes."""
    DATA.mkdir(parents=True)
    kind = "maps" if form == "maps" else "pooled"
    scenes = Source(f"scenes:images={IMAGES},test={TEST}", ("train", "test"), (kind,), "scenes-net")
    data = open_source(scenes)
    for phase, split in (("train", "train"), ("val", "test")):  # their val file is for testing
        truth = data.truth(split)
        labels = simulate_published(truth, "single-positive")
        path = DATA / f"formatted_{phase}_labels_obs.npy"
        formats.make("npy-triple").write_with_truth(labels, path, truth)
        values = np.asarray(data.inputs(split, kind).values, np.float32)
        values = values[..., None, None] if form == "points" else values
        np.save(DATA / f"{phase}_features.npy", values)
    labels = simulate_published(data.truth("train"), "rpa(keep=0.2)")
    formats.make("csl-csv").write(labels, DATA / "rpa.csv")
    return truth.shape[1]


def features(phase: str) -> np.ndarray:
    """As in their file."""
    return np.load(DATA / f"{phase}_features.npy")


def targets() -> np.ndarray:
    """(N, L) 1 present, 0 absent, -1 unknown, from the csl-csv."""
    return np.loadtxt(DATA / "rpa.csv", str, delimiter=",", skiprows=1)[:, 1:].astype(np.int64)


class Counted(Keyed):
    """Our order of the images, an epoch further with each pass."""

    def __iter__(self) -> Iterator[int]:
        order = super().__iter__()
        self.epoch += 1
        return order


def loader(dataset: Any, *, shuffle: bool, **options: Any) -> DataLoader[Any]:
    """In place of torch's: our order where the program shuffles."""
    options |= {"num_workers": 0, "pin_memory": False}
    options["sampler"] = Counted(len(dataset)) if shuffle else None
    return DataLoader(dataset, **options)


def started(model: nn.Module) -> nn.Module:
    """The model with our initial head in its linear layer or 1x1 convolution."""
    (head,) = (m for m in model.modules() if isinstance(m, nn.Linear | nn.Conv2d))
    shape = head.weight.shape
    weight, bias = initial(CHANCE.of("head"), shape[0], shape[1])
    head.load_state_dict({"weight": weight.reshape(shape), "bias": bias})
    return model


def afterwards(kind: Any, change: Callable[[Any], Any]) -> None:
    """Have instances of this class changed once they are made."""
    first = kind.__init__

    def start(self: Any, *given: Any) -> None:
        first(self, *given)
        change(self)

    kind.__init__ = start


def injected(theta: torch.Tensor | None = None) -> tuple[Any, Any]:
    """Their training and models, with our head and order and, for ROLE, estimates `theta`."""
    torchvision.models.resnet50 = lambda **_: nn.Sequential(*map(nn.Identity, range(3)))
    torch.utils.data.DataLoader = loader  # type: ignore[misc, assignment]
    models = importlib.import_module("models")
    afterwards(models.ImageClassifier, started)
    if theta is not None:
        afterwards(models.LabelEstimator, lambda made: made.logits.data.copy_(theta))
    return importlib.import_module("train" if Path("train.py").exists() else "main"), models


def common(loss: str, **other: Any) -> dict[str, Any]:
    """The settings shared by the programs that are built on Cole et al.'s."""
    return {
        "dataset": "pascal", "loss": loss, "train_set_variant": "observed",
        "val_set_variant": "clean", "lr": RATE, "bsize": BATCH, "num_epochs": EPOCHS,
        "stop_metric": "map", "ls_coef": 0.1, "lr_mult": 10.0, "seed": 1200, "split_seed": 1200,
        "val_frac": 0.2, "ss_seed": 999, "ss_frac_train": 1.0, "ss_frac_val": 1.0,
        "use_pretrained": False, "use_feats": True, "freeze_feature_extractor": False,
        "num_workers": 0, "expected_num_pos": 2.9, "save_path": ".",
        "train_feats_file": str(DATA / "train_features.npy"),
        "val_feats_file": str(DATA / "val_features.npy"), "feat_dim": features("val").shape[1],
        "num_classes": np.load(DATA / "formatted_val_labels.npy").shape[1], **other,
    }  # fmt: skip


def by_cole(loss: str) -> Result:
    """single-positive-multi-label, and AckTheUnknown, which is built on it."""
    observed = np.load(DATA / "formatted_train_labels_obs.npy")[TRAIN]
    role = make("role(reproduce=spml)").start(Task(observed), CHANCE.of("state", "role"))
    theirs, _ = injected(role.theta.detach() if loss == "role" else None)
    P = common(loss, arch="linear", alpha=0.1, warmup_epoch=5)
    _, head, *_, logs = theirs.execute_training_run(P, None, None)
    val, test = logs["metrics"]["val"], logs["metrics"]["test"]
    epoch = max(val, key=lambda e: val[e]["map_clean"])
    with torch.no_grad():
        logits = head(torch.from_numpy(features("val"))).numpy()
    return epoch + 1 - min(val), test[epoch]["map_clean"], logits


def by_kim(loss: str) -> Result:
    """LargeLossMatters and BridgeGapExplanationPAMC, which print their result."""
    theirs, models = injected()
    P = common(
        loss, arch="resnet50", lr=RATE / 10, optimizer="adam", mod_scheme=loss, alpha=5,
        largelossmod_scheme=loss, delta_rel={"LL-R": 0.5, "LL-Ct": 0.2}[loss] / 100, clean_rate=1,
        llr_rel=1, llr_rel_mod=int(loss == "LL-Ct"), perm_mod=0,
    )  # fmt: skip
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        theirs.run_train(P)
    ((score, epoch),) = re.findall(r"Test mAP : (\S+) when .* epoch (\d+)", printed.getvalue())
    model = models.ImageClassifier(P).eval()
    model.load_state_dict(torch.load("bestmodel.pt")[0])
    with torch.no_grad():
        return int(epoch), float(score), model(torch.from_numpy(features("val"))).numpy()


def by_ben_baruch(loss: str) -> Result:
    """PartialLabelingCSL: its loop, and its plain weights after the last epoch."""
    theirs = importlib.import_module("train")
    known, test = Examples(features("train")[TRAIN], targets()[TRAIN]), features("val")
    known.classes = dict(enumerate(range(targets().shape[1])))  # type: ignore[attr-defined]
    present = np.load(DATA / "formatted_val_labels.npy")
    loaders = [loader(known, shuffle=True, batch_size=BATCH)]
    loaders += [loader(Examples(test, present), shuffle=False, batch_size=BATCH)]
    args = types.SimpleNamespace(
        image_size=0, lr=RATE, epochs=EPOCHS, stop_epoch=None, weight_decay=1e-4, clip=0.0,
        gamma_pos=0.0, gamma_neg=1.0, gamma_unann=2.0, alpha_pos=1.0, alpha_neg=1.0,
        alpha_unann=1.0, partial_loss_mode=loss, likelihood_topk=5, prior_path=None,
        prior_threshold=0.05, path_dest=".",
    )  # fmt: skip
    model = started(nn.Linear(test.shape[1], present.shape[1]))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        theirs.train_multi_label_coco(model, *loaders, args)
    scores = re.findall(r"mAP score regular ([\d.]+)", printed.getvalue())
    with torch.no_grad():
        return EPOCHS, float(scores[-1]), model(torch.from_numpy(test)).numpy()


def by_simkit(program: Program, spec: str) -> tuple[int, np.ndarray]:
    """The chosen epoch, and the logits of the test images."""
    settings = protocol(program.protocol).settings
    settings = replace(settings, lr=RATE, epochs=EPOCHS, batch_size=BATCH)
    observed = np.load(DATA / "formatted_train_labels_obs.npy")
    if program.protocol == "csl":
        observed = np.choose(targets() + 1, (0, -1, 1))
        settings = replace(
            settings, ema=None, ema_warm_up=True, keep="average", select="last", precision="fp32"
        )
    x, test = features("train"), features("val")
    held = np.load(DATA / "formatted_train_labels.npy")[HELD]
    validation = Validation(FeatureInputs(x[HELD]), Truth.of(held))
    task = Task(observed[TRAIN].astype(np.int8), FeatureInputs(x[TRAIN]))
    model = train(task, make(spec), settings=settings, validation=validation)
    return model.epoch, np.asarray(model.scores(FeatureInputs(test)))


def printed_map(logits: np.ndarray, program: Program) -> float:
    """mAP as these programs compute it: of float32 sigmoids, 0 for classes without positives."""
    n = len(logits) // BATCH * BATCH if program.whole_batches else len(logits)
    p = torch.from_numpy(logits[:n]).sigmoid().numpy()
    present = np.load(DATA / "formatted_val_labels.npy")[:n]
    rows = zip(present.T, p.T, strict=True)
    return 100 * float(np.mean([average_precision_score(y, s) if y.any() else 0 for y, s in rows]))


PROGRAMS = (
    Program(
        "elijahcole/single-positive-multi-label", ("models.py", "class LabelEstimator"),
        (("an", "an(reproduce=spml)"), ("an_ls", "lsan(reproduce=spml)"),
         ("wan", "wan(reproduce=spml)"), ("epr", "epr(reproduce=spml)"),
         ("role", "role(reproduce=spml)")), "single-positive", by_cole, whole_batches=True,
    ),
    Program(
        "Correr-Zhou/SPML-AckTheUnknown", ("losses.py", "def loss_EM("),
        (("EM", "em(reproduce=em)"),), "em-apl", by_cole,
    ),
    Program(
        "youngwk/BridgeGapExplanationPAMC", ("models.py", "onebyone_conv"),
        (("LL-R", "ll-r(reproduce=cvpr23)+boostlu(reproduce=cvpr23)"),
         ("LL-Ct", "ll-ct(reproduce=cvpr23)+boostlu(reproduce=cvpr23)")),
        "boostlu", by_kim, features="maps",
    ),
    Program(
        "snucml/LargeLossMatters", ("config.py", "--mod_scheme"),
        (("LL-R", "ll-r(reproduce=cvpr22)"), ("LL-Ct", "ll-ct(reproduce=cvpr22)")), "large-loss",
        by_kim, features="points",
    ),
    Program(
        "Alibaba-MIIL/PartialLabelingCSL",
        ("src/loss_functions/partial_asymmetric_loss.py", "PartialSelectiveLoss"),
        (("negative", "p-asl(reproduce=csl)"), ("ignore", "p-asl(mode=ignore,reproduce=csl)"),
         ("selective", "csl(reproduce=csl,prior=none)")), "csl", by_ben_baruch,
    ),
)  # fmt: skip


def recognised(clone: Path) -> Program:
    """The program of this clone; SystemExit with code 2 and what is missing otherwise."""
    for program in PROGRAMS:
        file = clone / program.mark[0]
        if file.is_file() and program.mark[1] in file.read_text("utf-8"):
            return program
    known = "".join(f"\n  git clone https://github.com/{one.repository}" for one in PROGRAMS)
    what = "holds none of the published programs" if clone.is_dir() else "is not a folder"
    print(f"{clone} {what}; clone one of these and name its folder:{known}", file=sys.stderr)
    raise SystemExit(2)


def main() -> int:
    parser = argparse.ArgumentParser(description="A published program against simkit.")
    parser.add_argument("--clone", type=Path, required=True, help="folder of its repository")
    clone = parser.parse_args().clone.resolve()
    program = recognised(clone)
    warnings.simplefilter("ignore")
    os.environ["SIMKIT_PROGRESS"] = "off"
    agree = True
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        copied(clone, Path(place), export(program.features))
        print(program.repository)
        print("loss      epoch  mAP printed  simkit's epoch  mAP  logits within")
        for loss, spec in program.runs:
            quiet = io.StringIO()
            with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
                epoch, score, logits = program.run(loss)
            ours, scores = by_simkit(program, spec)
            again, gap = printed_map(scores, program), float(np.abs(scores - logits).max())
            print(f"{loss:9} {epoch:5} {score:12.3f} {ours:15} {again:8.3f} {gap:9.1g}   {spec}")
            agree &= epoch == ours and abs(score - again) < 0.01 and gap < 1e-3
        os.chdir(clone)
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
