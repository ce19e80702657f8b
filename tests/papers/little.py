"""A table of nobody's paper, with a scenario of three nodes; the modules that play and judge it."""

import importlib

import pytest

command = pytest.importorskip("papers.results.__main__", reason="an installed package has none")
cell_runs, files, leads, numbers, over_radio, playing, records, table_files, tables, verdict = (
    importlib.import_module(f"papers.results.{name}")
    for name in (
        *(
            "cell_runs",
            "files",
            "leads",
            "numbers",
            "over_radio",
            "playing",
            "records",
            "table_files",
        ),
        *("tables", "verdict"),
    )
)

SCENARIO = """
horizon_s = 3.0

[nodes]
count = 3

[exchange]
schedule = "rounds"
interval_s = 1.0

[data]
kind = "digits"
validation = 0.2

[data.partition]
kind = "iid"

[model]
kind = "mlp"
hidden = [8]

[training]
learning_rate = 0.1
batch_size = 50

[compute]
kind = "fixed"
step_s = 0.01

[[algorithm]]
kind = "local"
local_steps = 2

[[algorithm]]
kind = "fedavg"
local_steps = 2
"""

TABLE = """
page = "little"
paper = "Little (Nobody, 2026)"
title = "Table 1"
scenario = "{scenario}"
seeds = [0, 1]
rounds = 3
by_rounds = {{ horizon_s = "rounds" }}
choose = "accuracy_validation.mean"
about = "Three nodes."

[[measures]]
name = "accuracy"
path = "accuracy.mean"
nodes = "accuracy.std"

[[columns]]
name = "batches of 50"

[[columns]]
name = "batches of 100"
set = {{ "training.batch_size" = 100 }}

[[columns]]
name = "on the moon"
missing = "no files"

[[rows]]
name = "Local"
entry = "local"
role = "local"
printed = ["50.0 ± 1.0", "60.0", "-"]

[[rows]]
name = "FedAvg"
entry = "fedavg"
role = "ours"
printed = ["70.0", "56.0", "80.0"]

[[readings]]
name = "one step"
group = "Ablation"
set = {{ "algorithm.fedavg.local_steps" = 1 }}
columns = ["batches of 50"]
rows = ["FedAvg"]

[[curves]]
name = "Fig. 1"
column = "batches of 50"
metric = "accuracy"
"""
