"""Every method of a paper's scenario plays as many rounds: its work in a round fits into one."""

import os
from pathlib import Path

import numpy as np
import pytest

from netsim import engine, world
from netsim.data import files
from netsim.errors import DataError
from netsim.scenario import file, load

PAPERS = sorted(name for name in file.shipped() if name.startswith("paper_"))
ROUNDS = 2.5


@pytest.fixture
def black_images(monkeypatch):
    """Images of the shape of those of the files: work is timed by their number, not their pixels.

    Decoding takes most of the time of reading a data set.
    """

    def black(table, name, shape, file, rescaled=False):
        return np.zeros((table.num_rows, *shape), np.uint8), "PNG"

    monkeypatch.setattr(files, "images", black)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", PAPERS)
def test_the_work_of_a_round_fits_into_it(name, black_images):
    folder = os.environ.get("NETSIM_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("NETSIM_DATA does not name a folder with the real data sets")
    scenario = load(name)
    if not scenario.exchange.barrier:
        pytest.skip("no rounds")
    horizon_s = ROUNDS * scenario.exchange.interval_s
    scenario = load(name, sets=[f"horizon_s={horizon_s}", f"metrics.every_s={horizon_s}"])
    try:
        built = world.build(scenario, Path(folder))
    except DataError as error:
        pytest.skip(str(error))
    outlasting = [
        entry.name
        for entry in scenario.algorithm
        if not entry.set
        and engine.play(built, entry, timing_only=True)["counts"].get("rounds_outlasting_interval")
    ]
    assert outlasting == []
