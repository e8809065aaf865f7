"""The mend in a refusal is the mend: each command, option or setting that a message names works.

A case runs a command (or, after `py:`, Python) that is refused, takes the mend out of the message
by a regular expression, follows it to the letter, and is through.
"""

import json
import re
import shlex
import shutil
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import simkit
from simkit.cli.main import code
from simkit.data.voc import CLASSES
from simkit.errors import BadInput
from tests import downloads


class Mend(NamedTuple):
    """A refused command, a pattern of its message, and ways to follow it.

    run      the command
    says     a pattern of the message; its groups are the {} of `follow`
    follow   "+ --option x" is added to the command, "- --option" leaves the option out, "a => b"
             replaces a part of it; other texts are commands
    files    files that are there before, by name
    mended   files as the message says to write them
    """

    run: str
    says: str
    follow: tuple[str, ...]
    files: Mapping[str, str]
    mended: Mapping[str, str]


NONE: Mapping[str, str] = MappingProxyType({})


def mend(
    run: str, says: str, *follow: str,
    files: Mapping[str, str] = NONE, mended: Mapping[str, str] = NONE,
) -> Mend:  # fmt: skip
    return Mend(run, says, follow, files, mended)


PHOTOS = "--data folder:photos"
SIMULATE = f"simulate {PHOTOS} --out out.parquet --scheme"
TRAIN = f"train {PHOTOS} --epochs 1 --labels rpa.parquet --method"
ORDER = f"order {PHOTOS} --out order1 --scheme"
LONG = "file,class\na00.png,cat\na01.png,dog\na02.png,dog\n"
LOAD = "py:simkit.Grid.load('g.toml')"
DATA = "folder:photos,test=0.3"
GRID = f'data = "{DATA}"\nschemes = ["rpa"]\nmethods = ["an"]\nbudgets = [0.01]\ndraws = 1\n'

