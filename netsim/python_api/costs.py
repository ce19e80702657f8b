"""Operations of a scenario's models, and how fast this machine computes them."""

from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from netsim.engine import rates
from netsim.python_api.scenario import Scenario, as_scenario


def model_costs(scenario: Scenario | str | Path, *, measure: bool = False) -> pd.DataFrame:
    """Floating-point operations of each model of a scenario, for each of its algorithms.

    Parameters
    ----------
    scenario : Scenario, str or Path
    measure : bool
        Time each model on this machine, too, on random inputs and with one thread; seconds each.

    Returns
    -------
    pandas.DataFrame
        Columns `algorithm`, `model` (its kind, or its backbone's), `batch_size`; `step_flop`,
        operations of a local step with the update, and `sample_flop`, of one sample's outputs.
        With `measure` also `step_flop_per_s` and `sample_flop_per_s`.
    """
    tables = as_scenario(scenario, None).tables
    rows: list[dict[str, Any]] = []
    for entry in tables.algorithm:
        for form in rates.forms(tables.model_copy(update={"algorithm": (entry,)})):
            step, sample = rates.flops(form)
            row = {"algorithm": entry.name, "model": form.name, "batch_size": form.batch_size}
            row |= {"step_flop": step, "sample_flop": sample}
            if measure:
                here = _measured(form)
                row |= {"step_flop_per_s": here.train, "sample_flop_per_s": here.look}
            rows.append(row)
    return pd.DataFrame(rows)


_measured = cache(rates.measured)
