"""The hash of the code that runs, and what changes it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import simkit

# simkit is loaded once; every hash is taken by a child of its own, after an edit of the files.
HASHES = """
import json, os, sys
from dataclasses import dataclass
from pathlib import Path
from simkit.learn import methods
from simkit.study.code_id import code_id, own_classes
import mine

@dataclass(frozen=True)
class Here(methods.Method):
    name = "here"

root, found = Path(sys.argv[1]), {}

def take(name, *parts, file="mine.py", old="", new=""):
    path, (read, write) = root / file, os.pipe()
    before = path.read_text()
    assert old in before
    path.write_text(before.replace(old, new, 1) if old else before + new)
    if not os.fork():
        try:
            os.write(write, code_id(own_classes(parts)).encode())
        finally:
            os._exit(0)
    os.close(write)
    found[name] = os.read(read, 100).decode()
    os.wait()
    path.write_text(before)

own, another, an = mine.Mine(), mine.Another(), "simkit/learn/methods/assume_negative.py"
metrics = "simkit/metrics/thresholds.py"
wrapped = methods.make("an+boostlu")
object.__setattr__(wrapped, "inner", own)
code_id(own_classes([own, Here()]))  # files are parsed once, here
take("as it is")
take("again")
take("docstring", file=an, old='\\"\\"\\"', new='\\"\\"\\"Other words: ')
take("comment", file=an, old="\\n", new="\\n# why\\n\\n")
take("a method", file=an, new="ONE = 1\\n")
take("what is imported within", file=metrics, old="2 *", new="3 *")
take("the shell", file="simkit/cli/main.py", new="ONE = 1\\n")
take("outside", own)
take("outside, docstring", own, old="What it is", new="Other")
take("outside, code", own, old="1.0", new="2.0")
take("outside, helper", own, old="x + 1", new="x + 2")
take("outside, value of a helper", own, old="{'a': 1}", new="{'a': 2}")
take("outside, table", own, old="x * 1", new="x * 2")
take("outside, for all", own, old="16", new="32")
take("outside, another class", own, old="5.0", new="6.0")
take("outside, another function", own, old="x - 1", new="x - 2")
take("another", another)
take("another, code", another, old="5.0", new="6.0")
take("another, helper", another, old="x + 1", new="x + 2")
take("looked up, another class", own, old="= 5.0", new="= eval('5.0')")
take("wrapped", wrapped)
take("wrapped, code", wrapped, old="1.0", new="2.0")
take("script", Here())
print(json.dumps(found))
"""
MINE = '''
from dataclasses import dataclass
import torch
from simkit.learn.methods import Method

VALUES, TABLE = {'a': 1}, {}

def listed(function):
    TABLE[function.__name__] = function
    return function

@listed
def entry(x):
    return x * 1

def shift(x):
    return x + 1 if VALUES else x

@dataclass(frozen=True)
class Mine(Method):
    """What it is."""
    name = "mine"
    scale: float = 1.0

    def loss(self, batch, out, state):
        return TABLE["entry"](shift(out))

def other(x):
    return x - 1

@dataclass(frozen=True)
class Another(Method):
    name = "another"
    weight: float = 5.0

    def loss(self, batch, out, state):
        return other(out)

torch.set_printoptions(linewidth=16)
runs = other(3)
'''


@pytest.fixture(scope="module")
def hashes(tmp_path_factory):
    """By what was changed in a copy of simkit, the hash."""
    if not hasattr(os, "fork"):
        pytest.skip("a child for each hash")
    root = tmp_path_factory.mktemp("copy")
    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(simkit.__file__).parent, root / "simkit", ignore=skip)
    (root / "mine.py").write_text(MINE)
    (root / "program.py").write_text(HASHES)
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, root / "program.py", root]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_code_changes_the_hash_and_words_do_not(hashes):
    plain = hashes["as it is"]
    assert len(plain) == 8 and int(plain, 16) >= 0
    for name in ("again", "docstring", "comment", "the shell"):
        assert hashes[name] == plain, name
    changed = ("a method", "what is imported within", "outside", "script")
    assert len({plain, *(hashes[name] for name in changed)}) == 5


def test_a_method_of_another_module_counts_in(hashes):
    assert hashes["outside"] == hashes["outside, docstring"] != hashes["outside, code"]
    for what in ("helper", "value of a helper", "table", "for all"):
        assert hashes[f"outside, {what}"] != hashes["outside"], what
    for what in ("another class", "another function"):
        assert hashes[f"outside, {what}"] == hashes["outside"], what
    assert hashes["another"] == hashes["another, helper"] != hashes["another, code"]
    assert hashes["looked up, another class"] != hashes["outside"]  # the whole file counts
    assert hashes["wrapped"] == hashes["outside"]  # the wrapper is simkit's own
    assert hashes["wrapped, code"] == hashes["outside, code"]


CELLS = """
import json, sys, warnings
from simkit.study.code_id import code_id

warnings.simplefilter("error")
FIRST = '''
import re
from dataclasses import dataclass, field
import numpy as np
from simkit.learn.methods import Method
OFFSET, TABLE, WORD = 1.0, np.arange(3), re.compile("a")
def shift(x):
    return x + OFFSET if x in {"a", "b", "c"} else WORD.match(str(x)) or TABLE[0]
@dataclass(frozen=True)
class Mine(Method):
    "What it is."
    name = "mine"
    scale: float = 1.0
    def loss(self, logits, labels, state=None, scale=2):
        "What comes out."
        return (lambda x: 3 * shift(x))(logits)
'''
found = {}
def take(name, old="", new=""):
    exec(compile(FIRST.replace(old, new, 1), f"<{name}>", "exec"), globals())
    found[name] = code_id([Mine])
take("as it is")
take("again")
take("words", "What comes out.", "Other words.")
take("comment and lines", "    def loss", "    # why\\n\\n    def loss")
take("method", "3 *", "4 *")
take("setting", "float = 1.0", "float = 2.0")
take("default", "scale=2", "scale=3")
take("function of another cell", "x + OFFSET", "x - OFFSET")
take("value of another cell", "OFFSET, TABLE, WORD = 1.0", "OFFSET, TABLE, WORD = 2.0")
take("array of another cell", "arange(3)", "arange(4)")
take("pattern of another cell", 'compile("a")', 'compile("b")')
ITEMS = iter("abc")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    take("first", '{"a", "b", "c"}', "ITEMS")
    take("second", '{"a", "b", "c"}', "ITEMS")
assert "no earlier run is reused" in str(caught[0].message)
print(json.dumps(found))
"""


def test_classes_of_notebook_cells_count_in_by_their_code():
    runs = []
    for seed in "12":  # of the order of sets of strings
        command = [sys.executable, "-c", CELLS]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        runs.append(json.loads(done.stdout))
    first, second = runs
    assert first.pop("first") != second.pop("first")
    assert first.pop("second") not in {second.pop("second"), *first.values()}
    assert first == second
    same = {first[name] for name in ("as it is", "again", "words", "comment and lines")}
    assert len(same) == 1
    changed = [value for value in first.values() if value not in same]
    assert len(changed) == len({*changed}) == len(first) - 4