# fmt: off
COMMANDS = [
    # names
    mend("simulat --scheme rpa", "did you mean '(.+)'", "simulat => {}"),
    mend("xyz", r"known are .*(status|list).*", "xyz => list"),
    mend("list schem", "did you mean '(.+)'", "schem => {}"),
    mend("list schemes fp", "did you mean '(.+)'", "fp => {}"),
    mend(f"{SIMULATE} rpaa", "did you mean '(.+)'", "rpaa => {}"),
    mend(f"{TRAIN} ll_r", "did you mean '(.+)'", "ll_r => {}"),
    mend(f"{TRAIN} boostlu", r"as in (\S+)", "boostlu => {}"),
    mend(f"{TRAIN} 'll-r(dleta=0.2)'", "did you mean '(.+)'", "dleta => {}"),
    mend(f"{TRAIN} 'll-r(delta)'", r"name\(setting=value\)", "delta => delta=0.2"),
    mend("cost rpa.parquet --prices gogle", "did you mean '(.+)'", "gogle => {}"),
    mend("hierarchy coco-8", "did you mean '(.+)'", "coco-8 => {}"),
    mend(f"{SIMULATE} rpa --data folder:photos,test_=0.3", "did you mean '(.+)'", "test_ => {}"),
    # options that do not go together
    mend("cost rpa.parquet --data folder:photos",
         r"needs (--evaluation); add it, or leave (.+) out", "+ {0} 5", "- {1}"),
    mend("show rpa.parquet --out x.png", "leave (.+) out", "- {}"),
    mend("hierarchy --out x.json", "a hierarchy, by name or (--classes)", "+ coco-80", "- --out"),
    mend("hierarchy coco-80 --classes names.txt", "NAME and (--classes) .*leave one of them out",
         "- {}"),
    mend("habits votes.csv --labels full.parquet --figure x.png", "(--figure) and .*leave one",
         "- {}", files={"votes.csv": "image,class\na03.png,cat\na07.png,dog\n"}),
    mend(f"{SIMULATE} rpa --unit hours", "needs (--budget); add it, or leave (.+) out",
         "+ {} 0.001", "- --unit"),
    mend(f"{SIMULATE} rpa --keep 0.2 --budget 5", "(--budget) and the (keep) of rpa", "- {0}",
         "- --{1}"),
    mend(f"{SIMULATE} rpa --legacy-rng --budget 5", "(--budget) and (--legacy-rng)", "- {0}",
         "- {1}"),
    mend(f"{SIMULATE} rpa --legacy-rng --miss 0.1", "leave these or (--legacy-rng) out", "- --miss",
         "- {}"),
    mend(f"{SIMULATE} rpa --features x.npz", "(--features) is given, .*leave it out", "- {}"),
    mend(f"{SIMULATE} rpa --per-class 4", "leave it out", "- --per-class"),
    mend(f"{SIMULATE} 'rpa(keep=0.5)' --keep 0.2", "(--keep) and keep in", "- {}"),
    mend(f"{TRAIN} an --size 32", "needs (--fine-tune); add it, or leave (.+) out", "+ {0}",
         "- {1}"),
    mend(f"{TRAIN} an --set epochs=2", "(--epochs) and --set epochs", "- {}"),
    mend(f"{TRAIN} an --set precision=bf16", "add (--fine-tune).*set them to 0 and (fp32)", "+ {0}",
         "bf16 => {1}"),
    mend(f"{TRAIN} an --epochs 5 --set milestones=2",
         "only where (schedule) is '(step)'; set that too", "+ --set {0}={1}"),
    mend(f"train {PHOTOS} --epochs 1 --labels photos/labels.csv --method an --set select=best",
         "name both a val and a test part, or set (select) to '(last)'",
         "folder:photos => folder:photos,test=0.3", "select=best => {0}={1}"),
    mend(f"predict model {PHOTOS} --weights random", "needs (--backbone); .*leave (--weights) out",
         "- {1}"),
    mend("score --data folder:photos --model simulated", "add (--quality 90)", "+ {}"),
    mend("score --data folder:photos,labels=none --model simulated --quality 90",
         "labelled (--data)", "folder:photos,labels=none => folder:photos"),
    mend("score --data folder:photos --model simulated --quality 90 --classes odd.txt",
         "leave (--classes) out", "- {}", files={"odd.txt": "a\nb\n"}),
    mend("score --data folder:photos --model open_clip:RN50 --quality 90",
         "needs (--model simulated)", "open_clip:RN50 => simulated"),
    mend("plan --pilot --budget 100 --classes 80 --per-image 2.9", r"raise it to \$(\S+),",
         "100 => {}"),
    mend("plan --pilot --budget 100 --classes 80 --per-image 2.9",
         r"begin with (\d+) of the classes .*with (--per-image [\d.]+)",
         "--classes 80 --per-image 2.9 => --classes {0} {1}"),
    mend("plan --pilot --budget 200", "such as (--classes 80 --per-image 2.9)", "+ {}"),
    mend("plan --pilot --budget 200 --classes 80 --per-image 2.9 --target 60",
         "--pilot and (--target)", "- {}"),
    mend("plan --budget 200", "or add (--pilot)", "+ {} --classes 80 --per-image 2.9"),
    # files to read and to write
    mend("cost full", r"(simkit convert full labels.parquet --from hf)", "{}"),
    mend("predict nomodel --data folder:photos", "a folder that (simkit train --out) wrote",
         "nomodel => model"),
    mend("cost labels.csv", "the (parquet) or (npz) file that", "labels.csv => rpa.parquet"),
    mend("convert rpa.parquet out.csv --to parquet",
         "ending '(.parquet)'; give OUT that ending or another format", "out.csv => out{}",
         "--to parquet => --to csv"),
    mend("convert rpa.parquet out.csv --data folder:photos", "leave (--data) out", "- {}"),
    mend("convert rpa.parquet t --to npy-triple",
         r"lost: 5 absent .*(npy-triple\(negatives=true\))", "npy-triple => '{}'"),
    mend(f"{SIMULATE} rpa --out photos/labels.csv", "choose another output file",
         "photos/labels.csv => x.csv"),
    mend(f"{SIMULATE} rpa --out own.parquet", "with (--no-card)", "+ {}",
         files={"own.card.md": "mine"}),
    mend("hierarchy coco-80 --figure x", "ends in (.png), (.pdf) or (.svg)", "x => x{0}",
         "x => x{1}", "x => x{2}"),
    mend("plan --pilot --budget 200 --classes 80 --per-image 2.9 --report p",
         "(.html), (.md), (.json) or (.txt)", "+ --report p{0}", "+ --report p{1}",
         "+ --report p{2}", "+ --report p{3}"),
    # orders and projects
    mend("order --out o1", "(--data) and (--scheme) are needed; give both, or (--next ORDER)",
         "+ {0} folder:photos {1} rpa"),
    mend(f"{ORDER} rpa --images 100", "give (--images 24) or fewer", "--images 100 => {}"),
    mend(f"{ORDER} rpa --known full.parquet", "needs (--gold), .*leave (--known) out", "- {1}",
         "+ {0} 10%"),
    mend(f"{ORDER} rpa --gold 50%", "(--known), a file .* or (--gold 0) for", "+ {0} full.parquet",
         "--gold 50% => {1}"),
    mend(f"{ORDER} full-subset --gold 50% --known full.parquet", "leave --gold and --known out",
         f"{ORDER} full-subset"),
    mend(f"{ORDER} rpa --gold 90% --known one.csv", "lower --gold to ([0-9]+%)", "90% => {}",
         files={"one.csv": LONG.replace("file", "image").replace("class\n", "class,state\n")
                .replace("cat\n", "cat,1\n").replace("dog\n", "dog,1\n")}),
    mend("cost rpa.parquet --prices p.toml", "write (15.50), if these",
         "cost rpa.parquet --prices p.toml",
         files={"p.toml": 'like = "hourly"\nwage = "15,50 EUR"\n'},
         mended={"p.toml": 'like = "hourly"\nwage = {}\n'}),
    mend("cost rpa.parquet --prices p.csv", "a TOML file, such as (prices.toml)", "p.csv => {}",
         mended={"prices.toml": 'like = "hourly"\n'}),
    mend("receive ordered said.csv", "(--columns milliseconds=time)", "+ {}",
         files={"said.csv": "question,answer,worker,time\n1,yes,a,2000\n2,no,a,3000\n"}),
    mend(f"{ORDER} rpa --hierarchy coco-80", "--hierarchy is given, .*leave it out",
         "- --hierarchy"),
    mend(f"{ORDER} knowledge-graph",
         "(--hierarchy), a file .make one with: (simkit hierarchy --classes FILE). or a shipped",
         "+ {0} coco-80"),
    mend(f"{ORDER} machine", r"(--scores) FILE, from simkit score or (simkit predict)",
         "+ {0} scores.csv"),
    mend(f"{ORDER} proposals", "(--scores), a table of images x classes, or order (rpa)",
         "+ {0} scores.csv", "proposals => {1}"),
    mend(f"{ORDER} fpc --budget 5", "such as ('fpc.per_class=50.'), and --budget",
         "--scheme fpc => --scheme {}"),
    mend(f"{ORDER} rpa --features model",
         "needs (--known) LABELS, for examples; .*leave (--features) out", "- {1}"),
    mend(f"{ORDER} rpa --data folder:photos,labels=none", "(--classes) FILE, one class per line",
         "+ {} names.txt"),
    mend(f"{ORDER} rpa --split tset", "it has (train)", "tset => {}"),
    mend(f"{ORDER} rpa --out ordered", "(--next ordered), or name another folder with (--out)",
         "--data folder:photos --out order1 --scheme rpa --out ordered => {0} --keep 0.5",
         "ordered => o2"),
    mend("order --next ordered", "receive their answers first, or raise the amount",
         "+ --keep 0.5"),
    mend("order --next ordered --out o2", "--next and (--out) are both", "--out o2 => --keep 0.5"),
    mend("order --next photos", "(simkit order --data) ... (--out photos)",
         "{0} folder:photos --scheme rpa {1}"),
    mend("order --next inside", "an order in it: (inside/o1)", "inside => {} --keep 0.5"),
    mend("receive ordered", "the files with people's answers"),
    mend("status photos", "with: (simkit quickstart photos --classes names.txt --budget 2000)",
         "{}"),
    mend("quickstart photos --classes names.txt --budget 9 --out mine",
         "(simkit status mine), or name another folder with (--out)", "{}", "mine => p2"),
    mend("quickstart photos --classes names.txt --budget 9 --out photos",
         "another folder with (--out)", "--out photos => {} p2"),
    mend("quickstart photo --classes names.txt --budget 9 --out p2", "did you mean '(.+)'",
         "photo => {}"),
    mend("quickstart photos/labels.csv --classes names.txt --budget 9 --out p2",
         "write (folder:.+)", "photos/labels.csv => {}"),
    mend("quickstart folder:photos,labels=none --budget 9 --out p2", "(--classes) FILE",
         "+ {} names.txt"),
    mend("quickstart photos --classes names.txt --budget 9 --out p2 --per-image 5",
         "per_image is 5.*lower it", "5 => 1"),
    mend("quickstart photos --classes names.txt --budget 9 --out p2 --weights random",
         "leave (--weights) out", "- {}"),
    mend("show mine", "(simkit status mine)", "{}"),
    # data texts
    mend("features --data photos", "write (folder:photos)", "photos => {}"),
    mend("features --data photos,labels=none", "write (.+)", "photos,labels=none => {}"),
    mend("features --data 'my, photos'", "write (.+)", "my, photos => {}"),
    mend("features --data 'folder:my, photos'", "write (.+)", "folder:my, photos => {}"),
    mend("features --data 'folder:my, photos,labels=none'", "write (.+)",
         "folder:my, photos,labels=none => {}"),
    mend("features --data folder:photos,labels=none,labels=none", "labels is given twice",
         ",labels=none,labels=none => ,labels=none"),
    mend("features --data d.toml", 'add a line such as (source = )"coco"', "+ ",
         files={"d.toml": 'root = "photos"\n'}, mended={"d.toml": '{}"folder"\nroot = "photos"\n'}),
    mend(f"{SIMULATE} rpa --data folder:two", r"(labels=)FILE.csv, or labels=none",
         "two => two,{}photos/labels.csv"),
    mend("order --out o1 --scheme rpa --classes names.txt --data folder:two,labels=",
         r"or (labels=none), which", "labels= => {}"),
    mend(f"{SIMULATE} rpa --data folder:photos,labels=none", "(simkit order)",
         "{} --data folder:photos,labels=none --classes names.txt --scheme rpa --out o1"),
    mend(f"{SIMULATE} rpa --data folder:photos,labels=part.csv,part=yes",
         "(unknown=absent-in-train)", "part=yes => part=yes,{}",
         files={"part.csv": "file,cat,dog\na00.png,1,\na01.png,0,1\na02.png,1,0\n"}),
    mend("features --data folder:photos,labels=minus.csv,part=yes",
         "(minus=absent) or (minus=unknown)", "part=yes => part=yes,{0}",
         "part=yes => part=yes,{1}",
         files={"minus.csv": "file,cat,dog\na00.png,1,-1\na01.png,-1,1\na02.png,1,1\n"}),
    mend(f"{SIMULATE} rpa --data folder:photos,test=0.2,labels=split.csv,part=yes",
         "leave (test=0.2) out", ",test=0.2 => ",
         files={"split.csv": "file,split,class\na00.png,train,cat\na02.png,test,dog\n"}),
    mend(f"{SIMULATE} rpa --data folder:noend,labels=short.csv", "with (suffix=.bmp)",
         "short.csv => short.csv,{}",
         files={"short.csv": "file,class\na00,cat\na01,dog\na02,dog\n"}),
    mend(f"{SIMULATE} rpa --data folder:photos,labels=lost.csv,part=yes", "(drop_missing=yes)",
         "part=yes => part=yes,{}", files={"lost.csv": LONG + "lost.png,dog\n"}),
    mend(f"{SIMULATE} knowledge-graph",
         "(simkit hierarchy --classes names.txt).*(hierarchy=)hierarchy.json or the name",
         "folder:photos => folder:photos,{1}coco-80"),
    mend("neighbours --query a19.png --data folder:photos --split test", "add (test=0.2), to",
         "folder:photos --split => folder:photos,{} --split"),
    mend("neighbours --query a01.png --data folder:photos --split tset", "name one of (train),",
         "tset => {}"),
    *[mend(f"{SIMULATE} rpa --data 'folder:photos,labels=x.csv,part=yes'",
           "note: .* add (between=.+?) if they do", "part=yes' => part=yes,{}'",
           files={"x.csv": f'file,class\na00.png,"cat{sign}dog"\na01.png,cat\na02.png,dog\n'})
      for sign in ("|", ";", ", ", "/", "+", " ")],
    # prices, budgets and people
    mend("cost rpa.parquet --prices own.toml",
         "has no price for 'verify'; .*or (like = \"hourly\")", "+ ",
         files={"own.toml": "wage = 15\n[name]\nper = \"question\"\nseconds = 1\n"},
         mended={"own.toml": "{}\nwage = 15\n"}),
    mend("cost rpa.parquet --prices own.toml",
         "no kind of question has a price; add a table such as (.verify.)", "+ ",
         files={"own.toml": "wage = 15\n"},
         mended={"own.toml": "wage = 15\n{}\nper = \"question\"\nseconds = 1\n"}),
    mend("cost rpa.parquet --prices own.toml",
         "give (dollars), or (seconds) and a (wage) for the list", "+ ",
         files={"own.toml": "[verify]\nper = \"question\"\nseconds = 1\n"},
         mended={"own.toml": "{2} = 15\n[verify]\nper = \"question\"\n{1} = 1\n"}),
    mend("cost rpa.parquet --prices openimages --wage 20",
         "leave the (wage) out, or take a list of seconds such as (hourly)", "- --{0}",
         "openimages => {1}"),
    mend("cost rpa.parquet --wage 0", "wage is .*above 0.*write (15)", "--wage 0 => --wage {}"),
    mend("cost rpa.parquet --wage abc", "above 0.*write (15) or (15.50)", "abc => {0}",
         "abc => {1}"),
    mend("plan --pilot --classes 20 --per-image 3 --budget abc", "write (2000), (2,000) or (2k)",
         "abc => {0}", "abc => {1}", "abc => {2}"),
    mend(f"{SIMULATE} fpc --budget 0.001", r"smallest amount costs \$([\d.]+)", "0.001 => {}"),
    mend(f"{SIMULATE} fpc --budget 0.0001 --unit hours", r"\(([\d.]+) hours\)", "0.0001 => {}"),
    mend(f"{SIMULATE} rpa --budget 1 --unit hours --prices google",
         "the budget in (dollars), or use a list with times, such as (hourly)",
         "--unit hours => --unit {0}", "google => {1}"),
    mend(f"{SIMULATE} rpa --images many", "such as (0.5) or (50%), or a number", "many => {0}",
         "many => {1}", "many => 5"),
    mend(f"{SIMULATE} rpa --miss half", "such as (0.1), or one for each class, such as (0.1,0.3),",
         "half => {0}", "half => {1}"),
    mend(f"{SIMULATE} rpa --miss 0.1 --habits h.json", "(--miss) and (--habits)", "- {0}", "- {1}",
         files={"h.json": '{"miss": 0.1}'}),
    mend("habits votes.csv", "write a file by hand, such as ({.+}), for (--habits)",
         f"{SIMULATE} rpa {{1}} h.json",
         files={"votes.csv": "image,class,worker,answer\n1,cat,a,yes\n1,cat,b,no\n"},
         mended={"h.json": "{}"}),
    mend(f"{SIMULATE} machine", r"(--scores) FILE, from simkit score or simkit predict",
         "+ {} scores.csv"),
    mend(f"{SIMULATE} 'mixed(rest=fpc)'",
         "such as (full-subset), (knowledge-graph), (proposals), (rpa)", "fpc => {0}",
         "fpc => {3}"),
    mend(f"{SIMULATE} single-positive --bias size", "such as (scenes) or",
         "folder:photos => {}:images=60"),
    mend(f"{SIMULATE} single-positive --bias most",
         "(none), size, centre, (typical), (rare), or a .* columns (class) and (weight)",
         "most => {0}", "most => {1}", "most => {2}", "most => w.csv",
         mended={"w.csv": "{3},{4}\ncat,1\ndog,2\n"}),
    mend(f"{SIMULATE} rpa --legacy-rng --split val", "(--split) val out", "- {}"),
    # training
    mend(f"{TRAIN} vlpl", "make them with (simkit score) and give the file as (--scores)",
         "+ {1} s.npz"),
    mend(f"{TRAIN} full", "train '(an)' or '(ignore)'", "method full => method {0}",
         "method full => method {1}"),
    mend(f"{TRAIN} an --labels oi.csv", "translate it: (simkit convert .*)", "{}",
         files={"oi.csv": "ImageID,Source,LabelName,Confidence\na01.png,verification,/m/01,1\n",
                "FILE": "/m/01,cat\n"}),
    mend(f"{TRAIN} an --data folder:photos,labels=none", "name a table with (labels=)FILE",
         "labels=none => {}photos/labels.csv"),
    mend(f"{TRAIN} an --features features-24.npz", "as in (train=)FILE.npz",
         "features-24 => {}features-24"),
    mend(f"train --labels photos/labels.csv --method an --data {DATA} "
         "--features train=features-17.npz",
         "or (--features test=)FILE.npz", "+ {}features-7.npz"),
    mend(f"{TRAIN} an --set ema", "as in (ema=0.999)", "--set ema => --set {}"),
    mend(f"{TRAIN} an --set schedule=step", "training: (milestones) are",
         "+ --epochs 3 --set {}=1,2"),
    mend(f"{TRAIN} an --fine-tune --protocol csl", "(--weights) FILE, or imagenet .*, or (random)",
         "+ --help"),
    mend(f"{TRAIN} an+scl", "train longer, or set (warmup) lower", "an+scl => 'an+scl({}=0)'"),
    mend(f"predict model {PHOTOS} --backbone resnet18 --weights random",
         "name the network and the weights of the training",
         " --backbone resnet18 --weights random => "),
    mend("predict model --data folder:photos --split test", "name one of (train), (val),",
         "test => {0}", "test => {1}"),
    # comparisons and plans
    mend(LOAD, "did you mean '(.+)'", "+ ", files={"g.toml": GRID.replace("schemes", "scheme")},
         mended={"g.toml": GRID}),
    mend(LOAD, "as in (methods = .+)", "+ ", files={"g.toml": GRID.replace('methods = ["an"]', "")},
         mended={"g.toml": "{}\n" + GRID.replace('methods = ["an"]', "")}),
    mend(LOAD, "such as (.+)", "+ ", files={"g.toml": GRID.replace('["rpa"]', "[]")},
         mended={"g.toml": GRID.replace('["rpa"]', "{}")}),
    mend(LOAD, "write it below (.train.)", "+ ", files={"g.toml": GRID + "epochs = 1\n"},
         mended={"g.toml": GRID + "{}\nepochs = 1\n"}),
    mend(LOAD, "set it to (last), or validation to (complete) or (partial)", "+ ",
         files={"g.toml": GRID + '[train]\nselect = "best"\n'},
         mended={"g.toml": GRID + '[train]\nselect = "{0}"\n'}),
    mend(LOAD, "set it to last, or (validation) to (complete) or (partial)", "+ ",
         files={"g.toml": GRID + '[train]\nselect = "best"\n'},
         mended={"g.toml": GRID + '{0} = "{2}"\n[train]\nselect = "best"\n'}),
    mend(LOAD, "set train.(select) to (best), or (validation) to (none)", "+ ",
         files={"g.toml": GRID + 'validation = "complete"\n[train]\nselect = "last"\n'},
         mended={"g.toml": GRID + '{2} = "{3}"\n[train]\nselect = "last"\n'}),
    mend(LOAD, "change it in (.pictures.changed.)", "+ ",
         files={"g.toml": GRID + '[pictures]\nprotocol = "csl"\n[train]\nepochs = 1\n'},
         mended={"g.toml": GRID + 'validation = "complete"\n'
                 '[pictures]\nprotocol = "csl"\n{}\nepochs = 1\n'}),
    mend(LOAD, "these settings into (.train.)", "+ ",
         files={"g.toml": GRID + "[pictures.changed]\nepochs = 1\n"},
         mended={"g.toml": GRID + "[pictures]\n{}\nepochs = 1\n"}),
    mend("compare g.toml --dry-run", "make them with (simkit score), as in (.+)", "+ ",
         files={"g.toml": GRID.replace("rpa", "machine").replace("0.01", "0.1")},
         mended={"g.toml": GRID.replace("rpa", "machine").replace("0.01", "0.1") + "{1}\n"}),
    mend("compare g.toml --dry-run", "such as (,hierarchy=coco-80)", "+ ",
         files={"g.toml": GRID.replace("rpa", "knowledge-graph")},
         mended={"g.toml": GRID.replace("rpa", "knowledge-graph").replace(DATA, DATA + "{}")}),
    mend("compare g.toml --dry-run", "add (test=0.2)", "+ ",
         files={"g.toml": GRID.replace(DATA, "folder:photos")},
         mended={"g.toml": GRID.replace(DATA, "folder:photos,{}")}),
    mend("compare g.toml --dry-run", "(labels=)...., or start with: (simkit quickstart)", "+ ",
         files={"g.toml": GRID.replace(DATA, "folder:photos,labels=none")},
         mended={"g.toml": GRID.replace(DATA, DATA + ",{}photos/labels.csv")}),
    mend(LOAD, "which are equal; leave one out", "+ ",
         files={"g.toml": GRID.replace('"rpa"', '"rpa", "RPA"')}, mended={"g.toml": GRID}),
    mend(LOAD, "leave out one of both", "+ ",
         files={"g.toml": GRID + 'validation = "complete"\n'
                "[tuning]\nruns = 2\n[settings.rpa.an]\nlr = 0.1\n"},
         mended={"g.toml": GRID + "[settings.rpa.an]\nlr = 0.1\n"}),
    mend("compare g.toml --workers 1 --out r2",
         r"take \S+ of .*raise the budget or set (validation) to (none)", "+ ",
         files={"g.toml": GRID.replace("0.01", "0.005") + 'validation = "complete"\n'},
         mended={"g.toml": GRID.replace("0.01", "0.005") + '{0} = "{1}"\n'}),
    mend("compare g.toml --workers 1 --out r2", "train '(an)' or 'ignore'", "+ ",
         files={"g.toml": GRID.replace('"an"', '"full"')},
         mended={"g.toml": GRID.replace('"an"', '"{}"')}),
    mend("compare g.toml --dry-run --part 5", "such as (1/16)", "5 => {}", files={"g.toml": GRID}),
    mend("compare g.toml --scheduler tcp://127.0.0.1:1 --dry-run", "(--scheduler) and (--dry-run)",
         "- {0}", files={"g.toml": GRID}),
    mend("compare g.toml --workers 1", "another (--out) keeps both", "+ {} other",
         files={"g.toml": GRID + "seed = 1\n"}),
    mend("plan plain --budget 5", r"set (reference = true) in its grid and compare again",
         "compare g.toml --workers 1 --out plain", mended={"g.toml": GRID + "{}\n"}),
    mend("plan runs --budget 0.0001", r"raise it to \$([\d.]+)", "0.0001 => {}"),
    mend("plan runs --budget 5 --classes 80", "leave (--classes) out", "- {}"),
    mend("plan runs --budget 5 --confidence 80%", "needs (--target).*leave (--confidence) out",
         "+ {0} 10", "- {1}"),
    mend("plan photos --budget 5", "give the folder that `(simkit compare)` wrote to",
         "photos => runs"),
    mend("order --data folder:photos --out z --plan plan.json", "give (--images 24) or fewer",
         "plan runs --budget 5 {}"),
    mend("order --data folder:photos --out z --plan small.json --part b", "leave (--part) out",
         " {} b => "),
    mend("order --data folder:photos --out z --plan no.json",
         "(simkit plan) RUNS --budget ... (--report) plan.json", "{0} runs --budget 5 {1} no.json",
         files={"no.json": "{}"}),
    mend("show runs --figure heat-map --set foo", "(simkit list figures heat-map)", "{}"),
    mend("show runs --figure heatmap", "did you mean '(.+)'", "heatmap => {}"),
    mend("show runs --figure heat-map --set budget=7", r"budgets in the table are \$(\S+)",
         "budget=7 => budget={}"),
    mend("show runs --figure confusion", "can be drawn: (class-difference), .*(heat-map),",
         "confusion => {1}"),
    mend("show runs --figure convergence", "compare again with (curves = true)",
         "compare g.toml --workers 1 --out runs", mended={"g.toml": GRID + "{}\n"}),
    mend("train --labels sp.parquet --epochs 1 --method epr --data folder:photos",
         r"as in (epr\(expected=[\d.]+\))", "method epr => method '{}'"),
    mend("train --labels sp.parquet --epochs 1 --method ignore --data folder:photos",
         "train '(an)' or '(ll-r)' instead", "method ignore => method {0}",
         "method ignore => method {1}"),
    mend(f"{TRAIN} csl", r"choose a smaller (top_k), or (p-asl\(mode=ignore\))",
         "method csl => method 'csl({0}=1)'", "method csl => method '{1}'"),
    mend(f"{TRAIN} 'an+scl(warmup=0)'", "add (--fine-tune) .in Python", "+ {}"),
    mend(f"{TRAIN} 'em-apl(warmup=30)'", r"an epoch from (\d) to (\d), before",
         "warmup=30 => warmup={0}", "warmup=30 => warmup={1}"),
    mend(f"{TRAIN} role --set state_gb=1e-9",
         "train (a method without a state for each image), or raise (state_gb)",
         "method role => method an", " --set state_gb=1e-9 => "),
    mend(f"{TRAIN} an --device cuda:99", "use (auto) or (cpu)", "cuda:99 => {0}", "cuda:99 => {1}"),
    mend(f"{TRAIN} an --checkpoint used.ckpt --epochs 2", "choose another file or delete it",
         "used.ckpt => new.ckpt"),
    # Python
    mend("py:simkit.train(Task(labels), an)", r"give (Task\(labels, FeatureInputs\()\.\.\.\)\) or",
         "py:simkit.train({}features)), an)"),
    mend("py:simkit.train(task, an, settings=simkit.Settings(select='best'))",
         r"give (validation=[\w.]+\(inputs, labels\)), or (select='last')",
         "py:simkit.train(task, an, settings=simkit.Settings(select='best'), {0})",
         "py:simkit.train(task, an, settings=simkit.Settings({1}))"),
    mend("py:simkit.train(task, simkit.methods.make('se'))",
         r"`(prepare\(task, method\))` builds it", "py:simkit.train(simkit.{}, method)"),
    mend("py:Task(labels, features)", r"give (FeatureInputs\(features\)), or",
         "py:Task(labels, {})"),
    mend("py:simkit.methods.make('imcl').start(simkit.methods.Sizes(3, 2))",
         r"give (Task\(labels)=...\) instead of Sizes",
         "py:simkit.methods.make('imcl').start({}, FeatureInputs(features)))"),
    mend("py:simkit.methods.make('epr').start(simkit.methods.Sizes(3, 2))",
         r"as in (epr\(expected=[\d.]+\))",
         "py:simkit.methods.make('{}').start(simkit.methods.Sizes(3, 2))"),
    mend("py:simkit.simulate(data.truth['train'], 'rpa', habits=habits)",
         r"use (habits.for_classes\(truth.classes\))",
         "py:simkit.simulate(truth, 'rpa', habits={})"),
    mend("py:simkit.simulate(data.truth['train'], 'knowledge-graph')",
         "pass (hierarchy=data.hierarchy) as well",
         "py:simkit.simulate(data.truth['train'], 'knowledge-graph', {})"),
    mend("py:simkit.simulate(data.truth['train'], 'single-positive(bias=size)')",
         r"pass (boxes=data.boxes\[split\])",
         "py:simkit.simulate(data.truth['train'], 'single-positive(bias=size)', {})"),
    mend("py:simkit.simulate(truth, 'picked')", r"pass (features=) or choose (by=random)",
         "py:simkit.simulate(truth, 'picked', {0}features)",
         "py:simkit.simulate(truth, 'picked({1})')"),
    mend("py:simkit.simulate(truth, 'machine')", r"pass (scores=) ",
         "py:simkit.simulate(truth, 'machine', {}scores)"),
    mend("py:simkit.simulate(truth, 'machine', scores=p)",
         r"(log\(p / \(1 - p\)\)) for a probability p",
         "py:simkit.simulate(truth, 'machine', scores=np.{})"),
    mend("py:simkit.replay(published.history, truth)",
         "call (replay_published) from (simkit.papers.published_simulators)",
         "py:__import__('{1}', fromlist=['x']).{0}(published.history, truth)"),
    mend("py:simkit.Truth.of(codes)", '(present = codes == 1), (known = codes != 0)',
         "py:simkit.Truth.of(codes == 1, known=codes != 0)"),
    mend("py:simkit.Truth.of(np.array([[1, -1], [-1, 1]]))",
         'add (minus="unknown"), or (minus="absent")',
         "py:simkit.Truth.of(np.array([[1, -1], [-1, 1]]), {0})",
         "py:simkit.Truth.of(np.array([[1, -1], [-1, 1]]), {1})"),
    mend("py:simkit.cost(simkit.formats.for_path('labels.csv').read('labels.csv'))",
         "give labels from (simkit.simulate),", "py:simkit.cost({}(truth, 'rpa'))"),
    mend("py:simkit.plan_pilot(200)", "(classes) and (per_image)",
         "py:simkit.plan_pilot(200, {0}=80, {1}=2.9)"),
    mend("py:simkit.figures.make('heat-map')(pd.DataFrame())",
         "pass the result of (simkit.open_runs)", "py:simkit.figures.make('heat-map')({}('runs'))"),
    mend("py:simkit.data.open('unlabelled:folder:photos')",
         'a TOML file with (source = "unlabelled"), (images) and (classes)',
         "py:simkit.data.open('u.toml')",
         mended={"u.toml": '{0}\n{1} = "folder:photos"\n{2} = ["cat"]\n'}),
    mend("py:simkit.backbone('resnet18')", "or `(imagenet)` to download",
         "py:simkit.backbone('resnet18', 'random')"),
    mend("py:simkit.prices('hourlyy')", "did you mean '(.+)'", "py:simkit.prices('{}')"),
]

