import pytest
from simkit.study.grids.grid import Grid
from simkit.study.grids.pictures import Pictures
from simkit.study.material.shown import Shown

from simkit.errors import BadInput
from simkit.learn.steps.optim import Settings

SMALL = {"schemes": ["rpa"], "methods": ["an", "csl", "an+scl"]}
PAPERS = {"protocol": "large-loss", "protocols": {"csl": "csl"}, "changed": {"select": "last"}}


def refused(pictures, **values):
    with pytest.raises(BadInput) as caught:
        Grid.of({**SMALL, "pictures": pictures, **values})
    return str(caught.value)


def test_the_resolved_grid_reads_back_as_it_was(tmp_path):
    tables = [
        {},
        {"size": 96, "flip": False, "vertical": True, "crop": [0.25, 1]},
        {**PAPERS, "protocols": {"csl": "csl", "full": "em-apl"}},
        {"protocols": {"an+scl": "csl"}, "changed": {"select": "last", "epochs": 2}},
    ]
    for table in tables:
        grid = Grid.of({**SMALL, "pictures": table})
        path = tmp_path / "grid.toml"
        path.write_text(grid.to_toml(), encoding="utf-8")
        assert Grid.load(path) == grid and grid.pictures == Pictures.of(table)
    assert Grid.of(SMALL).pictures is None and "[pictures]" not in Grid.of(SMALL).to_toml()


def test_methods_are_trained_as_the_grid_or_a_protocol_says():
    plain = Pictures(size=96)
    assert plain.settings("csl", Settings(epochs=3)) == Settings(epochs=3)
    assert plain.shown("csl") == Shown(96) and plain.shown("an+scl") == Shown(96, crop=(0.25, 1.0))
    papers = Pictures.of({**PAPERS, "flip": False, "crop": [0.5, 1]})
    assert papers.settings("an", Settings()) == Settings(batch_size=16, lr=1e-5)
    csl = papers.settings("csl", Settings())
    assert (csl.epochs, csl.ema, csl.select, csl.precision) == (30, 0.9997, "last", "bf16")
    assert papers.shown("an") == Shown(448, flip=False, crop=(0.5, 1.0))


def test_a_method_is_the_same_however_it_is_spelled():
    papers = Pictures.of({"protocols": {"ll-r(delta=0.5)": "csl"}})
    assert papers.settings("ll-r(delta=5e-1)", Settings()).epochs == 30
    assert papers.settings("ll-r(delta=0.1)", Settings()).epochs == 10


@pytest.mark.parametrize(
    ("pictures", "told"),
    [
        (3, "pictures is 3; a table such as [pictures] is expected"),
        ({"sice": 3}, "no setting of pictures is called 'sice'; did you mean 'size'?"),
        ({"size": 8}, "pictures.size is 8; a whole number of pixels from 32 on is expected"),
        ({"flip": "maybe"}, "pictures.flip is 'maybe'; true or false is expected"),
        (
            {"crop": [0.5]},
            "pictures.crop is [0.5]; the smallest and the largest share of the area that is shown, "
            "such as [0.25, 1] is expected",
        ),
        (
            {"protocol": "cls"},
            "pictures.protocol: no protocol is called 'cls'; did you mean 'csl'?",
        ),
        ({"protocols": "csl"}, "pictures.protocols is 'csl'; a table such as [pictures.protocols] "
                               "is expected"),
        ({"protocols": {"an": 3}}, "pictures.protocols.an is 3; text is expected"),
        (
            {"protocols": {"ll-r": "csl"}},
            "pictures.protocols names 'll-r', which is not among the methods; leave it out, or add "
            "it to methods",
        ),
        (
            {"protocols": {"cls": "csl"}},
            "pictures.protocols: no method of this grid is called 'cls'; did you mean 'csl'?",
        ),
        (
            {"changed": {"epochs": 2}},
            "pictures.changed is set and changes settings of protocols, and none is named; put it "
            "into [train], or name a protocol",
        ),
        (
            {"protocol": "csl", "changed": {"epochs": 0}},
            "pictures.changed, for protocol 'csl': training: epochs is 0; a whole number from 1 on "
            "is expected",
        ),
        (
            {"protocols": {"csl": "csl"}},
            "the protocol of 'csl' chooses the epoch by labels, and validation is none; set "
            "validation to complete or partial, or select in [pictures.changed] to last",
        ),
    ],
)  # fmt: skip
def test_bad_fields_are_named(pictures, told):
    assert refused(pictures) == told


def test_settings_that_no_method_would_take_are_refused():
    assert refused(PAPERS, train={"epochs": 3}) == (
        "train is set, and pictures.protocol says how all methods are trained; put what shall "
        "differ from protocols into [pictures.changed]"
    )
    some = {key: PAPERS[key] for key in ("protocols", "changed")}
    grid = Grid.of({**SMALL, "pictures": some, "train": {"epochs": 3}})
    assert grid.pictures.settings("an", grid.train).epochs == 3


def test_an_error_names_the_file(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text('schemes = ["rpa"]\nmethods = ["an"]\n[pictures]\nsize = "big"\n')
    with pytest.raises(BadInput) as caught:
        Grid.load(path)
    assert str(caught.value) == f"{path}: pictures.size is 'big'; a whole number is expected"
