import pytest

from simkit.study.grid import Grid


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory):
    """Features computed once for all tests of this folder, away from the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIMKIT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def small():
    """A grid that takes a second: a few small pictures, few epochs."""

    def made(**values):
        return Grid.of(
            {
                "data": "scenes:images=120,val=40,test=80",
                "schemes": ["single-positive", "fpc(per_class=10)"],
                "methods": ["an", "ll-r+boostlu"],
                "budgets": [10, 30],
                "draws": 2,
                "train": {"epochs": 2, "lr": 0.01},
            }
            | values
        )

    return made