BOX = [{"image_id": 1, "category_id": 1}]
PHOTO = [{"id": 1, "file_name": "a00.png"}]
KINDS = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]


def coco(images: Any = PHOTO, annotations: Any = BOX, categories: Any = KINDS) -> str:
    """A COCO file in JSON."""
    return json.dumps({"images": images, "annotations": annotations, "categories": categories})


def reads(kind: str, says: str, text: str, *mended: str, name: str = "x.json") -> list[Mend]:
    """A label file that is refused, and as it is read once it is written as the message says."""
    return [
        mend(f"convert {name} y.parquet --from {kind}", says, f"convert {name} y.parquet --from "
             f"{kind}", files={name: text}, mended={name: better})
        for better in mended
    ]  # fmt: skip


FROM = "convert x.json y.parquet --from"
LISTED = '{"classes": ["cat", "dog"], "labels": {"a": %s}}'
AVERAGED = '{"metainfo": {"classes": ["cat", "dog"]}, "data_list": [{"img_path": "a", %s}]}'
VERIFIED = "ImageID,Source,LabelName,Confidence\na,verification,cat,%s\n"
VOC = {
    f"VOC2007/ImageSets/Main/{kind}_{part}.txt": "a -1\nb 1\nc -1\n"
    for kind in CLASSES for part in ("train", "val")
}
FORMATS = [
    # annotation files
    mend(f"{FROM} coco", "open the file as (coco-panoptic)", "coco => {}", files={
        "x.json": coco(annotations=[{"image_id": 1, "segments_info": BOX}])}),
    mend(f"{FROM} coco", "open the file as (lvis)", "coco => {}", files={
        "x.json": coco([{"id": 1, "neg_category_ids": [2]}])}),
    mend(f"{FROM} lvis", "open the file as (coco)", "lvis => {}", files={"x.json": coco()}),
    *reads("coco", "(not of captions)", coco(annotations=[{"image_id": 1}]), coco()),
    *reads("coco", "give the whole file", json.dumps(BOX), coco()),
    *reads("coco", "write a string", coco(categories=[{"id": 1, "name": 1}]), coco()),
    *reads("coco", "write all as numbers or all as text",
           coco(categories=[*KINDS, {"id": "x", "name": "x"}]),
           coco(categories=[*KINDS, {"id": 3, "name": "x"}])),
    *reads("coco", "write all ids as text, in quotes",
           coco([{"id": 2**70}], [{"image_id": 2**70, "category_id": 1}]),
           coco([{"id": str(2**70)}], [{"image_id": str(2**70), "category_id": 1}])),
    *reads("coco", "a whole number or text is expected", coco([{"id": None}]), coco()),
    *reads("coco", r"\[x, y, width, height\] in pixels", coco(annotations=[
        {**BOX[0], "bbox": [1, 2]}]), coco(annotations=[{**BOX[0], "bbox": [1, 2, 3, 4]}])),
    *reads("coco", "correct it, or remove these annotations", coco([{"id": 2}]),
           coco([{"id": 1}]), coco([{"id": 2}], [])),
    *reads("coco", "occurs twice; join the lists", f'{coco()[:-1]}, "images": []}}', coco()),
    *reads("coco", "remove the mark if it is present", coco(annotations=[
        {**BOX[0], "ignore": 1}]), coco()),
    *reads("coco", "remove those with a low score", coco(annotations=[
        {**BOX[0], "score": 0.1}]), coco(annotations=[])),
    *reads("coco", "remove them, or correct their file names", coco([*PHOTO, {
        "id": 2, "file_name": "a00.png"}]), coco(), coco([*PHOTO, {"id": 2, "file_name": "b"}])),
    *reads("coco", "remove them from 'supercategory' if", coco(categories=[
        {**KINDS[0], "supercategory": "dog"}, KINDS[1]]), coco()),
    mend("convert rpa.parquet x.json --to 'coco(like=\"c.json\")'",
         "give a file with all images and classes", "c.json => full.json",
         files={"c.json": coco()}, mended={"full.json": coco(
             [{"id": n, "file_name": f"a{n:02}.png"} for n in range(24)])}),
    mend("convert rpa.parquet x.json --to coco-panoptic", "write (coco) or (lvis)",
         "coco-panoptic => {0}", "coco-panoptic => {1}"),
    mend("simulate --scheme rpa --out out.parquet --data coco:x.json,drop_empty=yes",
         "leave (drop_empty) out", ",drop_empty=yes => ", files={"x.json": coco(annotations=[])}),
    mend("simulate --scheme rpa --out out.parquet --data coco:x.json,images=photos",
         "no file_name; add it, or leave the folder of images out", ",images=photos => ",
         "coco:x.json => coco:y.json", files={"x.json": coco([{"id": 1}])},
         mended={"y.json": coco()}),
    # lists of classes
    *reads("fiftyone", "write the indices of the present", LISTED % "[1, 0]", LISTED % "[0]"),
    *reads("fiftyone", "write an index without quotes", LISTED % '["1"]', LISTED % "[1]"),
    *reads("fiftyone", "add it, or correct it", LISTED % '["Cat"]', LISTED % '["cat"]'),
    *reads("fiftyone", "write null or a list of class names", '{"classes": 3, "labels": {}}',
           LISTED % "[0]", '{"classes": null, "labels": {"a": ["cat"]}}'),
    *reads("fiftyone", "remove those with a low confidence",
           LISTED % '[{"label": "cat", "confidence": 0.1}]', LISTED % "[]"),
    *reads("fiftyone", "it has no 'labels'; export", '{"samples": []}', LISTED % "[]"),
    *reads("mmpretrain", "write the indices of the present", AVERAGED % '"gt_label": [1, 0]',
           AVERAGED % '"gt_label": [0]'),
    *reads("mmpretrain", "'gt_label' .a list of classes from 0", AVERAGED % '"gt_score": [1, 0]',
           AVERAGED % '"gt_label": [0]'),
    *reads("hf", "rename its columns", '{"file_name": "a.jpg", "labels": ["cat"]}\n',
           '{"file_name": "a.jpg", "present": ["cat"]}\n', name="metadata.jsonl"),
    *reads("hf", "a list of class names, as in", '{"file_name": "a.jpg", "present": "cat, dog"}\n',
           '{"file_name": "a.jpg", "present": ["cat", "dog"]}\n', name="metadata.jsonl"),
    # tables
    *reads("openimages", "human-verified", VERIFIED % "0.7", VERIFIED % "1", name="x.csv"),
    *reads("openimages", "fill it or leave the row out", f"{VERIFIED % 1},verification,cat,1\n",
           VERIFIED % "1", f"{VERIFIED % 1}b,verification,cat,1\n", name="x.csv"),
    mend("convert rpa.parquet x.csv --to 'openimages(names=\"mids.csv\")'", "add it with its MID",
         "mids.csv => all.csv", files={"mids.csv": "/m/01,cat\n"},
         mended={"all.csv": "/m/01,cat\n/m/02,dog\n"}),
    mend("convert x.csv y.parquet --from csl-csv", r"name the format as (csl-csv\(minus=absent\))",
         "csl-csv => '{}'", files={"x.csv": "image,cat,dog\na,1,-1\n"}),
    *(mend(f"convert rpa.parquet x.json --to '{kind}(file=\"x.jpg\")'",
           "write ({}) in place of the id", "x.jpg => {}.jpg")
      for kind in ("mmpretrain", "fiftyone")),
    *(mend(f"py:simkit.formats.make('{kind}').write(nothing, 'x')", "write (parquet)",
           "py:simkit.formats.make('{}').write(nothing, 'x.parquet')")
      for kind in ("csv", "openimages", "mmpretrain", "csl-csv", "npy-triple")),
    *(mend("py:pd.DataFrame({'image': ['a00.png'], 'label': ['cat']}).to_parquet('x.parquet') or "
           f"simkit.formats.make('{kind}').read('x.parquet')",
           "simkit (simulate --data folder:)IMAGES(.*subset)", "{0}photos{1}")
      for kind in ("parquet", "hf")),
    mend("py:pd.DataFrame({'image': ['a'], 'present': [[0]]}).to_parquet('x.parquet') or "
         "simkit.formats.make('hf').read('x.parquet')", "write names of classes",
         "[[0]] => [['cat']]"),
    # VOC
    mend("simulate --scheme rpa --out out.parquet --data voc:VOC2007,year=2012",
         "leave year out", ",year=2012 => ", files=VOC),
    mend("simulate --scheme rpa --out out.parquet --data voc:.", "add (year=2012)",
         "voc:. => voc:.,{}",
         files=VOC | {name.replace("2007", "2012"): text for name, text in VOC.items()}),
    mend("simulate --scheme rpa --out out.parquet --data voc:photos", "or the folder VOC2012 or "
         "(VOC2007)", "voc:photos => voc:{}", files=VOC),
    mend("simulate --scheme rpa --out out.parquet --data voc:VOC2007", "add (splits=trainval)",
         "voc:VOC2007 => voc:VOC2007,{}",
         files={name.replace("_val", "_trainval"): VOC[name] for name in VOC if "val" in name}),
]
COMMANDS += FORMATS
# fmt: on


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Photographs with labels of two classes, and what was made from them."""
    downloads.network()
    place = tmp_path_factory.mktemp("world")
    (place / "photos").mkdir()
    rng, rows = np.random.default_rng(0), []
    for i in range(24):
        picture = rng.integers(0, 256, (24, 24, 3), dtype=np.uint8)
        Image.fromarray(picture).save(place / "photos" / f"a{i:02}.png")
        shown = ["cat"] * (i % 2) + ["dog"] * (i // 2 % 2)
        rows += [f"a{i:02}.png,{name}" for name in shown or [""]]
    (place / "photos" / "labels.csv").write_text("file,class\n" + "\n".join(rows) + "\n")
    (place / "names.txt").write_text("cat\ndog\n")
    (place / "g.toml").write_text(GRID)
    (place / "plain.toml").write_text(GRID + "reference = false\n")
    for rows in (7, 17, 24):
        np.savez(place / f"features-{rows}.npz", features=rng.random((rows, 4), np.float32))
    shutil.copytree(place / "photos", place / "my, photos")
    shutil.copytree(place / "photos", place / "noend")
    shutil.copy(place / "photos" / "a00.png", place / "noend" / "a00.bmp")  # a00 may be either
    shutil.copytree(place / "photos", place / "two", ignore=shutil.ignore_patterns("*.csv"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setenv("SIMKIT_CACHE", str(place.parent / "cache"))
        for line in (
            f"simulate {PHOTOS} --scheme rpa --out rpa.parquet --no-card",
            f"simulate {PHOTOS} --scheme full-subset --out full.parquet --no-card",
            f"simulate {PHOTOS} --scheme single-positive --out sp.parquet --no-card",
            "convert full.parquet full --to hf",
            "convert rpa.parquet labels.csv",
            f"train {PHOTOS} --labels rpa.parquet --method an --epochs 1 --out model "
            "--checkpoint used.ckpt",
            f"predict model {PHOTOS}",
            "order --data folder:photos --scheme rpa --out ordered",
            "quickstart photos --classes names.txt --budget 9 --out mine",
            f"order {PHOTOS} --scheme rpa --out inside/o1",
            f"score {PHOTOS} --model simulated --quality 90 --out s.npz",
            f"score {PHOTOS},test=0.3 --split train --model simulated --quality 95",
            "compare g.toml --workers 1",
            "compare plain.toml --workers 1 --out plain",
            "plan runs --budget 5 --report plan.json",
            "plan runs --budget 0.05 --report small.json",
        ):
            assert code(shlex.split(line)) == 0
    return place


@pytest.fixture
def said(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], tuple[int, str]]:
    """Runs a command or Python in a copy of the world; returns the exit code and the message."""
    here = tmp_path / "here"
    shutil.copytree(world, here)
    monkeypatch.chdir(here)
    monkeypatch.setenv("SIMKIT_CACHE", str(world.parent / "cache"))

    def call(line: str) -> tuple[int, str]:
        capsys.readouterr()
        if not line.startswith("py:"):
            status = code(shlex.split(line.removeprefix("simkit ")))
            return status, "".join(capsys.readouterr())
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always")
            try:
                eval(line[3:], {"simkit": simkit, "np": np, "pd": pd, **values()})
            except BadInput as error:
                return 2, str(error)
        return 0, "\n".join(str(note.message) for note in notes)

    return call


def values() -> dict[str, Any]:
    """What cases in Python speak of."""
    from simkit.papers.published_simulators import simulate_published

    data = simkit.data.open("scenes:images=60")
    truth = simkit.data.open("folder:photos").truth["train"]
    labels = simkit.simulate(truth, "full-subset")
    features = np.random.default_rng(0).random((len(truth.images), 4), np.float32)
    inputs = simkit.FeatureInputs(features)
    return {
        "data": data, "split": "train", "truth": truth, "labels": labels,
        "features": features, "inputs": inputs, "task": simkit.Task(labels, inputs),
        "an": simkit.methods.make("an"), "method": simkit.methods.make("se"),
        "habits": simkit.Habits(miss=(0.1, 0.2), classes=("cat", "dog")),
        "published": simulate_published(truth, "rpa"), "codes": np.array([[1, -1], [0, 1]]),
        "p": np.full(truth.shape, 0.4), "scores": np.full(truth.shape, -2.0), "log": np.log,
        "nothing": simkit.PartialLabels.of(np.zeros((2, 2))),
        "Task": simkit.Task, "FeatureInputs": simkit.FeatureInputs,
    }  # fmt: skip


def followed(line: str, way: str, groups: tuple[str, ...]) -> str:
    """The command as the message says to type it."""
    way = re.sub(r"\{(\d*)\}", lambda slot: groups[int(slot[1] or 0)], way)
    if way.startswith("+ "):
        return f"{line} {way[2:]}"
    if way.startswith("- "):
        return re.sub(rf" {re.escape(way[2:])}( (?!-)\S+)?(?= |$)", "", line)
    if " => " in way:
        old, new = way.split(" => ")
        assert old in line
        return line.replace(old, new)
    return way


CASES = [(case, way) for case in COMMANDS for way in case.follow]


@pytest.mark.parametrize("case, way", CASES, ids=[f"{c.run}: {way}" for c, way in CASES])
def test_a_mend_that_is_followed_succeeds(case: Mend, way: str, said) -> None:
    for name, text in case.files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    _, message = said(case.run)
    match = re.search(case.says, message)
    assert match, message
    for name, text in case.mended.items():
        Path(name).write_text(re.sub(r"\{(\d*)\}", lambda slot: match[int(slot[1] or 0) + 1], text))
    line = followed(case.run, way, match.groups())
    assert line != case.run or case.mended
    status, after = said(line)
    assert status == 0, f"{line}: {after}"
    assert next(text for text in message.split("\n") if match[0] in text) not in after
