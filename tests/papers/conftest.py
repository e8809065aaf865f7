"""A few scenes with maps of features, and models trained on them, once for this folder."""

import pytest

from simkit.learn.optim import Settings
from simkit.papers.analysis.explaining import models
from simkit.study.sources import StudyData, StudySource, open_source

SETTINGS = Settings(epochs=10, batch_size=32, lr=0.1)
SPECS = ("full", "an", "an+boostlu(train=false)", "an+boostlu")


@pytest.fixture(scope="session")
def scenes() -> StudyData:
    data = "scenes:images=600,val=1,test=80"
    return open_source(StudySource(data, ("train", "test"), ("maps",), "scenes-net"))


@pytest.fixture(scope="session")
def trained(scenes):
    return models(scenes, SPECS, "single-positive", settings=SETTINGS)
