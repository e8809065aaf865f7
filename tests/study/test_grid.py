"""A grid is read, checked, resolved and written; limits and TOML."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from simkit.cache import INDEX
from simkit.errors import BadInput
from simkit.files import toml
from simkit.learn import methods
from simkit.learn.optim import Settings
from simkit.quantities import money
from simkit.results.cells import Budget
from simkit.study import grid as grids
from simkit.study.grid import KEYS, Grid, Pictures
from simkit.study.tuning import Setting, Tuning, alternative, at_edge

SMALL = {"schemes": ["fpc", "rpa(keep=0.2)"], "methods": ["an", "ll-r+boostlu"]}
SPACE = {"all": {"lr": [0.001, 0.01, 0.1]}, "ll-r+boostlu": {"delta": [0.1, 0.2], "alpha": [2, 5]}}
PAPERS = {"protocol": "large-loss", "protocols": {"an": "csl"}, "changed": {"select": "last"}}


def written(folder, text, name="grid.toml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_notebooks_show_the_fields_that_differ_from_their_defaults():
    shown = Grid(**SMALL, budgets=[20, 7.5], data="scenes", draws=3, weights="<b>")._repr_html_()
    fields = {"schemes": "fpc, rpa(keep=0.2)", "methods": "an, ll-r+boostlu",
              "weights": "&lt;b&gt;", "budgets": "7.5, 20.0", "draws": "3"}  # fmt: skip
    rows = (f"<tr><th>{name}</th><td>{text}</td></tr>" for name, text in fields.items())
    assert shown == f"<table>{''.join(rows)}</table>"
    shown = methods.make("ll-r(delta=0.3)+boostlu")._repr_html_()
    assert "<b>LL-R + BoostLU</b> (" in shown and "<code>ll-r(delta=0.3)+boostlu</code>" in shown


def test_the_shipped_grid_covers_schemes_methods_and_three_budgets():
    grid = grids.demo_grid(seed=7)
    assert grid.data == "scenes" and grid.seed == 7 and len(grid.budgets) == 3
    assert {"single-positive", "rpa", "fpc", "knowledge-graph", "full-subset"} <= set(grid.schemes)
    assert {"an", "ignore", "ll-r"} <= set(grid.methods) and grid.draws >= 3


@pytest.mark.parametrize(
    "values",
    [
        {},
        {
            "budgets": [30, 10.5], "hours": 3, "validation": "partial", "images": 200,
            "features": {"train": 'a "quoted" name.npz', "test": "dir\\b.npz"},
            "habits": {"miss": 0.1, "workers": 3}, "unasked": "absent",
            "train": {"epochs": 4, "lr": 0.01, "select": "best"},
        },
        {"images": 1.0}, {"images": 1}, {"images": 0.25}, {"fair": True},
        {"tuning": {"runs": 3, "space": SPACE}},
        {"settings": {"fpc": {"ll-r+boostlu": {"lr": 0.3, "delta": 0.1}},
                      "reference": {"full": {"lr": 1.0}}}},
        {"pictures": {}}, {"pictures": {"size": 96, "flip": False, "vertical": True}},
        {"pictures": {"crop": [0.25, 1]}},
        {"pictures": PAPERS}, {"validation": "complete", "pictures": {"protocol": "large-loss"}},
    ],
)  # fmt: skip
def test_the_resolved_grid_reads_back_as_it_was(tmp_path, values):
    grid = Grid.of(SMALL | values)
    back = Grid.load(written(tmp_path, grid.to_toml()))
    assert back == grid and type(back.images) is type(grid.images)
    assert ("[pictures]" in grid.to_toml()) == ("pictures" in values)
    assert list(grid.budgets) == sorted(grid.budgets)
    assert Grid.load(written(tmp_path, grid.to_toml()), seed=3).seed == 3


def test_numbers_of_numpy_and_paths_are_written_as_any_others(tmp_path):
    grid = Grid(
        ("fpc",), ("an",), images=np.int64(5), draws=np.int64(2), budgets=(np.float32(0.5),),
        features={"train": tmp_path / "train.npz"},
        train=Settings(lr=np.float64(0.25), epochs=np.int64(3)),
    )  # fmt: skip
    assert type(grid.images) is int
    assert Grid.load(written(tmp_path, grid.to_toml())) == grid


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"metods": ["an"]}, "'metods' 'methods'"),
        ({"schemes": ["fpd"]}, "schemes 'fpd' 'fpc'"),
        ({"schemes": []}, "schemes list"),
        ({"methods": "an"}, "methods 'an' list"),
        ({"schemes": ["rpa", "rpa(keep=0.1)"]}, "schemes 'rpa(keep=0.1)' equal"),
        ({"budgets": "much"}, "budgets 'much' list"),
        ({"draws": 1.5}, "draws 1.5 whole"),
        ({"seed": 10**20}, "seed"),
        ({"validation": "all"}, "validation 'all' complete"),
        ({"unasked": "train"}, "unasked 'train' skip absent"),
        ({"images": 1.5}, "images 1.5 share"),
        ({"train": {"epoch": 3}}, "train 'epoch' 'epochs'"),
        ({"epochs": 3}, "epochs [train]"),
        ({"epoch": 3}, "'epoch' 'epochs' [train]"),
        ({"size": 32}, "size itself [pictures]"),
        ({"miss": 0.1}, "miss itself [habits]"),
        ({"train": {"draws": 3}}, "draws [train] above all tables"),
        ({"train": {"batch-sise": 3}}, "'batch_sise' 'batch_size'"),
        ({"pictures": {"epochs": 3}}, "epochs [pictures] [train]"),
        ({"habits": {"runs": 3}}, "runs [habits] [tuning]"),
        ({"features": "nowhere"}, "features 'nowhere' --out [features]"),
        ({"train": {"select": "best"}}, "train.select validation"),
        ({"validation": "partial", "train": {"select": "last"}}, "validation train.select none"),
        ({"features": {"train": "a.npz", "tset": "b.npz"}}, "features 'tset' 'test'"),
        ({"settings": {"fcp": {}}}, "settings 'fcp' 'fpc'"),
        ({"settings": {"fpc": {"an": {"dleta": 1}}}}, "settings.fpc.an 'dleta'"),
        ({"settings": {"fpc": {"an": {"lr": 0}}}}, "settings.fpc.an lr 0"),
        ({"settings": {"fpc": {"full": {"lr": 1}}}}, "settings.fpc 'full' ll-r"),
        ({"settings": {"fpc": {"an": {"lr": 1}}}, "fair": True}, "settings tuning leave"),
        ({"pictures": {"sice": 3}}, "pictures 'sice' 'size'"),
        ({"pictures": {"size": 8}}, "pictures size 8 32"),
        ({"pictures": {"crop": [0.5]}}, "pictures crop [0.5] [0.25"),
        ({"pictures": {"protocols": {"ll-r": "csl"}}}, "pictures.protocols 'll-r' ll-r+boostlu"),
        ({"pictures": {"changed": {"epochs": 2}}}, "pictures.changed [train] protocol"),
        ({"pictures": {"protocols": {"an": "csl"}}}, "protocol 'an' validation [pictures.changed]"),
        ({"pictures": PAPERS, "train": {"epochs": 3}}, "pictures.protocol [pictures.changed]"),
        ({"tuning": {"run": 4}}, "tuning 'run' 'runs'"),
        ({"tuning": {"runs": 1}}, "tuning runs 1 2"),
        ({"tuning": {"space": {"all.lr": [1, 2]}}}, '{"all": {"lr": [...]}}'),
        ({"tuning": {"space": {"ll-r": {"lr": [1, 2]}}}}, "tuning.space 'll-r' an"),
        ({"tuning": {"space": {"an": {"pos_weigth": [1, 2]}}}}, "'pos_weigth' 'pos_weight'"),
    ],
)  # fmt: skip
def test_bad_fields_are_named_with_the_mend(values, words):
    with pytest.raises(BadInput) as caught:
        Grid.of(SMALL | values)
    assert [word for word in words.split() if word not in str(caught.value)] == []


def test_files_are_named_in_errors(tmp_path):
    bad = written(tmp_path, 'schemes = ["fpc"]\nmethods = ["an"]\ndraws = 0\n')
    with pytest.raises(BadInput, match=r"grid\.toml: draws is 0"):
        Grid.load(bad)
    with pytest.raises(BadInput, match=r"grid\.toml cannot be read as a grid"):
        Grid.load(written(tmp_path, "schemes = ["))
    with pytest.raises(BadInput, match="is a folder"):
        Grid.load(tmp_path)
    with pytest.raises(BadInput, match="methods is missing"):
        Grid.of({"schemes": ["fpc"]})
    for name in ("pictures", "tuning", "train", "habits"):
        with pytest.raises(BadInput, match=rf"^{name} is"):
            Grid(("fpc",), ("an",), **{name: 3})


@pytest.mark.parametrize("validation", ["complete", "partial"])
def test_validation_labels_that_are_paid_for_choose_the_epoch(validation):
    assert Grid.of(SMALL).train.select == "last"
    paid = {"validation": validation}
    for grid in (
        Grid.of(SMALL | paid), Grid.of(SMALL | paid | {"train": {"epochs": 3, "patience": 1}}),
        Grid(("fpc",), ("an",), **paid), Grid.of(SMALL | paid | {"fair": True}),
    ):  # fmt: skip
        assert grid.train.select == "best"
    papers = Grid.of(SMALL | paid | {"pictures": {"protocol": "large-loss"}})
    assert papers.training("an").select == "best"
    assert Grid.of(SMALL | {"fair": True}).train.select == "last"


def test_references_are_full_in_every_wrapper_that_changes_the_model_and_the_methods():
    specs = ["an+boostlu", "ll-r(delta=0.1)+boostlu", "en+scl"]
    assert Grid.of(SMALL | {"methods": specs}).references == ("full", "full+boostlu", *specs)
    assert Grid.of(SMALL | {"methods": ["an+boostlu(alpha=1e+1)"]}).references[1] == (
        "full+boostlu(alpha=1e+1)"
    )
    assert Grid.of(SMALL).trained == ("an", "ll-r+boostlu", "full", "full+boostlu")
    assert Grid.of(SMALL | {"reference": False}).trained == ("an", "ll-r+boostlu")


def scored(settings, scores):
    return [Setting(one.values, score) for one, score in zip(settings, scores, strict=True)]


def test_without_a_space_rates_are_tried_until_the_best_is_inside_and_then_the_alternative():
    tuning, lr = Tuning(), 0.02
    first = tuning.settings("ll-r+boostlu", lr=lr, seed=0)
    assert [one.lr for one in first] == [0.002, 0.00632, 0.02, 0.0632, 0.2]
    tried = scored(first, [0.1, 0.2, 0.3, 0.4, 0.5])
    rising = []
    while len((one := tuning.further("ll-r+boostlu", tried, lr=lr)).values) == 1:
        rising.append(one.lr)
        tried.append(Setting(one.values, 0.5 + 0.01 * len(rising)))
    assert rising == [0.632, 2, 6.32, 20] and one.lr == 20  # at most a factor of 1,000
    falling = tuning.further("an", scored(first, [0.5, 0.4, 0.3, 0.2, None]), lr=lr)
    assert falling.values == (("lr", 0.000632),)
    # At the best rate; a wrapper's own alternative counts where the inner method has none.
    inside = scored(first, [0.1, 0.2, 0.5, 0.4, None])
    for spec in ("ll-r+boostlu", "an+boostlu"):
        one = tuning.further(spec, inside, lr=lr)
        assert one.values == (("lr", 0.02), *alternative(spec)) and one.method(spec)
        assert tuning.further(spec, [*inside, Setting(one.values, 0.6)], lr=lr) is None
    assert dict(alternative("ll-r+boostlu")) == methods.make("ll-r").alternative
    assert alternative("ll-r(k_of=unknown)") and not alternative("ll-r(delta=0.2)")  # named
    assert dict(alternative("gr-loss")).keys() == {"w1", "b1"}  # which belong together
    assert tuning.further("an", inside, lr=lr) is None  # has no alternative
    without = Tuning(alternatives=False)
    assert without.further("ll-r+boostlu", inside, lr=lr) is None
    assert without.alternative("ll-r") == () and dict(tuning.alternative("ll-r"))
    assert tuning.further("an", scored(first, [None] * 5), lr=lr) is None
    own = Tuning(space={"an": {"lr": [1, 2, 3]}})
    assert own.further("an", scored(own.settings("an", lr=lr, seed=0), [1, 2, 3]), lr=lr) is None


def test_a_space_is_a_product_of_which_points_are_drawn_by_seed_and_settings_alone():
    every = Tuning(runs=12, space=SPACE).settings("ll-r+boostlu", lr=1.0, seed=0)
    assert {one.values for one in every} == {
        (("lr", lr), ("delta", delta), ("alpha", alpha))
        for lr in (0.001, 0.01, 0.1) for delta in (0.1, 0.2) for alpha in (2, 5)
    }  # fmt: skip
    spec = every[0].method("ll-r+boostlu")
    assert spec.startswith("ll-r(delta=0.1, ") and "+boostlu(alpha=2.0, " in spec
    some, more = (Tuning(3, space=SPACE | extra) for extra in ({}, {"an": {"pos_weight": [1, 2]}}))
    drawn = [tuple(some.settings("ll-r+boostlu", lr=1.0, seed=seed)) for seed in range(20)]
    assert drawn == [tuple(more.settings("ll-r+boostlu", lr=2.0, seed=seed)) for seed in range(20)]
    assert len(set(drawn)) > 10 and all(len(set(one)) == 3 for one in drawn)
    shared = Tuning(2, space={"all": {"lr": [1, 2, 3, 4]}})
    for seed in range(5):  # every method tries the same rates
        first, second = (shared.settings(m, lr=1.0, seed=seed) for m in ("an", "ll-r+boostlu"))
        assert first == second and len(first) == 2
    few = Tuning(9, space={"an": {"lr": [1, 2]}}).settings("an", lr=1.0, seed=0)
    assert [one.lr for one in few] == [1, 2]


def test_a_setting_lies_at_an_edge_of_three_or_more_numbers():
    rates = [Setting((("lr", rate), ("flag", "x"))) for rate in (0.01, 0.1, 1.0)]
    assert [at_edge(one, rates) for one in rates] == [True, False, True]
    assert not any(at_edge(one, rates[:2]) for one in rates[:2])
    fair = Tuning().settings("ll-r", lr=0.1, seed=0)
    assert [at_edge(one, fair) for one in fair] == [True, False, False, False, True]


def test_methods_are_trained_as_the_grid_or_a_protocol_says():
    plain, papers = Pictures(size=96), Pictures(**PAPERS)
    assert plain.settings("csl", Settings(epochs=3)) == Settings(epochs=3)
    assert papers.settings("ll-r", Settings()) == Settings(batch_size=16, lr=1e-5)
    csl = papers.settings("an", Settings())
    assert (csl.epochs, csl.ema, csl.select, csl.precision) == (30, 0.9997, "last", "bf16")
    spelled = Pictures(protocols={"ll-r(delta=0.5)": "csl"})
    assert spelled.settings("ll-r(delta=5e-1)", Settings()).epochs == 30
    assert spelled.settings("ll-r(delta=0.1)", Settings()).epochs == 10


def test_limits_are_written_as_people_do_and_dollars_come_first():
    some = (Budget(100), Budget(hours=2.5), Budget())
    assert [(str(one), one.at, bool(one)) for one in some] == [
        ("$100", " at $100", True), ("2.5 hours", " in 2.5 hours", True), ("", "", False),
    ]  # fmt: skip
    mixed = [Budget(hours=1), Budget(50), Budget(hours=0.5), Budget(7)]
    assert sorted(mixed) == [mixed[3], mixed[1], mixed[2], mixed[0]]
    assert Budget.of({"budget": float("nan"), "budget_hours": 3.0}) == Budget(hours=3.0)
    assert [money(x) for x in (0.75, 12.0, 1250.4)] == ["$0.75", "$12", "$1,250"]


@pytest.mark.parametrize(
    "value",
    [True, 3, -(2**63), 0.1, 1e-300, 1.0, "", 'a "b" \\ \n\t\x00\x7f é', [1.5, "x"], []],
)
def test_what_is_written_as_toml_reads_back(value):
    back = tomllib.loads(f"value = {toml(value)}")["value"]
    assert back == value and type(back) is type(value)
    assert toml((0.1, np.float64(0.2))) == "[0.1, 0.2]"


def test_every_key_is_in_the_documentation_and_no_other():
    text = (
        (Path(__file__).parents[2] / "docs" / "comparisons.md")
        .read_text("utf-8")
        .partition("## Keys of a grid\n")[2]
    )
    parts = re.split(r"^Keys of the table `\[(\w+)\]`", text, flags=re.MULTILINE)
    tables = dict(zip(["", *parts[1::2]], parts[::2], strict=True))
    of_tables = {
        name: re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE) for name, part in tables.items()
    }
    assert of_tables == KEYS


def test_a_folder_of_features_stands_for_its_splits(tmp_path, monkeypatch):
    for split in ("train", "test"):
        (tmp_path / "f" / split / "pooled").mkdir(parents=True)
        (tmp_path / "f" / split / "pooled" / INDEX).touch()
    folders = {split: str(Path("f", split)) for split in ("test", "train")}
    monkeypatch.chdir(tmp_path)
    grid = Grid.load(written(tmp_path, 'schemes = ["fpc"]\nmethods = ["an"]\nfeatures = "f"\n'))
    assert (
        grid.backbone == ""
        and grid.features == folders == Grid.of(SMALL | {"features": "f"}).features
    )
    assert Grid.of(tomllib.loads(grid.to_toml())) == grid


def test_paths_may_be_relative_to_the_grid(tmp_path, monkeypatch):
    home = tmp_path / "project"
    home.mkdir()
    for name in ("a.json", "scores.csv", "train.npz"):
        (home / name).touch()
    text = 'schemes = ["fpc"]\nmethods = ["an"]\ndata = "coco:a.json"\nscores = "scores.csv"\n'
    file = written(home, f'{text}features = {{train = "train.npz"}}\n')
    for place in (tmp_path, home):
        monkeypatch.chdir(place)
        grid = Grid.load(file)
        name, main = grid.data.split(":")
        for path in (main, grid.scores, grid.features["train"]):
            assert (place / path).resolve().parent == home


def test_a_path_that_is_read_from_another_place_is_named(tmp_path):
    (tmp_path / "pictures").mkdir()
    (tmp_path / "scores.csv").touch()
    lines = ['data = "folder:/gone/pictures"', 'scores = "scores.csv"',
             'schemes = ["rpa"]', 'methods = ["an"]', "budgets = [10]"]  # fmt: skip
    with pytest.warns(UserWarning) as caught:
        grid = Grid.load(written(tmp_path, "\n".join(lines)))
    assert grid.data == f"folder:{tmp_path / 'pictures'}"
    assert grid.scores == str(tmp_path / "scores.csv")
    first, second = (str(one.message) for one in caught)
    assert f"data folder:/gone/pictures is not there, so {grid.data} is read" in first
    assert f"scores scores.csv is not there, so {grid.scores} is read" in second
