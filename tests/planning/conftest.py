import pytest

from tests.planning import planted


@pytest.fixture(scope="session")
def pilot(tmp_path_factory):
    """A folder of runs with planted curves (tests/planning/planted.py); only read it."""
    return planted.write(tmp_path_factory.mktemp("pilot") / "runs")


@pytest.fixture
def write_runs(tmp_path):
    """Writes a folder of planted runs of one's own: write_runs("name", draws=2, ...)."""

    def write(name="runs", **options):
        return planted.write(tmp_path / name, **options)

    return write
